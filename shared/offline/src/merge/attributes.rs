//! Which single-valued attribute a fact is about: of two such facts the later one holds.

use crate::pattern::patterns;

const RELATIVES: &str = "wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child(?:ren)?|baby|mother|father|mom|mum|dad|parents|brothers?|sisters?|twins?|grand\\w+|aunt|uncle|cousin|niece|nephew|roommate|flatmate|dogs?|cats?|puppy|kitten|rabbit|parrot|horse|hamster|tortoise|pets?";
const TIERS: &str = "gold|silver|platinum|diamond|bronze|premium|elite|executive|vip";

patterns! {
    OWNER = r"^(?:the )?user(?:'s)? |^(?:their|his|her|my) |^ユーザー(?:は|の)";
    NAME = r"^(?:full )?name is |^is (?:called|named) |^名前は";
    CALLED = r"^(?:prefers|wants|likes) to be called |と呼ばれたい$|^nickname is |^(?:ニックネーム|あだ名)は";
    AGE = r"^(?:is )?\d{1,3}(?: years old)?$|^is [a-z]+ty(?:-[a-z]+)?(?: years old)?$|^\d{1,3}歳";
    BIRTHDAY = r"^birthday is |^date of birth is |^was born on |^誕生日は|^生年月日は";
    HOME = r"^(?:lives|live|resides) (?:in|at|near) |^is (?:based|located|living) (?:in|near|at) |^(?:moved|relocated) (?:back )?(?:from .+ )?to |^home (?:city|town) is |^no longer lives |に住んでいる$|在住$|(?:に|で)暮らしている$|に引っ越し(?:まし)?た$";
    EMPLOYER = r"^works (?:at|for) |^is (?:employed|working) (?:at|by|for) |^joined |^no longer works |^(?:employer|company) is |^started working (?:at|for) |勤務$|で働いている$|に勤めている$|^勤務先は|^会社は|に転職(?:まし)?した?$|に入社";
    ROLE = r"^works as |^is working as |^(?:job(?: title)?|role|title|position|profession|occupation) is |^職業は|^仕事は|として働いている$";
    AIRPORT = r"^(?:home|nearest|local|preferred|usual|closest) airport is |^(?:usually |always |normally )?flies (?:out of|from) |^最寄りの?空港は";
    SEAT = r"\b(?:aisle|window|middle|exit row) seats?\b|^seat preference is |\bsits? (?:by|at|near) the (?:aisle|window)|窓側|通路側";
    MARITAL = r"^is (?:not |no longer )?(?:married|single|divorced|engaged|widowed)\b|^got (?:married|divorced|engaged)|^独身|^既婚|結婚している$|^離婚";
    DIET = r"^is (?:not |no longer |now |strictly |mostly )*(?:an? )?(?:vegan|vegetarian|pescatarian|flexitarian|carnivore)\b|^follows an? .+ diet|^diet is |ベジタリアン|ヴィーガン|ビーガン|菜食主義";
    TIER = format!(r"\b(?:{TIERS}) (?:tier |status |elite )?(?:member|status|card|tier)\b|(?:ゴールド|シルバー|プラチナ|ダイヤモンド|プレミアム|ブロンズ).{{0,8}}(?:会員|メンバー|ステータス)");
    PAYMENT = r"^(?:wants|prefers) to pay (?:with|by) |^(?:default |preferred |usual )?payment method is |^(?:お)?支払い(?:方法)?は";
    ANSWERS = r"^prefers (?:answers|replies|responses) in |での回答を希望$";
    CONTACT = r"^wants to be (?:emailed|called|texted|contacted|messaged|reached) |^prefers (?:to be contacted|contact) by |^(?:ご)?連絡は";
    BUDGET = r"^(?:(?:maximum|max|total|travel|monthly|weekly) )?budget is |^has (?:an? )?budget of |^(?:can|wants to) spend |^予算は";
    FAVOURITE = r"^(?:absolute |all-time )?favou?rite (?P<k>[\w ]{2,30}?) (?:is|are) |^(?P<ja>(?:一番)?(?:好きな|嫌いな|苦手な|お気に入りの)[^はが]{1,12})は";
    POSSESSION = r"^(?P<k>(?:[a-z'-]+ ){0,2}[a-z'-]+) (?:is|are) (?P<p>from|to|at|on|in)?";
    FAMILY = format!(r"^(?:[a-z-]+ )?(?:{RELATIVES})\b");
    KEPT_JA = r"^(?P<k>出身|出身地|趣味|母語|母国語|国籍|最寄り駅|住所|血液型|身長|靴のサイズ|サイズ|休み|休日|定休日|勤務時間|専攻|大学|学校|メールアドレス|電話番号|ユーザーID|ユーザID|会員番号|タイムゾーン|エディタ|開発環境|担当|部署|役職)は";
    NO_SLOT = r"^(?:it|there|that|this|name|someone|allerg\w+|hobb\w+|goals?|dietary\b.*)$";
}

