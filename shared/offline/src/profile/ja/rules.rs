//! What a Japanese clause says of the user. The subject is gone by now, as it mostly is in speech.

use domain::entities::ProfileTimeToLive::{self, Infinity, OneMonth, OneQuarter, OneWeek};

use super::plain;
use crate::pattern::patterns;
use crate::profile::Fact;
use crate::profile::dates::Leaning;

const END: &str = r"(?:です|だ|でした|なんです|なのです|だよ|になります|となります)?$";

patterns! {
    NAME = format!(r"^(?:名前は)?(?P<x>[\p{{L}}・ー ]{{1,16}}?)(?:と申します|といいます|と言います)$");
    NAME_IS = format!(r"^(?P<k>名前|名字|苗字|下の名前|ニックネーム|あだ名)は(?P<x>[^、はがをに]{{1,16}}?){END}");
    CALL_ME = r"^(?P<x>[^、はがをに]{1,12})(?:と|って)呼んで(?:ください|下さい|ほしいです|欲しいです|もらえますか|くれ)?$";
    KEPT = format!(r"^(?P<k>職業|仕事|勤務先|勤め先|会社|出身|出身地|誕生日|生年月日|年齢|趣味|特技|母語|母国語|国籍|予算|最寄り駅|最寄りの空港|最寄り空港|住所|自宅|実家|血液型|身長|靴のサイズ|サイズ|服のサイズ|休み|休日|定休日|勤務時間|目標|専攻|大学|学校|メール|メールアドレス|電話番号|ユーザー名|家族構成|好み|宗教|タイムゾーン|エディタ|開発環境|パソコン|スマホ|車|アレルギー|持病|担当|部署|役職|好きな[^、。はが]{{1,12}}|嫌いな[^、。はが]{{1,12}}|苦手な[^、。はが]{{1,12}}|お気に入りの[^、。はが]{{1,12}}|よく使う[^、。はが]{{1,12}}|希望の[^、。はが]{{1,12}})は(?:、)?(?P<x>[^。]{{1,40}}?){END}");
    ID = r"^(?P<k>ユーザーID|ユーザID|会員番号|お客様番号|顧客番号|社員番号|予約番号|注文番号|アカウント名)は(?P<x>[A-Za-z0-9_.@-]{3,40})(?:です|だ)?$";
    AGE = r"^(?P<x>\d{1,3}歳)(?:です|だ|になりました|になります)?$";
    ORIGIN = format!(r"^(?P<x>[^、。はがを]{{1,16}}(?:出身|生まれ|在住|勤務|育ち)){END}");
    JOB = format!(r"^(?P<x>[^、。はが]{{0,20}}(?:エンジニア|デザイナー|プログラマー|プログラマ|開発者|教師|先生|教員|教授|医師|医者|看護師|薬剤師|弁護士|会計士|税理士|建築士|美容師|調理師|料理人|シェフ|運転手|パイロット|記者|編集者|翻訳者|通訳|研究者|学生|大学生|大学院生|高校生|主婦|主夫|会社員|公務員|経営者|社長|自営業|フリーランス|フリーター|農家|漁師|警察官|消防士|保育士|介護士|写真家|作家|漫画家|音楽家|ミュージシャン|営業|営業職|事務員|マネージャー|コンサルタント|アナリスト|獣医|初心者|上級者|母親|父親|シングルマザー|独身|既婚|既婚者|左利き|右利き|ベジタリアン|菜食主義者|ヴィーガン|ビーガン|夜型|朝型|早起き|下戸|糖尿病|喘息|妊娠中|妊婦|無宗教|クリスチャン|ムスリム|イスラム教徒)){END}");
    JOB_DOING = r"^(?P<x>[^。]{1,24}(?:として|で|に)(?:働いて(?:い)?ます|働いて(?:い)?る|勤めて(?:い)?ます|勤務して(?:い)?ます|務めて(?:い)?ます)|[^。]{0,16}(?:の仕事|の研究|業)を(?:して|やって)(?:い)?ます)$";
    LIVING = r"^(?P<x>[^。]{1,24}(?:に住んで(?:い)?ます|に住んで(?:い)?る|で暮らして(?:い)?ます|に暮らして(?:い)?ます|に引っ越しました|へ引っ越しました|に転職しました|に転勤になりました|に入社しました))$";
    FAMILY = r"^(?P<x>(?:妻|夫|主人|旦那|奥さん|嫁|息子|娘|長男|長女|次男|次女|子供|子ども|母|父|兄|姉|弟|妹|祖母|祖父|両親|彼氏|彼女|婚約者|双子|孫|犬|猫|愛犬|愛猫|うさぎ|ペット)(?:は|が|の名前は|の誕生日は|も)[^。]{1,40}(?:です|ます|ません|ました|だ|いる|ある))$";
    PETS = r"^(?P<x>[^。]{1,24}(?:を[^。、]{0,6}飼って(?:い)?ます|を[^。、]{0,6}飼って(?:い)?る|と暮らして(?:い)?ます|が(?:\d+|[一二三四五]|ひと|ふた)?[人匹羽頭]?り?(?:います|いる)|を習って(?:い)?ます|を持って(?:い)?ます))$";
    MARRIED = r"^(?P<x>(?:結婚して(?:い)?ます|離婚しました|婚約して(?:い)?ます|妊娠して(?:い)?ます|[^、。]{0,10}退職しました|[^、。]{0,10}引退しました))$";
    ALLERGY = r"^(?P<x>[^。]{1,24}アレルギー(?:です|が(?:あります|ある)|持ち(?:です)?|なんです|を持って(?:い)?ます))$";
    CANNOT = r"^(?P<x>[^。]{1,24}(?:は|が|を|も)(?:食べられません|食べません|食べない|食べられない|飲めません|飲みません|飲まない|飲めない|吸いません|使いません|使えません|話せません|運転しません|できません|乗れません|着られません|見ません|読めません))$";
    LIKES = r"^(?P<x>[^。]{1,40}(?:が|は|も|のほうが|の方が|のが|のは)(?:大|一番|とても|特に|すごく|本当に|わりと|あまり|やっぱり|だい)*(?:好き|すき|大好物|好物|好み|お気に入り|嫌い|きらい|苦手|得意|不得意|好きではない|好きじゃない|好きではありません|好きじゃありません))(?:です|だ|なんです|なのです|だよ)?$";
    BETTER = r"^(?P<x>[^。]{1,40}(?:のほうが|の方が|ほうが|方が)(?:いい|良い|よい|好ましい|ありがたい|助かる|都合がいい))(?:です|んです)?$";
    PREFERS = r"^(?P<x>[^。]{1,40}(?:を|は)(?:好みます|希望します|希望しています|優先します|避けて(?:い)?ます|愛用して(?:い)?ます))$";
    USES = r"^(?P<x>[^。]{1,40}(?:を|は|で)[^。、]{0,8}(?:使って(?:い)?ます|使って(?:い)?る|使います|利用して(?:い)?ます|書いて(?:い)?ます|開発して(?:い)?ます|勉強して(?:い)?ます|学んで(?:い)?ます|練習して(?:い)?ます|教えて(?:い)?ます|運営して(?:い)?ます|経営して(?:い)?ます|担当して(?:い)?ます|話します|話せます|弾きます|弾けます|運転します))$";
    HABIT = r"^(?P<x>(?:いつも|普段は?|たいてい|大抵|毎朝|毎晩|毎日|毎週[^、]{0,6}|毎月|週に\d回|週末は|平日は|朝は|夜は|夜勤|休日は|通勤は|移動は|[月火水木金土日]曜日?は)[^。]{1,36}(?:ます|ません|です|て(?:い)?る))$";
    SHIFT = r"^(?P<x>(?:[^。、]{0,12}(?:夜勤|日勤|在宅勤務|リモートワーク|テレワーク|時短勤務|フルタイム|パートタイム|シフト制)))(?:です|だ|で働いて(?:い)?ます|をして(?:い)?ます|が多いです)$";
    UNWANTED = r"^(?P<x>[^。]{1,30}(?:は|も)(?:要りません|いりません|不要です|必要ありません|必要ないです|結構です))$";
    CONTACT = r"^(?P<x>(?:ご)?連絡は[^。、]{1,20}(?:で|に))(?:お願いします|ください|下さい|お願いいたします|してください)$";
    BUDGET = r"^(?P<x>予算は[^。]{1,20})(?:です|まで(?:です)?|以内(?:です)?|でお願いします)$";
    PAYMENT = r"^(?:お)?支払い(?:方法)?は(?P<x>[^。、]{1,20}?)(?:で(?:お願いします|払います|支払います)|です|にしてください|を使います)$";
    MEMBER = r"^(?P<x>[^。、はが]{0,12}(?:ゴールド|シルバー|プラチナ|ダイヤモンド|プレミアム|ブロンズ)[^。、はが]{0,8}(?:会員|メンバー|ステータス))(?:です|だ|なんです)?$";
    PLAN = r"^(?P<x>[^。]{2,40}(?:予定です|予定があります|つもりです|行きます|出発します|到着します|旅行します|引っ越します|帰国します|出張します|出張です|休みます|休みです|会議があります|面接があります|試験があります|手術があります|結婚します|転職します|退職します|受けます|始まります|入院します|留学します|泊まります|生まれます))$";
    WHEN = r"今日|本日|明日|明後日|昨日|今週|来週|再来週|今月|来月|再来月|今年|来年|\d月|\d日|曜|後に|週末|今夜|春|夏|秋|冬";
    REPLY = r"(?P<x>日本語|英語|中国語|韓国語|ドイツ語|フランス語|スペイン語)で(?:答えて|回答して|返事して|返信して|話して|書いて|お願いします)";
    VAGUE = r"^(?:それ|これ|あれ|そちら|こちら|そこ|ここ|その|この|あの|どれ|何|なに|そう|こう)(?:が|は|を|の|で|に|も|です|だ|$)|^(?:その|この|あの)";
}

