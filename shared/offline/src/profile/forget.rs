//! "Forget that …": requests to remove something from memory.

use crate::pattern::patterns;
use crate::text::{Language, lower_first};

use super::{en, ja};

/// How a draft begins that asks for a removal; the rest says of what.
pub const REMOVAL_MARKER: &str = "Requested removal of";

/// What the user wants to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Forget {
    /// All of it.
    Everything,
    /// Whatever concerns a subject.
    Topic(String),
    /// One statement, repeated in the request.
    Statement(String),
    /// What was said just before.
    Previous {
        /// Whether the request can hardly mean anything but memory, so that it counts even when the previous
        /// statement was not understood.
        certain: bool,
    },
}

const POLITE: &str = r"^(?:(?:please|can|could|would|will|you|just|kindly|also|now|and|actually|i'd like you to|i would like you to|i want you to|i need you to|let's|no|ok|okay|sorry)[, ]+)*";

patterns! {
    FORGET = format!(r"{POLITE}(?:forget|disregard|unlearn)(?: about)? (?P<x>.+)$");
    NOT_KEEP = format!(r"{POLITE}(?:don't|do not|never|stop|no need to|shouldn't|needn't|don't need to|do not need to|must not|should not) (?:ever )?(?:remember(?:ing)?|memori[sz]e|memori[sz]ing|sav(?:e|ing)|stor(?:e|ing)|keep(?:ing)?|record(?:ing)?|retain(?:ing)?) (?:track of |a record of )?(?P<x>(?:that|this|it|what|anything|any of|my|the fact|i)\b.*)$");
    ERASE = format!(r"{POLITE}(?:delete|remove|erase|wipe|clear|drop|purge) (?P<x>.+?)(?: (?:from|in|out of) (?:your |the |my )?(?:memor(?:y|ies)|records?|notes|profile|knowledge|database|history)| (?:you (?:know|remember|have|stored|saved|learned)|i (?:said|told you)).*)$");
    EVERYTHING = r"^(?:everything|all|anything|all of it|whatever)(?: (?:that )?(?:you (?:know|remember|have|learned|stored)|i(?:'ve)? (?:said|told you)))?(?: (?:about|on) (?:me|us))?(?: so far)?$";
    PREVIOUS = r"^(?:(?:that|this|it|what i (?:just )?(?:said|told you|wrote)|i (?:ever )?(?:said|mentioned|told you) (?:that|this|it|anything)|my (?:last|previous) (?:message|statement|sentence)|the last (?:thing|part|bit)(?: i said)?)(?: (?:just now|earlier|before|please|too|then))?)$";
    ABOUT = r"^(?:(?:everything|anything|all|what(?:ever)?|things?|the (?:fact|information|info|memory|note|part|thing|bit|stuff))(?: (?:that )?(?:i (?:just )?(?:said|told you|mentioned|wrote)|you (?:know|remember|have|learned|stored|saved)))? )?(?:about|regarding|on|of) (?P<x>.+)$";
    FACT = r"^(?:(?:the fact|what i said)(?: that)? |that )?(?P<x>(?:i'm|i|my|we|our|i've|i'd)\b .+)$";
    SAID = r"^i (?:ever )?(?:said|mentioned|told you)(?: that)? (?P<x>(?:i|my|we|i'm)\b.+)$";
    IDIOM = r"^(?:it\b.*|about it\b.*|the (?:whole thing|idea|flight|booking|order|request)|that (?:idea|option|plan|for now|one)|to .+|what (?:he|she|they) .+)$";
    WORK_ITEM = r"\b(?:files?|changes|drafts?|documents?|copies|copy|cart|tabs?|branch|receipts?|order|reservation|booking|seat|account|passenger|bag|bags|luggage|item|change)\b";
    JA_FORGET = r"^(?P<x>.*?)(?:は|を|も|のは|ことは|ことも|ことを)?、?(?:もう|全部|すべて|全て|一旦|どうか)?(?:忘れて|覚えないで|記憶しないで|記憶から消して|記憶から削除して|メモリから削除して|メモリから消して|保存しないで|記録しないで|覚えておかないで|覚えなくていい|覚えなくて結構|忘れてください)(?:ください|下さい|ほしい|欲しい|くれ|もらえますか|もらえる|いただけますか|おいて|ね|よ|です|いいです|いい|おいてください)*[。！!？?]*$";
    JA_PREVIOUS = r"^(?:今|いま|さっき|先ほど|先程|それ|これ|今言った|さっき言った|この|その|直前|前)(?:話|こと|件|発言|情報|内容|メッセージ|の)*$";
    JA_EVERYTHING = r"^(?:(?:私|僕|俺)(?:について|に関する|の)(?:こと|情報|記憶)?(?:を|は)?)?(?:全部|すべて|全て|何もかも)(?:の(?:こと|情報|記憶))?$";
    JA_TOPIC_END = r"(?:という|って(?:いう)?|と(?:言った|いう))?(?:の|こと|話|件|情報|事|記憶)$";
}

