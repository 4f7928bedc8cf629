//! Everything that can happen to the queues: decided first, then written to the journal, then applied.

use domain::time::EpochMillis;
use serde::{Deserialize, Serialize};

use super::message::Message;

/// One change of one queue, which it calls by its name, since that outlives a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Change {
    /// A message entered; its deduplication id is remembered from now on.
    Sent {
        /// Name of the queue.
        queue: String,
        /// The message.
        message: Message,
    },
    /// A receiver took a message.
    Received {
        /// Name of the queue.
        queue: String,
        /// Which message.
        sequence: u64,
        /// The receiver's handle holds it.
        nonce: String,
        /// When.
        at_ms: EpochMillis,
        /// Until when it is in flight.
        visible_at_ms: EpochMillis,
    },
    /// A receiver holds a message longer or shorter.
    VisibilityChanged {
        /// Name of the queue.
        queue: String,
        /// Which message.
        sequence: u64,
        /// Until when it is in flight.
        visible_at_ms: EpochMillis,
    },
    /// A message left.
    Deleted {
        /// Name of the queue.
        queue: String,
        /// Which message.
        sequence: u64,
    },
    /// A message was received too often and moved to the dead-letter queue.
    Moved {
        /// Name of the queue.
        queue: String,
        /// Which message.
        sequence: u64,
        /// Name of the dead-letter queue.
        to: String,
        /// When.
        at_ms: EpochMillis,
    },
    /// Every message left.
    Purged {
        /// Name of the queue.
        queue: String,
        /// When.
        at_ms: EpochMillis,
    },
    /// Compaction: a deduplication id whose message may have left.
    Remembered {
        /// Name of the queue.
        queue: String,
        /// What is remembered.
        sent: Sent,
    },
    /// Compaction: sequence numbers below this one were given out.
    Numbered {
        /// Name of the queue.
        queue: String,
        /// The next one.
        next: u64,
    },
}

impl Change {
    pub(super) fn queue(&self) -> &str {
        match self {
            Self::Sent { queue, .. }
            | Self::Received { queue, .. }
            | Self::VisibilityChanged { queue, .. }
            | Self::Deleted { queue, .. }
            | Self::Moved { queue, .. }
            | Self::Purged { queue, .. }
            | Self::Remembered { queue, .. }
            | Self::Numbered { queue, .. } => queue,
        }
    }
}

/// What is remembered of a message to recognise its duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    /// The group that the id is unique in; none when that is the queue.
    pub(super) group: Option<String>,
    pub(super) deduplication_id: String,
    pub(super) at_ms: EpochMillis,
    pub(super) message_id: String,
    pub(super) sequence: u64,
}
