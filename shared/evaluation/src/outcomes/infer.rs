//! A verdict stands for the outcome of a session for as long as nobody reports one.

use domain::entities::{EvaluationResult, OutcomeIdentity, SessionOutcome, SessionOutcomeKind};
use domain::ids::OrgId;
use domain::outcomes::contract_digest;
use domain::views::OutcomeFailureReason;
use learning::services::{OrgServicesError, Services};
use store::{OutcomeCommit, OutcomeCommitError, SessionEntry, SessionParts, StoreError};

use super::OUTCOME_ATTEMPTS;
use super::read::{ReadError, trajectory_digest};

/// What became of a verdict as an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InferredOutcome {
    /// The organisation does not want outcomes to be inferred.
    Off,
    /// It is written.
    Recorded,
    /// It was there already, word for word.
    Unchanged,
    /// It was not written; the reason, and in words.
    Refused(OutcomeFailureReason, &'static str),
}

/// Why nothing can be said; the same may be tried again.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    /// The settings of the organisation are not at hand.
    #[error(transparent)]
    Settings(#[from] OrgServicesError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const CONFLICT: InferredOutcome =
    InferredOutcome::Refused(OutcomeFailureReason::ConflictingFinalization, "Outcome was not recorded");
const PREFIX_CHANGED: InferredOutcome = InferredOutcome::Refused(
    OutcomeFailureReason::ConflictingFinalization,
    "Judged trajectory prefix changed; outcome was not recorded",
);
const CHANGED_REPEATEDLY: InferredOutcome = InferredOutcome::Refused(
    OutcomeFailureReason::StorageError,
    "Session changed repeatedly while recording outcome",
);
const BARRED: InferredOutcome = InferredOutcome::Refused(OutcomeFailureReason::SubjectNotWritable, "");

/// Writes a verdict as the outcome of its session, where the organisation wants that and nobody reported one. The
/// requests up to the last that was judged must be those that were judged. May be repeated.
///
/// # Errors
/// [`InferError`].
pub async fn infer_outcome(
    services: &Services,
    org: &OrgId,
    result: &EvaluationResult,
) -> Result<InferredOutcome, InferError> {
    if !services.orgs.config(org).await?.flags.infer_session_outcomes {
        return Ok(InferredOutcome::Off);
    }
    for _ in 0..OUTCOME_ATTEMPTS {
        match attempt(services, org, result).await {
            Ok(outcome) => return Ok(outcome),
            Err(AttemptError::Changed) => {}
            Err(AttemptError::Refused(reason)) => return Ok(reason),
            Err(AttemptError::Store(error)) => return Err(error.into()),
        }
    }
    Ok(CHANGED_REPEATEDLY)
}

enum AttemptError {
    Changed,
    Refused(InferredOutcome),
    Store(StoreError),
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn too_many_users() -> AttemptError {
    let message = "Too many users take part in the session";
    AttemptError::Refused(InferredOutcome::Refused(OutcomeFailureReason::StorageError, message))
}

fn no_encoding() -> AttemptError {
    let message = "Session holds what has no canonical encoding";
    AttemptError::Refused(InferredOutcome::Refused(OutcomeFailureReason::StorageError, message))
}

impl From<ReadError> for AttemptError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Changed => Self::Changed,
            ReadError::TooManyUsers => too_many_users(),
            ReadError::Trajectory(_) => no_encoding(),
            ReadError::Store(error) => Self::Store(error),
        }
    }
}

impl From<OutcomeCommitError> for AttemptError {
    fn from(error: OutcomeCommitError) -> Self {
        match error {
            OutcomeCommitError::Changed => Self::Changed,
            OutcomeCommitError::Barred => Self::Refused(BARRED),
            OutcomeCommitError::TooManyUsers => too_many_users(),
            OutcomeCommitError::Store(error) => Self::Store(error),
        }
    }
}