/// The first rule that reads the clause.
pub(super) fn fact(clause: &str) -> Option<Fact> {
    if VAGUE.is_match(clause) {
        return None;
    }
    named(clause).or_else(|| request(clause)).or_else(|| sentence(clause))
}

fn named(clause: &str) -> Option<Fact> {
    if let Some(found) = CALL_ME.captures(clause) {
        return Some(Fact::lasting(format!("{}と呼ばれたい", &found["x"])));
    }
    if let Some(found) = NAME.captures(clause) {
        return Some(Fact::lasting(format!("名前は{}", found["x"].trim())));
    }
    if let Some(found) = ID.captures(clause) {
        let lasting = !["予約番号", "注文番号"].contains(&&found["k"]);
        return Some(Fact::new(
            format!("{}は{}", &found["k"], &found["x"]),
            if lasting { Infinity } else { OneQuarter },
        ));
    }
    if let Some(found) = BUDGET.captures(clause) {
        return Some(Fact::new(with_bound(clause, &found["x"]), OneQuarter));
    }
    let found = NAME_IS.captures(clause).or_else(|| KEPT.captures(clause))?;
    let ttl = if &found["k"] == "予算" { OneQuarter } else { Infinity };
    (!VAGUE.is_match(&found["x"])).then(|| {
        Fact::new(
            format!("{}は{}", &found["k"], plain(found["x"].trim_matches(['「', '」', '『', '』']))),
            ttl,
        )
    })
}

