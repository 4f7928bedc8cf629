//! What a judge found of the learnings that an agent was given in a session.

use serde::{Deserialize, Serialize};

use crate::ids::{SessionId, UserId};
use crate::judging::RetrievedLearningStatus;
use crate::time::EpochSeconds;

/// What kind of row a learning is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrievedLearningKind {
    /// A fact about a user.
    Profile,
    /// A rule learned from one user.
    UserPlaybook,
    /// A rule made of several user playbooks.
    AgentPlaybook,
}

impl RetrievedLearningKind {
    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::UserPlaybook => "user_playbook",
            Self::AgentPlaybook => "agent_playbook",
        }
    }

    /// Reads a kind; `None` for any other word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Profile, Self::UserPlaybook, Self::AgentPlaybook]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// Whether a learning helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningImpact {
    /// It made the agent's work better.
    Positive,
    /// It made it worse.
    Negative,
    /// It made no difference.
    Neutral,
}

/// Where the cause lies when a playbook did not help as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosisCategory {
    /// The playbook itself is wrong, vague or out of date.
    ContentDefect,
    /// It is right, and the agent did not follow it or followed it wrongly.
    ApplicationFailure,
    /// Something outside stood in the way.
    ExternalFailure,
    /// Nothing went wrong.
    NoIssue,
    /// The session does not show it.
    Unknown,
}

/// Why a playbook helped or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybookDiagnosis {
    /// Where the cause lies.
    pub category: DiagnosisCategory,
    /// In words; 1 to 4,000 characters.
    pub reason: String,
    /// The interactions that show it, at most 20.
    pub evidence_interaction_ids: Vec<i64>,
}

/// The verdict on one learning that was attached to one interaction. Also its form on the wire, where absent members
/// are `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrievedLearningResult {
    /// Unique in the organisation.
    pub result_id: i64,
    /// Whose session.
    pub user_id: UserId,
    /// The session.
    pub session_id: SessionId,
    /// The agent version of the session's last request.
    pub agent_version: String,
    /// The interaction to which it was attached.
    pub interaction_id: Option<i64>,
    /// When that interaction happened.
    pub interaction_created_at: Option<EpochSeconds>,
    /// What kind of row it is.
    pub kind: RetrievedLearningKind,
    /// Its id.
    pub learning_id: String,
    /// Whether it had to do with what was going on; `None` when that judge gave no verdict.
    pub is_relevant: Option<bool>,
    /// Why.
    pub relevance_reason: String,
    /// Whether it helped; `None` when that judge gave no verdict.
    pub impact: Option<LearningImpact>,
    /// Why.
    pub impact_reason: String,
    /// For playbooks.
    pub diagnosis: Option<PlaybookDiagnosis>,
    /// Hex SHA-256 of what the playbook said when it was judged.
    pub evaluated_playbook_digest: Option<String>,
    /// Whether the judge that gave the diagnosis saw the whole session and the whole playbook.
    pub diagnosis_evidence_complete: bool,
    /// When the session began: the earliest time of its requests.
    pub created_at: EpochSeconds,
}

/// How far the judgement of a session's learnings is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrievedLearningState {
    /// Whose session.
    pub user_id: UserId,
    /// The session.
    pub session_id: SessionId,
    /// Raised by every attempt; a result is committed under the latest only.
    pub generation: i64,
    /// Names the attempt, so that its own write is known when the answer to it was lost.
    pub attempt_id: String,
    /// By which rules it was judged.
    pub evaluation_version: i64,
    /// When the attempt began.
    pub attempted_at: EpochSeconds,
    /// How it ended, or that it has not.
    pub status: RetrievedLearningStatus,
    /// What the session was when it was judged.
    pub session_fingerprint: Option<String>,
    /// Attached learnings that are stored.
    pub resolvable_count: i64,
    /// Verdicts in force.
    pub committed_count: i64,
    /// When it ended.
    pub completed_at: Option<EpochSeconds>,
    /// What went wrong.
    pub diagnostics: RetrievedLearningDiagnostics,
}

/// What went wrong in an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrievedLearningDiagnostics {
    /// A word for the error that ended it.
    pub error_type: Option<String>,
    /// Questions to the judge of relevance that brought no verdicts.
    pub failed_relevance_chunks: i64,
    /// Questions to the judge of impact that brought no verdicts.
    pub failed_impact_chunks: i64,
}
