//! Turning first person into text without a subject.

use crate::pattern::patterns;

patterns! {
    PRONOUN = r"\b(?:i'm|i am|i've|i have|i'd|i'll|i|we're|we|my|mine|me|myself|our|ours|ourselves|us)\b";
    TAIL = r"(?:,? (?:please|thanks(?: so much| a lot)?|thank you(?: so much| very much)?|though|by the way|btw|too|as well|if possible|lol|haha|you know|of course|obviously|actually|anyway|i think|i guess|for (?:your|the) (?:information|record)|right|correct|ok|okay))+$";
    VAGUE = r"^(?:to )?(?:it|this|that|these|those|them|you|your\b.*|so|what|how (?:you|it|that|this)|where|who|why|whether|if|the [\w-]+ ones?|the (?:first|second|third|fourth|last|other|latter|former|one|idea|option|sound|above|below|following|same|way (?:you|this|that|it)|other one|cheapest|earliest)|something|anything|everything|nothing|some|more|much|help|here|there|know|say|ask|see|think|understand|a (?:bit|lot|little|few)|not|sure|both|either|neither|none|all)\b";
}

/// What a verb is in the third person: `work` → `works`.
pub(crate) fn third_verb(verb: &str) -> String {
    let verb = verb.to_lowercase();
    let consonant_y = verb.ends_with('y') && !verb.ends_with(['a', 'e', 'o', 'u']) && {
        let before = verb.chars().rev().nth(1);
        !matches!(before, Some('a' | 'e' | 'i' | 'o' | 'u'))
    };
    match verb.as_str() {
        "have" => "has".to_owned(),
        "do" => "does".to_owned(),
        "go" => "goes".to_owned(),
        "be" => "is".to_owned(),
        _ if consonant_y => format!("{}ies", &verb[..verb.len() - 1]),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| verb.ends_with(end)) => format!("{verb}es"),
        _ => format!("{verb}s"),
    }
}

/// First person pronouns become third person ones: `my` → `their`.
pub(crate) fn third_person(text: &str) -> String {
    let replaced = PRONOUN.replace_all(text, |found: &regex::Captures<'_>| {
        match found[0].to_lowercase().as_str() {
            "i'm" | "i am" | "we're" => "they are",
            "i've" | "i have" => "they have",
            "i'd" => "they would",
            "i'll" => "they will",
            "i" | "we" => "they",
            "my" | "our" => "their",
            "mine" | "ours" => "theirs",
            // "US" is a country.
            "us" if found[0] != *"us" => return found[0].to_owned(),
            "me" | "us" => "them",
            _ => "themselves",
        }
        .to_owned()
    });
    replaced.into_owned()
}

/// The text without polite words and marks at its end.
pub(crate) fn trimmed(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let bare = text.trim_end_matches(['.', ',', '!', '?', ';', ':', '-', '—', '–', ' ']);
        let bare = TAIL.find(bare).map_or(bare, |tail| &bare[..tail.start()]);
        if bare == text {
            return text;
        }
        text = bare;
    }
}

/// Whether an object points at something outside the sentence, so that the fact would not stand alone.
pub(crate) fn is_vague(object: &str) -> bool {
    object.trim().is_empty() || VAGUE.is_match(object.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_agree_with_a_third_person() {
        for (verb, expected) in [
            ("work", "works"),
            ("teach", "teaches"),
            ("study", "studies"),
            ("play", "plays"),
            ("have", "has"),
        ] {
            assert_eq!(third_verb(verb), expected);
        }
    }

    #[test]
    fn pronouns_and_tails_are_rewritten() {
        assert_eq!(third_person("my sister when I'm home"), "their sister when they are home");
        assert_eq!(trimmed("tea, if possible!"), "tea");
        assert_eq!(trimmed("tea, please, thank you."), "tea");
        assert!(is_vague("it") && is_vague("the second one") && !is_vague("italian food"));
    }
}
