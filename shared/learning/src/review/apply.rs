//! Carrying a verdict out: a revised row takes the place of the reviewed one, a rejected one becomes a tombstone.

use domain::entities::{Status, UserPlaybook};
use domain::ids::{OrgId, UserHash};
use store::{Effect, OutboxEntry, PlaybookRows, ReplaceError, UserPlaybookRow};

use super::judge::{Edit, ReasonCode, Verdict};
use super::run::Reviewed;
use crate::provenance::merge_lines;
use crate::services::{OrgServicesError, Services};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// There was nothing to change.
    Nothing,
    /// The row was rejected, and is a tombstone.
    Retired,
    /// The row was revised.
    Replaced {
        /// The id of the row in its place.
        successor: i64,
    },
    /// The row changed since it was reviewed, and stays as it is.
    Changed,
}

/// Carries the verdict on a row out, in one transaction, if the row is as it was reviewed. Accepted and skipped rows
/// stay. May be repeated: the second time the row has changed.
///
/// # Errors
/// [`OrgServicesError`] when the store or the configuration is not at hand.
pub async fn apply_review(
    services: &Services,
    org: &OrgId,
    reviewed: &Reviewed,
) -> Result<Applied, OrgServicesError> {
    let (code, reason, edit) = match &reviewed.verdict {
        Ok(Verdict::Reject { code, reason }) => (*code, reason, None),
        Ok(Verdict::Revise { code, reason, edit }) => (*code, reason, Some(edit)),
        Ok(Verdict::Accept { .. }) | Err(_) => return Ok(Applied::Nothing),
    };
    let mut old = reviewed.row.clone();
    let mut rows = PlaybookRows::default();
    let mut successor = None;
    if let Some(edit) = edit {
        let id = services.store.take_user_playbook_ids(org, 1).await?;
        let row = revised(&old.playbook, edit, id, &note(code, reason), services.clock.now());
        let text = [row.embedding_text().to_owned()];
        let vector = services.orgs.stored_vectors(org, &text).await?.pop().flatten();
        rows.insert.push(UserPlaybookRow::new(row, vector));
        old.playbook.superseded_by = Some(id);
        successor = Some(id);
    } else {
        old.playbook.notes = merge_lines([old.playbook.notes.as_deref(), Some(&rejection(code, reason))]);
    }
    old.playbook.status = Some(Status::Superseded);
    let user = UserHash::of_optional(old.playbook.user_id.as_ref());
    rows.replace.push(old);
    let effect =
        OutboxEntry { org: org.clone(), id: services.ids.uuid(), effect: Effect::OrgPlaybooksChanged };
    match services.store.replace_user_playbooks(org, &user, &rows, &effect).await {
        Ok(()) => {}
        Err(ReplaceError::Changed | ReplaceError::Barred) => return Ok(Applied::Changed),
        Err(ReplaceError::Store(error)) => return Err(error.into()),
    }
    if let Err(error) = services.store.carry_out(&effect).await {
        tracing::warn!(event = "effect_left_over", %error);
    }
    Ok(successor.map_or(Applied::Retired, |successor| Applied::Replaced { successor }))
}

fn revised(old: &UserPlaybook, edit: &Edit, id: i64, note: &str, now: i64) -> UserPlaybook {
    UserPlaybook {
        user_playbook_id: id,
        created_at: now,
        content: edit.content.clone(),
        trigger: Some(edit.trigger.clone()),
        rationale: Some(edit.rationale.clone()),
        notes: merge_lines([old.notes.as_deref(), Some(note)]),
        expanded_terms: None,
        merged_into: None,
        superseded_by: None,
        ..old.clone()
    }
}

fn note(code: ReasonCode, reason: &str) -> String {
    format!("First-pass reviewer: revised ({}) — {reason}", code.as_str())
}

fn rejection(code: ReasonCode, reason: &str) -> String {
    format!("First-pass reviewer: rejected ({}) — {reason}", code.as_str())
}
