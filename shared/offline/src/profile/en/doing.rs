//! "I work …", "I don't eat …", "I always …": habits, tastes and ways of living.

use domain::entities::ProfileTimeToLive::{Infinity, OneMonth};

use super::{is_vague, third_person, third_verb};
use crate::pattern::patterns;
use crate::profile::Fact;
use crate::text::capitalised;

const ADVERB: &str = "always|usually|normally|typically|generally|often|rarely|seldom|never|mostly|mainly|mostly|only|sometimes|occasionally|primarily|currently|now|still|also|really|absolutely|actually|strongly|particularly|especially|both|regularly|almost|just|personally|much|very much|kind of|too|either|definitely|simply|truly|greatly|even";
const TASTE: &str = "like|love|enjoy|prefer|adore|hate|dislike|detest|favor|favour|avoid|appreciate|loathe|can't stand|cannot stand";
const LIVING: &str = r"live|reside|work|teach|study|manage|lead|own|coach|speak|use|drive|ride|play|collect|practi[cs]e|cook|bake|knit|sew|paint|garden|cycle|swim|jog|hike|surf|ski|climb|volunteer|commute|sing|dance|smoke|vape|drink|eat|fly|travel|wear|weigh|pay|code|program|deploy|host|run|rent|raise|breed|identify|sleep|pray|train|freelance|belong|suffer|struggle|tend to|try to avoid|get (?:motion sick(?:ness)?|seasick|carsick|migraines)|subscribe|drink|follow an?|take (?:the (?:bus|train|subway|tram|metro)|[\w]+ (?:daily|every))|keep (?:kosher|bees|chickens|halal)|wake up|get up|go to bed|go to (?:the )?(?:gym|church|mosque|temple|school|university|college)|start work|finish work|stay up|shop at|bank with|major in|specialize in|specialise in|care for|look after|listen to|share a|develop|maintain|farm|brew|grow|observe|celebrate|fast|meditate|worry about|do (?:yoga|pilates|crossfit|karate|judo|ballet|pottery)|write (?:novels|poetry|code|in)|read (?:mostly|a lot|novels|books)";

