//! "I want …", "I need …", "I'm going to …": wishes and plans that are worth keeping for a while.

use domain::entities::ProfileTimeToLive::{Infinity, OneMonth, OneWeek};

use super::asking::without_purpose;
use super::{is_vague, third_person, third_verb};
use crate::pattern::patterns;
use crate::profile::Fact;
use crate::text::capitalised;

patterns! {
    NOT_WANT = r"^(?:i|we) (?:really |also |definitely |absolutely )*(?:don't|do not|didn't|won't) (?:really |actually )*(?P<v>want|need|wish|plan) (?P<x>.+)$";
    TO_PAY = r"^(?:i'd like|i would like|i want|i'd prefer|i'd love|we'd like|let's|let me)(?: to)? (?:use|pay (?:with|by|using)) (?P<x>.*\b(?:cards?|certificates?|paypal|apple pay|google pay|voucher|points|miles|cash|bank transfer|invoice)\b.*)$";
    PLAN = r"^(?:i'm|i am|we're|i|we|i'd|we'd|i will|i'll|i would)(?: (?:also|just|still|really|currently|now|definitely|hopefully))* (?P<v>looking to|planning to|planning on|planning|hoping to|going to|about to|trying to|need to|want to|would like to|like to|have to|plan to|plan on|intend to|hope to) (?P<x>.+)$";
    PLAN_VERB = r"^(?:(?:book|find|reserve|plan|take|get|buy|sell|rent|order|fly|travel|go|visit|see|move|relocate|learn|start|open|launch|finish|build|write|run|marry|retire|adopt|hire|switch|lose|quit|study|apply|train|attend|host|organi[sz]e|celebrate|renovate|release|deploy|migrate|submit|publish|complete|leave|arrive|depart|stay|return|save|change|cancel|upgrade|downgrade|remove|add|make (?:changes|a change) to)\b|an? |my |our |the )";
    CONCRETE = r"\b(?:today|tonight|tomorrow|next (?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday|spring|summer|autumn|fall|winter)|this (?:week(?:end)?|month|year|spring|summer|autumn|fall|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}|\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\d{4}-\d\d-\d\d|in (?:\w+ )?(?:days?|weeks?|months?|years?|january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|winter)|by (?:the end|\w+day))\b|(?-i:\b(?:to|in|from|for|at) \p{Lu}[\p{L}]+)|(?-i:\b(?:learn|visit|study|adopt|buy|speak) [\p{L} ]{3,})";
    DAY = r"\b(?:today|tonight|tomorrow|next \w+|this (?:\w+day|weekend|week|month|year)|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}|\d{1,2}(?:st|nd|rd|th) (?:of )?[a-z]+|\d{4}-\d\d-\d\d|in \w+ (?:days?|weeks?|months?)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b";
    AND_BACK = r" and (?P<v>come back|get back|return|leave|fly|arrive|depart|land|go|stay)\b";
    TRANSACTION = r"\b(?:the reservation|this reservation|that reservation|my reservation|with (?:id|number)|the (?:flight|payment|refund|change|booking|order) (?:instead|now)|both issues|my user id|the following|your (?:help|assistance))\b";
    DEPARTURE = r"^(?:i|we) (?P<v>leave|fly|arrive|return|move|travel|depart|land|come back|get back|start|graduate|retire)(?P<x> .+)$";
    NEED = r"^(?:i'd|i|we'd|we) (?:always |also |usually |will |would |really )*(?P<v>need|require|want|like) (?P<x>(?:an? |my |the |some )?(?:[\w-]+ ){0,4}(?:wheelchair\b.*|wheelchair access|assistance at .+|(?:vegan|vegetarian|kosher|halal|gluten-free) .+|(?:quiet|ground-floor|accessible|non-smoking) .+|high chair|crib|child seat|car seat|(?:extra )?legroom|(?:aisle|window) seat|large print|subtitles|captions|hearing loop|invoice\b.*|receipts?\b.*|glasses|hearing aids?|insulin|inhaler|visa for .+|step-free access|parking|late checkout))$";
}

/// A wish, a need or a plan.
pub(super) fn fact(clause: &str) -> Option<Fact> {
    if let Some(found) = NOT_WANT.captures(clause) {
        return unwanted(&found["v"].to_lowercase(), &found["x"]);
    }
    if let Some(found) = TO_PAY.captures(clause) {
        return Some(Fact::new(
            format!("Wants to pay with {}", third_person(&without_purpose(&found["x"]))),
            OneMonth,
        ));
    }
    if let Some(found) = NEED.captures(clause) {
        let wish = ["want", "like"].contains(&found["v"].to_lowercase().as_str());
        let (lead, ttl) = if wish { ("Wants", OneMonth) } else { ("Needs", Infinity) };
        return Some(Fact::new(format!("{lead} {}", third_person(&found["x"])), ttl));
    }
    if let Some(found) = DEPARTURE.captures(clause)
        && DAY.is_match(&found["x"])
    {
        let rest = third_person(&found["x"]);
        let rest =
            AND_BACK.replace(&rest, |back: &regex::Captures<'_>| format!(" and {}", inflected(&back["v"])));
        return Some(Fact::event(capitalised(&format!("{}{rest}", inflected(&found["v"]))), OneWeek));
    }
    let found = PLAN.captures(clause)?;
    let (verb, x) = (found["v"].to_lowercase(), &found["x"]);
    let vague = is_vague(x) || TRANSACTION.is_match(x) || !PLAN_VERB.is_match(x) || !CONCRETE.is_match(x);
    if vague {
        return None;
    }
    let lead = match verb.as_str() {
        "need to" | "have to" => "needs to",
        "planning to" | "plan to" | "intend to" => "plans to",
        "planning on" | "plan on" => "plans on",
        "planning" => "is planning",
        "hoping to" | "hope to" => "hopes to",
        "trying to" => "is trying to",
        "going to" | "about to" if !clause.to_lowercase().starts_with("i want") => "is going to",
        _ => "wants to",
    };
    // "I'm planning a trip": the object follows at once; "I'm going to Oslo" goes with the events.
    let is_noun = x.to_lowercase().starts_with(['a', 'm', 'o', 't']) && !lead.ends_with("to");
    (lead.ends_with(" to") || lead.ends_with(" on") || is_noun)
        .then(|| Fact::event(capitalised(&format!("{lead} {}", third_person(x))), OneWeek))
}

fn inflected(verb: &str) -> String {
    match verb.split_once(' ') {
        Some((first, particle)) => format!("{} {particle}", third_verb(first)),
        None => third_verb(verb),
    }
}

fn unwanted(verb: &str, x: &str) -> Option<Fact> {
    const INSTRUCTION: [&str; 3] = ["you ", "to bother", "to waste"];
    let lower = x.to_lowercase();
    let vague = INSTRUCTION.iter().any(|start| lower.starts_with(start)) || is_vague(x);
    // A plural or "any" still names a thing; a pronoun does not.
    (!vague).then(|| Fact::new(format!("Does not {verb} {}", third_person(x)), OneMonth))
}
