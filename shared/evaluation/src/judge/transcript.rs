//! A session as the judge reads it.
//!
//! ```text
//! === Session: chat-7 (date: 2025-06-15) ===
//! User: ```Book me a table```
//! Assistant: ```[used tool: book({"seats":2}), status: error] Sorry, that failed```
//! User: ```click the retry button```
//! ```
//!
//! Everybody who spoke is shown, the system too: what it said explains what the agent did. What a shadow agent or an
//! expert said, retrieved learnings and citations are not.

use domain::entities::{Interaction, ToolUsed, UserActionType};
use domain::time::utc_date;
use learning::formatting::text::{
    CONTENT_TOKENS_MAX, FENCE, TOOL_DATA_TOKENS_MAX, TRUNCATION_MARK, cut, estimated_tokens, fence_safe,
    first_chars, plain_label,
};
use learning::formatting::transcript::{NAME_CHARS_MAX, TOOL_CALL_OPENING, TOOLS_PER_TURN_MAX};
use serde_json::Value;
use store::RequestDocument;

/// Longest transcript, in estimated tokens.
pub const TRANSCRIPT_TOKENS_MAX: usize = 64_000;
/// Longest session id that is shown, in characters.
pub const SESSION_CHARS_MAX: usize = 200;
/// What callers write in a tool call's status when nothing went wrong.
const FINE: [&str; 5] = ["", "success", "succeeded", "ok", "completed"];

/// A session as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTranscript {
    /// The text; empty when there was nothing to show.
    pub text: String,
    /// Whether its middle was left out.
    pub is_windowed: bool,
}

/// The session id as it is shown.
#[must_use]
pub fn session_label(session_id: &str) -> String {
    let visible = |c: char| if c.is_control() || c == '`' { ' ' } else { c };
    first_chars(&session_id.chars().map(visible).collect::<String>(), SESSION_CHARS_MAX).trim().to_owned()
}

/// Renders the requests of one session, in the order in which they come. A turn that says and does nothing gets no
/// line. Too long a session keeps whole turns of its beginning and of its end, half the room each.
#[must_use]
pub fn session_transcript(documents: &[RequestDocument]) -> SessionTranscript {
    let Some(first) = documents.first() else { return SessionTranscript::of(Vec::new()) };
    let interactions = || documents.iter().flat_map(|document| &document.interactions);
    let date = interactions().map(|one| one.created_at).filter(|at| *at > 0).min().and_then(utc_date);
    let date = date.map(|date| format!(" (date: {date})")).unwrap_or_default();
    let header = format!("=== Session: {}{date} ===", session_label(first.request.session_id.as_str()));
    let lines = interactions().flat_map(turn_lines);
    SessionTranscript::of(std::iter::once(header).chain(lines).collect())
}

impl SessionTranscript {
    fn of(lines: Vec<String>) -> Self {
        if lines.len() <= 1 {
            return Self { text: String::new(), is_windowed: false };
        }
        let (text, is_windowed) = within(&lines, TRANSCRIPT_TOKENS_MAX);
        Self { text, is_windowed }
    }
}

/// The lines if they fit, else as many of the first and of the last as fit into half the tokens each, around
/// [`TRUNCATION_MARK`]. Also whether lines were left out.
#[must_use]
pub fn within(lines: &[String], tokens_max: usize) -> (String, bool) {
    // A line's end counts as a token of its own: conservative, and the parts can be added.
    let tokens: Vec<usize> = lines.iter().map(|line| estimated_tokens(line) + 1).collect();
    if tokens.iter().sum::<usize>() <= tokens_max {
        return (lines.join("\n"), false);
    }
    let half = tokens_max / 2;
    let head = how_many_fit(tokens.iter(), half);
    let tail = how_many_fit(tokens[head..].iter().rev(), half);
    let kept = [lines[..head].join("\n"), TRUNCATION_MARK.to_owned(), lines[lines.len() - tail..].join("\n")];
    (kept.join("\n"), true)
}

fn how_many_fit<'a>(tokens: impl Iterator<Item = &'a usize>, tokens_max: usize) -> usize {
    let mut left = tokens_max;
    let fits = |tokens: &&usize| {
        let rest = left.checked_sub(**tokens);
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    tokens.take_while(fits).count()
}

/// What an interaction says, and what the user did.
fn turn_lines(interaction: &Interaction) -> Vec<String> {
    let role = role_name(interaction);
    let content = spoken(interaction);
    let action = action_text(interaction);
    let texts = [content, action].into_iter().flatten();
    texts.map(|text| format!("{role}: {FENCE}{}{FENCE}", fence_safe(&text))).collect()
}

/// The role as a word; who does not say is the user.
#[must_use]
pub(crate) fn role_name(interaction: &Interaction) -> String {
    let role = plain_label(&interaction.role, NAME_CHARS_MAX);
    if role.is_empty() { "User".to_owned() } else { role }
}

/// Tool calls and content; `None` when there is neither.
#[must_use]
pub(crate) fn spoken(interaction: &Interaction) -> Option<String> {
    let tools = &interaction.tools_used;
    let mut parts: Vec<String> = tools.iter().take(TOOLS_PER_TURN_MAX).map(tool_part).collect();
    if tools.len() > TOOLS_PER_TURN_MAX {
        parts.push(format!("[and {} more tool calls]", tools.len() - TOOLS_PER_TURN_MAX));
    }
    parts.extend(Some(shown_content(interaction)).filter(|content| !content.is_empty()));
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The content, cut. Nobody can claim a tool call by writing one.
#[must_use]
pub(crate) fn shown_content(interaction: &Interaction) -> String {
    let content = interaction.content.trim().replace(TOOL_CALL_OPENING, "(used tool: ");
    cut(&content, CONTENT_TOKENS_MAX)
}

fn tool_part(tool: &ToolUsed) -> String {
    let name = plain_label(&tool.tool_name, NAME_CHARS_MAX);
    let data = cut(&Value::Object(tool.tool_data.clone()).to_string(), TOOL_DATA_TOKENS_MAX);
    let status = plain_label(&tool.status, NAME_CHARS_MAX);
    let is_fine = FINE.contains(&status.to_ascii_lowercase().as_str());
    let status = if is_fine { String::new() } else { format!(", status: {status}") };
    format!("{TOOL_CALL_OPENING}{name}({data}){status}]")
}

/// What the user did, in words.
#[must_use]
pub(crate) fn action_text(interaction: &Interaction) -> Option<String> {
    let action = match interaction.user_action {
        UserActionType::Click => "click",
        UserActionType::Scroll => "scroll",
        UserActionType::Type => "type",
        UserActionType::None => return None,
    };
    let description = cut(interaction.user_action_description.trim(), CONTENT_TOKENS_MAX);
    Some(format!("{action} {description}").trim_end().to_owned())
}
