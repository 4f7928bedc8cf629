//! What became of an attempt to judge a session.

use serde::{Deserialize, Serialize};

/// How the judgement of a session as a whole ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentSuccessStatus {
    /// There is a new verdict.
    Complete,
    /// The judge gave no usable answer, or it could not be saved; what was there before stays.
    Failed,
    /// There is nothing to judge.
    NotApplicable,
    /// It was not to be judged, or not yet, or was judged already.
    Skipped,
}

impl AgentSuccessStatus {
    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::NotApplicable => "not_applicable",
            Self::Skipped => "skipped",
        }
    }
}

/// How the judgement of the learnings that a session was given ended, or where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrievedLearningStatus {
    /// A run is at it.
    InProgress,
    /// Every learning has its verdict.
    Complete,
    /// No learning was attached.
    NotApplicable,
    /// Some have no verdict; the next run judges all anew.
    Degraded,
    /// There is no verdict at all.
    Failed,
    /// The session changed under every attempt.
    Pending,
    /// The session changed under this attempt. Never stored.
    Stale,
    /// Another run began later. Never stored.
    Superseded,
    /// It was not to be judged. Never stored.
    Skipped,
}

impl RetrievedLearningStatus {
    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Complete => "complete",
            Self::NotApplicable => "not_applicable",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Stale => "stale",
            Self::Superseded => "superseded",
            Self::Skipped => "skipped",
        }
    }

    /// Whether nothing is left to do for the session as it is.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Complete | Self::NotApplicable)
    }
}

/// Why a session was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// There is a verdict on the session as it is.
    AlreadyEvaluated,
    /// The user has no request in it.
    NoRequests,
    /// It was active a moment ago.
    NotYetComplete,
    /// Its requests hold no interactions.
    NoInteractions,
    /// Nothing is left of it that a judge could read.
    NoDataModels,
    /// The request up to which it was to be judged is not in it.
    CutoverNotFound,
}

impl SkipReason {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Self; 6] = [
        Self::AlreadyEvaluated,
        Self::NoRequests,
        Self::NotYetComplete,
        Self::NoInteractions,
        Self::NoDataModels,
        Self::CutoverNotFound,
    ];

    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyEvaluated => "already_evaluated",
            Self::NoRequests => "no_requests",
            Self::NotYetComplete => "not_yet_complete",
            Self::NoInteractions => "no_interactions",
            Self::NoDataModels => "no_data_models",
            Self::CutoverNotFound => "cutover_not_found",
        }
    }
}

/// Where a job that judges sessions anew stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegenerationStatus {
    /// Sessions are being judged.
    Running,
    /// Every session of the sample had its turn.
    Completed,
    /// A caller stopped it.
    Cancelled,
    /// It did not get on.
    Error,
}

impl RegenerationStatus {
    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }

    /// Reads what [`Self::as_str`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Running, Self::Completed, Self::Cancelled, Self::Error]
            .into_iter()
            .find(|status| status.as_str() == text)
    }

    /// Whether nothing more is begun.
    #[must_use]
    pub fn is_over(self) -> bool {
        self != Self::Running
    }
}
