//! Verdicts on sessions, which the prompt shows turn by turn.
//!
//! ```text
//! === Session: chat-7 (date: 2025-06-15) ===
//! User: ```Book me a table```
//! Assistant: ```[used tool: book({"seats":2}), status: error] Sorry, that failed```
//! ```

use offline::{SessionFailure, Turn, judge_session};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::refused;
use super::tool_calls::read_tools;
use crate::error::ChatError;

/// What opens and closes the text of a turn; it occurs in no such text.
const FENCE: &str = "```";

/// The verdict on the session that is shown.
pub(super) fn judge(prompt: &Prompt) -> Result<Value, ChatError> {
    let shown = read(prompt.block("conversation")?);
    if shown.is_empty() {
        return Err(refused("the session shows no turn".to_owned()));
    }
    let labels: Vec<String> = (1..=shown.len()).map(|number| format!("t{number}")).collect();
    let turns: Vec<Turn<'_>> =
        shown.iter().zip(&labels).zip(1..).map(|((turn, label), id)| rules_turn(turn, label, id)).collect();
    let verdict = judge_session(&turns);
    let (failure_type, reason) = match verdict.failure {
        None => (None, None),
        Some(SessionFailure::Tool) => (Some("system_error"), Some("The last tool that was called failed.")),
        Some(SessionFailure::Refusal) => (Some("missing_tool"), Some("The agent said that it could not.")),
        Some(SessionFailure::Complaint) => {
            (Some("wrong_answer"), Some("The user's last words say that it was not what was wanted."))
        }
    };
    Ok(json!({
        "is_success": verdict.failure.is_none(),
        "failure_type": failure_type,
        "failure_reason": reason,
        "is_escalated": verdict.is_escalated,
        "number_of_correction_per_session": verdict.corrections,
    }))
}

/// Role and text of each turn. Lines of another kind (the header, and what says that turns are left out) are passed
/// over.
fn read(block: &str) -> Vec<(&str, &str)> {
    let mut turns = Vec::new();
    let mut rest = block;
    while !rest.is_empty() {
        let line = rest.lines().next().unwrap_or_default();
        let turn =
            line.split_once(": ").filter(|(_, after)| after.starts_with(FENCE)).and_then(|(role, _)| {
                let from = role.len() + 2 + FENCE.len();
                let end = rest[from..].find(FENCE)? + from;
                Some((role, &rest[from..end], end + FENCE.len()))
            });
        let read = match turn {
            Some((role, text, read)) => {
                turns.push((role, text));
                read
            }
            None => line.len(),
        };
        rest = rest[read..].trim_start_matches('\n');
    }
    turns
}

fn rules_turn<'a>(&(role, text): &(&'a str, &'a str), label: &'a str, id: i64) -> Turn<'a> {
    // What cannot be read as tool calls is what was said.
    let (tools, said) = read_tools(text).unwrap_or_default();
    let content = if tools.is_empty() { text } else { said };
    let tools = tools.into_iter().map(|tool| tool.view()).collect();
    Turn { id, label, role, content, tools, created_at: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_read_with_all_their_lines_and_other_lines_are_passed_over() {
        let block =
            "=== Session: s (date: 2025-06-15) ===\nUser: ```a: ``b``\nUser: c```\n…\nAssistant: ```d```";
        assert_eq!(read(block), [("User", "a: ``b``\nUser: c"), ("Assistant", "d")]);
        assert_eq!(read("nothing"), []);
    }
}
