//! What a stored outcome, a report and the session say of each other.

use domain::entities::{OutcomeIdentity, SessionOutcome};
use domain::ids::UserId;
use domain::outcomes::{CanonicalFault, contract_digest};
use domain::requests::outcomes::SetSessionOutcome;
use domain::time::EpochSeconds;

/// What the server knows of a session that still has requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionFacts {
    /// Who sent the first request.
    pub(super) user_id: UserId,
    /// Its source.
    pub(super) source: String,
    /// Digest of the whole session.
    pub(super) trajectory_digest: String,
}

/// Whether a report says what is stored, the session aside.
pub(super) fn same_payload(stored: &SessionOutcome, report: &SetSessionOutcome) -> bool {
    stored.outcome == report.outcome
        && stored.occurred_at == report.occurred_at
        && stored.label == report.label
        // Both are finite, so this is the equality of numbers.
        && stored.value == report.value
        && stored.metadata == report.metadata
}

/// Whether the session is the one that was finalised; of one without requests only the rules can be compared.
pub(super) fn same_session(
    stored: &SessionOutcome,
    now: Option<&SessionFacts>,
) -> Result<bool, CanonicalFault> {
    if stored.trajectory_through_request_id.is_some() {
        return Ok(false);
    }
    if now.is_some_and(|now| now.user_id != stored.user_id || now.source != stored.source) {
        return Ok(false);
    }
    // Rows without identity are older than digests.
    let Some(identity) = &stored.identity else { return Ok(true) };
    let source = now.map_or(&stored.source, |now| &now.source);
    Ok(identity.outcome_contract_digest == contract_digest(source)?
        && now.is_none_or(|now| now.trajectory_digest == identity.finalized_trajectory_digest))
}

/// The row of a report; `displaced` is the inferred outcome whose place it takes.
pub(super) fn reported_row(
    report: &SetSessionOutcome,
    session: &SessionFacts,
    displaced: Option<&SessionOutcome>,
    outcome_id: String,
    now: EpochSeconds,
) -> Result<SessionOutcome, CanonicalFault> {
    let revision = |row: &SessionOutcome| row.identity.as_ref().map_or(1, |old| old.outcome_revision) + 1;
    Ok(SessionOutcome {
        identity: Some(OutcomeIdentity {
            outcome_id,
            outcome_revision: displaced.map_or(1, revision),
            outcome_contract_digest: contract_digest(&session.source)?,
            finalized_trajectory_digest: session.trajectory_digest.clone(),
        }),
        user_id: session.user_id.clone(),
        session_id: report.session_id.clone(),
        outcome: report.outcome,
        occurred_at: report.occurred_at,
        source: session.source.clone(),
        label: report.label.clone(),
        value: report.value,
        metadata: report.metadata.clone(),
        created_at: now,
        is_inferred: false,
        trajectory_through_request_id: None,
        verdict_settled_at: None,
        superseded_outcome: displaced.map(|row| Box::new(row.superseded(now))),
    })
}
