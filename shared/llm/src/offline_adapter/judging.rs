//! Verdicts by rules, from what plainly stands in a session. Where that shows nothing, the answer says so: a session
//! nobody complained about counts as a success, and a learning without visible effect as neutral.
//!
//! A session fails when its last word is a complaint: the user's last turn rejects what came before it, or an agent's
//! last turn owns up to a failure or follows a tool call that went wrong. What was put right before the end is none.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::blocks::Prompt;
use super::refused;
use crate::error::ChatError;

/// What opens and closes the text of a turn in the transcript of a session.
const FENCE: &str = "```";
/// What a tool call begins with.
const TOOL_CALL: &str = "[used tool: ";
/// What a line of the transcript beside learnings begins with.
const LINE_OPENING: &str = "[interaction_id=";
/// Letters of a word that says something.
const WORD_CHARS_MIN: usize = 3;
/// Words of a learning that must occur in a turn to count as its subject.
const SHARED_WORDS_MIN: usize = 1;

/// Beginnings of turns by which users reject, correct or redirect.
const REJECTIONS: [&str; 16] = [
    "no,",
    "no.",
    "no!",
    "nope",
    "wrong",
    "that's wrong",
    "that is wrong",
    "that's not",
    "that is not",
    "not what i",
    "incorrect",
    "i said",
    "i meant",
    "actually,",
    "違う",
    "違います",
];
/// The same anywhere in a turn.
const COMPLAINTS: [&str; 12] = [
    "doesn't work",
    "does not work",
    "didn't work",
    "did not work",
    "still not working",
    "that's not what i",
    "that is not what i",
    "you got it wrong",
    "is wrong",
    "not helpful",
    "useless",
    "役に立た",
];
/// Words by which an agent owns up to having failed.
const FAILURES: [&str; 9] = [
    "i was unable to",
    "i am unable to",
    "i'm unable to",
    "i could not",
    "i couldn't",
    "i can't do that",
    "i cannot do that",
    "unfortunately, i",
    "できませんでした",
];
/// Words by which an agent says that a system failed.
const OUTAGES: [&str; 8] = [
    "internal error",
    "system error",
    "timed out",
    "time-out",
    "timeout",
    "service is unavailable",
    "outage",
    "システムエラー",
];
/// Words by which users demand a human, or agents hand over to one.
const ESCALATIONS: [&str; 10] = [
    "speak to a human",
    "talk to a human",
    "speak to a person",
    "talk to a person",
    "speak to an agent",
    "real person",
    "human agent",
    "your manager",
    "transferring you to",
    "担当者",
];
/// Words that are in every text.
const COMMON: [&str; 40] = [
    "the", "and", "for", "with", "that", "this", "when", "what", "which", "who", "how", "you", "your", "are",
    "was", "were", "has", "have", "had", "not", "but", "from", "they", "them", "their", "user", "likes",
    "like", "asks", "asked", "asking", "always", "never", "should", "can", "will", "would", "about", "use",
    "one",
];

/// One turn.
struct Turn<'a> {
    id: i64,
    role: &'a str,
    text: String,
}

impl Turn<'_> {
    /// Whether the agent spoke, or one of its parts.
    fn is_by_agent(&self) -> bool {
        let role = self.role.trim().to_lowercase();
        ["agent", "assistant", "ai", "bot", "model", "system", "tool", "internal"].contains(&role.as_str())
    }

    fn says_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }

    fn rejects(&self) -> bool {
        !self.is_by_agent()
            && (REJECTIONS.iter().any(|start| self.text.starts_with(start)) || self.says_any(&COMPLAINTS))
    }

    fn has_failed_call(&self) -> bool {
        let is_bad = |status: &str| {
            ["error", "failed", "failure", "timeout"].iter().any(|bad| status.starts_with(bad))
        };
        self.text.contains(TOOL_CALL) && self.text.split("), status: ").skip(1).any(is_bad)
    }
}

