//! Messages that wake workers, and how a batch of them is handled.
//!
//! State decides, messages only wake: a message may come twice, late, out of order or never, and nothing but
//! time is lost.

mod batch;
mod evaluate;
mod message;
mod timers;

use domain::ids::{OrgId, UserHash};
use domain::time::EpochSeconds;

pub use batch::{Redeliver, process_fifo_batch};
pub use evaluate::{EvaluateTask, EvaluateWake, GradeTask, RegenerationTask, SessionTask, ShadowTask};
pub use message::{AggregateWake, BODY_VERSION, LearnWake, OperateWake, Wake, WakeReason};
pub use timers::TimerTarget;

/// A wake was not sent. The sweep will find the work.
#[derive(Debug, thiserror::Error)]
#[error("wake was not sent: {0}")]
pub struct WakeError(pub(crate) String);

/// Where the queues are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueUrls {
    /// Learning from one user.
    pub learn: String,
    /// Aggregating the playbooks of one agent version.
    pub aggregate: String,
    /// Steps of batch operations.
    pub operate: String,
    /// Judging sessions.
    pub evaluate: String,
}

/// The queues. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Wakes {
    sqs: aws_sdk_sqs::Client,
    queues: QueueUrls,
    scheduler: aws_sdk_scheduler::Client,
    timers: TimerTarget,
}

impl Wakes {
    /// Sends to these queues, and sets timers that do.
    #[must_use]
    pub fn new(
        sqs: aws_sdk_sqs::Client,
        queues: QueueUrls,
        scheduler: aws_sdk_scheduler::Client,
        timers: TimerTarget,
    ) -> Self {
        Self { sqs, queues, scheduler, timers }
    }

    /// Wakes the learning of one user; see [`Wake::deduplication_id`] for `changing`.
    ///
    /// # Errors
    /// [`WakeError`] when the queue does not take it.
    pub async fn learn(
        &self,
        org: &OrgId,
        user: &UserHash,
        reason: WakeReason,
        changing: i64,
    ) -> Result<(), WakeError> {
        let wake = LearnWake::new(org.clone(), user.clone(), reason);
        self.send(&self.queues.learn, &wake, &changing.to_string()).await
    }

    /// Wakes an aggregation; see [`Wake::deduplication_id`] for `changing`.
    ///
    /// # Errors
    /// [`WakeError`] when the queue does not take it.
    pub async fn aggregate(&self, wake: &AggregateWake, changing: &str) -> Result<(), WakeError> {
        self.send(&self.queues.aggregate, wake, changing).await
    }

    /// Wakes a batch operation; see [`Wake::deduplication_id`] for `changing`.
    ///
    /// # Errors
    /// [`WakeError`] when the queue does not take it.
    pub async fn operate(&self, wake: &OperateWake, changing: &str) -> Result<(), WakeError> {
        self.send(&self.queues.operate, wake, changing).await
    }

    /// Wakes a judgement; see [`Wake::deduplication_id`] for `changing`.
    ///
    /// # Errors
    /// [`WakeError`] when the queue does not take it.
    pub async fn evaluate(&self, wake: &EvaluateWake, changing: &str) -> Result<(), WakeError> {
        self.send(&self.queues.evaluate, wake, changing).await
    }

    /// Has a session looked at at a time, unless that was asked before for the same session and generation.
    ///
    /// # Errors
    /// [`WakeError`] when the timer is not set.
    pub async fn evaluate_at(&self, wake: &EvaluateWake, at: EpochSeconds) -> Result<(), WakeError> {
        timers::set(&self.scheduler, &self.timers, &wake.timer_name(), wake, at).await
    }

    async fn send(&self, queue_url: &str, wake: &impl Wake, changing: &str) -> Result<(), WakeError> {
        let body = serde_json::to_string(wake).map_err(|error| WakeError(error.to_string()))?;
        self.sqs
            .send_message()
            .queue_url(queue_url)
            .message_group_id(wake.group())
            .message_deduplication_id(wake.deduplication_id(changing))
            .message_body(body)
            .send()
            .await
            .map(drop)
            .map_err(|error| {
                let code = aws_sdk_sqs::error::ProvideErrorMetadata::code(&error).unwrap_or("").to_owned();
                WakeError(format!("{code} {error}"))
            })
    }
}
