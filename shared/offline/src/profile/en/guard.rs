//! What looks like a statement and is none: questions, suppositions, hearsay, irony, play.

use crate::pattern::patterns;

patterns! {
    UNREAL = r"\b(?:if i (?:were|was|had|could|ever|lived|worked)|suppose|imagine|pretend|hypothetical(?:ly)?|let's say|say i|assum(?:e|ing)|wish|would have|could have|as if|role-?play|act as|act like|you are an?|in (?:my|the|this) (?:story|novel|game|book|script|dream|scenario)|my character|for the sake of argument|used to|i(?:'ll| will) (?:think|let you know|check|try|see|wait))\b";
    IRONY = r"(?:\b(?:yeah,? right|oh,? (?:great|joy|sure|yeah)|because i (?:just|really|totally|obviously) (?:love|enjoy|adore)|i (?:just|absolutely|totally|so|really) (?:love|adore|enjoy) (?:it when|when|how|waiting|being|paying|getting|having to|repeating|spending)|as everyone knows|totally kidding|just kidding|jk|kidding|said no one)\b|/s\s*$|\bnot!\s*$|🙄|🙃|😏)";
    HEARSAY = r"^(?:[a-z]+ ){1,4}(?:says?|said|thinks?|thought|claims?|claimed|told me|believes?|wrote|writes?|asks?|asked)(?: that)? ";
    UNSURE = r"\b(?:might|maybe|perhaps|possibly|not (?:entirely |really |quite )?(?:sure|certain)|i wonder|no idea|i don't know|i doubt|supposedly)\b";
}

/// Whether nothing in the sentence may be taken at its word.
pub(super) fn is_no_statement(sentence: &str) -> bool {
    UNREAL.is_match(sentence) || IRONY.is_match(sentence) || is_hearsay(sentence)
}

/// Whether the user is not sure of a clause.
pub(super) fn is_unsure(clause: &str) -> bool {
    UNSURE.is_match(clause)
}

fn is_hearsay(sentence: &str) -> bool {
    HEARSAY.is_match(sentence) && !sentence.to_lowercase().starts_with("i ")
}
