//! Which stored playbooks new ones are compared with, and how both are shown.

use domain::entities::UserPlaybook;

use crate::candidates::{minute, numbered, or_unknown, quoted};

/// Stored playbooks that are searched for each new one, unless configured.
pub const CANDIDATES_PER_PLAYBOOK: usize = 5;
/// Least similarity of a candidate, unless configured.
pub const CANDIDATE_THRESHOLD: f64 = 0.4;

/// What to search for among the user's stored playbooks: when the rule applies, else the rule; `None` when both are
/// blank.
#[must_use]
pub fn candidate_query(new: &UserPlaybook) -> Option<&str> {
    let query = new.embedding_text().trim();
    (!query.is_empty()).then_some(query)
}

/// Whether a comparison can change anything.
#[must_use]
pub fn needs_consolidation(new: &[UserPlaybook], existing: &[UserPlaybook]) -> bool {
    new.len() > 1 || (!new.is_empty() && !existing.is_empty())
}

/// The new rows as the consolidation prompt shows them.
#[must_use]
pub fn format_new(rows: &[UserPlaybook]) -> String {
    numbered("NEW", rows.iter().map(format_row))
}

/// The stored rows as the consolidation prompt shows them.
#[must_use]
pub fn format_existing(rows: &[UserPlaybook]) -> String {
    numbered("EXISTING", rows.iter().map(format_row))
}

/// Rules under review, numbered from `CANDIDATE-0`.
#[must_use]
pub fn format_candidates(rows: &[UserPlaybook]) -> String {
    numbered("CANDIDATE", rows.iter().map(format_row))
}

fn format_row(row: &UserPlaybook) -> String {
    format!(
        "Content: {} | Trigger: {} | Rationale: {} | Name: {} | Source: {} | Last Modified: {}",
        quoted(&row.content),
        quoted(row.trigger.as_deref().unwrap_or_default()),
        quoted(row.rationale.as_deref().unwrap_or_default()),
        or_unknown(Some(&row.playbook_name)),
        or_unknown(row.source.as_deref()),
        minute(row.created_at)
    )
}

/// The agent's tools as the prompts show them, one a line.
#[must_use]
pub fn tools_text<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let lines: Vec<String> =
        tools.into_iter().map(|(name, description)| format!("{name}: {description}")).collect();
    lines.join("\n")
}
