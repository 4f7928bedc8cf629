//! Standing instructions in English: "always", "never", "from now on", "please don't", "when I …, do …".

use super::Rule;
use super::agent::AGENT_VERB;
use super::phrase::{about_user, sentence, trigger_of};
use super::reactions::base;
use crate::pattern::patterns;
use crate::profile::en::{trimmed, without_lead};
use crate::text::{capitalised, lower_first};
use crate::turn::EvidenceKind::Preference;

const FILL: &str = r"(?:(?:please|just|always|can you|could you|would you|will you|i want you to|i'd like you to|i would like you to|i need you to|i expect you to|you should|you must|you need to|you have to|make sure(?: that)?(?: to| you)?|be sure to|remember to|let's|try to|kindly|also|it'd be great if you could|don't forget to) )*";
const SINCE: &str = r"(?:from now on(?:wards)?|going forward|moving forward|from here on(?: out)?|from today(?: on)?|in (?:the )?future|for future reference|as a (?:general )?rule|by default|the next time|next time|every time|each time|in general|at all times|for all (?:future )?\w+|whenever possible)";
const ANSWERS: &str = r"(?:answers?|responses?|repl(?:y|ies)|explanations?|messages?|emails?|summar(?:y|ies)|outputs?|reports?|comments?|code|code examples|examples|commit messages|emoji|emojis|bullet points|bullets|tables|headings|markdown|jargon|small talk|pleasantries|filler)";

patterns! {
    STANDING = format!(r"^{FILL}{SINCE},? {FILL}(?P<x>.+)$");
    STANDING_LAST = format!(r"^{FILL}(?P<x>.+?),? {SINCE}$");
    ALWAYS = format!(r"^(?:(?:please|just|you should|you must|you need to|can you|could you|would you|will you|i want you to|i'd like you to|i need you to|i expect you to|make sure(?: that)?(?: to| you)?|be sure to|remember to|you can|kindly) )*(?P<k>always|never) (?P<x>{AGENT_VERB}\b .+)$");
    DO_NOT = format!(r"^(?:(?:please|just|kindly|also|again|seriously|could you|can you|would you) )*(?:don't|do not|never|no need to|you don't need to|you do not need to|you shouldn't|you should not|you must not|you mustn't|try not to|i'd rather you didn't|i don't want you to|i do not want you to|i don't need you to|i never want you to) (?:ever |always |just |keep )?(?P<x>{AGENT_VERB}(?:ing)?\b.*)$");
    STOP = r"^(?:(?:please|just|can you|could you|would you|kindly|you need to|you should) )*(?:stop|quit|avoid|refrain from|cut out) (?P<x>[a-z-]+ing\b.*)$";
    ONE_OFF = r"\b(?:yet|for now|right now|just now|today|this time|tonight|at the moment|until i|worry|mind|bother|know|think|care|get me wrong|hesitate|hang up|cancel (?:it|that|this|my|the)|book (?:it|that|this)|charge (?:it|me)|this (?:one|email|message|order|booking|file)|let me know|go (?:ahead|there)|close the ticket|transfer me)\b|^(?:forget|remember|worry|do (?:it|that|this)|be (?:sorry|silly|afraid))\b";
    TAIL = r"^.{3,}?(?:[,;]| -| —| so| and)(?: so| and| but)? (?P<x>(?:please|from now on|next time|don't|do not)\b.+)$";
    WHEN = format!(r"^(?P<w>(?:when(?:ever)?|every time|each time|any ?time|before|after) (?:(?:i|you|we|the user|there|someone|something|a|an|the|my|your|it)\b[^,]+|[a-z]+ing(?: [^,]+)?|(?:each|every) [^,]+)|if (?:i (?:ask|send|say|give|paste|share|write|mention|request)\b[^,]*|you(?:'re| are) (?:not sure|unsure|uncertain|in doubt)[^,]*|you (?:don't|do not|can't|cannot) [^,]+|in doubt|unsure|something (?:fails|is unclear|goes wrong)[^,]*|a (?:test|build|command|tool|call|request|search) (?:fails|breaks|times out)[^,]*)),? (?:then )?{FILL}(?P<n>don't |do not |never )?(?P<x>(?:(?:always|first) )?{AGENT_VERB}\b.+)$");
    WHEN_LAST = format!(r"^{FILL}(?P<n>don't |do not |never )?(?P<x>{AGENT_VERB}\b[^,]+?),? (?P<w>(?:whenever|every time|each time|any ?time) .+)$");
    STYLE = format!(r"^(?:(?:please|just|can you|could you|would you|kindly|also|try to) )*(?P<x>(?:keep|make) (?:your |the |all |all your |any )?{ANSWERS} .+|(?:keep|make) it (?:short|brief|concise|simple|formal|casual|polite)\b.*|(?:answer|reply|respond|write|explain|talk|speak)(?: to me| back)?(?: only)? (?:in|with|without|as|using|briefly|concisely|like|in the form of) .+|be (?:more |less )?(?:concise|brief|direct|polite|formal|informal|casual|specific|precise|honest|blunt|verbose|wordy)\b.*|(?:skip|drop|omit|leave out|no|no more|spare me) (?:the |your |all )?{ANSWERS}\b.*)$");
    STYLE_ONCE = r"\b(?:this|that|these|those) (?:time|email|message|one|file|text|paragraph|letter|function|list)\b|^(?:write|respond|reply|answer) (?:with|in|to) (?:the|a|an) (?:code|file|number|option|yes|letter)\b";
    PREFER = format!(r"^i(?:'d| would)? (?:really |much |strongly )?(?P<v>prefer|like|want|love|need|hate|dislike|don't like|do not like|don't want|can't stand) (?P<x>(?:your |the |my |to (?:get|have|see|receive) )?(?:(?:[\w-]+ ){{0,3}}){ANSWERS}\b.*)$");
    PREFER_YOU = format!(r"^i(?:'d| would)? (?:really |much |strongly )?(?P<v>prefer|appreciate it|like it|love it|rather|hate it|don't like it|do not like it|dislike it|can't stand it) (?:it )?(?:if|when|that|for)? ?you (?:could |would |always |just )*(?P<n>didn't|don't|did not|do not|never|not)? ?(?P<x>{AGENT_VERB}(?:d|ed)?\b.+)$");
    DATED = r"\b(?:the|my|this|that|these|those|it|them) ?(?:reservation|booking|flight|refund|passenger|payment|ticket|order)?s?$";
}

