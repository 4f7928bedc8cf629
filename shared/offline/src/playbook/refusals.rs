//! What the agent says that it cannot do: the next agent should know before it tries or promises.

use domain::entities::BlockingIssueKind::{
    self, ExternalDependency, MissingTool, PermissionDenied, PolicyRestriction,
};

use super::phrase::to_user;
use crate::pattern::patterns;
use crate::profile::en::trimmed;
use crate::text::{Language, Sentence, capitalised, cut_chars, lower_first};

/// Characters of the details of a blocking issue.
const DETAILS_CHARS_MAX: usize = 240;

patterns! {
    LEAD = r"^(?:(?:unfortunately|however|sorry|i'm sorry|i am sorry|i apologi[sz]e|i understand [^,.]*|additionally|at this time|as mentioned|currently|please note(?: that)?|since [^,]+|as [^,]+|while [^,]+|given [^,]+|it seems(?: that)?|in this case|regarding [^,]+)(?:,? (?:but|that|and))?(?: unfortunately)?,? )*(?:but )?(?:unfortunately,? )?";
    UNABLE = r"^(?:i(?:'m| am) (?:currently )?(?:unable|not able|not authori[sz]ed|not allowed|not permitted) to|i (?:cannot|can't|can not|could not|couldn't)|i (?:do not|don't) have (?:a tool|the tools?|the ability|access|permissions?|the permissions?|authori[sz]ation)(?: that (?:can|lets me|allows me to)| to)?) (?P<x>[a-z]+ [^.;]+)$";
    PASSIVE = r"^(?:(?:the|a|an|your|any|this|these|those) )?(?P<s>(?:[\w-]+ ){1,4}?)(?:cannot|can't|can not|may not) be (?P<x>[a-z]+(?:ed|en|sold|paid|made|sent)\b[^.;]*)$";
    NOT_ACTION = r"^(?:find|see|locate|understand|imagine|proceed|help|assist|thank|wait|guarantee|recall|tell|say|confirm|agree|be|do|think|hear|stress|begin|emphasi[sz]e|believe|speak|access (?:that|this|it))\b";
    POINTS_BACK = r"^(?:it|this|that|they|he|she|which|there|what|requests?|further)\b";
    CUT = r",? (?:and (?:this|that|you|i|it)|due to|because|through this|at this|as (?:it|this|the|you)|since|but|so|including|for you|directly|if |unless |under |without |on your behalf|for th(?:is|at|ese) (?:reservation|booking|order|flight|request|case|account)).*$|,.*$";
    CONDITION = r"\b(?:since|as|because) (?P<c>(?:this|the|a|an|your) [^,]{5,60}),";
    PRONOUN_END = r"(?:^| )(?:it|this|that|them|these|those|so)$";
    BARE_NUMBER = r" ?(?:\b(?:with )?(?:the )?(?:id|number|reservation id)\b:? ?)?\b(?-i:[A-Z]*\d[A-Z0-9]{3,})\b";
    NO_TOOL = r"\b(?:tool|function|feature|ability|capability|not support(?:ed)?|unable to (?:browse|access the internet|open|send|make (?:phone )?calls))\b";
    NO_RIGHT = r"\b(?:permission|authori[sz]\w+|access|privilege|not allowed|not permitted|allowed to)\b";
    OUTAGE = r"\b(?:is down|outage|unavailable|not responding|system (?:error|issue)|timed? ?out|maintenance|third[- ]party)\b";
    POLICY = r"\b(?:polic(?:y|ies)|rules?|terms|eligib\w+|basic economy|non-?refundable|after the|once (?:the|a|it)|existing|within \d+|regulations?|compliance|refund|compensation|fare|exceptions?|offer|amount|not (?:eligible|entitled)|limitation|condition|modif\w+|cannot be)\b";
    JAPANESE = r"^(?:申し訳(?:ありません|ございません)が|恐れ入りますが|あいにく|すみませんが|残念ながら)?[、 ]*(?P<x>[^。、]{2,40}?)(?:は|を|が|することは|することが)?(?:できません|出来ません|いたしかねます|致しかねます|対応しておりません|対応していません|お受けできません|承れません)";
}

/// Something that the agent could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// When the user asks for it.
    pub(super) trigger: String,
    /// What to do then.
    pub(super) content: String,
    /// What stands in the way.
    pub(super) kind: BlockingIssueKind,
    /// The agent's own words.
    pub(super) details: String,
}

/// Reads a refusal from a sentence of the agent.
pub(super) fn refusal(sentence: &Sentence<'_>) -> Option<Refusal> {
    match sentence.language {
        Language::English => english(&sentence.words),
        Language::Japanese => japanese(&sentence.words),
    }
}

fn english(words: &str) -> Option<Refusal> {
    let lead = LEAD.find(words).map_or(0, |lead| lead.end());
    let text = trimmed(&words[lead..]);
    let kind = kind(words);
    if let Some(found) = UNABLE.captures(text) {
        let x = tidy(&found["x"]);
        if NOT_ACTION.is_match(&x) || PRONOUN_END.is_match(&x) || x.split(' ').count() < 2 {
            return None;
        }
        return Some(Refusal {
            trigger: format!("When the user asks to {x}"),
            content: format!(
                "Say early that it is not possible here to {x}, and offer what is possible instead."
            ),
            kind,
            details: details(words),
        });
    }
    let found = PASSIVE.captures(text)?;
    let (subject, x) = (found["s"].trim(), tidy(&found["x"]));
    // "Basic Economy flights" keeps its letters, "Travel insurance" does not.
    let named = subject.chars().skip(1).any(char::is_uppercase);
    let subject = if named { subject.to_owned() } else { lower_first(subject) };
    let condition =
        CONDITION.captures(words).map_or_else(String::new, |found| format!(" when {}", to_user(&found["c"])));
    if POINTS_BACK.is_match(&subject) || x.is_empty() {
        return None;
    }
    Some(Refusal {
        trigger: format!("When the user asks for {subject} to be {x}"),
        content: format!(
            "Explain early: {subject} cannot be {x}{condition}. Offer what is possible instead."
        ),
        kind,
        details: details(words),
    })
}

fn tidy(text: &str) -> String {
    let text = CUT.replace(text, "");
    let text = BARE_NUMBER.replace_all(&text, "");
    trimmed(&to_user(&text)).to_owned()
}

fn japanese(words: &str) -> Option<Refusal> {
    let found = JAPANESE.captures(words)?;
    let x = found["x"].trim();
    Some(Refusal {
        trigger: format!("ユーザーが「{x}」を求めたとき"),
        content: format!("「{x}」ができないことを早めに伝え、代わりの方法を示す。"),
        kind: MissingTool,
        details: details(words),
    })
}

/// What stands in the way, judged by the words of a refusal or of an error.
pub(super) fn kind(words: &str) -> BlockingIssueKind {
    if NO_TOOL.is_match(words) {
        MissingTool
    } else if NO_RIGHT.is_match(words) {
        PermissionDenied
    } else if OUTAGE.is_match(words) {
        ExternalDependency
    } else if POLICY.is_match(words) {
        PolicyRestriction
    } else {
        MissingTool
    }
}

fn details(words: &str) -> String {
    capitalised(cut_chars(&to_user(words), DETAILS_CHARS_MAX))
}