/// The verdict on a session.
pub(super) fn judge_session(prompt: &Prompt) -> Result<Value, ChatError> {
    let turns = session_turns(prompt.block("conversation")?);
    if turns.is_empty() {
        return Err(refused("the prompt holds no session".to_owned()));
    }
    // A correction is of something that the agent said or did before.
    let first_answer = turns.iter().position(Turn::is_by_agent).unwrap_or(turns.len());
    let corrections = turns.iter().skip(first_answer).filter(|turn| turn.rejects()).count();
    let last_word = |is_agent: bool| turns.iter().rposition(|turn| turn.is_by_agent() == is_agent);
    let (user, agent) = (last_word(false), last_word(true));
    let rejected =
        user.filter(|at| *at > first_answer && Some(*at) > agent).is_some_and(|at| turns[at].rejects());
    let gave_up = agent.filter(|at| Some(*at) > user).is_some_and(|at| {
        turns[at].says_any(&FAILURES) || turns[at].says_any(&OUTAGES) || turns[at].has_failed_call()
    });
    let system = agent.is_some_and(|at| turns[at].says_any(&OUTAGES) || turns[at].has_failed_call());
    let (failure_type, failure_reason) = match (rejected, gave_up, system) {
        (false, false, _) => (Value::Null, Value::Null),
        (_, true, true) => (
            json!("system_error"),
            json!("The last turn of the agent reports a failure of a tool or system."),
        ),
        (true, _, _) => {
            (json!("wrong_answer"), json!("The last turn of the user rejects the agent's answer."))
        }
        (false, true, false) => {
            (json!("wrong_answer"), json!("The last turn of the agent says that it could not do it."))
        }
    };
    Ok(json!({
        "is_success": !rejected && !gave_up,
        "failure_type": failure_type,
        "failure_reason": failure_reason,
        "is_escalated": turns.iter().any(|turn| turn.says_any(&ESCALATIONS)),
        "number_of_correction_per_session": corrections,
    }))
}

/// Relevant is a learning with a word that says something in common with its interaction or the one before it.
pub(super) fn judge_relevance(prompt: &Prompt) -> Result<Value, ChatError> {
    let turns = lined_turns(prompt.block("conversation")?);
    let verdicts = learnings(prompt)?.into_iter().map(|learning| {
        let shared = shared_words(&learning, &turns);
        let is_relevant = shared.len() >= SHARED_WORDS_MIN;
        let reason = if is_relevant {
            let words: Vec<&str> = shared.iter().take(3).map(String::as_str).collect();
            format!("Interaction and learning share: {}.", words.join(", "))
        } else {
            "Interaction and learning share no telling word.".to_owned()
        };
        json!({ "learning_ref": learning["learning_ref"], "is_relevant": is_relevant, "relevance_reason": reason })
    });
    Ok(json!({ "verdicts": verdicts.collect::<Vec<_>>() }))
}

/// Words alone show no cause: neutral, but for a learning that the very answer repeats and the user then rejects.
pub(super) fn judge_impact(prompt: &Prompt) -> Result<Value, ChatError> {
    let turns = lined_turns(prompt.block("conversation")?);
    let verdicts = learnings(prompt)?.into_iter().map(|learning| {
        let target = learning["target_interaction_id"].as_i64();
        let place = turns.iter().position(|turn| Some(turn.id) == target && turn.is_by_agent());
        let rejection = place.and_then(|place| turns.get(place + 1)).filter(|turn| turn.rejects());
        let repeats = place.is_some_and(|place| {
            let said = words(&turns[place].text);
            learning_words(&learning).iter().any(|word| said.contains(word))
        });
        let (impact, reason, evidence) = match rejection {
            Some(turn) if repeats => {
                ("negative", "The user rejects an answer that repeats the learning.", vec![turn.id])
            }
            _ => ("neutral", "Words alone do not show that the learning made a difference.", Vec::new()),
        };
        let is_playbook = learning["kind"] != "profile";
        let diagnosis = is_playbook.then(|| {
            json!({
                "category": "unknown",
                "reason": "Rules without a model do not tell why.",
                "evidence_interaction_ids": evidence,
            })
        });
        json!({
            "learning_ref": learning["learning_ref"], "impact": impact, "impact_reason": reason,
            "diagnosis": diagnosis,
        })
    });
    Ok(json!({ "verdicts": verdicts.collect::<Vec<_>>() }))
}