patterns! {
    TASTES = format!(r"^(?:i|we) (?P<adv>(?:(?:{ADVERB}) )*)(?P<v>{TASTE}) (?P<x>.+)$");
    NOT_TASTE = format!(r"^(?:i|we) (?P<adv>(?:(?:really|also|generally|usually|just|particularly) )*)(?:don't|do not|never) (?P<adv2>(?:(?:really|particularly|much|even) )*)(?P<v>like|love|enjoy|care for|appreciate) (?P<x>.+)$");
    WOULD = r"^(?:i'd|i would|we'd|we would) (?:really |much |strongly |always |definitely )*(?P<v>prefer|rather|hate) (?P<x>.+)$";
    LIVES = format!(r"^(?:i|we) (?P<adv>(?:(?:{ADVERB}) )*)(?P<v>{LIVING})(?P<x> .+)?$");
    NOT_LIVES = format!(r"^(?:i|we) (?P<adv>(?:(?:also|really|generally|usually|still|just|personally) )*)(?P<n>don't|do not|can't|cannot|can not|no longer|never|won't|will not|can only|don't usually|don't normally) (?P<v>{LIVING}|have (?:dairy|gluten|nuts|caffeine|alcohol|sugar|kids|children|pets|a car|a license|a driver's license|a phone|a credit card)|wear|own|work|drive|stay|meet|do (?:meetings|calls|mornings|weekends|mondays|fridays|video calls|phone calls|red-eyes)|take (?:calls|meetings|the|public)|attend|tolerate|digest|handle spicy|stand|bear)(?P<x> .+)?$");
    PASTIME = r"^(?:garden|cycle|swim|jog|hike|surf|ski|climb|sing|dance|smoke|vape|knit|sew|paint|meditate|code|freelance|bake|cook|drink|drive|volunteer)$";
    HABIT = r"^(?:i|we) (?P<a>always|usually|normally|typically|generally|rarely|seldom|never|mostly|often) (?P<v>[a-z]+)(?P<x> .+)$";
    FREQUENT = r"^(?:i|we) (?P<v>[a-z]+)(?P<x> .*\b(?:(?:every|each) (?:single )?(?:day|morning|evening|night|week|weekend|month|year|\w+day)|daily|weekly|(?:once|twice|\w+ times) (?:a|per) (?:day|week|month|year)|on (?:\w+days|weekends|weekdays)))$";
    NO_HABIT = r"^(?:think|know|guess|want|need|forget|remember|see|have|hope|feel|thought|knew|wanted|had|got|get|said|asked|told|was|wondered?|understood?|mean|meant|received?|booked?|ordered|bought|saw|heard|did|made|found|went|came|assumed?|wish|believed?|tried|used|liked|tell|say|ask)$";
    VAGUE_RUN = r"^ ?(?:into|out of|the (?:following|command|code|script|test|above)|this|that|it|with (?:it|this|that|you|your)|on (?:it|this|that|the (?:issue|problem))|around|for (?:it|this)|to (?:it|this|that))\b";
    TASTE_VAGUE = r"^(?:to (?:know|ask|see|say|think|point|add|mention|cancel|change|book|check)|when you|when it|it when|how|that you|the (?:new|old|sound of|idea|look|suggestion|answer|result|part|fact|first|second|changes)|(?:working|talking|chatting) with you|hearing|if you|whatever)\b";
    SPENDING = r"^(?:i|we) (?P<n>can|can't|cannot|don't want to|do not want to|want to|won't|would like to|am willing to|can only) (?P<x>(?:spend|pay|go) (?:up to|more than|at most|no more than|over|above|under|less than|around|about|only) .+|afford .+)$";
    SCHEDULE = r"^(?:i|we) (?P<n>can|can't|cannot|can only) (?P<x>(?:meet|talk|call|do calls|take calls|work|start|fly|travel|attend|do meetings|come|eat|drink|speak|read|play)\b.*\b(?:on|before|after|until|between|in the|at|only|from|during|by|[a-z]+ese|english|german|french|spanish|italian|dairy|gluten|meat|nuts|fish|milk|wheat|shellfish|pork|beef|alcohol|piano|guitar|a little|fluently|chess|weekdays|weekends|mornings|evenings)\b.*)$";
}

/// A fact of the form "I do …".
pub(super) fn fact(clause: &str) -> Option<Fact> {
    tastes(clause).or_else(|| limits(clause)).or_else(|| living(clause)).or_else(|| habit(clause))
}

fn tastes(clause: &str) -> Option<Fact> {
    if let Some(found) = NOT_TASTE.captures(clause) {
        let x = stated(&found["x"])?;
        return Some(Fact::lasting(format!("Does not {} {x}", found["v"].to_lowercase())));
    }
    if let Some(found) = WOULD.captures(clause) {
        let x = stated(&found["x"])?;
        let verb = match found["v"].to_lowercase().as_str() {
            "prefer" => "Prefers",
            "hate" => "Would hate",
            _ => "Would rather",
        };
        return Some(Fact::new(format!("{verb} {x}"), OneMonth));
    }
    let found = TASTES.captures(clause)?;
    let x = stated(&found["x"])?;
    let verb = match found["v"].to_lowercase().as_str() {
        "can't stand" | "cannot stand" => "cannot stand".to_owned(),
        verb => third_verb(verb),
    };
    Some(Fact::lasting(capitalised(&format!("{}{verb} {x}", adverbs(&found["adv"])))))
}

/// The object of a taste, if it stands alone.
fn stated(object: &str) -> Option<String> {
    let negated =
        object.strip_prefix("not to ").or_else(|| object.strip_prefix("not ")).filter(|rest| !is_vague(rest));
    let usable = negated.is_some() || (!is_vague(object) && !TASTE_VAGUE.is_match(object));
    usable.then(|| third_person(object))
}

