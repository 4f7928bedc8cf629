//! The stream as a worker sees it: request documents, the policy each was admitted under, and the cursor.

use domain::ids::{RequestId, SessionId};
use domain::learning::{AdmissionPolicy, KindPolicy, LearningKind};
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

/// Why a policy cannot be followed. It is a fault of the configuration: retrying cannot mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPolicy {
    /// The window size found.
    pub window: u32,
    /// The stride found.
    pub stride: u32,
}

impl std::fmt::Display for InvalidPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stride_size must be <= window_size and at least 1, not {} of {}", self.stride, self.window)
    }
}

impl std::error::Error for InvalidPolicy {}

/// New interactions that the next window takes.
///
/// The first window is due at the stride. A later one fills up to the window size as long as there is little context,
/// so that the window after a forced one is not almost empty.
///
/// # Errors
/// [`InvalidPolicy`] unless `1 ≤ stride ≤ window`.
pub fn needed(policy: KindPolicy, started: bool, completed_eligible: u64) -> Result<usize, InvalidPolicy> {
    if policy.stride < 1 || policy.stride > policy.window {
        return Err(InvalidPolicy { window: policy.window, stride: policy.stride });
    }
    if !started {
        return Ok(policy.stride as usize);
    }
    let context = u32::try_from(completed_eligible).unwrap_or(u32::MAX).min(policy.window);
    Ok(policy.stride.max(policy.window - context) as usize)
}

/// One request document: a run of consecutive positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Position of its first interaction.
    pub first_position: u64,
    /// How many positions it holds.
    pub count: u32,
    /// Positions inside it whose interaction was deleted, in order.
    pub deleted: Vec<u64>,
    /// What triggered a window that ends in it.
    pub trigger: Trigger,
    /// When it was admitted.
    pub admitted_at: EpochSeconds,
    /// Under which policy.
    pub policy: AdmissionPolicy,
}

/// The request on whose account a window runs: what is learned carries its id, source and agent version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The request.
    pub request_id: RequestId,
    /// Its session.
    pub session_id: SessionId,
    /// Its source; `""` when none was named.
    pub source: String,
    /// The agent that spoke.
    pub agent_version: String,
}

impl Segment {
    /// The position behind its last one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first_position + u64::from(self.count)
    }

    /// Positions that are input of one kind of learning, in order.
    pub fn inputs(&self, kind: LearningKind) -> impl Iterator<Item = u64> + '_ {
        let positions = if self.policy.of(kind).eligible { self.first_position..self.end() } else { 0..0 };
        positions.filter(|position| self.deleted.binary_search(position).is_err())
    }
}

/// How far one kind of learning has come in a user's stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Every position below this is done: learned from or passed over.
    pub completed: u64,
    /// How many of those were learned from.
    pub completed_eligible: u64,
    /// Whether any window was completed yet.
    pub started: bool,
}