/// Words alone do not show which of two answers is better, but for one that says nothing or owns up to a failure.
pub(super) fn compare_answers(prompt: &Prompt) -> Result<Value, ChatError> {
    let is_poor = |name: &str| {
        let text = prompt.block(name)?.trim().to_lowercase();
        Ok::<_, ChatError>(
            text.is_empty() || FAILURES.iter().chain(&OUTAGES).any(|phrase| text.contains(phrase)),
        )
    };
    let (better, reason) = match (is_poor("first_response")?, is_poor("second_response")?) {
        (true, false) => {
            ("2", "The first answer says nothing or reports a failure; the second one does not.")
        }
        (false, true) => {
            ("1", "The second answer says nothing or reports a failure; the first one does not.")
        }
        _ => ("tie", "Words alone do not show which answer is better."),
    };
    Ok(json!({
        "better_request": better, "is_significantly_better": better != "tie", "comparison_reason": reason,
    }))
}

fn learnings(prompt: &Prompt) -> Result<Vec<Value>, ChatError> {
    let read = serde_json::from_str(prompt.block("learnings")?);
    read.map_err(|_| refused("the learnings of the prompt are no JSON".to_owned()))
}

/// Turns of the transcript of a session: `role: ` and a fenced text.
fn session_turns(text: &str) -> Vec<Turn<'_>> {
    let (mut turns, mut rest) = (Vec::new(), text);
    while let Some(open) = rest.find(FENCE) {
        let (head, after) = (&rest[..open], &rest[open + FENCE.len()..]);
        let Some(close) = after.find(FENCE) else { break };
        let role = head.lines().last().unwrap_or_default().trim_end_matches(": ");
        turns.push(Turn { id: 0, role, text: after[..close].to_lowercase() });
        rest = &after[close + FENCE.len()..];
    }
    turns
}

/// Turns of the transcript beside learnings: lines that begin with the id of their interaction.
fn lined_turns(text: &str) -> Vec<Turn<'_>> {
    let lines = text.split(LINE_OPENING).skip(1);
    lines
        .filter_map(|line| {
            let (id, rest) = line.split_once("] ")?;
            let (role, text) = rest.split_once(": ")?;
            Some(Turn { id: id.parse().ok()?, role, text: text.to_lowercase() })
        })
        .collect()
}

fn learning_words(learning: &Value) -> BTreeSet<String> {
    let text = |name: &str| learning[name].as_str().unwrap_or_default().to_owned();
    words(&format!("{} {}", text("content"), text("trigger")).to_lowercase())
}

/// Telling words that a learning shares with its interaction or the one before it.
fn shared_words(learning: &Value, turns: &[Turn<'_>]) -> Vec<String> {
    let target = learning["target_interaction_id"].as_i64();
    let Some(place) = turns.iter().position(|turn| Some(turn.id) == target) else { return Vec::new() };
    let near = &turns[place.saturating_sub(1)..=place];
    let said: BTreeSet<String> = near.iter().flat_map(|turn| words(&turn.text)).collect();
    learning_words(learning).into_iter().filter(|word| said.contains(word)).collect()
}

/// Words of a text that is in lower case, without common ones; of Chinese and Japanese, pairs of characters.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let mut found = BTreeSet::new();
    for part in parts {
        if part.is_ascii() {
            if part.len() >= WORD_CHARS_MIN && !COMMON.contains(&part) {
                found.insert(
                    part.strip_suffix('s')
                        .filter(|stem| stem.len() >= WORD_CHARS_MIN)
                        .unwrap_or(part)
                        .to_owned(),
                );
            }
        } else {
            let chars: Vec<char> = part.chars().collect();
            found.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
    found
}

#[cfg(test)]
#[path = "judging_tests.rs"]
mod tests;
