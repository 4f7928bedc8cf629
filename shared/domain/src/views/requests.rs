//! Sessions, requests and interactions.

use serde::Serialize;

use crate::entities::{
    Interaction, Request, RetrievalExperimentArm, RetrievedLearning, ToolUsed, UserActionType,
};
use crate::ids::{RequestId, SessionId, UserId};
use crate::time::EpochSeconds;

/// An interaction without its image, its citations and its vector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InteractionView {
    /// Unique in the organisation.
    pub interaction_id: i64,
    /// Whose.
    pub user_id: UserId,
    /// Of which request.
    pub request_id: RequestId,
    /// When.
    pub created_at: EpochSeconds,
    /// Who spoke.
    pub role: String,
    /// What was said.
    pub content: String,
    /// What the user did.
    pub user_action: UserActionType,
    /// The action in words.
    pub user_action_description: String,
    /// An image by address.
    pub interacted_image_url: String,
    /// The answer of the shadow agent.
    pub shadow_content: String,
    /// The answer that an expert would have given.
    pub expert_content: String,
    /// The tools called.
    pub tools_used: Vec<ToolUsed>,
    /// Learnings that were put before the agent.
    pub retrieved_learnings: Vec<RetrievedLearning>,
}

impl InteractionView {
    /// The view of an interaction.
    #[must_use]
    pub fn new(user_id: UserId, request_id: RequestId, interaction: Interaction) -> Self {
        Self {
            interaction_id: interaction.interaction_id,
            user_id,
            request_id,
            created_at: interaction.created_at,
            role: interaction.role,
            content: interaction.content,
            user_action: interaction.user_action,
            user_action_description: interaction.user_action_description,
            interacted_image_url: interaction.interacted_image_url,
            shadow_content: interaction.shadow_content,
            expert_content: interaction.expert_content,
            tools_used: interaction.tools_used,
            retrieved_learnings: interaction.retrieved_learnings,
        }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestView {
    /// Unique in the organisation.
    pub request_id: RequestId,
    /// Whose.
    pub user_id: UserId,
    /// When it was received.
    pub created_at: EpochSeconds,
    /// Where it came from.
    pub source: String,
    /// Which agent spoke.
    pub agent_version: String,
    /// Of which conversation.
    pub session_id: SessionId,
    /// Whether it is never learned from.
    pub evaluation_only: bool,
    /// The experiment it is attributed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_experiment_id: Option<String>,
    /// The arm in that experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_experiment_arm: Option<RetrievalExperimentArm>,
}

impl From<Request> for RequestView {
    fn from(request: Request) -> Self {
        Self {
            request_id: request.request_id,
            user_id: request.user_id,
            created_at: request.created_at,
            source: request.source,
            agent_version: request.agent_version,
            session_id: request.session_id,
            evaluation_only: request.evaluation_only,
            retrieval_experiment_id: request.retrieval_experiment_id,
            retrieval_experiment_arm: request.retrieval_experiment_arm,
        }
    }
}

/// A request with its interactions, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestDataView {
    /// The request.
    pub request: RequestView,
    /// Its interactions.
    pub interactions: Vec<InteractionView>,
}

/// A session with its requests, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionView {
    /// The session.
    pub session_id: SessionId,
    /// Its requests.
    pub requests: Vec<RequestDataView>,
}
