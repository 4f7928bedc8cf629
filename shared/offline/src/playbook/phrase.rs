//! Wording rules: whom a sentence speaks of, and when a rule applies.

use crate::pattern::patterns;
use crate::profile::en::{third_verb, trimmed};
use crate::text::{capitalised, cut_chars, lower_first};

/// Characters of a trigger.
const TRIGGER_CHARS_MAX: usize = 120;

patterns! {
    FIRST_PERSON = r"\b(?:i'm|i am|i've|i have|i'd|i'll|i|we|my|mine|our|me|us|myself)\b";
    SUBJECT_VERB = r"\b(?:i|we) (?P<v>do not|[a-z]+n't|[a-z]+)\b";
    FIXED_VERB = r"^(?:can|could|will|would|should|shall|may|might|must|was|were|did|had|has|is|are|never|always|only|also|just|really|usually|already|still|either|or|and|said|told|got|[a-z]+n't|[a-z]+[^e]ed)$";
    SECOND_PERSON = r"\b(?:you're|you are|your|yours|you)\b";
    VERB = r"^(?:(?:always|never|only|please|first|do not|don't|stop|avoid|not|just|ever|also) )*(?P<v>[a-z-]+)(?P<o>(?: [^ ,.;]+){0,4})";
    ANSWERING = r"^(?:use|write|answer|reply|respond|keep|explain|give|show|say|tell|speak|talk|address|refer|mention|list|format|include|add|be|repeat|apologi[sz]e|summari[sz]e|quote|cite|round|joke|flatter|lecture|number|bold|highlight|abbreviate|present|provide|make|stick|limit|focus|start|end|put|do|go|get|let|assume|guess|invent|ask|interrupt)$";
    OBJECT_END = r" (?:to|for|with|from|on|in|at|by|until|unless|before|after|when|if|without|that|which|and|or|because|so|via|as|into|using|about|instead)\b.*$";
    TOPIC = r"(?:\b(?:i(?:'m| am)? (?:looking|need|want|wanted|would like|hoping|trying|have)|i'd like|i'd love|(?:can|could|would|will) you(?: please)?(?: help me)?|please|help me)(?: to)?|\bhow (?:do|can|would) i|\bis it possible to) (?P<x>[a-z]+ .+)";
    TOPIC_VERB = r"^(?:at least|use|fly|pay|provide|check|go|proceed|confirm|keep|look|let|make sure|transfer|verify|wait|hold|stay|depart|return|help|know|ask|see|say|be|do|have|get|understand|that|this|it|the|a|an|some|if|to|check again|double-check)\b";
    TOPIC_END = r"[,.;?!(]| (?:and|but|so|because|if|please|thanks|as|or|from|for|on|with|that|which|using|in|at|by|instead|then|via|when|since|under|until|around|due to|immediately|urgently) ?";
    NUMBERED = r"\b(?:\w*\d\w*|(?-i:[A-Z0-9]{5,}))\b";
}

/// First person becomes "the user", so that the agent who reads the rule knows who is meant.
pub(super) fn about_user(text: &str) -> String {
    let agreeing = SUBJECT_VERB.replace_all(text, |found: &regex::Captures<'_>| third_person(&found["v"]));
    let replaced = FIRST_PERSON.replace_all(&agreeing, |found: &regex::Captures<'_>| {
        match found[0].to_lowercase().as_str() {
            "i'm" | "i am" => "the user is",
            "i've" | "i have" => "the user has",
            "i'd" => "the user would",
            "i'll" => "the user will",
            "my" | "our" => "the user's",
            "mine" => "the user's",
            "myself" => "themselves",
            // "US" is a country.
            "us" if found[0] != *"us" => return found[0].to_owned(),
            _ => "the user",
        }
        .to_owned()
    });
    replaced.into_owned()
}

fn third_person(verb: &str) -> String {
    let verb = match verb.to_lowercase().as_str() {
        "don't" | "do not" => "does not".to_owned(),
        "am" => "is".to_owned(),
        verb if FIXED_VERB.is_match(verb) => verb.to_owned(),
        verb => third_verb(verb),
    };
    format!("the user {verb}")
}