/// The rule of one sentence of the user, if it instructs the agent for good.
pub(super) fn rule(words: &str) -> Option<Rule> {
    let asks = words.trim_end().ends_with('?');
    let text = without_lead(words);
    let text = trimmed(text.split("; ").next().unwrap_or(text));
    if asks && !text.to_lowercase().starts_with(['c', 'w']) {
        return None;
    }
    standing(text)
        .or_else(|| conditional(text))
        .or_else(|| always(text))
        .or_else(|| refusal(text))
        .or_else(|| style(text))
        .or_else(|| tail(text))
}

/// "…, please never suggest that": an order after a statement.
fn tail(text: &str) -> Option<Rule> {
    let found = TAIL.captures(text)?;
    let order = trimmed(&found["x"]);
    standing(order).or_else(|| always(order)).or_else(|| refusal(order)).or_else(|| style(order))
}

fn standing(text: &str) -> Option<Rule> {
    let found = STANDING.captures(text).or_else(|| STANDING_LAST.captures(text))?;
    let x = trimmed(&found["x"]);
    // "In the future I want to visit …" speaks of the user; an instruction begins with a verb of the agent.
    let inner = always(x).or_else(|| refusal(x)).or_else(|| style(x));
    if inner.is_some() {
        return inner;
    }
    is_instruction(x).then(|| plain(x))
}

fn conditional(text: &str) -> Option<Rule> {
    let found = WHEN.captures(text).or_else(|| WHEN_LAST.captures(text))?;
    let x = trimmed(&found["x"]);
    if x.to_lowercase().starts_with("let ") {
        return None;
    }
    let not = if found.name("n").is_some() { "do not " } else { "" };
    let content = sentence(&about_user(&format!("{not}{x}")));
    Some(Rule::new(Some(capitalised(&about_user(&found["w"]))), content, Preference))
}

fn always(text: &str) -> Option<Rule> {
    let found = ALWAYS.captures(text)?;
    let x = trimmed(&found["x"]);
    let content = sentence(&about_user(&format!("{} {x}", found["k"].to_lowercase())));
    Some(Rule::new(Some(trigger_of(x)), content, Preference))
}

