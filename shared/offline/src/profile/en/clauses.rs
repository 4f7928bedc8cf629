//! From a sentence to the clauses in which the user states something of their own.

use crate::pattern::patterns;

/// Clauses of a sentence that are read.
const CLAUSES_MAX: usize = 8;

patterns! {
    LEAD = r"^(?:[-*•·]\s+|\(?\d{1,2}[.)]\s+|(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you)\b[^,.!?:]{0,40}[,.!:—-]+\s*|(?:sure|of course|yes|yeah|yep|no|nope|nah|ok|okay|alright|right|great|perfect|cool|awesome|sorry|wait|hmm+|um+|uh|oh|ah|correction|again|honestly|personally|unfortunately|frankly|anyway|lastly|finally|first|second|secondly|third|oops|my mistake|my bad|fyi|ps|p\.s\.|edit|update|note)\b(?: though| then| thing)?\s*[,.!:;—–-]+\s*|(?:well|so|also|and|but|plus|oh|actually|by the way|btw|just so you know|for the record|for (?:your )?(?:reference|context|information)|(?:(?:can|could|will|would) you )?please (?:note|remember|know|keep in mind|save|make a note)(?: that)?|(?:can|could|will|would) you (?:remember|note|keep in mind|save|make a note)(?: that)?|(?:scratch|strike) that|note that|remember(?: that)?|keep in mind(?: that)?|(?:please )?(?:don't|do not) forget(?: that)?|as i (?:said|mentioned|told you)(?: before| earlier)?|as mentioned|to be (?:honest|clear|fair)|in (?:fact|that case|general|my case)|one more thing|first of all|i (?:think|guess|believe|mean|should mention|should add|forgot to (?:say|mention))(?: that)?|it turns out(?: that)?|you should know(?: that)?|did i mention(?: that)?|unfortunately|usually speaking|for now|these days|nowadays|if possible|also note(?: that)?|quick note|now that i think about it|(?:because|since|as) (?:i|my|we)\b)\b[,:;—–-]?\s*)";
    BECAUSE = r"^(?:because|since|as) (?:i|my|we)\b";
    SPLIT = r"(?P<c>;|,? ?[—–]| - |,? (?:and|but|so|because|since|as|though|although|while|plus)|,) (?P<s>(?:i'm|i've|i'd|i'll|i|my|we're|we've|we|the (?:user|account|reservation|booking|order|confirmation) (?:id|number|code))\b)| and (?P<v>(?:live|work|use|prefer|like|love|hate|dislike|speak|drive|own|study|teach|usually|always|never|don't|mostly|have (?:an?|two|three|four|no))\b)|(?P<end>,? (?:because|so that|so|since|but|which|although|though|unless|until you|hence|therefore|in case|even though|as long as)\b|,? (?:can|could|would|will|do|does|is|are|should|what|which|how|where|right|correct) (?:you|i|we|it|there|that|the)\b|, (?:please|keep|make|use|give|send|don't|do not|no|never|always|right|correct|do you|don't you|isn't it|ok)\b| \(| (?:and|but|so) (?:please|can|could|would|will|you|if|that's|it)\b|; )";
    APPOSITION = r"^(?P<name>(?:i'm|i am|my name is|my name's|this is) (?-i:\p{Lu})[^ ,]*(?: (?-i:\p{Lu})[^ ,]*){0,2}), (?P<x>an? .+)$";
    ASKED_TO_NOTE = r"\b(?:can|could|will|would) you (?:please )?(?:remember|note|keep in mind|make a note|save)\b";
    TOGETHER = r"^my (?:wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?|family|sister|brother|roommate) and i\b";
    AS_A = r"^as (?P<x>an? [^,]{3,50}), ?(?P<rest>.*)$";
    WHEN = r"^(?P<when>(?:when|whenever|on|in|for|during|after|before|at|with) [^,]{2,60}), (?P<main>(?:i|my|we)\b.*)$";
}

/// The clauses of a statement; a question keeps only what it states before it asks.
pub(super) fn clauses(sentence: &str) -> Vec<String> {
    let asks = sentence.trim_end().ends_with('?') && !ASKED_TO_NOTE.is_match(sentence);
    let mut rest = TOGETHER.replace(without_lead(sentence.trim()), "we").into_owned();
    let mut found = Vec::new();
    if let Some(parts) = AS_A.captures(&rest) {
        found.push(format!("I'm {}", &parts["x"]));
        rest = without_lead(&parts["rest"]).to_owned();
    }
    if let Some(parts) = APPOSITION.captures(&rest).filter(|_| !asks) {
        found.push(parts["name"].to_owned());
        rest = format!("I'm {}", &parts["x"]);
    }
    if let Some(parts) = WHEN.captures(&rest) {
        let when = super::third_person(&crate::text::lower_first(&parts["when"]));
        rest = format!("{} {when}", super::trimmed(&parts["main"]));
        if asks {
            return found;
        }
    }
    found.extend(split(&rest, asks));
    found.truncate(CLAUSES_MAX);
    found
}

/// The sentence without greetings, list marks and words that only lead on.
pub(crate) fn without_lead(sentence: &str) -> &str {
    let mut rest = sentence;
    while let Some(lead) = LEAD.find(rest) {
        // "Because I …": only the connective goes.
        let end = if BECAUSE.is_match(lead.as_str()) {
            lead.as_str().find(' ').map_or(lead.end(), |blank| blank + 1)
        } else {
            lead.end()
        };
        rest = rest[end..].trim_start();
    }
    rest
}

fn split(sentence: &str, asks: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut start = Some(0);
    // "… and work from home": the subject is carried over.
    let mut lead = "";
    for cut in SPLIT.captures_iter(sentence) {
        let Some(whole) = cut.get(0) else { continue };
        if let Some(from) = start {
            found.push(format!("{lead}{}", sentence[from..whole.start().max(from)].trim()));
        }
        lead = if cut.name("v").is_some() { "I " } else { "" };
        start = cut.name("s").or(cut.name("v")).map(|begin| begin.start());
    }
    // The last clause of a question is what is asked.
    if let Some(from) = start.filter(|_| !asks) {
        found.push(format!("{lead}{}", sentence[from..].trim()));
    }
    found.retain(|clause| !clause.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_fall_into_statements() {
        for (sentence, expected) in [
            ("Hi there, well, I like figs.", vec!["I like figs."]),
            (
                "No, I'm a silver member, so I should get it, right?",
                vec!["I'm a silver member", "I should get it"],
            ),
            ("Do you know if I like figs?", vec![]),
            ("I like figs and my dog likes dates.", vec!["I like figs", "my dog likes dates."]),
            ("As a silver member, I should get it, correct?", vec!["I'm a silver member", "I should get it"]),
            ("Since I work nights, please call late.", vec!["I work nights"]),
            ("When I travel, I prefer trains.", vec!["I prefer trains when they travel"]),
            ("I keep bees because it calms me.", vec!["I keep bees"]),
        ] {
            assert_eq!(clauses(sentence), expected, "{sentence}");
        }
    }
}
