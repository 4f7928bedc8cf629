//! Playbooks.

use serde::{Deserialize, Serialize};

use super::{PlaybookStatus, Status};
use crate::ids::UserId;
use crate::time::EpochSeconds;

/// Why an agent could not do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockingIssueKind {
    /// No tool for it.
    MissingTool,
    /// Not allowed to.
    PermissionDenied,
    /// Something outside failed.
    ExternalDependency,
    /// A policy forbids it.
    PolicyRestriction,
}

/// Why an agent could not do what was asked, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlockingIssue {
    /// The kind.
    pub kind: BlockingIssueKind,
    /// The words.
    pub details: String,
}

/// A rule for the agent, learned from one user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserPlaybook {
    /// From the organisation's counter.
    #[serde(default)]
    pub user_playbook_id: i64,
    /// From whom; absent on rows that were written without a user.
    #[serde(default)]
    pub user_id: Option<UserId>,
    /// For which agent.
    pub agent_version: String,
    /// The request whose learning produced it.
    pub request_id: String,
    /// `playbook` on learned rows.
    #[serde(default)]
    pub playbook_name: String,
    /// When it was written.
    #[serde(default)]
    pub created_at: EpochSeconds,
    /// The rule.
    #[serde(default)]
    pub content: String,
    /// When it applies.
    #[serde(default)]
    pub trigger: Option<String>,
    /// Why.
    #[serde(default)]
    pub rationale: Option<String>,
    /// What stood in the way.
    #[serde(default)]
    pub blocking_issue: Option<BlockingIssue>,
    /// `None` is current.
    #[serde(default)]
    pub status: Option<Status>,
    /// The source of the request.
    #[serde(default)]
    pub source: Option<String>,
    /// The turns that it was learned from.
    #[serde(default)]
    pub source_interaction_ids: Vec<i64>,
    /// More words to find it by.
    #[serde(default)]
    pub expanded_terms: Option<String>,
    /// `None`: not tagged yet.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// The words of those turns that say it.
    #[serde(default)]
    pub source_span: Option<String>,
    /// Confidence and caveats.
    #[serde(default)]
    pub notes: Option<String>,
    /// The kind of evidence.
    #[serde(default)]
    pub reader_angle: Option<String>,
    /// The row that took this one in.
    #[serde(default)]
    pub merged_into: Option<i64>,
    /// The row that replaced this one.
    #[serde(default)]
    pub superseded_by: Option<i64>,
}

impl UserPlaybook {
    /// The text that is embedded: when the rule applies, else the rule.
    #[must_use]
    pub fn embedding_text(&self) -> &str {
        embedding_text(self.trigger.as_deref(), &self.content)
    }
}

/// A rule for the agent, made of what several user playbooks have in common. It belongs to no user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentPlaybook {
    /// From the organisation's counter.
    #[serde(default)]
    pub agent_playbook_id: i64,
    /// `playbook` on rows that aggregation made.
    #[serde(default)]
    pub playbook_name: String,
    /// For which agent.
    pub agent_version: String,
    /// When it was written.
    #[serde(default)]
    pub created_at: EpochSeconds,
    /// The rule.
    pub content: String,
    /// When it applies.
    #[serde(default)]
    pub trigger: Option<String>,
    /// Why.
    #[serde(default)]
    pub rationale: Option<String>,
    /// What stood in the way.
    #[serde(default)]
    pub blocking_issue: Option<BlockingIssue>,
    /// Whether people have approved it.
    #[serde(default)]
    pub playbook_status: PlaybookStatus,
    /// A text of the caller's, usually JSON.
    #[serde(default)]
    pub playbook_metadata: String,
    /// More words to find it by.
    #[serde(default)]
    pub expanded_terms: Option<String>,
    /// `None`: not tagged yet.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// `None` is current.
    #[serde(default)]
    pub status: Option<Status>,
    /// The row that took this one in.
    #[serde(default)]
    pub merged_into: Option<i64>,
    /// The row that replaced this one.
    #[serde(default)]
    pub superseded_by: Option<i64>,
}

impl AgentPlaybook {
    /// The text that is embedded: when the rule applies, else the rule.
    #[must_use]
    pub fn embedding_text(&self) -> &str {
        embedding_text(self.trigger.as_deref(), &self.content)
    }
}

fn embedding_text<'a>(trigger: Option<&'a str>, content: &'a str) -> &'a str {
    match trigger.map(str::trim) {
        Some(trigger) if !trigger.is_empty() => trigger,
        _ => content,
    }
}
