//! SQS in process: standard and FIFO queues, with SQS's promises and with its refusals.
//!
//! [`Sqs`] answers the JSON protocol beneath the SDK and is also called directly by the event-source
//! mappings. Time is the injected clock's. Not offered: creating and changing queues (the template does
//! that), moving dead letters back, system attributes and attempt ids of callers.

mod change;
mod deduplication;
mod error;
mod handles;
mod journal;
mod limits;
mod message;
mod protocol;
mod queue;
mod state;
mod wire;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use domain::time::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub use error::SqsError;
pub use journal::OpenError;
pub use limits::{
    ATTRIBUTES_MAX, BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, DEDUPLICATION_MS, DELAY_SECONDS_MAX,
    ENTRY_ID_CHARS_MAX, ID_CHARS_MAX, PURGE_INTERVAL_MS, RECEIVE_MESSAGES_MAX, SendRequest,
    VISIBILITY_SECONDS_MAX, WAIT_SECONDS_MAX,
};
pub use message::{Attribute, Attributes, Message};
pub use queue::Counts;

use super::template::Queue;
use state::State;

/// The queues of the local cloud.
#[derive(Debug)]
pub struct Sqs {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// By queue: told whenever a message may have become receivable other than by the passing of time.
    arrivals: Vec<Notify>,
}

/// How to receive.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceiveRequest {
    /// Most messages, 1 to 10; one when absent.
    pub max_messages: Option<i64>,
    /// How long they stay invisible, 0 to 43,200 seconds; the queue's time when absent.
    pub visibility_seconds: Option<i64>,
    /// How long to wait for a message, 0 to 20 seconds; the queue's time when absent.
    pub wait_seconds: Option<i64>,
}

/// A message in the hands of a receiver.
#[derive(Debug, Clone)]
pub struct Received {
    /// The message.
    pub message: Message,
    /// With this it is deleted.
    pub receipt_handle: String,
}

/// What a sender is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendReceipt {
    /// The message's name; that of the earlier message when this one was a duplicate.
    pub message_id: String,
    /// The message's place, in FIFO queues.
    pub sequence_number: Option<String>,
    /// Hex MD5 of the body.
    pub md5_of_body: String,
    /// Hex MD5 of the attributes, when there are any.
    pub md5_of_attributes: Option<String>,
}

impl Sqs {
    /// Opens the queues of a template. With a journal their messages survive the process: what was in flight
    /// becomes visible when its visibility ends. Without one they live in memory.
    ///
    /// The caller sees to it that no other process uses the same journal.
    ///
    /// # Errors
    /// [`OpenError`] when the journal cannot be read or written, or is damaged.
    pub fn open(queues: &[Queue], clock: Arc<dyn Clock>, journal: Option<&Path>) -> Result<Self, OpenError> {
        let state = State::open(queues, journal, clock.now_ms())?;
        let arrivals = queues.iter().map(|_| Notify::new()).collect();
        Ok(Self { clock, state: Mutex::new(state), arrivals })
    }

    /// Sends one message to the queue of a URL.
    ///
    /// # Errors
    /// [`SqsError`] as SQS has it.
    pub fn send(&self, queue_url: &str, request: SendRequest) -> Result<SendReceipt, SqsError> {
        let mut state = self.state.lock();
        let index = state.by_url(queue_url)?;
        let receipt = state.send(index, request, self.clock.now_ms())?;
        drop(state);
        self.arrivals[index].notify_waiters();
        Ok(receipt)
    }

    /// Receives messages, waiting for the first as long as the request says. Dropping the future loses
    /// nothing: a message is taken only in the step that returns it.
    ///
    /// # Errors
    /// [`SqsError`] as SQS has it.
    pub async fn receive(&self, queue_url: &str, request: ReceiveRequest) -> Result<Vec<Received>, SqsError> {
        let (index, request) = self.state.lock().check_receive(queue_url, request)?;
        let deadline_ms = self.clock.now_ms() + request.wait_ms;
        loop {
            // Registered before the look: an arrival between the two is not missed.
            let mut arrival = pin!(self.arrivals[index].notified());
            arrival.as_mut().enable();
            let now_ms = self.clock.now_ms();
            let taken = self.state.lock().receive(index, &request, now_ms)?;
            if taken.dead_letters {
                self.arrivals.iter().for_each(Notify::notify_waiters);
            }
            if !taken.messages.is_empty() || now_ms >= deadline_ms {
                return Ok(taken.messages);
            }
            let until_ms = taken.next_visible_ms.map_or(deadline_ms, |next| next.min(deadline_ms));
            let wait = Duration::from_millis(u64::try_from(until_ms - now_ms).unwrap_or(0));
            tokio::select! {
                () = arrival => {}
                () = self.clock.sleep(wait) => {}
            }
        }
    }

    /// Deletes the message that a handle holds.
    ///
    /// # Errors
    /// [`SqsError`] as SQS has it; deleting twice is none.
    pub fn delete(&self, queue_url: &str, receipt_handle: &str) -> Result<(), SqsError> {
        let mut state = self.state.lock();
        let index = state.by_url(queue_url)?;
        state.delete(index, receipt_handle, self.clock.now_ms())?;
        drop(state);
        // The next message of the group may be received now.
        self.arrivals[index].notify_waiters();
        Ok(())
    }

    /// Lets a receiver hold a message for `seconds` from now; 0 gives it back.
    ///
    /// # Errors
    /// [`SqsError`] as SQS has it.
    pub fn change_visibility(
        &self,
        queue_url: &str,
        receipt_handle: &str,
        seconds: i64,
    ) -> Result<(), SqsError> {
        let mut state = self.state.lock();
        let index = state.by_url(queue_url)?;
        state.change_visibility(index, receipt_handle, seconds, self.clock.now_ms())?;
        drop(state);
        self.arrivals[index].notify_waiters();
        Ok(())
    }

    /// Deletes every message of a queue, those in flight too.
    ///
    /// # Errors
    /// [`SqsError`] as SQS has it: once a minute at most.
    pub fn purge(&self, queue_url: &str) -> Result<(), SqsError> {
        let mut state = self.state.lock();
        let index = state.by_url(queue_url)?;
        state.purge(index, self.clock.now_ms())
    }

    /// How many messages a queue holds.
    ///
    /// # Errors
    /// [`SqsError::QueueDoesNotExist`].
    pub fn counts(&self, queue_url: &str) -> Result<Counts, SqsError> {
        let state = self.state.lock();
        let index = state.by_url(queue_url)?;
        Ok(state.queues[index].counts(self.clock.now_ms()))
    }
}

#[cfg(test)]
mod tests;
