//! The things that are stored: requests with their interactions, profiles, playbooks.
//!
//! Field names and defaults are those of the HTTP contract; what a caller sees of each is in [`crate::views`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{ProfileId, RequestId, SessionId, UserId};
use crate::time::{DAY_SECONDS, EpochSeconds, NEVER_EXPIRES};

/// Numbers of a vector on the wire; shorter ones are padded with zeros.
pub const EMBEDDING_DIMENSIONS: usize = 512;

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

/// How long a profile stays true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileTimeToLive {
    /// One day.
    OneDay,
    /// Seven days.
    OneWeek,
    /// Thirty days.
    OneMonth,
    /// Ninety days.
    OneQuarter,
    /// 365 days.
    OneYear,
    /// For ever.
    #[default]
    Infinity,
}

impl ProfileTimeToLive {
    /// All values in the order of the contract.
    pub const ALL: [Self; 6] =
        [Self::OneDay, Self::OneWeek, Self::OneMonth, Self::OneQuarter, Self::OneYear, Self::Infinity];

    /// The value on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneDay => "one_day",
            Self::OneWeek => "one_week",
            Self::OneMonth => "one_month",
            Self::OneQuarter => "one_quarter",
            Self::OneYear => "one_year",
            Self::Infinity => "infinity",
        }
    }

    /// Reads a value of the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ttl| ttl.as_str() == text)
    }

    /// When a profile that was last modified at `modified` stops being true.
    #[must_use]
    pub fn expiration(self, modified: EpochSeconds) -> EpochSeconds {
        let days = match self {
            Self::OneDay => 1,
            Self::OneWeek => 7,
            Self::OneMonth => 30,
            Self::OneQuarter => 90,
            Self::OneYear => 365,
            Self::Infinity => return NEVER_EXPIRES,
        };
        modified + days * DAY_SECONDS
    }
}

/// The lifecycle of profiles and playbooks. `None` in an `Option<Status>` is the current version (`null`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The version before the current one.
    Archived,
    /// A preview that an upgrade would make current.
    Pending,
    /// On its way to the archive.
    ArchiveInProgress,
    /// A tombstone: merged into another row.
    Merged,
    /// A tombstone: replaced by another row.
    Superseded,
    /// A tombstone: its time to live ran out.
    Expired,
}

impl Status {
    /// All values in the order of the contract.
    pub const ALL: [Self; 6] = [
        Self::Archived,
        Self::Pending,
        Self::ArchiveInProgress,
        Self::Merged,
        Self::Superseded,
        Self::Expired,
    ];

    /// The value on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Pending => "pending",
            Self::ArchiveInProgress => "archive_in_progress",
            Self::Merged => "merged",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
        }
    }

    /// Reads a value of the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether the row is kept only as a trace of what replaced it.
    #[must_use]
    pub fn is_tombstone(self) -> bool {
        matches!(self, Self::Merged | Self::Superseded | Self::Expired)
    }
}

/// Whether people have approved an agent playbook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaybookStatus {
    /// Not looked at yet.
    #[default]
    Pending,
    /// Good.
    Approved,
    /// Not to be used.
    Rejected,
}

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

/// A fact about a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserProfile {
    /// Unique in the organisation.
    pub profile_id: ProfileId,
    /// About whom.
    pub user_id: UserId,
    /// The fact.
    pub content: String,
    /// When it was last stated or edited.
    pub last_modified_timestamp: EpochSeconds,
    /// The request whose learning produced it.
    pub generated_from_request_id: String,
    /// How long it stays true.
    #[serde(default)]
    pub profile_time_to_live: ProfileTimeToLive,
    /// When it stops being true.
    #[serde(default = "never")]
    pub expiration_timestamp: EpochSeconds,
    /// Free extra data.
    #[serde(default)]
    pub custom_features: Option<Map<String, Value>>,
    /// The source of the request.
    #[serde(default)]
    pub source: Option<String>,
    /// `None` is current.
    #[serde(default)]
    pub status: Option<Status>,
    /// Historical; new rows hold `None`.
    #[serde(default)]
    pub extractor_names: Option<Vec<String>>,
    /// More words to find it by.
    #[serde(default)]
    pub expanded_terms: Option<String>,
    /// `None`: not tagged yet.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// The turns that it was learned from.
    #[serde(default)]
    pub source_interaction_ids: Vec<i64>,
    /// The words of those turns that say it.
    #[serde(default)]
    pub source_span: Option<String>,
    /// Confidence and caveats.
    #[serde(default)]
    pub notes: Option<String>,
    /// From whose point of view.
    #[serde(default)]
    pub reader_angle: Option<String>,
    /// The row that took this one in.
    #[serde(default)]
    pub merged_into: Option<String>,
    /// The row that replaced this one.
    #[serde(default)]
    pub superseded_by: Option<String>,
    /// When the row was first written.
    #[serde(default)]
    pub created_at: EpochSeconds,
}

fn never() -> EpochSeconds {
    NEVER_EXPIRES
}

impl UserProfile {
    /// The text that is embedded: the fact, and its extra data if there is any.
    #[must_use]
    pub fn embedding_text(&self) -> String {
        match &self.custom_features {
            Some(features) if !features.is_empty() => {
                format!("{}\n{}", self.content, Value::Object(features.clone()))
            }
            _ => self.content.clone(),
        }
    }
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
        match self.trigger.as_deref().map(str::trim) {
            Some(trigger) if !trigger.is_empty() => trigger,
            _ => &self.content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expirations_are_counted_in_utc_days() {
        let modified = 1_750_000_000;
        let expected =
            [1_750_086_400, 1_750_604_800, 1_752_592_000, 1_757_776_000, 1_781_536_000, 4_102_444_800];
        for (ttl, at) in ProfileTimeToLive::ALL.into_iter().zip(expected) {
            assert_eq!(ttl.expiration(modified), at, "{}", ttl.as_str());
        }
    }

    #[test]
    fn enumerations_read_back_what_they_write() {
        for ttl in ProfileTimeToLive::ALL {
            assert_eq!(ProfileTimeToLive::parse(ttl.as_str()), Some(ttl));
            assert_eq!(serde_json::to_value(ttl).unwrap(), ttl.as_str());
        }
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
    }
}
