//! A caller reports how a session ended.

use domain::entities::SessionOutcome;
use domain::ids::OrgId;
use domain::outcomes::{CanonicalFault, OUTCOME_FUTURE_SECONDS_MAX, TrajectoryFault};
use domain::requests::outcomes::SetSessionOutcome;
use domain::time::EpochSeconds;
use domain::views::{OutcomeFailureReason, SessionOutcomeAnswer};
use learning::services::Services;
use store::{OutcomeCommit, OutcomeCommitError, SessionIndex, SessionParts, StoreError};

use super::OUTCOME_ATTEMPTS;
use super::read::{ReadError, trajectory_digest, warn_if_shared};
use super::rules::{SessionFacts, reported_row, same_payload, same_session};

/// Why an attempt came to no answer.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error("the session changed")]
    Changed,
    #[error("the data of a user of the session are being erased")]
    Barred,
    #[error("too many users take part in the session")]
    TooManyUsers,
    #[error(transparent)]
    Trajectory(#[from] TrajectoryFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CanonicalFault> for AttemptError {
    fn from(fault: CanonicalFault) -> Self {
        Self::Trajectory(fault.into())
    }
}

impl From<ReadError> for AttemptError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Changed => Self::Changed,
            ReadError::TooManyUsers => Self::TooManyUsers,
            ReadError::Trajectory(fault) => Self::Trajectory(fault),
            ReadError::Store(error) => Self::Store(error),
        }
    }
}

impl From<OutcomeCommitError> for AttemptError {
    fn from(error: OutcomeCommitError) -> Self {
        match error {
            OutcomeCommitError::Changed => Self::Changed,
            OutcomeCommitError::Barred => Self::Barred,
            OutcomeCommitError::TooManyUsers => Self::TooManyUsers,
            OutcomeCommitError::Store(error) => Self::Store(error),
        }
    }
}

/// Records an outcome, or says why not. After a `storage_error` the same report may be sent again.
pub async fn report_outcome(
    services: &Services,
    org: &OrgId,
    report: &SetSessionOutcome,
) -> SessionOutcomeAnswer {
    let received_at = services.clock.now();
    if report.occurred_at > received_at.saturating_add(OUTCOME_FUTURE_SECONDS_MAX) {
        let reason = OutcomeFailureReason::OccurredInFuture;
        return SessionOutcomeAnswer::refused(reason, "Outcome occurred too far in the future");
    }
    for _ in 0..OUTCOME_ATTEMPTS {
        match attempt(services, org, report, received_at).await {
            Ok(answer) => return answer,
            Err(AttemptError::Changed) => {}
            Err(error) => return failure(org, report, &error),
        }
    }
    failure(org, report, &AttemptError::Changed)
}

fn failure(org: &OrgId, report: &SetSessionOutcome, error: &AttemptError) -> SessionOutcomeAnswer {
    let (reason, message) = match error {
        AttemptError::Barred => (OutcomeFailureReason::SubjectNotWritable, ""),
        AttemptError::Changed => {
            (OutcomeFailureReason::StorageError, "Session changed repeatedly while recording outcome")
        }
        AttemptError::TooManyUsers => {
            (OutcomeFailureReason::StorageError, "Too many users take part in the session")
        }
        AttemptError::Trajectory(_) => {
            (OutcomeFailureReason::StorageError, "Session holds what has no canonical encoding")
        }
        AttemptError::Store(_) => (OutcomeFailureReason::StorageError, "Storage is currently unavailable"),
    };
    if reason == OutcomeFailureReason::StorageError {
        let session = report.session_id.hash();
        tracing::error!(event = "outcome_not_recorded", org = org.as_str(), session, %error);
    }
    SessionOutcomeAnswer::refused(reason, message)
}

/// One look at the session, and the answer that follows from it.
async fn attempt(
    services: &Services,
    org: &OrgId,
    report: &SetSessionOutcome,
    received_at: EpochSeconds,
) -> Result<SessionOutcomeAnswer, AttemptError> {
    let session = &report.session_id;
    let parts = services.store.session_parts(org, session).await.map_err(ReadError::from)?;
    if parts.is_barred() {
        return Err(AttemptError::Barred);
    }
    let stored = parts.outcome.as_ref().map(|stored| &stored.row);
    let reported = stored.filter(|row| !row.is_inferred);
    if let Some(row) = reported.filter(|row| !same_payload(row, report)) {
        return Ok(SessionOutcomeAnswer::conflict(row));
    }
    let index = services.store.session_index(org, session, &parts).await?;
    if let Some(row) = reported {
        let now = facts(services, report, &index).await?;
        let is_same = same_session(row, now.as_ref())?;
        return Ok(if is_same {
            SessionOutcomeAnswer::repeated(row)
        } else {
            SessionOutcomeAnswer::conflict(row)
        });
    }
    let Some(first) = index.entries.first().map(|entry| &entry.request) else {
        let reason = OutcomeFailureReason::UnknownSession;
        return Ok(SessionOutcomeAnswer::refused(reason, "Session has no published requests"));
    };
    if report.occurred_at < first.created_at {
        let reason = OutcomeFailureReason::OccurredBeforeSession;
        let refused = SessionOutcomeAnswer::refused(reason, "Outcome occurred before the session began");
        return Ok(refused.of(&first.user_id, &first.source));
    }
    if let Some(inferred) = stored.filter(|row| row.user_id != first.user_id) {
        return Ok(SessionOutcomeAnswer::conflict(inferred));
    }
    warn_if_shared(org, session, &index.entries);
    record(services, org, report, received_at, &parts, &index).await
}

/// Writes the report, in the place of an inferred outcome if there is one.
async fn record(
    services: &Services,
    org: &OrgId,
    report: &SetSessionOutcome,
    received_at: EpochSeconds,
    parts: &SessionParts,
    index: &SessionIndex,
) -> Result<SessionOutcomeAnswer, AttemptError> {
    let Some(facts) = facts(services, report, index).await? else { return Err(AttemptError::Changed) };
    let outcome_id = services.ids.uuid().replace('-', "").to_ascii_lowercase();
    let displaced: Option<&SessionOutcome> = parts.outcome.as_ref().map(|stored| &stored.row);
    let row = reported_row(report, &facts, displaced, outcome_id.clone(), received_at)?;
    services
        .store
        .record_outcome(org, &OutcomeCommit { outcome: &row, parts, commit_id: &outcome_id })
        .await?;
    Ok(SessionOutcomeAnswer::recorded(&row))
}

/// What the server knows of the session; `None` when no request is left of it.
async fn facts(
    services: &Services,
    report: &SetSessionOutcome,
    index: &SessionIndex,
) -> Result<Option<SessionFacts>, AttemptError> {
    let Some(first) = index.entries.first().map(|entry| &entry.request) else { return Ok(None) };
    let trajectory_digest = trajectory_digest(services, &report.session_id, &index.entries).await?;
    Ok(Some(SessionFacts { user_id: first.user_id.clone(), source: first.source.clone(), trajectory_digest }))
}