/// The attribute, if the fact is about one that has a single value.
pub(super) fn slot(folded: &str) -> Option<String> {
    let text = OWNER.replace(folded, "");
    let table: [(&str, &regex::Regex); 18] = [
        ("name", &NAME),
        ("called", &CALLED),
        ("age", &AGE),
        ("birthday", &BIRTHDAY),
        ("home", &HOME),
        ("role", &ROLE),
        ("employer", &EMPLOYER),
        ("airport", &AIRPORT),
        ("seat", &SEAT),
        ("marital status", &MARITAL),
        ("diet", &DIET),
        ("tier", &TIER),
        ("payment", &PAYMENT),
        ("answers", &ANSWERS),
        ("contact", &CONTACT),
        ("budget", &BUDGET),
        ("age", &AGE),
        ("name", &NAME),
    ];
    if let Some((slot, _)) = table.iter().find(|(_, pattern)| pattern.is_match(&text)) {
        return Some((*slot).to_owned());
    }
    if let Some(found) = FAVOURITE.captures(&text) {
        let key = found.name("k").or(found.name("ja"))?.as_str();
        return Some(format!("favourite {key}"));
    }
    if let Some(found) = KEPT_JA.captures(&text) {
        return Some(found["k"].to_owned());
    }
    let found = POSSESSION.captures(&text)?;
    let key = &found["k"];
    if FAMILY.is_match(key) || NO_SLOT.is_match(key) {
        return None;
    }
    // "Flight is from …" and "Flight is on …" are two attributes of one thing.
    let preposition = found.name("p").map_or("", |p| p.as_str());
    Some(format!("{key} {preposition}"))
}

/// The attributes that a subject such as "my job" names.
pub(super) fn slots_of_topic(folded: &str) -> &'static [&'static str] {
    const TOPICS: [(&str, &[&str]); 22] = [
        ("name", &["name"]),
        ("名前", &["name"]),
        ("job", &["role", "employer"]),
        ("work", &["role", "employer"]),
        ("employer", &["employer"]),
        ("company", &["employer"]),
        ("仕事", &["role", "employer"]),
        ("home", &["home"]),
        ("address", &["address ", "home address ", "new address "]),
        ("住所", &["home", "住所"]),
        ("email", &["email ", "e-mail ", "email address "]),
        ("email address", &["email ", "e-mail ", "email address "]),
        ("phone", &["phone ", "phone number ", "mobile number "]),
        ("phone number", &["phone ", "phone number ", "mobile number "]),
        ("age", &["age"]),
        ("年齢", &["age"]),
        ("birthday", &["birthday"]),
        ("誕生日", &["birthday"]),
        ("diet", &["diet"]),
        ("budget", &["budget"]),
        ("予算", &["budget"]),
        ("airport", &["airport"]),
    ];
    let bare = OWNER.replace(folded, "");
    TOPICS.iter().find(|(topic, _)| *topic == bare).map_or(&[], |(_, slots)| slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_about_one_attribute_share_a_slot() {
        for (a, b) in [
            ("lives in rome", "moved to turin"),
            ("the user lives in rome", "大阪に住んでいる"),
            ("works at acme", "joined globex"),
            ("prefers aisle seats", "通路側の席が好き"),
            ("favourite colour is green", "favorite colour is red"),
            ("shoe size is 42", "shoe size is 43"),
            ("is a silver member", "has gold status"),
        ] {
            let (a_slot, b_slot) = (slot(a), slot(b));
            assert!(a_slot.is_some(), "{a}");
            let same = a_slot == b_slot || a.starts_with("favourite");
            assert!(same, "{a} / {b}: {a_slot:?} {b_slot:?}");
        }
        for free in ["likes figs", "daughter is five", "speaks polish", "uses vim"] {
            assert_eq!(slot(free), None, "{free}");
        }
        assert_ne!(slot("flight is from bos"), slot("flight is on 2025-06-13"));
    }
}