fn refusal(text: &str) -> Option<Rule> {
    let x =
        DO_NOT.captures(text).or_else(|| STOP.captures(text)).map(|found| trimmed(&found["x"]).to_owned())?;
    let too_short = !x.contains(' ') && !x.ends_with("ing");
    if too_short || ONE_OFF.is_match(&x) || (DATED.is_match(&x) && x.split(' ').count() <= 3) {
        return None;
    }
    let first = x.split(' ').next().unwrap_or_default();
    let content =
        if first.len() > 4 && first.ends_with("ing") { format!("avoid {x}") } else { format!("do not {x}") };
    Some(Rule::new(Some(trigger_of(&base_form(&x))), sentence(&about_user(&content)), Preference))
}

/// `sending long mails` → `send long mails`, for the trigger only.
fn base_form(text: &str) -> String {
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    match first.strip_suffix("ing").filter(|stem| stem.len() > 1) {
        Some(stem) => {
            let known = |verb: &str| EXACT.is_match(verb);
            let with_e = format!("{stem}e");
            let verb = if known(stem) {
                stem.to_owned()
            } else if known(&with_e) {
                with_e
            } else {
                stem.to_owned()
            };
            format!("{verb} {rest}")
        }
        None => text.to_owned(),
    }
}

fn style(text: &str) -> Option<Rule> {
    if let Some(found) = PREFER.captures(text) {
        let x = trimmed(&found["x"]);
        let bare = x
            .trim_start_matches("to get ")
            .trim_start_matches("to have ")
            .trim_start_matches("to see ")
            .trim_start_matches("to receive ");
        let dislikes = ["hate", "dislike", "don't", "do not", "can't"]
            .iter()
            .any(|verb| found["v"].to_lowercase().starts_with(verb));
        if ["your ", "the ", "my ", "this ", "that "]
            .iter()
            .any(|start| bare.to_lowercase().starts_with(start))
            && !dislikes
        {
            return None;
        }
        let content = if dislikes { format!("avoid {bare}") } else { format!("give {bare}") };
        return Some(Rule::new(
            Some("When answering this user".to_owned()),
            sentence(&about_user(&content)),
            Preference,
        ));
    }
    if let Some(found) = PREFER_YOU.captures(text) {
        return wished(&found);
    }
    let found = STYLE.captures(text)?;
    let x = trimmed(&found["x"]);
    if STYLE_ONCE.is_match(x) {
        return None;
    }
    let lower = x.to_lowercase();
    let content = ["no more ", "no ", "spare me ", "leave out ", "drop ", "omit ", "skip "]
        .iter()
        .find(|start| lower.starts_with(**start))
        .map_or_else(|| x.to_owned(), |start| format!("leave out {}", &x[start.len()..]));
    Some(Rule::new(Some("When answering this user".to_owned()), sentence(&about_user(&content)), Preference))
}

fn wished(found: &regex::Captures<'_>) -> Option<Rule> {
    let dislikes = ["hate", "dislike", "don't", "do not", "can't"]
        .iter()
        .any(|verb| found["v"].to_lowercase().starts_with(verb));
    let not = dislikes != found.name("n").is_some();
    let x = trimmed(&found["x"]);
    if ONE_OFF.is_match(x) {
        return None;
    }
    let x = match x.split_once(' ') {
        Some((verb, rest)) if verb.ends_with('d') && !EXACT.is_match(verb) => {
            format!("{} {rest}", base(verb))
        }
        _ => x.to_owned(),
    };
    let content = if not { format!("do not {x}") } else { x.clone() };
    Some(Rule::new(Some(trigger_of(&x)), sentence(&about_user(&content)), Preference))
}

/// Whether the text begins like an order to an agent.
pub(super) fn is_instruction(text: &str) -> bool {
    BEGINS.is_match(text) && text.contains(' ')
}

/// An order without a marker of its own.
pub(super) fn plain(text: &str) -> Rule {
    Rule::new(Some(trigger_of(&lower_first(text))), sentence(&about_user(text)), Preference)
}

patterns! {
    EXACT = format!("^{AGENT_VERB}$");
    BEGINS = format!(r"^(?:(?:only|first|at least|simply) )?{AGENT_VERB}\b");
}
