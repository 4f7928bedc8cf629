//! Playbooks.

use serde::Serialize;

use crate::entities::{AgentPlaybook, PlaybookStatus, Status, UserPlaybook};
use crate::ids::UserId;
use crate::time::EpochSeconds;

/// A user playbook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserPlaybookView {
    /// Unique in the organisation.
    pub user_playbook_id: i64,
    /// From whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// For which agent.
    pub agent_version: String,
    /// The request whose learning produced it.
    pub request_id: String,
    /// Its name.
    pub playbook_name: String,
    /// When it was written.
    pub created_at: EpochSeconds,
    /// The rule.
    pub content: String,
    /// When it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Absent for the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The source of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The turns that it was learned from.
    pub source_interaction_ids: Vec<i64>,
    /// The words that say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_span: Option<String>,
    /// Its tags; untagged reads as none.
    pub tags: Vec<String>,
    /// How well it fits a query, where the caller asked for that; not part of the recorded contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

impl From<UserPlaybook> for UserPlaybookView {
    fn from(playbook: UserPlaybook) -> Self {
        Self {
            user_playbook_id: playbook.user_playbook_id,
            user_id: playbook.user_id,
            agent_version: playbook.agent_version,
            request_id: playbook.request_id,
            playbook_name: playbook.playbook_name,
            created_at: playbook.created_at,
            content: playbook.content,
            trigger: playbook.trigger,
            rationale: playbook.rationale,
            status: playbook.status,
            source: playbook.source,
            source_interaction_ids: playbook.source_interaction_ids,
            source_span: playbook.source_span,
            tags: playbook.tags.unwrap_or_default(),
            score: None,
        }
    }
}

/// An agent playbook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentPlaybookView {
    /// Unique in the organisation.
    pub agent_playbook_id: i64,
    /// Its name.
    pub playbook_name: String,
    /// For which agent.
    pub agent_version: String,
    /// When it was written.
    pub created_at: EpochSeconds,
    /// The rule.
    pub content: String,
    /// When it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Whether people approved it.
    pub playbook_status: PlaybookStatus,
    /// JSON in text.
    pub playbook_metadata: String,
    /// Absent for the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Its tags.
    pub tags: Vec<String>,
    /// How well it fits a query, where the caller asked for that; not part of the recorded contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

impl From<AgentPlaybook> for AgentPlaybookView {
    fn from(playbook: AgentPlaybook) -> Self {
        Self {
            agent_playbook_id: playbook.agent_playbook_id,
            playbook_name: playbook.playbook_name,
            agent_version: playbook.agent_version,
            created_at: playbook.created_at,
            content: playbook.content,
            trigger: playbook.trigger,
            rationale: playbook.rationale,
            playbook_status: playbook.playbook_status,
            playbook_metadata: playbook.playbook_metadata,
            status: playbook.status,
            tags: playbook.tags.unwrap_or_default(),
            score: None,
        }
    }
}
