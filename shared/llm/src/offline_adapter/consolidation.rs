//! New rules against stored ones.

use offline::{Decision, PlaybookRow, consolidate_playbooks};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::rows::read_rows;
use crate::error::ChatError;

type Row = [String; 6];

/// What becomes of the new rules.
pub(super) fn consolidate(prompt: &Prompt) -> Result<Value, ChatError> {
    let new = rows(prompt, "new_playbooks", "NEW")?;
    let existing = rows(prompt, "existing_playbooks", "EXISTING")?;
    let decisions = consolidate_playbooks(&views(&new), &views(&existing));
    Ok(json!({ "decisions": decisions.into_iter().map(decision).collect::<Vec<_>>() }))
}

fn rows(prompt: &Prompt, block: &str, prefix: &str) -> Result<Vec<Row>, ChatError> {
    read_rows(prompt, block, prefix, ["Content", "Trigger", "Rationale", "Name", "Source", "Last Modified"])
}

fn views(rows: &[Row]) -> Vec<PlaybookRow<'_>> {
    rows.iter().map(|[content, trigger, rationale, ..]| PlaybookRow { trigger, content, rationale }).collect()
}

fn decision(decision: Decision) -> Value {
    match decision {
        Decision::Unify { new_id, archive_existing_ids, content, trigger, rationale, reason } => json!({
            "kind": "unify",
            "reason": reason,
            "new_id": [new_id],
            "archive_existing_ids": archive_existing_ids,
            "content": content,
            "trigger": trigger,
            "rationale": rationale,
        }),
        Decision::RejectNew { new_id, superseded_by_existing_id, reason } => json!({
            "kind": "reject_new",
            "reason": reason,
            "new_id": new_id,
            "superseded_by_existing_id": superseded_by_existing_id,
        }),
        Decision::Differentiate {
            new_id,
            existing_id,
            refined_new_trigger,
            refined_existing_trigger,
            reason,
        } => json!({
            "kind": "differentiate",
            "reason": reason,
            "new_id": new_id,
            "existing_id": existing_id,
            "refined_new_trigger": refined_new_trigger,
            "refined_existing_trigger": refined_existing_trigger,
        }),
        Decision::Independent { new_id, reason } => json!({
            "kind": "independent",
            "reason": reason,
            "new_id": new_id,
        }),
    }
}
