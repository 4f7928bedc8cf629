//! What an agent publishes: requests with their interactions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{RequestId, SessionId, UserId};
use crate::time::EpochSeconds;

/// What a user did besides speaking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserActionType {
    /// A click.
    Click,
    /// A scroll.
    Scroll,
    /// Typing.
    Type,
    /// Nothing but what was said.
    #[default]
    None,
}

/// One tool call that the agent made during a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolUsed {
    /// The tool.
    pub tool_name: String,
    /// Its arguments and, if the caller says so, its output.
    #[serde(default)]
    pub tool_data: Map<String, Value>,
    /// What the caller says of how it went; at most 100 characters.
    #[serde(default)]
    pub status: String,
}

/// A learning that the agent itself says influenced a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// `playbook`, `profile`, `user_playbook` or `agent_playbook`.
    pub kind: String,
    /// The row's id; numbers as decimal text.
    pub real_id: String,
    /// The rank tag under which it was injected.
    #[serde(default)]
    pub tag: String,
    /// A title.
    #[serde(default)]
    pub title: String,
}

/// A learning that was put into the agent's context, whether it helped or not. Never a source of new memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrievedLearning {
    /// `profile`, `user_playbook` or `agent_playbook`.
    pub kind: String,
    /// The row's id.
    pub learning_id: String,
    /// Hex SHA-256 of the receipt that the caller sent; the receipt itself is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure_receipt_digest: Option<String>,
}

/// One turn of a conversation, or one action of the user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interaction {
    /// User number × 2²² + position; unique in the organisation.
    pub interaction_id: i64,
    /// When it happened, as the caller says, else when it was received.
    pub created_at: EpochSeconds,
    /// Who spoke; `User` and `Assistant` have meaning.
    pub role: String,
    /// What was said.
    pub content: String,
    /// Tokens of the content, when known.
    pub token_count: Option<i64>,
    /// What the user did.
    pub user_action: UserActionType,
    /// The action in words.
    pub user_action_description: String,
    /// An image by address.
    pub interacted_image_url: String,
    /// An image in base64, if small; see [`Interaction::image_object`].
    pub image_encoding: String,
    /// The answer of the shadow agent.
    pub shadow_content: String,
    /// The answer that an expert would have given.
    pub expert_content: String,
    /// The tools called.
    pub tools_used: Vec<ToolUsed>,
    /// Learnings that the agent says it used.
    pub citations: Vec<Citation>,
    /// Learnings that were put before the agent.
    pub retrieved_learnings: Vec<RetrievedLearning>,
    /// The object in S3 that holds the image, when it was too large for the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_object: Option<String>,
}

impl Interaction {
    /// Whether the user said or did this (as opposed to the agent, a tool or the system).
    #[must_use]
    pub fn is_by_user(&self) -> bool {
        self.role.trim().eq_ignore_ascii_case("user")
    }

    /// Whether this is system text, which is never a source of memory.
    #[must_use]
    pub fn is_by_system(&self) -> bool {
        matches!(self.role.trim().to_ascii_lowercase().as_str(), "system" | "developer")
    }

    /// Whether the agent answered here and a shadow agent did too: two answers that can be compared.
    #[must_use]
    pub fn is_shadowed_answer(&self) -> bool {
        let role = self.role.trim().to_lowercase();
        matches!(role.as_str(), "agent" | "assistant") && !self.shadow_content.is_empty()
    }

    /// The text that is embedded and indexed: what was said, and the action in words on a line of its own.
    #[must_use]
    pub fn searchable_text(&self) -> String {
        format!("{}\n{}", self.content, self.user_action_description)
    }
}

/// Which half of a retrieval experiment a user is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrievalExperimentArm {
    /// Searches answer.
    Treatment,
    /// Searches withhold.
    Holdout,
}

/// One publish call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Unique in the organisation.
    pub request_id: RequestId,
    /// Whose conversation.
    pub user_id: UserId,
    /// When the server received it.
    pub created_at: EpochSeconds,
    /// Where the traffic came from; `""` when not said.
    pub source: String,
    /// Which agent spoke.
    pub agent_version: String,
    /// Which conversation.
    pub session_id: SessionId,
    /// Stored for evaluation only, never learned from.
    pub evaluation_only: bool,
    /// The experiment that the caller attributes this request to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval_experiment_id: Option<String>,
    /// The arm in that experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval_experiment_arm: Option<RetrievalExperimentArm>,
}