fn limits(clause: &str) -> Option<Fact> {
    let found = SPENDING.captures(clause).or_else(|| SCHEDULE.captures(clause))?;
    let modal = match found["n"].to_lowercase().as_str() {
        "can" => "Can",
        "can only" => "Can only",
        "can't" | "cannot" => "Cannot",
        "won't" => "Will not",
        "don't want to" | "do not want to" => "Does not want to",
        _ => "Wants to",
    };
    Some(Fact::new(
        format!("{modal} {}", third_person(&found["x"])),
        if modal == "Wants to" { OneMonth } else { Infinity },
    ))
}

fn living(clause: &str) -> Option<Fact> {
    if let Some(found) = NOT_LIVES.captures(clause) {
        let x = found.name("x").map_or("", |x| x.as_str());
        if VAGUE_RUN.is_match(x) || is_vague_object(x) {
            return None;
        }
        let (x, verb) = (third_person(x), found["v"].to_lowercase());
        let content = match found["n"].to_lowercase().as_str() {
            "no longer" => format!("No longer {}{x}", third_phrase(&verb)),
            "never" => format!("Never {}{x}", third_phrase(&verb)),
            "can't" | "cannot" | "can not" => format!("Cannot {verb}{x}"),
            "can only" => format!("Can only {verb}{x}"),
            "won't" | "will not" => format!("Will not {verb}{x}"),
            _ => format!("Does not {verb}{x}"),
        };
        return Some(Fact::lasting(content));
    }
    let found = LIVES.captures(clause)?;
    let x = found.name("x").map_or("", |x| x.as_str());
    if VAGUE_RUN.is_match(x) || is_vague_object(x) {
        return None;
    }
    let content = format!("{}{}{}", adverbs(&found["adv"]), third_phrase(&found["v"]), third_person(x));
    // A bare verb says too little, unless it is a pastime.
    (!x.is_empty() || found["v"].contains(' ') || PASTIME.is_match(&found["v"]))
        .then(|| Fact::lasting(capitalised(&content)))
}

fn habit(clause: &str) -> Option<Fact> {
    if let Some(found) = FREQUENT.captures(clause) {
        let usable =
            !NO_HABIT.is_match(&found["v"]) && !found["v"].ends_with("ed") && !is_vague_object(&found["x"]);
        let content = format!("{}{}", third_verb(&found["v"]), third_person(&found["x"]));
        return usable.then(|| Fact::lasting(capitalised(&content)));
    }
    let found = HABIT.captures(clause)?;
    if NO_HABIT.is_match(&found["v"]) || found["v"].ends_with("ed") || is_vague_object(&found["x"]) {
        return None;
    }
    let content =
        format!("{} {}{}", found["a"].to_lowercase(), third_verb(&found["v"]), third_person(&found["x"]));
    Some(Fact::lasting(capitalised(&content)))
}

/// `look after` → `looks after`: only the first word is inflected.
fn third_phrase(verb: &str) -> String {
    match verb.split_once(' ') {
        Some((first, rest)) => format!("{} {rest}", third_verb(first)),
        None => third_verb(verb),
    }
}

fn is_vague_object(object: &str) -> bool {
    !object.trim().is_empty() && is_vague(object)
}

/// Adverbs that carry meaning, with a blank after each.
fn adverbs(words: &str) -> String {
    const EMPTY: [&str; 14] = [
        "also",
        "now",
        "actually",
        "really",
        "just",
        "currently",
        "absolutely",
        "personally",
        "definitely",
        "both",
        "even",
        "truly",
        "simply",
        "still",
    ];
    let kept = words.split_whitespace().map(str::to_lowercase).filter(|word| !EMPTY.contains(&word.as_str()));
    kept.fold(String::new(), |all, word| all + &word + " ")
}
