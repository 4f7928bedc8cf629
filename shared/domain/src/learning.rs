//! What is learned, and the policy under which a request was admitted to learning.

use serde::{Deserialize, Serialize};

/// The two kinds of learning, each with a cursor of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningKind {
    /// Facts about the user.
    Profile,
    /// Rules for the agent.
    Playbook,
}

impl LearningKind {
    /// Both, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Profile, Self::Playbook];

    /// The name in keys, logs and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Playbook => "playbook",
        }
    }
}

/// How interactions of one request count for one kind of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindPolicy {
    /// Whether they are learned from at all.
    pub eligible: bool,
    /// Interactions that one window holds at most.
    pub window: u32,
    /// New interactions that make a window due.
    pub stride: u32,
}

/// The policy of a request, taken when it was admitted: a later change of settings does not reach back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionPolicy {
    /// For profiles.
    pub profile: KindPolicy,
    /// For playbooks.
    pub playbook: KindPolicy,
    /// Seconds of silence after which less than a stride is learned from; 0 never.
    pub idle_timeout_seconds: i64,
    /// Learn at once up to here, whatever the stride.
    pub force: bool,
    /// The session ended here: learn from what there is.
    pub session_finished: bool,
    /// Do not aggregate what is learned from this.
    pub skip_aggregation: bool,
    /// Learn from this even while the organisation's learning stands still.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub override_stall: bool,
}

impl AdmissionPolicy {
    /// The part for one kind.
    #[must_use]
    pub fn of(&self, kind: LearningKind) -> KindPolicy {
        match kind {
            LearningKind::Profile => self.profile,
            LearningKind::Playbook => self.playbook,
        }
    }
}
