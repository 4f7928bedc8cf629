//! The answers about outcomes of sessions.

use serde::Serialize;
use serde_json::Value;

use crate::entities::{OutcomeIdentity, SessionOutcome, SessionOutcomeKind};
use crate::ids::{RequestId, SessionId, UserId};
use crate::time::EpochSeconds;

/// Why an outcome was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeFailureReason {
    /// The session has another one, or is no longer what it was.
    ConflictingFinalization,
    /// Nothing was published in it.
    UnknownSession,
    /// It began later than that.
    OccurredBeforeSession,
    /// That is still to come.
    OccurredInFuture,
    /// Its user is being erased.
    SubjectNotWritable,
    /// It could not be stored; nothing was.
    StorageError,
}

/// `POST /api/session_outcome`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SessionOutcomeAnswer {
    /// Whether the session has this outcome now.
    pub success: bool,
    /// Whether this call wrote it.
    pub recorded: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<OutcomeFailureReason>,
    /// In words.
    pub message: String,
    /// Who sent the session's first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// The source of that request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// By what the stored outcome is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_id: Option<String>,
    /// See [`Self::outcome_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_revision: Option<i64>,
    /// See [`Self::outcome_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_contract_digest: Option<String>,
    /// See [`Self::outcome_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finalized_trajectory_digest: Option<String>,
}

impl SessionOutcomeAnswer {
    /// It was written.
    #[must_use]
    pub fn recorded(row: &SessionOutcome) -> Self {
        Self { success: true, recorded: true, message: "Outcome recorded".to_owned(), ..Self::stored(row) }
    }

    /// It was there already.
    #[must_use]
    pub fn repeated(row: &SessionOutcome) -> Self {
        Self { success: true, message: "Outcome already exists".to_owned(), ..Self::stored(row) }
    }

    /// There is another one.
    #[must_use]
    pub fn conflict(row: &SessionOutcome) -> Self {
        let reason = Some(OutcomeFailureReason::ConflictingFinalization);
        Self { reason, message: "Outcome was not recorded".to_owned(), ..Self::stored(row) }
    }

    /// It was not taken.
    #[must_use]
    pub fn refused(reason: OutcomeFailureReason, message: &str) -> Self {
        Self { reason: Some(reason), message: message.to_owned(), ..Self::default() }
    }

    /// The same of a session that is known to be somebody's.
    #[must_use]
    pub fn of(self, user_id: &UserId, source: &str) -> Self {
        Self { user_id: Some(user_id.clone()), source: Some(source.to_owned()), ..self }
    }

    fn stored(row: &SessionOutcome) -> Self {
        let identity = Identity::of(row.identity.as_ref());
        Self {
            user_id: Some(row.user_id.clone()),
            source: Some(row.source.clone()),
            outcome_id: identity.outcome_id,
            outcome_revision: identity.outcome_revision,
            outcome_contract_digest: identity.outcome_contract_digest,
            finalized_trajectory_digest: identity.finalized_trajectory_digest,
            ..Self::default()
        }
    }
}

/// The four members of an identity, all or none.
#[derive(Default)]
struct Identity {
    outcome_id: Option<String>,
    outcome_revision: Option<i64>,
    outcome_contract_digest: Option<String>,
    finalized_trajectory_digest: Option<String>,
}

impl Identity {
    fn of(identity: Option<&OutcomeIdentity>) -> Self {
        let Some(identity) = identity.cloned() else { return Self::default() };
        Self {
            outcome_id: Some(identity.outcome_id),
            outcome_revision: Some(identity.outcome_revision),
            outcome_contract_digest: Some(identity.outcome_contract_digest),
            finalized_trajectory_digest: Some(identity.finalized_trajectory_digest),
        }
    }
}

/// An outcome as callers see it: without what it took the place of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionOutcomeView {
    /// Known by this, the revision and the two digests, or by none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_id: Option<String>,
    /// See [`Self::outcome_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_revision: Option<i64>,
    /// Who sent the session's first request.
    pub user_id: UserId,
    /// The session.
    pub session_id: SessionId,
    /// How it ended.
    pub outcome: SessionOutcomeKind,
    /// When.
    pub occurred_at: EpochSeconds,
    /// The source of the session's first request.
    pub source: String,
    /// The caller's word for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The caller's number for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// More of the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// See [`Self::outcome_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_contract_digest: Option<String>,
    /// See [`Self::outcome_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finalized_trajectory_digest: Option<String>,
    /// When it was last written.
    pub created_at: EpochSeconds,
    /// Whether it was inferred.
    pub is_inferred: bool,
    /// The last request that it covers, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory_through_request_id: Option<RequestId>,
}

impl From<SessionOutcome> for SessionOutcomeView {
    fn from(row: SessionOutcome) -> Self {
        let identity = Identity::of(row.identity.as_ref());
        Self {
            outcome_id: identity.outcome_id,
            outcome_revision: identity.outcome_revision,
            user_id: row.user_id,
            session_id: row.session_id,
            outcome: row.outcome,
            occurred_at: row.occurred_at,
            source: row.source,
            label: row.label,
            value: row.value,
            metadata: row.metadata.map(|metadata| metadata.to_json()),
            outcome_contract_digest: identity.outcome_contract_digest,
            finalized_trajectory_digest: identity.finalized_trajectory_digest,
            created_at: row.created_at,
            is_inferred: row.is_inferred,
            trajectory_through_request_id: row.trajectory_through_request_id,
        }
    }
}

/// `POST /api/get_session_outcomes`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionOutcomesAnswer {
    /// Always true.
    pub success: bool,
    /// The last ones first.
    pub session_outcomes: Vec<SessionOutcomeView>,
    /// Always empty.
    pub message: String,
}

impl SessionOutcomesAnswer {
    /// A page of outcomes.
    #[must_use]
    pub fn new(outcomes: Vec<SessionOutcome>) -> Self {
        let session_outcomes = outcomes.into_iter().map(SessionOutcomeView::from).collect();
        Self { success: true, session_outcomes, message: String::new() }
    }
}
