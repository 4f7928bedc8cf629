//! Batch operations: which there are, where one stands, and what a batch of learning goes through.

use serde::{Deserialize, Serialize};

use crate::ids::UserId;
use crate::learning::LearningKind;
use crate::time::EpochSeconds;

/// Kinds of operation, of each of which an organisation has one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationService {
    /// Whatever makes, replaces or flips profiles of many users.
    ProfileGeneration,
    /// The same for user playbooks.
    PlaybookGeneration,
}

impl OperationService {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::ProfileGeneration, Self::PlaybookGeneration];

    /// The name on the wire, in keys and in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProfileGeneration => "profile_generation",
            Self::PlaybookGeneration => "playbook_generation",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.as_str() == text)
    }

    /// What it makes.
    #[must_use]
    pub fn kind(self) -> LearningKind {
        match self {
            Self::ProfileGeneration => LearningKind::Profile,
            Self::PlaybookGeneration => LearningKind::Playbook,
        }
    }

    /// The service that makes rows of this kind.
    #[must_use]
    pub fn of(kind: LearningKind) -> Self {
        match kind {
            LearningKind::Profile => Self::ProfileGeneration,
            LearningKind::Playbook => Self::PlaybookGeneration,
        }
    }
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationStatus {
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Nothing of it succeeded, or its worker was given up.
    Failed,
    /// Stopped by a caller.
    Cancelled,
}

impl OperationStatus {
    const ALL: [Self; 4] = [Self::InProgress, Self::Completed, Self::Failed, Self::Cancelled];

    /// The word on the wire and in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// On whose account a window is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GenerationMode {
    /// A publish: follows the stream, asks the gate, makes current rows.
    Regular,
    /// A preview: makes pending rows and sees nothing but pending rows.
    Rerun,
    /// A caller who does not want to wait for the stride: makes current rows.
    Manual,
}

impl GenerationMode {
    /// The word in rows, receipts and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Rerun => "rerun",
            Self::Manual => "manual",
        }
    }
}

/// Which interactions a batch reads. A member that is `None` excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationFilter {
    /// Only of this user.
    pub user_id: Option<UserId>,
    /// Only said at this time or later.
    pub start_time: Option<EpochSeconds>,
    /// Only said at this time or earlier.
    pub end_time: Option<EpochSeconds>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only said by this version of the agent.
    pub agent_version: Option<String>,
}

/// A batch of learning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationPlan {
    /// How.
    pub mode: GenerationMode,
    /// From what.
    pub filter: GenerationFilter,
    /// Users are those of the newest requests, so many of them; `None`: all.
    pub newest_requests: Option<usize>,
}
