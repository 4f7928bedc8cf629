//! What the holder of a receipt handle may do, and until when.

use domain::time::EpochMillis;

use super::change::Change;
use super::error::SqsError;
use super::limits::{VISIBILITY_SECONDS_MAX, check_range};
use super::message::{Handle, Message};
use super::state::State;

impl State {
    /// The message of a handle while that is its latest receive; none when it is gone or was received again.
    fn held(&self, index: usize, receipt_handle: &str) -> Result<Option<&Message>, SqsError> {
        let queue = &self.queues[index];
        let handle = Handle::decode(receipt_handle).filter(|handle| handle.queue == queue.settings.name);
        let handle = handle.ok_or(SqsError::ReceiptHandleIsInvalid)?;
        let message = queue.messages.get(&handle.sequence);
        Ok(message.filter(|one| one.receipt.as_ref().is_some_and(|receipt| receipt.nonce == handle.nonce)))
    }

    /// A standard queue takes the latest handle even after its visibility has passed and silently ignores an
    /// older one; a FIFO queue refuses a handle whose visibility has passed, since the message may be with
    /// the next receiver. A message that is gone is deleted.
    pub(super) fn delete(
        &mut self,
        index: usize,
        receipt_handle: &str,
        now_ms: EpochMillis,
    ) -> Result<(), SqsError> {
        let settings = &self.queues[index].settings;
        let (fifo, queue) = (settings.fifo, settings.name.clone());
        let sequence = match self.held(index, receipt_handle)? {
            Some(message) if !fifo || message.is_in_flight(now_ms) => message.sequence,
            None if !fifo || self.is_gone(index, receipt_handle) => return Ok(()),
            Some(_) | None => {
                let reason = "The receipt handle has expired";
                return Err(SqsError::invalid(receipt_handle, "ReceiptHandle", reason));
            }
        };
        self.commit(vec![Change::Deleted { queue, sequence }])
    }

    fn is_gone(&self, index: usize, receipt_handle: &str) -> bool {
        let messages = &self.queues[index].messages;
        Handle::decode(receipt_handle).is_none_or(|handle| !messages.contains_key(&handle.sequence))
    }

    pub(super) fn change_visibility(
        &mut self,
        index: usize,
        receipt_handle: &str,
        seconds: i64,
        now_ms: EpochMillis,
    ) -> Result<(), SqsError> {
        let seconds = check_range(seconds, "VisibilityTimeout", 0..=VISIBILITY_SECONDS_MAX)?;
        let Some(message) = self.held(index, receipt_handle)? else {
            let reason = "Message does not exist or is not available for visibility timeout change";
            return Err(SqsError::invalid(receipt_handle, "ReceiptHandle", reason));
        };
        if !message.is_in_flight(now_ms) {
            return Err(SqsError::MessageNotInflight);
        }
        let (sequence, visible_at_ms) = (message.sequence, now_ms + seconds * 1000);
        let received_ms = message.receipt.as_ref().map_or(now_ms, |receipt| receipt.received_ms);
        if visible_at_ms > received_ms + VISIBILITY_SECONDS_MAX * 1000 {
            let reason = format!(
                "Total VisibilityTimeout for the message is beyond the limit [{VISIBILITY_SECONDS_MAX} seconds]"
            );
            return Err(SqsError::invalid(seconds, "VisibilityTimeout", reason));
        }
        let queue = self.queues[index].settings.name.clone();
        self.commit(vec![Change::VisibilityChanged { queue, sequence, visible_at_ms }])
    }
}
