//! How sessions ended: as somebody reported it, or as it was inferred from a verdict.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{RequestId, SessionId, UserId};
use crate::outcomes::Metadata;
use crate::time::EpochSeconds;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionOutcomeKind {
    /// As the user wanted.
    Success,
    /// Otherwise.
    Failure,
    /// Nobody can tell.
    Unknown,
}

/// By what an outcome is known; never in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeIdentity {
    /// 32 lower-case hex digits.
    pub outcome_id: String,
    /// 1, or 2 when it took the place of an inferred outcome.
    pub outcome_revision: i64,
    /// Digest of the rules under which it was taken.
    pub outcome_contract_digest: String,
    /// Digest of the session when it was recorded.
    pub finalized_trajectory_digest: String,
}

/// The outcome of a session, of which there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredOutcome", into = "StoredOutcome")]
pub struct SessionOutcome {
    /// `None` on rows that are older than identities.
    pub identity: Option<OutcomeIdentity>,
    /// Who sent the session's first request.
    pub user_id: UserId,
    /// The session.
    pub session_id: SessionId,
    /// How it ended.
    pub outcome: SessionOutcomeKind,
    /// When, as the caller says.
    pub occurred_at: EpochSeconds,
    /// The source of the session's first request.
    pub source: String,
    /// The caller's word for it.
    pub label: Option<String>,
    /// The caller's number for it; finite.
    pub value: Option<f64>,
    /// More of the caller's.
    pub metadata: Option<Metadata>,
    /// When the row was last written.
    pub created_at: EpochSeconds,
    /// Whether it was inferred from a verdict: a placeholder until somebody reports.
    pub is_inferred: bool,
    /// The last request that an inferred outcome covers; `None` is the whole session.
    pub trajectory_through_request_id: Option<RequestId>,
    /// When the verdict was given from which it was inferred.
    pub verdict_settled_at: Option<EpochSeconds>,
    /// The inferred outcome whose place it took; never shown.
    pub superseded_outcome: Option<Box<SupersededOutcome>>,
}

/// What is kept of an inferred outcome after somebody reported another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SupersededOutcome {
    /// See [`OutcomeIdentity`].
    pub outcome_id: Option<String>,
    /// See [`OutcomeIdentity`].
    pub outcome_revision: Option<i64>,
    /// What was inferred.
    pub outcome: SessionOutcomeKind,
    /// When it had occurred.
    pub occurred_at: EpochSeconds,
    /// The source of the session's first request.
    pub source: String,
    /// Always absent.
    pub label: Option<String>,
    /// Always absent.
    #[serde(serialize_with = "float_as_text", deserialize_with = "float_from_text")]
    pub value: Option<f64>,
    /// Always absent.
    pub metadata: Option<Metadata>,
    /// See [`OutcomeIdentity`].
    pub outcome_contract_digest: Option<String>,
    /// See [`OutcomeIdentity`].
    pub finalized_trajectory_digest: Option<String>,
    /// When it was last written.
    pub created_at: EpochSeconds,
    /// When it was reported otherwise.
    pub displaced_at: EpochSeconds,
}

impl SessionOutcome {
    /// What is kept of this outcome once another one takes its place.
    #[must_use]
    pub fn superseded(&self, displaced_at: EpochSeconds) -> SupersededOutcome {
        let stored = StoredOutcome::from(self.clone());
        SupersededOutcome {
            outcome_id: stored.outcome_id,
            outcome_revision: stored.outcome_revision,
            outcome: stored.outcome,
            occurred_at: stored.occurred_at,
            source: stored.source,
            label: stored.label,
            value: stored.value,
            metadata: stored.metadata,
            outcome_contract_digest: stored.outcome_contract_digest,
            finalized_trajectory_digest: stored.finalized_trajectory_digest,
            created_at: stored.created_at,
            displaced_at,
        }
    }
}

/// An outcome as it is written.
#[derive(Serialize, Deserialize)]
struct StoredOutcome {
    outcome_id: Option<String>,
    outcome_revision: Option<i64>,
    user_id: UserId,
    session_id: SessionId,
    outcome: SessionOutcomeKind,
    occurred_at: EpochSeconds,
    source: String,
    label: Option<String>,
    #[serde(serialize_with = "float_as_text", deserialize_with = "float_from_text")]
    value: Option<f64>,
    metadata: Option<Metadata>,
    outcome_contract_digest: Option<String>,
    finalized_trajectory_digest: Option<String>,
    created_at: EpochSeconds,
    is_inferred: bool,
    trajectory_through_request_id: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict_settled_at: Option<EpochSeconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    superseded_outcome: Option<Box<SupersededOutcome>>,
}

