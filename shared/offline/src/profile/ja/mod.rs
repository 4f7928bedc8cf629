//! First person facts in Japanese.

mod guard;
mod plain;
mod rules;

pub(crate) use plain::plain;

use super::Fact;
use crate::pattern::patterns;

/// A longer fact is a story, not a fact.
const FACT_CHARS_MAX: usize = 80;

patterns! {
    LEAD = r"^(?:こんにちは|こんばんは|おはようございます|はじめまして|初めまして|どうも|ありがとうございます|ありがとう|はい|いいえ|いえ|いや|うん|ええと|えっと|あの|実は|じつは|ちなみに|ところで|それと|それから|あと|また|そして|でも|ただ|なお|なので|だから|正直|やっぱり|やはり|訂正します|訂正です|訂正|間違えました|すみません|すいません|ごめんなさい|違います|ご存じの通り|ご参考までに|一応|念のため|覚えておいてください|覚えておいて)[、,。!！ー …]*";
    SUBJECT = r"^(?:私|わたし|わたくし|僕|ぼく|俺|おれ|自分|あたし|うち|我が家|我々|私たち|わたしたち|弊社|当社)(?:は|も|が|って|に関しては|としては)、?";
    MINE = r"^(?:私|わたし|わたくし|僕|ぼく|俺|おれ|自分|あたし|うち|我が家|私たち|弊社|当社)の";
    SPLIT = r"(?P<end>(?:です|ます|ました|ません|だ|ている|いる|ある|い)?)(?P<c>ので|から、|けど、?|けれど、?|けれども、?|が、|し、|ため、|、なので|、だから|、でも)";
}

/// The facts that a sentence states, in its order.
pub(super) fn facts(sentence: &str) -> Vec<Fact> {
    if guard::is_no_statement(sentence) {
        return Vec::new();
    }
    let clauses: Vec<String> =
        clauses(sentence).into_iter().flat_map(|clause| coordinated(&clause)).collect();
    let found = clauses.iter().filter_map(|clause| statement(clause));
    found.filter(|fact| fact.content.chars().count() <= FACT_CHARS_MAX).collect()
}

/// The fact of one clause, if it states one.
pub(crate) fn statement(clause: &str) -> Option<Fact> {
    if guard::is_about_another(clause) {
        return None;
    }
    let clause = trimmed(clause);
    let clause = SUBJECT.replace(clause, "");
    let clause = MINE.replace(&clause, "");
    rules::fact(&clause)
}

/// The sentence without greetings and words that only lead on.
pub(crate) fn without_lead(sentence: &str) -> &str {
    let mut rest = sentence.trim().trim_start_matches('、');
    while let Some(lead) = LEAD.find(rest) {
        if lead.end() == rest.len() || lead.end() == 0 {
            break;
        }
        rest = rest[lead.end()..].trim_start();
    }
    rest
}

/// The text without marks and softeners at its end.
pub(crate) fn trimmed(text: &str) -> &str {
    let ends = ['。', '！', '!', '.', '、', ',', ' ', '〜', '~', 'ー', '♪', '笑'];
    let bare = text.trim().trim_end_matches(ends);
    let bare = ["よね", "よ", "ね"].iter().find_map(|end| bare.strip_suffix(end)).unwrap_or(bare);
    ["よね", "よ", "ね", "けど", "けれど", "が", "かな", "さ", "のですが", "んですが"].iter().fold(
        bare,
        |bare, end| match bare.strip_suffix(end) {
            Some(rest)
                if rest.ends_with("です")
                    || rest.ends_with("ます")
                    || rest.ends_with("ません")
                    || rest.ends_with("だ")
                    || rest.ends_with("ました") =>
            {
                rest
            }
            _ => bare,
        },
    )
}

/// 「エンジニアで、…」: two statements, if the first one states something.
fn coordinated(clause: &str) -> Vec<String> {
    if let Some((first, rest)) = clause.split_once("で、") {
        let first = format!("{first}です");
        if statement(&first).is_some() {
            return vec![first, rest.to_owned()];
        }
    }
    vec![clause.to_owned()]
}

/// Parts at "ので", "けど", "が、" and the like; each keeps its own ending.
fn clauses(sentence: &str) -> Vec<String> {
    let rest = without_lead(sentence);
    let mut found = Vec::new();
    let mut at = 0;
    for cut in SPLIT.captures_iter(rest) {
        let (Some(end), Some(connective)) = (cut.name("end"), cut.name("c")) else { continue };
        // "犬が、": a subject, not an end; an ending must stand before the connective.
        if end.as_str().is_empty() && connective.as_str() != "ので" {
            continue;
        }
        let clause = &rest[at..end.end()];
        // 「夜勤なので」 states 「夜勤だ」.
        let noun = clause.strip_suffix('な').filter(|_| connective.as_str() == "ので");
        found.push(noun.map_or_else(|| clause.to_owned(), |noun| format!("{noun}だ")));
        at = connective.end();
    }
    found.push(rest[at..].to_owned());
    found.into_iter().map(|clause| without_lead(&clause).to_owned()).collect()
}
