//! Standing instructions in Japanese: 「今後は」「必ず」「〜しないで」「〜のときは」.

use super::Rule;
use crate::pattern::patterns;
use crate::profile::ja::{trimmed, without_lead};
use crate::turn::EvidenceKind::{Correction, Preference};

patterns! {
    STANDING = r"^(?P<m>(?:今後|これから|次は|次回|次から|今度から|以後|以降|今日から|常|いつ)(?:は|からは|に|も|から)?(?:、)?|(?:必ず|毎回|絶対に?|いつも|基本的に|原則(?:として)?|デフォルトで)(?:は)?(?:、)?)+(?P<x>.+)$";
    INSIDE = r"(?:は|を|に|で|、)(?:必ず|毎回|絶対に?|いつも|今後(?:は)?|これから(?:は)?|次回(?:から)?(?:は)?|常に)";
    ORDER = r"(?:て|で)(?:ください|下さい|ほしいです|欲しいです|ほしい|もらえますか|もらいたいです|くれますか|くださいね|おいてください|くれ)?$|(?:お願いします|お願いいたします|こと|ように(?:して(?:ください)?|お願いします)|にして|にしてください|べきです)$";
    FORBID = r"(?:ないで|ぬよう|ないように(?:して)?|しないこと)(?:ください|下さい|ほしいです|欲しいです|ほしい|もらえますか|くださいね|くれ|お願いします)?$|(?:する|使う|言う|送る|書く|勧める|聞く|呼ぶ|出す|入れる|変える|消す|触る|載せる|付ける)な$|(?:のは|は)?(?:やめて|止めて|控えて|避けて)(?:ください|下さい|ほしいです|欲しいです|ほしい|くださいね|くれ)?$|(?:は)?(?:禁止|不要|要りません|いりません)(?:です)?$";
    WHEN = r"^(?P<w>[^、。]{2,30}?(?:とき|時|場合|際|前|後|たび|度)(?:に)?(?:は|には)?、?)(?P<x>.+)$";
    ONE_OFF = r"待って|まだ[^。]{0,10}ないで|今は|今日は|今回は|教えて(?:ください)?$|見せて(?:ください)?$|予約して|キャンセルして|調べて(?:ください)?$|確認して(?:ください)?$|手伝って|助けて";
    FORGET = r"忘れないで|心配しないで|気にしないで|忘れて|覚えないで|記憶しないで|保存しないで|記憶から|メモリから";
    STYLE = r"(?:で|に|く|を使って|なしで)(?:答えて|回答して|返事して|返信して|説明して|書いて|話して|まとめて)(?:ください|下さい|ほしいです|欲しいです|ほしい|くださいね)?$|(?:敬語|絵文字|箇条書き|専門用語|英語|日本語|表|結論|要点|短く|簡潔|丁寧|詳しく|やさしい言葉)[^。]{0,20}(?:答え|回答|返事|返信|説明|書い|話し|使|まとめ|ください|お願い)";
    WRONG = r"^(?:いや|いえ|いいえ|違います|違う|そうじゃなくて|そうではなくて|間違っています|間違いです)[、。 ]*(?P<x>.+)$";
    ASKED = r"^(?P<y>[^、。]{1,30})(?:じゃなくて|ではなくて|ではなく|じゃなく)、?(?P<x>[^、。]{1,40})(?:を|で|に)?(?:お願いし(?:ます|ました|たい)|頼みました|頼んだ(?:んです|のに)?|と言いました|と言った(?:んです|のに)?|にしてください|で(?:答えて|書いて)ください|してください|使ってください)";
}

/// The rule of one sentence of the user, if it instructs the agent for good.
pub(super) fn rule(words: &str, after_agent: bool) -> Option<Rule> {
    if after_agent && let Some(rule) = correction(words) {
        return Some(rule);
    }
    let text = trimmed(without_lead(words));
    if FORGET.is_match(text) || text.ends_with(['？', '?']) {
        return None;
    }
    if let Some(found) = STANDING.captures(text) {
        let x = found["x"].trim_start_matches('、');
        return (ORDER.is_match(x) || FORBID.is_match(x)).then(|| with_trigger(x));
    }
    if ONE_OFF.is_match(text) {
        return None;
    }
    let marked = INSIDE.is_match(text) && ORDER.is_match(text);
    (marked || FORBID.is_match(text) && !text.ends_with("です") || STYLE.is_match(text))
        .then(|| with_trigger(text))
}

fn with_trigger(text: &str) -> Rule {
    match WHEN.captures(text) {
        Some(found) => {
            let when = found["w"].trim_end_matches('、').trim_end_matches('は').trim_end_matches('に');
            Rule::new(Some(when.to_owned()), closed(&found["x"]), Preference)
        }
        None => Rule::new(Some("このユーザーに応対するとき".to_owned()), closed(text), Preference),
    }
}

fn correction(words: &str) -> Option<Rule> {
    let text = trimmed(words);
    let rest = WRONG.captures(text).map(|found| found["x"].to_owned());
    let text = trimmed(rest.as_deref().unwrap_or(text));
    if let Some(found) = ASKED.captures(text) {
        let content =
            format!("{}ではなく{}にする。", &found["y"], found["x"].trim_end_matches(['を', 'で', 'に']));
        return Some(Rule::new(None, content, Correction));
    }
    let orders = rest.is_some()
        && (ORDER.is_match(text) || FORBID.is_match(text))
        && !ONE_OFF.is_match(text)
        && !FORGET.is_match(text);
    orders.then(|| Rule::new(None, closed(text), Correction))
}

fn closed(text: &str) -> String {
    let text = trimmed(text).trim_start_matches('、');
    format!("{text}。")
}