async fn attempt(
    services: &Services,
    org: &OrgId,
    result: &EvaluationResult,
) -> Result<InferredOutcome, AttemptError> {
    let session = &result.session_id;
    let parts = services.store.session_parts(org, session).await.map_err(ReadError::from)?;
    if parts.is_barred() {
        return Ok(BARRED);
    }
    let stored = parts.outcome.as_ref().map(|stored| &stored.row);
    if stored.is_some_and(|row| is_stronger(row, result)) {
        return Ok(CONFLICT);
    }
    let index = services.store.session_index(org, session, &parts).await?;
    let Some(judged) =
        judged_prefix(&index.entries, index.through(&result.trajectory_through_request_id), result)
    else {
        return Ok(PREFIX_CHANGED);
    };
    let digest = trajectory_digest(services, session, judged).await?;
    let Some(row) = inferred_row(services, result, &parts, judged, digest)? else { return Ok(CONFLICT) };
    if stored.is_some_and(|stored| is_same(stored, &row)) {
        return Ok(InferredOutcome::Unchanged);
    }
    let commit_id = services.ids.uuid();
    services
        .store
        .record_outcome(org, &OutcomeCommit { outcome: &row, parts: &parts, commit_id: &commit_id })
        .await?;
    Ok(InferredOutcome::Recorded)
}

/// Whether what is stored must not be replaced: somebody reported it, or it follows from a later verdict.
fn is_stronger(stored: &SessionOutcome, result: &EvaluationResult) -> bool {
    !stored.is_inferred || stored.verdict_settled_at.is_some_and(|settled| settled > result.judged_at)
}

/// The requests that were judged, if they are what was judged: as many interactions, all of one user.
fn judged_prefix<'a>(
    entries: &'a [SessionEntry],
    through: Option<usize>,
    result: &EvaluationResult,
) -> Option<&'a [SessionEntry]> {
    let judged = &entries[..through?];
    let interactions: i64 = judged.iter().map(|entry| entry.interactions).sum();
    let is_one_users = judged.iter().all(|entry| entry.request.user_id == result.user_id);
    (interactions == result.trajectory_interaction_count && is_one_users).then_some(judged)
}

/// The row of a verdict; `None` when the stored one is another user's.
fn inferred_row(
    services: &Services,
    result: &EvaluationResult,
    parts: &SessionParts,
    judged: &[SessionEntry],
    digest: String,
) -> Result<Option<SessionOutcome>, AttemptError> {
    let (Some(first), Some(last)) = (judged.first(), judged.last()) else { return Ok(None) };
    let stored = parts.outcome.as_ref().map(|stored| &stored.row);
    if stored.is_some_and(|row| row.user_id != first.request.user_id) {
        return Ok(None);
    }
    let contract = contract_digest(&first.request.source).map_err(|_| no_encoding())?;
    // A refresh keeps the identity.
    let identity = stored.and_then(|row| row.identity.as_ref());
    let identity = OutcomeIdentity {
        outcome_id: identity.map_or_else(
            || services.ids.uuid().replace('-', "").to_ascii_lowercase(),
            |old| old.outcome_id.clone(),
        ),
        outcome_revision: identity.map_or(1, |old| old.outcome_revision),
        outcome_contract_digest: contract,
        finalized_trajectory_digest: digest,
    };
    Ok(Some(SessionOutcome {
        identity: Some(identity),
        user_id: first.request.user_id.clone(),
        session_id: result.session_id.clone(),
        outcome: if result.is_success { SessionOutcomeKind::Success } else { SessionOutcomeKind::Failure },
        occurred_at: last.request.created_at,
        source: first.request.source.clone(),
        label: None,
        value: None,
        metadata: None,
        created_at: services.clock.now(),
        is_inferred: true,
        trajectory_through_request_id: Some(result.trajectory_through_request_id.clone()),
        verdict_settled_at: Some(result.judged_at),
        superseded_outcome: None,
    }))
}

/// Whether a row says what is stored; when it was written does not count.
fn is_same(stored: &SessionOutcome, row: &SessionOutcome) -> bool {
    let undated = |row: &SessionOutcome| SessionOutcome { created_at: 0, ..row.clone() };
    undated(stored) == undated(row)
}
