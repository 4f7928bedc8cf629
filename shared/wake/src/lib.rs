//! Messages that wake workers, and how a batch of them is handled.
//!
//! State decides, messages only wake: a message may come twice, late, out of order or never, and nothing but
//! time is lost.

mod batch;
mod message;

use domain::ids::{OrgId, UserHash};

pub use batch::{Redeliver, process_fifo_batch};
pub use message::{BODY_VERSION, LearnWake, WakeReason};

/// A wake was not sent. The sweep will find the work.
#[derive(Debug, thiserror::Error)]
#[error("wake was not sent: {0}")]
pub struct WakeError(String);

/// The queues. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Wakes {
    sqs: aws_sdk_sqs::Client,
    learn_queue_url: String,
}

impl Wakes {
    /// Sends to the queue at `learn_queue_url`.
    #[must_use]
    pub fn new(sqs: aws_sdk_sqs::Client, learn_queue_url: String) -> Self {
        Self { sqs, learn_queue_url }
    }

    /// Wakes the learning of one user; see [`LearnWake::deduplication_id`] for `changing`.
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
        let body = serde_json::to_string(&wake).map_err(|error| WakeError(error.to_string()))?;
        self.sqs
            .send_message()
            .queue_url(&self.learn_queue_url)
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