/// Only some of what identifies an outcome is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an outcome has all of its identity or none of it")]
struct PartialIdentity;

impl TryFrom<StoredOutcome> for SessionOutcome {
    type Error = PartialIdentity;

    fn try_from(stored: StoredOutcome) -> Result<Self, PartialIdentity> {
        let parts = (
            stored.outcome_id,
            stored.outcome_revision,
            stored.outcome_contract_digest,
            stored.finalized_trajectory_digest,
        );
        let identity = match parts {
            (Some(outcome_id), Some(outcome_revision), Some(contract), Some(trajectory)) => {
                Some(OutcomeIdentity {
                    outcome_id,
                    outcome_revision,
                    outcome_contract_digest: contract,
                    finalized_trajectory_digest: trajectory,
                })
            }
            (None, None, None, None) => None,
            _ => return Err(PartialIdentity),
        };
        Ok(Self {
            identity,
            user_id: stored.user_id,
            session_id: stored.session_id,
            outcome: stored.outcome,
            occurred_at: stored.occurred_at,
            source: stored.source,
            label: stored.label,
            value: stored.value,
            metadata: stored.metadata,
            created_at: stored.created_at,
            is_inferred: stored.is_inferred,
            trajectory_through_request_id: stored.trajectory_through_request_id,
            verdict_settled_at: stored.verdict_settled_at,
            superseded_outcome: stored.superseded_outcome,
        })
    }
}

impl From<SessionOutcome> for StoredOutcome {
    fn from(row: SessionOutcome) -> Self {
        let (outcome_id, outcome_revision, contract, trajectory) = match row.identity {
            None => (None, None, None, None),
            Some(identity) => (
                Some(identity.outcome_id),
                Some(identity.outcome_revision),
                Some(identity.outcome_contract_digest),
                Some(identity.finalized_trajectory_digest),
            ),
        };
        Self {
            outcome_id,
            outcome_revision,
            user_id: row.user_id,
            session_id: row.session_id,
            outcome: row.outcome,
            occurred_at: row.occurred_at,
            source: row.source,
            label: row.label,
            value: row.value,
            metadata: row.metadata,
            outcome_contract_digest: contract,
            finalized_trajectory_digest: trajectory,
            created_at: row.created_at,
            is_inferred: row.is_inferred,
            trajectory_through_request_id: row.trajectory_through_request_id,
            verdict_settled_at: row.verdict_settled_at,
            superseded_outcome: row.superseded_outcome,
        }
    }
}

/// As text, which reads back exactly; a JSON reader may be one unit in the last place off.
#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn float_as_text<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(crate::outcomes::float_text).serialize(serializer)
}

fn float_from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn row() -> Value {
        json!({
            "outcome_id": "0123456789abcdef0123456789abcdef", "outcome_revision": 1, "user_id": "u1",
            "session_id": "s1", "outcome": "success", "occurred_at": 5, "source": "", "label": null,
            "value": "0.30000000000000004", "metadata": "{\"a\":1.0}", "outcome_contract_digest": "c",
            "finalized_trajectory_digest": "t", "created_at": 6, "is_inferred": false,
            "trajectory_through_request_id": null,
        })
    }

    #[test]
    fn an_outcome_reads_back_as_it_was_written() {
        let read: SessionOutcome = serde_json::from_value(row()).unwrap();
        assert_eq!(read.value, Some(0.1 + 0.2));
        assert_eq!(serde_json::to_value(&read).unwrap(), row());
    }

    #[test]
    fn an_outcome_with_a_part_of_its_identity_is_refused_and_one_with_none_of_it_is_not() {
        let parts =
            ["outcome_id", "outcome_revision", "outcome_contract_digest", "finalized_trajectory_digest"];
        for absent in 0_usize..16 {
            let mut row = row();
            for (index, part) in parts.iter().enumerate() {
                if absent & (1 << index) != 0 {
                    row[*part] = Value::Null;
                }
            }
            let read = serde_json::from_value::<SessionOutcome>(row);
            assert_eq!(read.is_ok(), absent == 0 || absent == 15, "{absent:04b}");
        }
    }
}