/// 「予算は五万円まで」 keeps its bound.
fn with_bound(clause: &str, found: &str) -> String {
    let bound = ["まで", "以内"].into_iter().find(|bound| clause.contains(bound) && !found.contains(bound));
    format!("{found}{}", bound.unwrap_or_default())
}

fn request(clause: &str) -> Option<Fact> {
    if let Some(found) = CONTACT.captures(clause) {
        return Some(Fact::lasting(format!("{}ほしい", &found["x"])));
    }
    if let Some(found) = PAYMENT.captures(clause) {
        return Some(Fact::new(format!("支払いは{}", &found["x"]), OneMonth));
    }
    let found = REPLY.captures(clause)?;
    Some(Fact::lasting(format!("{}での回答を希望", &found["x"])))
}

fn sentence(clause: &str) -> Option<Fact> {
    if WHEN.is_match(clause)
        && let Some(found) = PLAN.captures(clause)
    {
        return Some(Fact::event(plain(&found["x"]), OneWeek));
    }
    let rules: [(&regex::Regex, ProfileTimeToLive); 19] = [
        (&AGE, Infinity),
        (&MEMBER, Infinity),
        (&FAMILY, Infinity),
        (&ALLERGY, Infinity),
        (&LIKES, Infinity),
        (&BETTER, Infinity),
        (&PREFERS, Infinity),
        (&CANNOT, Infinity),
        (&JOB_DOING, Infinity),
        (&LIVING, Infinity),
        (&PETS, Infinity),
        (&MARRIED, Infinity),
        (&SHIFT, Infinity),
        (&HABIT, Infinity),
        (&USES, Infinity),
        (&UNWANTED, OneMonth),
        (&ORIGIN, Infinity),
        (&JOB, Infinity),
        (&AGE, Infinity),
    ];
    let (found, ttl) = rules.iter().find_map(|(rule, ttl)| Some((rule.captures(clause)?, *ttl)))?;
    let content = plain(&found["x"]);
    Some(Fact { leaning: Leaning::Past, ..Fact::new(content, ttl) })
}
