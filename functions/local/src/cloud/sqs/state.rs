//! All queues together with their journal: each step is decided, written, then applied.

use std::path::Path;

use domain::time::EpochMillis;

use super::change::Change;
use super::error::SqsError;
use super::journal::{Journal, OpenError};
use super::limits::{
    PURGE_INTERVAL_MS, RECEIVE_MESSAGES_MAX, SendRequest, VISIBILITY_SECONDS_MAX, WAIT_SECONDS_MAX,
    check_range, check_send,
};
use super::message::{Draft, Handle, Message, sequence_text};
use super::queue::QueueState;
use super::{ReceiveRequest, Received, SendReceipt};
use crate::cloud::template::Queue;

/// The queues and their journal; none when they live in memory.
#[derive(Debug)]
pub(super) struct State {
    pub(super) queues: Vec<QueueState>,
    journal: Option<Journal>,
}

/// A checked [`ReceiveRequest`].
#[derive(Debug)]
pub(super) struct Receive {
    max: usize,
    visibility_ms: i64,
    pub(super) wait_ms: i64,
}

/// What a look into a queue found.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) messages: Vec<Received>,
    /// Whether messages were moved to the dead-letter queue.
    pub(super) dead_letters: bool,
    pub(super) next_visible_ms: Option<EpochMillis>,
}

impl State {
    pub(super) fn open(
        queues: &[Queue],
        path: Option<&Path>,
        now_ms: EpochMillis,
    ) -> Result<Self, OpenError> {
        let queues = queues.iter().cloned().map(QueueState::new).collect();
        let mut state = Self { queues, journal: None };
        let Some(path) = path else { return Ok(state) };
        for change in Journal::read(path)?.into_iter().flatten() {
            state.apply(change);
        }
        for queue in &mut state.queues {
            queue.expire(now_ms);
        }
        let snapshot: Vec<Change> = state.queues.iter().flat_map(|queue| queue.snapshot(now_ms)).collect();
        state.journal = Some(Journal::replace(path, &snapshot)?);
        Ok(state)
    }

    pub(super) fn by_url(&self, url: &str) -> Result<usize, SqsError> {
        if url.is_empty() {
            return Err(SqsError::MissingParameter("QueueUrl"));
        }
        self.queues.iter().position(|queue| queue.settings.url() == url).ok_or(SqsError::QueueDoesNotExist)
    }

    fn by_name(&self, name: &str) -> Option<usize> {
        self.queues.iter().position(|queue| queue.settings.name == name)
    }

    pub(super) fn commit(&mut self, changes: Vec<Change>) -> Result<(), SqsError> {
        if changes.is_empty() {
            return Ok(());
        }
        if let Some(journal) = &mut self.journal {
            journal.append(&changes).map_err(SqsError::Journal)?;
        }
        changes.into_iter().for_each(|change| self.apply(change));
        Ok(())
    }

    fn apply(&mut self, change: Change) {
        let Some(index) = self.by_name(change.queue()) else {
            // The template no longer has this queue. Its messages only woke; the work is in the table.
            tracing::warn!(queue = change.queue(), "a change of a queue that is gone was skipped");
            return;
        };
        if let Change::Moved { sequence, to, at_ms, .. } = &change {
            let (target, source_arn) = (self.by_name(to), self.queues[index].settings.arn());
            if let (Some(target), Some(message)) = (target, self.queues[index].messages.remove(sequence)) {
                self.queues[target].adopt(message, source_arn, *at_ms);
            }
        }
        self.queues[index].apply(change);
    }

    pub(super) fn send(
        &mut self,
        index: usize,
        request: SendRequest,
        now_ms: EpochMillis,
    ) -> Result<SendReceipt, SqsError> {
        let queue = &self.queues[index];
        let draft = check_send(&queue.settings, request)?;
        let earlier = draft.deduplication_id.as_deref().and_then(|id| {
            let group = queue.deduplication_group(draft.group.as_deref());
            queue.deduplication.find(group.as_deref(), id, now_ms)
        });
        let (message_id, sequence) = match earlier {
            Some(sent) => (sent.message_id.clone(), sent.sequence),
            None => (uuid::Uuid::new_v4().to_string(), queue.next_sequence),
        };
        let (fifo, is_new, name) = (queue.settings.fifo, earlier.is_none(), queue.settings.name.clone());
        let message = message_of(draft, message_id, sequence, now_ms);
        let receipt = SendReceipt {
            message_id: message.message_id.clone(),
            sequence_number: fifo.then(|| sequence_text(sequence)),
            md5_of_body: message.md5_of_body(),
            md5_of_attributes: message.attributes.md5(),
        };
        if is_new {
            self.commit(vec![Change::Sent { queue: name, message }])?;
        }
        Ok(receipt)
    }

