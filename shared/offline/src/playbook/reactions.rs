//! How a user reacts to what the agent just did: sets it right, or turns it down.

use super::Rule;
use super::agent::AGENT_VERB;
use super::en::is_instruction;
use super::phrase::{about_user, sentence};
use crate::pattern::patterns;
use crate::profile::en::{is_vague, trimmed, without_lead};
use crate::turn::EvidenceKind::{Correction, RejectedApproach};

patterns! {
    SAID = r"^(?:but |as )?i (?:meant|said) (?-i:\p{Lu})";
    OUGHT = r"^(?:the|it|this|that|there|your|my) ?[^,]{0,40}? ?should(?:n't| not)? (?:be|have|include|use|say|contain|come|go|show|start|end) [^,]+$";
    WRONG = r"^(?:no|nope|wrong|incorrect|not quite|stop|actually|hmm|sorry|wait|that's (?:wrong|not right|incorrect|not it|not correct|not what i (?:asked|wanted|meant|said|requested)(?: for)?)|that is (?:wrong|not right|not correct|incorrect)|this is (?:wrong|not right|not correct|incorrect|not what i (?:asked|wanted|meant)(?: for)?))\b[,.!;:— -]+(?:again[,. ]+)?(?P<x>.+)$";
    SHOULD = format!(r"^you (?:should(?:n't| not)? (?:always |first )?|need to |have to |must |were supposed to |are supposed to |forgot to |failed to |neglected to |missed to )(?P<x>{AGENT_VERB}\b .+)$");
    SHOULD_NOT = r"^you (?:shouldn't|should not|must not|weren't supposed to|were not supposed to)\b";
    SHOULD_HAVE = r"^you should(?P<n>n't| not)?(?:'ve| have) (?P<v>[a-z]+)(?P<x>.*)$";
    DID_NOT = format!(r"^(?:you (?:didn't|did not|don't|still haven't|haven't)|why (?:didn't|don't) you) (?P<x>{AGENT_VERB}\b .+)$");
    ASKED = r"^(?:but |as )?i (?:asked|wanted|meant|requested|specifically asked|clearly asked|said|told you)(?: you)?(?: for| to)? (?P<x>[^,]+?),? (?:and )?not (?P<y>[^,.]+)$";
    ASKED_TO = format!(r"^(?:but )?i (?:asked|told|wanted) you (?P<n>not )?to (?P<x>{AGENT_VERB}\b .+)$");
    INSTEAD = format!(r"^(?:please )?(?P<x>{AGENT_VERB}\b .+? (?:instead(?: of .+)?|rather than .+))$");
    ANOTHER = r"^ to (?:an?|another|any|a human|someone)\b.*$";
    UNSUITED = r"^(?:neither|none|not (?:one|any)) of (?:those|these|them|the)(?: \w+){0,3}? (?:works?|fits?|suits?|helps?|is|are|will work|would work)\b(?: [^,]{0,25}?)?(?:,| as| because| since) (?P<x>.+)$";
    UNSUITABLE = r"^(?:that|this|it|those|these)(?: \w+)? (?:doesn't|does not|don't|do not|won't|will not|wouldn't) (?:work|fit|suit|help)(?: for me| me)?(?:,| as| because| since| -) (?P<x>.+)$";
    NOT_BE = r"^i(?: really|'d| would| definitely| absolutely)* (?:don't|do not|prefer not|rather not|never)(?: really)?(?: want| wish| like)?(?: to)? be (?P<v>transferred|called|contacted|e-?mailed|texted|messaged|asked|charged|upsold|interrupted|redirected|disturbed|lectured|bothered|tracked|put on hold|billed|reminded|notified)\b(?P<x>[^,.]*)";
}

/// The rule that a user's sentence after an answer of the agent implies.
pub(super) fn rule(words: &str, after_agent: bool) -> Option<Rule> {
    let text = trimmed(without_lead(words));
    if let Some(found) = NOT_BE.captures(text) {
        let verb = base(&found["v"]);
        let rest = about_user(&ANOTHER.replace(&found["x"], ""));
        let content = match verb.split_once(' ') {
            Some((verb, particle)) => format!("do not {verb} the user {particle}{rest}"),
            None => format!("do not {verb} the user{rest} unless they ask for it"),
        };
        let trigger = format!("When about to {} the user", verb.split(' ').next().unwrap_or_default());
        return Some(Rule::new(Some(trigger), sentence(&content), RejectedApproach));
    }
    if !after_agent {
        return None;
    }
    turned_down(text).or_else(|| set_right(text)).or_else(|| after_no(words))
}

fn turned_down(text: &str) -> Option<Rule> {
    let found = UNSUITED.captures(text).or_else(|| UNSUITABLE.captures(text))?;
    let why = trimmed(&found["x"]);
    if is_vague(why) || !why.to_lowercase().starts_with(['i', 'm', 't', 'w', 'a']) {
        return None;
    }
    let content =
        format!("Before making an offer, check it against what the user said: {}.", about_user(why));
    Some(Rule::new(None, content, RejectedApproach))
}