/// Whether the sentence asks to forget something.
pub(crate) fn is_directive(sentence: &str, language: Language) -> bool {
    directive(sentence, language).is_some()
}

/// Reads a request to forget, if the sentence is one.
pub(super) fn directive(sentence: &str, language: Language) -> Option<Forget> {
    match language {
        Language::English => english(sentence),
        Language::Japanese => japanese(sentence),
    }
}

fn english(sentence: &str) -> Option<Forget> {
    let request = en::trimmed(en::without_lead(sentence));
    if let Some(found) = ERASE.captures(request) {
        return Some(target(&found["x"], true));
    }
    if let Some(found) = NOT_KEEP.captures(request) {
        return (!WORK_ITEM.is_match(&found["x"])).then(|| target(&found["x"], true));
    }
    let found = FORGET.captures(request)?;
    let x = found["x"].trim();
    // "Forget it" gives up a request; "don't forget" has been taken off as a lead or is no directive.
    if IDIOM.is_match(x) || WORK_ITEM.is_match(x) {
        return None;
    }
    Some(target(x, x.to_lowercase().contains("said")))
}

fn target(x: &str, certain: bool) -> Forget {
    let x = en::trimmed(x);
    if EVERYTHING.is_match(x) {
        return Forget::Everything;
    }
    if PREVIOUS.is_match(x) {
        return Forget::Previous { certain };
    }
    if let Some(fact) = SAID.captures(x).or_else(|| FACT.captures(x)) {
        let clause = &fact["x"];
        let is_noun = clause.to_lowercase().starts_with("my ") || clause.to_lowercase().starts_with("our ");
        if let Some(known) = en::statement(clause) {
            return Forget::Statement(lower_first(&known.content));
        }
        return if is_noun {
            Forget::Topic(format!("their {}", en::third_person(&clause[3..]).trim()))
        } else {
            Forget::Statement(en::third_person(clause))
        };
    }
    match ABOUT.captures(x) {
        Some(about) => Forget::Topic(en::third_person(&about["x"])),
        None => Forget::Topic(en::third_person(x)),
    }
}

fn japanese(sentence: &str) -> Option<Forget> {
    let request = ja::without_lead(sentence);
    let found = JA_FORGET.captures(request)?;
    let x = found["x"].trim_end_matches(['、', ' ']);
    if x.is_empty() || JA_PREVIOUS.is_match(x) {
        return Some(Forget::Previous { certain: true });
    }
    if JA_EVERYTHING.is_match(x) {
        return Some(Forget::Everything);
    }
    let bare = JA_TOPIC_END.replace(x, "");
    let bare = bare.trim_end_matches(['な', 'の']);
    match ja::statement(&format!("{bare}です")).or_else(|| ja::statement(bare)) {
        Some(known) => Some(Forget::Statement(known.content)),
        None => Some(Forget::Topic(strip_subject(bare).to_owned())),
    }
}

fn strip_subject(text: &str) -> &str {
    [
        "私の",
        "僕の",
        "俺の",
        "私が",
        "僕が",
        "私は",
        "僕は",
        "さっき言った",
        "今言った",
        "先ほど言った",
        "さっきの",
        "先ほどの",
        "前に言った",
    ]
    .iter()
    .find_map(|subject| text.strip_prefix(subject))
    .unwrap_or(text)
}
