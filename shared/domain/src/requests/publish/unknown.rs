//! Members that no schema knows. They are ignored, and named (never shown) in warnings, so that a misspelt
//! field does not vanish in silence.

use serde_json::{Map, Value};

/// Most names in one warning.
pub(in crate::requests) const NAMES_MAX: usize = 5;
/// Most interactions that get a warning of their own.
const ENTRIES_MAX: usize = 20;
/// Longest name in a warning, in characters.
const NAME_CHARS_MAX: usize = 64;

const REQUEST: [&str; 13] = [
    "request_id",
    "user_id",
    "interaction_data_list",
    "source",
    "agent_version",
    "session_id",
    "session_finished",
    "skip_aggregation",
    "force_extraction",
    "evaluation_only",
    "override_learning_stall",
    "retrieval_experiment_id",
    "retrieval_experiment_arm",
];
/// The last two say what the request says already; clients that repeat them need no warning.
const INTERACTION: [&str; 14] = [
    "created_at",
    "role",
    "content",
    "shadow_content",
    "expert_content",
    "user_action",
    "user_action_description",
    "interacted_image_url",
    "image_encoding",
    "tools_used",
    "citations",
    "retrieved_learnings",
    "user_id",
    "session_id",
];
const ATTACHMENTS: [(&str, &[&str]); 3] = [
    ("tools_used", &["tool_name", "tool_data", "status"]),
    ("citations", &["kind", "real_id", "tag", "title"]),
    ("retrieved_learnings", &["kind", "learning_id", "exposure_receipt", "exposure_receipt_digest"]),
];

/// The warnings about a body: interactions first, then the request itself.
pub(super) fn warnings(body: &Value) -> Vec<String> {
    let Value::Object(body) = body else { return Vec::new() };
    let rows = body.get("interaction_data_list").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut out = Vec::new();
    let mut more = 0;
    for (index, row) in rows.iter().enumerate() {
        let names = row.as_object().map(names_in_interaction).unwrap_or_default();
        if names.is_empty() {
            continue;
        }
        if out.len() == ENTRIES_MAX {
            more += 1;
        } else {
            out.push(warning(&format!("interaction_data_list[{index}]"), names));
        }
    }
    if more > 0 {
        out.push(format!("...and {more} more interaction(s) with the same problem"));
    }
    let names: Vec<String> = unknown(body, &REQUEST).cloned().collect();
    if !names.is_empty() {
        out.push(warning("publish request", names));
    }
    out
}

pub(in crate::requests) fn unknown<'m>(
    map: &'m Map<String, Value>,
    known: &[&str],
) -> impl Iterator<Item = &'m String> {
    map.keys().filter(move |name| !known.contains(&name.as_str()))
}

fn names_in_interaction(row: &Map<String, Value>) -> Vec<String> {
    let mut names: Vec<String> = unknown(row, &INTERACTION).cloned().collect();
    for (list, known) in ATTACHMENTS {
        let items = row.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, item) in items.iter().enumerate() {
            let Value::Object(item) = item else { continue };
            names.extend(unknown(item, known).map(|name| format!("{list}[{index}].{name}")));
        }
    }
    names
}

fn warning(place: &str, mut names: Vec<String>) -> String {
    names.sort_unstable();
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| presentable(name)).collect();
    format!("{place}: ignored unrecognised field(s) {}", shown.join(", "))
}

/// A name without what could break a log line or a terminal.
pub(in crate::requests) fn presentable(name: &str) -> String {
    let plain = |c: char| {
        let invisible = c.is_control()
            || (c.is_whitespace() && c != ' ')
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
            || matches!(c, '\u{FEFF}' | '\u{FFFD}' | '\u{E000}'..='\u{F8FF}');
        if invisible { '?' } else { c }
    };
    name.chars().take(NAME_CHARS_MAX).map(plain).collect()
}
