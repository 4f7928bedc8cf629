//! The window as a text: sessions in order, one labelled and fenced line for each turn.
//!
//! ```text
//! === Session: chat-7 (date: 2025-06-15) ===
//! [t1] (earlier) User: ```Book me a table```
//! [t2] Assistant: ```[used tool: book({"seats":2}), status: error] Sorry, that failed```
//! [t3] (2025-06-16) User: ```No, for four```
//! ```
//!
//! Behind the label stands in brackets what sets the turn apart: `earlier` when it was learned from before, and its
//! date when that differs from the session's. Turns of the system, retrieved learnings, citations, and what a shadow
//! agent or an expert said are not part of it.

use std::collections::BTreeMap;

use domain::entities::{Interaction, ToolUsed, UserActionType};
use domain::ids::SessionId;
use domain::time::{EpochSeconds, utc_date};
use serde_json::Value;

use super::evidence::{EvidenceMap, EvidenceTurn};
use super::text::{CONTENT_TOKENS_MAX, FENCE, TOOL_DATA_TOKENS_MAX, cut, fence_safe, plain_label};

/// Longest session id in a prompt, in characters.
pub const SESSION_LABEL_CHARS_MAX: usize = 100;
/// Longest role or tool name in a prompt, in characters.
pub const NAME_CHARS_MAX: usize = 64;
/// Tool calls of one turn that are shown.
pub const TOOLS_PER_TURN_MAX: usize = 20;
/// What a tool call begins with.
pub const TOOL_CALL_OPENING: &str = "[used tool: ";
/// What stands for an image.
pub const IMAGE_MARK: &str = "[image]";

/// One interaction of a window and where it belongs.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The interaction.
    pub interaction: &'a Interaction,
    /// Its session.
    pub session_id: &'a SessionId,
    /// When its request was received.
    pub request_created_at: EpochSeconds,
    /// Whether the window is to learn from it, as opposed to context.
    pub is_new: bool,
}

/// A window as text, and what its labels stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// The text; empty when there was nothing to show.
    pub text: String,
    /// Every labelled turn.
    pub evidence: EvidenceMap,
}

/// Renders a window. Sessions stand in the order of their earliest request, turns in the order of their requests and
/// ids; a turn that says and does nothing gets no line and no label.
#[must_use]
pub fn transcript(turns: &[Turn<'_>]) -> Transcript {
    let mut sessions: BTreeMap<&SessionId, Vec<&Turn<'_>>> = BTreeMap::new();
    for turn in turns.iter().filter(|turn| !turn.interaction.is_by_system()) {
        sessions.entry(turn.session_id).or_default().push(turn);
    }
    let mut sessions: Vec<_> = sessions.into_iter().collect();
    for (_, turns) in &mut sessions {
        turns.sort_by_key(|turn| (turn.request_created_at, turn.interaction.interaction_id));
    }
    sessions.sort_by_key(|(_, turns)| {
        turns.first().map(|t| (t.request_created_at, t.interaction.interaction_id))
    });
    let mut evidence = EvidenceMap::default();
    let groups: Vec<String> =
        sessions.iter().filter_map(|(session, turns)| group(session, turns, &mut evidence)).collect();
    Transcript { text: groups.join("\n\n"), evidence }
}

fn group(session: &SessionId, turns: &[&Turn<'_>], evidence: &mut EvidenceMap) -> Option<String> {
    let earliest = turns.iter().map(|turn| turn.interaction.created_at).filter(|at| *at > 0).min();
    let date = earliest.and_then(utc_date);
    let shown_date = date.as_ref().map(|date| format!(" (date: {date})")).unwrap_or_default();
    let label = plain_label(session.as_str(), SESSION_LABEL_CHARS_MAX);
    let mut lines = vec![format!("=== Session: {label}{shown_date} ===")];
    for turn in turns {
        let texts = turn_texts(turn.interaction);
        if texts.is_empty() {
            continue;
        }
        let label = format!("t{}", evidence.turns().len() + 1);
        let head = format!("[{label}]{} {}", remark(turn, date.as_deref()), speaker(turn.interaction));
        lines.extend(texts.iter().map(|text| format!("{head}: {FENCE}{text}{FENCE}")));
        evidence.push(EvidenceTurn::of(label, turn.interaction, turn.is_new));
    }
    (lines.len() > 1).then(|| lines.join("\n"))
}

/// The role as a word; who does not say is the user.
fn speaker(interaction: &Interaction) -> String {
    let role = plain_label(&interaction.role, NAME_CHARS_MAX);
    if role.is_empty() { "User".into() } else { role }
}

fn remark(turn: &Turn<'_>, session_date: Option<&str>) -> String {
    let at = turn.interaction.created_at;
    let own_date = if at > 0 { utc_date(at) } else { None };
    let own_date = own_date.filter(|date| Some(date.as_str()) != session_date);
    let earlier = (!turn.is_new).then(|| "earlier".to_owned());
    let remarks: Vec<String> = earlier.into_iter().chain(own_date).collect();
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) }
}

/// What a turn says and what the user did, each cut and made safe for a fence.
fn turn_texts(interaction: &Interaction) -> Vec<String> {
    let has_image = !interaction.interacted_image_url.is_empty()
        || !interaction.image_encoding.is_empty()
        || interaction.image_object.is_some();
    // Nobody can claim a tool call by writing one.
    let content = interaction.content.trim().replace(TOOL_CALL_OPENING, "(used tool: ");
    let content = cut(&content, CONTENT_TOKENS_MAX);
    let mut parts: Vec<String> = tool_parts(&interaction.tools_used);
    parts.extend(has_image.then(|| IMAGE_MARK.to_owned()));
    parts.extend((!content.is_empty()).then_some(content));
    let mut texts = Vec::new();
    if !parts.is_empty() {
        texts.push(fence_safe(&parts.join(" ")));
    }
    if let Some(action) = action_name(interaction.user_action) {
        let description = cut(interaction.user_action_description.trim(), CONTENT_TOKENS_MAX);
        texts.push(fence_safe(format!("{action} {description}").trim_end()));
    }
    texts
}

fn action_name(action: UserActionType) -> Option<&'static str> {
    match action {
        UserActionType::Click => Some("click"),
        UserActionType::Scroll => Some("scroll"),
        UserActionType::Type => Some("type"),
        UserActionType::None => None,
    }
}

fn tool_parts(tools: &[ToolUsed]) -> Vec<String> {
    let mut parts: Vec<String> = tools.iter().take(TOOLS_PER_TURN_MAX).map(tool_part).collect();
    if tools.len() > TOOLS_PER_TURN_MAX {
        parts.push(format!("[and {} more tool calls]", tools.len() - TOOLS_PER_TURN_MAX));
    }
    parts
}

fn tool_part(tool: &ToolUsed) -> String {
    let name = plain_label(&tool.tool_name, NAME_CHARS_MAX);
    let data = cut(&Value::Object(tool.tool_data.clone()).to_string(), TOOL_DATA_TOKENS_MAX);
    let status = plain_label(&tool.status, NAME_CHARS_MAX);
    let status = if status.is_empty() { String::new() } else { format!(", status: {status}") };
    format!("{TOOL_CALL_OPENING}{name}({data}){status}]")
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
