//! What a judge found of a session.

use serde::{Deserialize, Serialize};

use crate::ids::{RequestId, SessionId, UserId};
use crate::time::EpochSeconds;

/// Name of the one evaluator.
pub const AGENT_SUCCESS: &str = "agent_success";

/// Why a session failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureType {
    /// The infrastructure, not the agent.
    SystemError,
    /// There was no tool for it.
    MissingTool,
    /// The agent used another tool than the right one.
    WrongTool,
    /// A tool did not say enough.
    InsufficientInfoFromTool,
    /// The agent's answer was wrong.
    WrongAnswer,
}

impl FailureType {
    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemError => "system_error",
            Self::MissingTool => "missing_tool",
            Self::WrongTool => "wrong_tool",
            Self::InsufficientInfoFromTool => "insufficient_info_from_tool",
            Self::WrongAnswer => "wrong_answer",
        }
    }
}

/// The verdict on one user's part in a session. One is in force per user, session, evaluation and agent version;
/// those before it are history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationResult {
    /// Unique in the organisation.
    pub result_id: i64,
    /// Whose part.
    pub user_id: UserId,
    /// The session.
    pub session_id: SessionId,
    /// The agent version that was judged.
    pub agent_version: String,
    /// [`AGENT_SUCCESS`].
    pub evaluation_name: String,
    /// Whether the agent did what was wanted, in the end.
    pub is_success: bool,
    /// Why not.
    pub failure_type: Option<FailureType>,
    /// Why not, in the judge's words; `""` when nothing was said.
    pub failure_reason: String,
    /// When the session began: the earliest time of its requests, not when it was judged.
    pub created_at: EpochSeconds,
    /// How often the user rejected, corrected or redirected the agent.
    pub number_of_correction_per_session: i64,
    /// How many turns the user took, in a session that succeeded.
    pub user_turns_to_resolution: Option<i64>,
    /// Whether a human took over or was demanded.
    pub is_escalated: bool,
    /// Tags; `None` until the tagger was there.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// The last request that was judged.
    pub trajectory_through_request_id: RequestId,
    /// How many interactions were judged.
    pub trajectory_interaction_count: i64,
    /// When it was judged.
    pub judged_at: EpochSeconds,
    /// Whether the judge saw the session's beginning and end only, since the whole was too long for it.
    #[serde(default)]
    pub is_windowed: bool,
}

impl EvaluationResult {
    /// Whether the session failed through the infrastructure.
    #[must_use]
    pub fn is_system_error(&self) -> bool {
        !self.is_success && self.failure_type == Some(FailureType::SystemError)
    }
}