/// What the agent said to the user, told to another agent: "you" is the user.
pub(super) fn to_user(text: &str) -> String {
    let replaced = SECOND_PERSON.replace_all(text, |found: &regex::Captures<'_>| {
        match found[0].to_lowercase().as_str() {
            "you're" | "you are" => "the user is",
            "your" | "yours" => "the user's",
            _ => "the user",
        }
        .to_owned()
    });
    replaced.into_owned()
}

/// When an instruction applies, as far as its verb and object tell.
pub(super) fn trigger_of(instruction: &str) -> String {
    let bare = about_user(trimmed(instruction));
    let Some(found) = VERB.captures(&bare) else { return "When helping this user".to_owned() };
    let verb = found["v"].to_lowercase();
    if ANSWERING.is_match(&verb) {
        return "When answering this user".to_owned();
    }
    let object = OBJECT_END.replace(&found["o"], "").into_owned();
    let whom = if object.contains("the user") { "" } else { " for this user" };
    cut_chars(&format!("When {}{object}{whom}", gerund(&verb)), TRIGGER_CHARS_MAX).to_owned()
}

/// What the user asked for, as a trigger: the shortest phrase that still names the task.
pub(super) fn trigger_of_request(sentence: &str) -> Option<String> {
    let found = TOPIC.captures(sentence)?;
    let x = trimmed(&found["x"]);
    if TOPIC_VERB.is_match(x) {
        return None;
    }
    let end = TOPIC_END.find_iter(x).find(|end| x[..end.start()].split(' ').count() >= 3);
    let phrase = trimmed(&x[..end.map_or(x.len(), |end| end.start())]);
    let phrase = NUMBERED.replace_all(phrase, "").split_whitespace().collect::<Vec<_>>().join(" ");
    let words = phrase.split(' ').count();
    (2..=9).contains(&words).then(|| format!("When the user asks to {}", lower_first(&about_user(&phrase))))
}

/// `book` → `booking`.
pub(super) fn gerund(verb: &str) -> String {
    const DOUBLED: [&str; 13] = [
        "get", "put", "set", "cut", "run", "stop", "skip", "plan", "commit", "log", "split", "submit",
        "cancel",
    ];
    if DOUBLED.contains(&verb) && verb != "cancel" {
        let last = verb.chars().next_back().map(String::from).unwrap_or_default();
        return format!("{verb}{last}ing");
    }
    match verb.strip_suffix('e').filter(|_| !verb.ends_with("ee") && verb.len() > 2) {
        Some(stem) => format!("{stem}ing"),
        None => format!("{verb}ing"),
    }
}

/// A sentence with its first letter in upper case and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let text = trimmed(text);
    let text = match text.get(..6) {
        Some(start) if start.eq_ignore_ascii_case("don't ") => format!("do not {}", &text[6..]),
        _ => text.to_owned(),
    };
    let text = capitalised(&text);
    if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_name_the_situation() {
        for (instruction, expected) in [
            ("never book red-eye flights", "When booking red-eye flights for this user"),
            ("keep answers short", "When answering this user"),
            ("don't push to main", "When pushing for this user"),
        ] {
            assert_eq!(trigger_of(instruction), expected);
        }
        let request = "Hi, I want to book a table for two on 3 May, please.";
        assert_eq!(trigger_of_request(request).as_deref(), Some("When the user asks to book a table"));
        assert_eq!(trigger_of_request("Can you help me?"), None);
    }

    #[test]
    fn persons_are_named() {
        assert_eq!(about_user("tell me when my parcel ships"), "tell the user when the user's parcel ships");
        assert_eq!(about_user("quote US prices to us"), "quote US prices to the user");
        assert_eq!(about_user("I don't fly when I work"), "the user does not fly when the user works");
        assert_eq!(to_user("change your seat for you"), "change the user's seat for the user");
        assert_eq!(gerund("use"), "using");
        assert_eq!(gerund("commit"), "committing");
    }
}
