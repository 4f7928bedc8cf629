//! Writing a pass: new rows, the cited ones as their tombstones, the log, and the cursor, in one transaction.

use domain::entities::{Status, UserProfile};
use store::{
    CommitError, Cursor, CursorName, Head, LearningCommit, Lease, PlaybookRows, ProfileChange, ProfileRow,
    ProfileRows, StoreError, UserKeys, UserPlaybookRow, WindowReceipt,
};

use super::inputs::{Inputs, behind};
use crate::reflection::{Counters, Outcome};
use crate::services::Services;
use crate::worker::effects;
use crate::worker::failure::{FailureCode, WindowFailure};

/// Why a receipt of this kind is there.
const RECEIPT_REASON: &str = "reflection";

/// What became of an answer.
pub(super) enum Commit {
    /// It was written, the cursor with it.
    Done,
    /// There is nothing to write but the cursor.
    Advance(Counters),
}

/// Writes an outcome that revises something.
#[expect(clippy::too_many_arguments, reason = "what a commit depends on, each of another kind")]
pub(super) async fn commit(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
    head: &Head,
    cursor: &Cursor,
    inputs: &Inputs,
    outcome: Outcome,
    model: String,
) -> Result<Commit, WindowFailure> {
    log_magnitudes(inputs, &outcome);
    let revised = outcome.counters.revised;
    let new_interactions = head.count - cursor.completed;
    let profiles = profile_rows(services, keys, head, inputs, &outcome).await?;
    let playbooks = playbook_rows(services, keys, inputs, &outcome).await?;
    let mut commit = LearningCommit {
        name: CursorName::Reflection,
        lease: lease.clone(),
        cursor: behind(head, cursor),
        receipt: WindowReceipt {
            start: cursor.completed,
            end: head.count,
            new_interactions,
            gate: true,
            added: u32::try_from(revised).unwrap_or(u32::MAX),
            retired: u32::try_from(revised).unwrap_or(u32::MAX),
            reason: RECEIPT_REASON.to_owned(),
            model,
            at: services.clock.now(),
        },
        profiles,
        playbooks,
        effects: Vec::new(),
    };
    let config = services.orgs.config(keys.org).await?;
    effects::add(services, keys, &config, false, &mut commit);
    match services.store.commit_window(keys, &commit).await {
        Ok(()) => {}
        Err(CommitError::Superseded) => return Err(WindowFailure::Superseded),
        Err(CommitError::Stale) => return Err(WindowFailure::Stale),
        Err(CommitError::TooLarge) => {
            return Err(WindowFailure::window(FailureCode::TooLarge, "too many rows in one pass"));
        }
        Err(CommitError::Store(error @ StoreError::Refused { .. })) => {
            return Err(WindowFailure::window(FailureCode::TooLarge, error.to_string()));
        }
        Err(CommitError::Store(error)) => return Err(error.into()),
    }
    effects::carry_out(services, &commit).await;
    Ok(Commit::Done)
}

async fn profile_rows(
    services: &Services,
    keys: &UserKeys<'_>,
    head: &Head,
    inputs: &Inputs,
    outcome: &Outcome,
) -> Result<ProfileRows, WindowFailure> {
    let mut rows = ProfileRows::default();
    let Some(last) = inputs.turns.last().filter(|_| !outcome.profiles.is_empty()) else { return Ok(rows) };
    let texts: Vec<_> = outcome.profiles.iter().map(|revised| revised.row.embedding_text()).collect();
    let vectors = services.orgs.stored_vectors(keys.org, &texts).await?;
    let mut removed: Vec<UserProfile> = Vec::new();
    for (revised, vector) in outcome.profiles.iter().zip(vectors) {
        let mut old = inputs.profiles[revised.place].clone();
        removed.push(old.profile.clone());
        old.profile.status = Some(Status::Superseded);
        old.profile.superseded_by = Some(revised.row.profile_id.as_str().to_owned());
        rows.replace.push(old);
        rows.insert.push(ProfileRow::new(revised.row.clone(), vector));
    }
    rows.change = Some(ProfileChange {
        user_id: head.user_id.clone(),
        request_id: last.request_id.as_str().to_owned(),
        created_at: services.clock.now(),
        added_profiles: outcome.profiles.iter().map(|revised| revised.row.clone()).collect(),
        removed_profiles: removed,
    });
    Ok(rows)
}

async fn playbook_rows(
    services: &Services,
    keys: &UserKeys<'_>,
    inputs: &Inputs,
    outcome: &Outcome,
) -> Result<PlaybookRows, WindowFailure> {
    let mut rows = PlaybookRows::default();
    if outcome.playbooks.is_empty() {
        return Ok(rows);
    }
    let first = services.store.take_user_playbook_ids(keys.org, outcome.playbooks.len()).await?;
    let texts: Vec<_> =
        outcome.playbooks.iter().map(|revised| revised.row.embedding_text().to_owned()).collect();
    let vectors = services.orgs.stored_vectors(keys.org, &texts).await?;
    for (id, (revised, vector)) in (first..).zip(outcome.playbooks.iter().zip(vectors)) {
        let mut old = inputs.playbooks[revised.place].clone();
        old.playbook.status = Some(Status::Superseded);
        old.playbook.superseded_by = Some(id);
        rows.replace.push(old);
        let mut row = revised.row.clone();
        row.user_playbook_id = id;
        rows.insert.push(UserPlaybookRow::new(row, vector));
    }
    Ok(rows)
}

/// How much each revision changes, in characters.
fn log_magnitudes(inputs: &Inputs, outcome: &Outcome) {
    let log = |target_kind: &str, old: &str, new: &str| {
        let length = |text: &str| i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let (old_len, new_len) = (length(old), length(new));
        tracing::info!(
            event = "reflection_edit_magnitude",
            target_kind,
            old_len,
            new_len,
            delta = new_len - old_len,
        );
    };
    for revised in &outcome.profiles {
        log("profile", &inputs.profiles[revised.place].profile.content, &revised.row.content);
    }
    for revised in &outcome.playbooks {
        log("playbook", &inputs.playbooks[revised.place].playbook.content, &revised.row.content);
    }
}
