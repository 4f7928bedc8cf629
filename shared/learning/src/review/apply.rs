//! Carrying a verdict out: a revised row takes the place of the reviewed one, a rejected one becomes a tombstone.

use domain::entities::{Status, UserPlaybook};
use domain::ids::{OrgId, UserHash};
use domain::time::EpochSeconds;
use store::{PlaybookRows, ReplaceError, UserPlaybookRow};

use super::judge::Verdict;
use super::run::Reviewed;
use super::screen::screen;
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
    let verdict = match &reviewed.verdict {
        Ok(verdict @ (Verdict::Reject { .. } | Verdict::Revise { .. })) => verdict,
        Ok(Verdict::Accept { .. }) | Err(_) => return Ok(Applied::Nothing),
    };
    let mut old = reviewed.row.clone();
    let mut rows = PlaybookRows::default();
    let mut successor = None;
    if let Some(row) = screen(old.playbook.clone(), verdict) {
        let id = services.store.take_user_playbook_ids(org, 1).await?;
        let row = successor_row(row, id, services.clock.now());
        let text = [row.embedding_text().to_owned()];
        let vector = services.orgs.stored_vectors(org, &text).await?.pop().flatten();
        rows.insert.push(UserPlaybookRow::new(row, vector));
        old.playbook.superseded_by = Some(id);
        successor = Some(id);
    } else if let Verdict::Reject { code, reason } = verdict {
        let note = format!("First-pass reviewer: rejected ({}) — {reason}", code.as_str());
        old.playbook.notes = merge_lines([old.playbook.notes.as_deref(), Some(&note)]);
    }
    old.playbook.status = Some(Status::Superseded);
    let user = UserHash::of_optional(old.playbook.user_id.as_ref());
    rows.replace.push(old);
    match services.store.replace_user_playbooks(org, &user, &rows).await {
        Ok(()) => {}
        Err(ReplaceError::Changed | ReplaceError::Barred) => return Ok(Applied::Changed),
        Err(ReplaceError::Store(error)) => return Err(error.into()),
    }
    // As after every direct write: who lists the playbooks of all users is told, else finds out by itself.
    services.store.bump_org_playbooks(org).await?;
    Ok(successor.map_or(Applied::Retired, |successor| Applied::Replaced { successor }))
}

fn successor_row(revised: UserPlaybook, id: i64, now: EpochSeconds) -> UserPlaybook {
    UserPlaybook {
        user_playbook_id: id,
        created_at: now,
        expanded_terms: None,
        merged_into: None,
        superseded_by: None,
        ..revised
    }
}