    pub(super) fn check_receive(
        &self,
        queue_url: &str,
        request: ReceiveRequest,
    ) -> Result<(usize, Receive), SqsError> {
        let index = self.by_url(queue_url)?;
        let settings = &self.queues[index].settings;
        let max = request.max_messages.unwrap_or(1);
        let max = check_range(max, "MaxNumberOfMessages", 1..=RECEIVE_MESSAGES_MAX)?;
        let visibility = request.visibility_seconds.unwrap_or_else(|| settings.visibility_seconds.into());
        let visibility = check_range(visibility, "VisibilityTimeout", 0..=VISIBILITY_SECONDS_MAX)?;
        let wait = request.wait_seconds.unwrap_or_else(|| settings.receive_wait_seconds.into());
        let wait = check_range(wait, "WaitTimeSeconds", 0..=WAIT_SECONDS_MAX)?;
        let max = usize::try_from(max).unwrap_or(1);
        Ok((index, Receive { max, visibility_ms: visibility * 1000, wait_ms: wait * 1000 }))
    }

    pub(super) fn receive(
        &mut self,
        index: usize,
        request: &Receive,
        now_ms: EpochMillis,
    ) -> Result<Taken, SqsError> {
        self.queues[index].expire(now_ms);
        let dead_letter = self.dead_letter_of(index);
        let nonce = || uuid::Uuid::new_v4().simple().to_string();
        let changes = self.queues[index].receive(
            request.max,
            request.visibility_ms,
            now_ms,
            dead_letter.as_deref(),
            nonce,
        );
        let dead_letters = changes.iter().any(|change| matches!(change, Change::Moved { .. }));
        let taken: Vec<(u64, String)> = changes.iter().filter_map(received).collect();
        self.commit(changes)?;
        let queue = &self.queues[index];
        let messages = taken.into_iter().filter_map(|(sequence, nonce)| {
            let message = queue.messages.get(&sequence)?.clone();
            let handle = Handle { queue: queue.settings.name.clone(), sequence, nonce };
            Some(Received { message, receipt_handle: handle.encode() })
        });
        Ok(Taken {
            messages: messages.collect(),
            dead_letters,
            next_visible_ms: queue.next_visible_ms(now_ms),
        })
    }

    fn dead_letter_of(&self, index: usize) -> Option<String> {
        let redrive = self.queues[index].settings.redrive.as_ref()?;
        let target = self.queues.iter().find(|queue| queue.settings.logical_id == redrive.dead_letter)?;
        Some(target.settings.name.clone())
    }

    pub(super) fn purge(&mut self, index: usize, now_ms: EpochMillis) -> Result<(), SqsError> {
        let queue = &self.queues[index];
        let name = queue.settings.name.clone();
        if queue.purged_ms.is_some_and(|purged_ms| now_ms < purged_ms + PURGE_INTERVAL_MS) {
            return Err(SqsError::PurgeQueueInProgress(name));
        }
        self.commit(vec![Change::Purged { queue: name, at_ms: now_ms }])
    }
}

fn message_of(draft: Draft, message_id: String, sequence: u64, now_ms: EpochMillis) -> Message {
    Message {
        sequence,
        message_id,
        body: draft.body,
        attributes: draft.attributes,
        group: draft.group,
        deduplication_id: draft.deduplication_id,
        sent_ms: now_ms,
        retained_since_ms: now_ms,
        visible_at_ms: now_ms + draft.delay_ms,
        receive_count: 0,
        first_received_ms: None,
        receipt: None,
        dead_letter_source: None,
    }
}

fn received(change: &Change) -> Option<(u64, String)> {
    match change {
        Change::Received { sequence, nonce, .. } => Some((*sequence, nonce.clone())),
        _ => None,
    }
}

#[cfg(test)]
impl State {
    /// Lets every further write of the journal go to `file`.
    pub(super) fn break_journal(&mut self, file: std::fs::File) {
        if let Some(journal) = &mut self.journal {
            journal.redirect(file);
        }
    }
}