fn set_right(text: &str) -> Option<Rule> {
    let correct = |content: &str| Some(Rule::new(None, sentence(&about_user(content)), Correction));
    if let Some(found) = SHOULD_HAVE.captures(text) {
        let not = if found.name("n").is_some() { "do not " } else { "" };
        let x = found["x"].trim();
        return if x.is_empty() || is_vague(x) {
            None
        } else {
            correct(&format!("{not}{} {x}", base(&found["v"])))
        };
    }
    if let Some(found) = SHOULD.captures(text) {
        let not = if SHOULD_NOT.is_match(text) { "do not " } else { "" };
        return correct(&format!("{not}{}", &found["x"]));
    }
    if let Some(found) = ASKED_TO.captures(text) {
        let not = if found.name("n").is_some() { "do not " } else { "" };
        return correct(&format!("{not}{}", &found["x"]));
    }
    if let Some(found) = ASKED.captures(text) {
        let (x, y) = (trimmed(&found["x"]), trimmed(&found["y"]));
        let lead = if is_instruction(x) { "" } else { "give " };
        // "I meant Lyon, not Paris" corrects a fact, not the agent.
        return if is_vague(x) || SAID.is_match(text) {
            None
        } else {
            correct(&format!("{lead}{x}, not {y}"))
        };
    }
    let found = DID_NOT.captures(text).or_else(|| INSTEAD.captures(text))?;
    correct(&found["x"])
}

/// "No, use euros": an order right after a no. A new request after a no thanks is none.
fn after_no(words: &str) -> Option<Rule> {
    let found = WRONG.captures(words.trim())?;
    let x = trimmed(without_lead(&found["x"]));
    let x = x.strip_prefix("please ").unwrap_or(x);
    const ORDERS: [&str; 26] = [
        "use ",
        "give ",
        "show ",
        "make ",
        "write ",
        "put ",
        "add ",
        "remove ",
        "keep ",
        "round ",
        "format ",
        "convert ",
        "include ",
        "sort ",
        "don't ",
        "do not ",
        "always ",
        "never ",
        "explain ",
        "list ",
        "answer ",
        "reply ",
        "quote ",
        "leave out ",
        "start with ",
        "stick to ",
    ];
    let lower = x.to_lowercase();
    let order = ORDERS.iter().any(|order| lower.starts_with(order));
    let rest = lower.split_once(' ').map_or("", |(_, rest)| rest);
    (order && !is_vague(rest) && !words.trim_end().ends_with('?'))
        .then(|| Rule::new(None, sentence(&about_user(x)), Correction))
        .or_else(|| OUGHT.is_match(x).then(|| Rule::new(None, sentence(&about_user(x)), Correction)))
        .or_else(|| set_right(x))
}

/// The base form of a participle.
pub(super) fn base(participle: &str) -> String {
    const IRREGULAR: [(&str, &str); 26] = [
        ("transferred", "transfer"),
        ("upsold", "upsell"),
        ("put on hold", "put on hold"),
        ("given", "give"),
        ("told", "tell"),
        ("written", "write"),
        ("sent", "send"),
        ("made", "make"),
        ("shown", "show"),
        ("found", "find"),
        ("taken", "take"),
        ("chosen", "choose"),
        ("said", "say"),
        ("kept", "keep"),
        ("done", "do"),
        ("gone", "go"),
        ("been", "be"),
        ("begun", "begin"),
        ("run", "run"),
        ("put", "put"),
        ("set", "set"),
        ("read", "read"),
        ("left", "leave"),
        ("told", "tell"),
        ("bought", "buy"),
        ("paid", "pay"),
    ];
    let participle = participle.to_lowercase();
    if let Some((_, verb)) = IRREGULAR.iter().find(|(form, _)| *form == participle) {
        return (*verb).to_owned();
    }
    if let Some(stem) = participle.strip_suffix("ied") {
        return format!("{stem}y");
    }
    let Some(stem) = participle.strip_suffix("ed") else { return participle };
    let letters: Vec<char> = stem.chars().rev().collect();
    let vowel = |place: usize| letters.get(place).is_some_and(|c| "aeiou".contains(*c));
    match letters.as_slice() {
        [a, b, ..] if a == b && !"lsz".contains(*a) => stem[..stem.len() - 1].to_owned(),
        ['v' | 'c' | 'g' | 'u' | 'z', ..] => format!("{stem}e"),
        ['s' | 't' | 'd' | 'k' | 'r' | 'm' | 'n' | 'p', ..]
            if vowel(1)
                && !vowel(2)
                && !["it", "er", "en", "on", "ow"].iter().any(|end| stem.ends_with(end)) =>
        {
            format!("{stem}e")
        }
        _ => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participles_have_base_forms() {
        for (participle, expected) in [
            ("checked", "check"),
            ("used", "use"),
            ("asked", "ask"),
            ("verified", "verify"),
            ("planned", "plan"),
            ("included", "include"),
            ("called", "call"),
            ("visited", "visit"),
            ("offered", "offer"),
        ] {
            assert_eq!(base(participle), expected);
        }
    }
}
