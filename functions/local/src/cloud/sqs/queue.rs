//! One queue: what can be received when, and by whom.
//!
//! The methods that decide take `&self` and return changes; `apply` is the only way in which a queue changes,
//! so that a journal of changes rebuilds it exactly.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::time::EpochMillis;

use super::change::{Change, Sent};
use super::deduplication::Deduplication;
use super::message::{Message, Receipt};
use crate::cloud::template::{DeduplicationScope, Queue};

/// A queue with its messages.
#[derive(Debug)]
pub(super) struct QueueState {
    pub(super) settings: Queue,
    /// By sequence number, which is the order of sending.
    pub(super) messages: BTreeMap<u64, Message>,
    pub(super) next_sequence: u64,
    pub(super) deduplication: Deduplication,
    pub(super) purged_ms: Option<EpochMillis>,
}

/// How many messages a queue holds, by what they wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that may be received, including those behind others of their group.
    pub visible: usize,
    /// Messages that a receiver holds.
    pub in_flight: usize,
    /// Messages whose delay has not passed.
    pub delayed: usize,
}

impl QueueState {
    pub(super) fn new(settings: Queue) -> Self {
        Self {
            settings,
            messages: BTreeMap::new(),
            next_sequence: 1,
            deduplication: Deduplication::default(),
            purged_ms: None,
        }
    }

    /// The group in which deduplication ids are unique; none when that is the queue.
    pub(super) fn deduplication_group(&self, group: Option<&str>) -> Option<String> {
        match self.settings.deduplication_scope {
            DeduplicationScope::MessageGroup => group.map(str::to_owned),
            DeduplicationScope::Queue => None,
        }
    }

    fn is_kept(&self, message: &Message, now_ms: EpochMillis) -> bool {
        now_ms < message.retained_since_ms + i64::from(self.settings.retention_seconds) * 1000
    }

    fn gives_up(&self, message: &Message) -> bool {
        self.settings.redrive.as_ref().is_some_and(|r| message.receive_count >= r.max_receive_count)
    }

    /// The messages that a receiver may have at `now`, best first: of a FIFO queue those of one group as far
    /// as possible, none of a group that has a message in flight or a delayed one before them.
    fn receivable(&self, now_ms: EpochMillis) -> Vec<&Message> {
        let kept = || self.messages.values().filter(|message| self.is_kept(message, now_ms));
        if !self.settings.fifo {
            return kept().filter(|message| message.visible_at_ms <= now_ms).collect();
        }
        let mut blocked: HashSet<Option<&str>> = kept()
            .filter(|message| message.is_in_flight(now_ms))
            .map(|message| message.group.as_deref())
            .collect();
        let mut groups: Vec<Vec<&Message>> = Vec::new();
        let mut place: HashMap<Option<&str>, usize> = HashMap::new();
        for message in kept() {
            let group = message.group.as_deref();
            if blocked.contains(&group) {
                continue;
            }
            if message.visible_at_ms > now_ms {
                blocked.insert(group);
                continue;
            }
            let place = *place.entry(group).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[place].push(message);
        }
        groups.into_iter().flatten().collect()
    }

    /// Takes up to `max` messages for `visibility_ms`, and gives up those that were received too often.
    pub(super) fn receive(
        &self,
        max: usize,
        visibility_ms: i64,
        now_ms: EpochMillis,
        dead_letter: Option<&str>,
        mut nonce: impl FnMut() -> String,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut taken = 0;
        for message in self.receivable(now_ms) {
            if taken == max {
                break;
            }
            let (queue, sequence) = (self.settings.name.clone(), message.sequence);
            match dead_letter.filter(|_| self.gives_up(message)) {
                Some(to) => changes.push(Change::Moved { queue, sequence, to: to.to_owned(), at_ms: now_ms }),
                None => {
                    taken += 1;
                    let visible_at_ms = now_ms + visibility_ms;
                    changes.push(Change::Received {
                        queue,
                        sequence,
                        nonce: nonce(),
                        at_ms: now_ms,
                        visible_at_ms,
                    });
                }
            }
        }
        changes
    }

    /// When the next message becomes visible by the passing of time alone.
    pub(super) fn next_visible_ms(&self, now_ms: EpochMillis) -> Option<EpochMillis> {
        self.messages.values().map(|message| message.visible_at_ms).filter(|at| *at > now_ms).min()
    }

    pub(super) fn counts(&self, now_ms: EpochMillis) -> Counts {
        let mut counts = Counts::default();
        for message in self.messages.values().filter(|message| self.is_kept(message, now_ms)) {
            let count = match (message.visible_at_ms > now_ms, &message.receipt) {
                (false, _) => &mut counts.visible,
                (true, Some(_)) => &mut counts.in_flight,
                (true, None) => &mut counts.delayed,
            };
            *count += 1;
        }
        counts
    }

    /// Drops what is past its retention: a matter of time alone, which no journal needs to tell.
    pub(super) fn expire(&mut self, now_ms: EpochMillis) {
        let kept_ms = i64::from(self.settings.retention_seconds) * 1000;
        self.messages.retain(|_, message| now_ms < message.retained_since_ms + kept_ms);
    }

    /// Applies a change of this queue. What concerns a message that is gone does nothing.
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Sent { message, .. } => self.insert(message),
            Change::Received { sequence, nonce, at_ms, visible_at_ms, .. } => {
                if let Some(message) = self.messages.get_mut(&sequence) {
                    message.receive_count += 1;
                    message.first_received_ms.get_or_insert(at_ms);
                    message.receipt = Some(Receipt { nonce, received_ms: at_ms });
                    message.visible_at_ms = visible_at_ms;
                }
            }
            Change::VisibilityChanged { sequence, visible_at_ms, .. } => {
                if let Some(message) = self.messages.get_mut(&sequence) {
                    message.visible_at_ms = visible_at_ms;
                }
            }
            Change::Deleted { sequence, .. } | Change::Moved { sequence, .. } => {
                self.messages.remove(&sequence);
            }
            Change::Purged { at_ms, .. } => {
                self.messages.clear();
                self.purged_ms = Some(at_ms);
            }
            Change::Remembered { sent, .. } => self.deduplication.remember(sent),
            Change::Numbered { next, .. } => self.next_sequence = self.next_sequence.max(next),
        }
    }

    fn insert(&mut self, message: Message) {
        self.next_sequence = self.next_sequence.max(message.sequence + 1);
        // A dead letter is never a duplicate, and blocks no later message of its id.
        if let (Some(id), None) = (&message.deduplication_id, &message.dead_letter_source) {
            self.deduplication.remember(Sent {
                group: self.deduplication_group(message.group.as_deref()),
                deduplication_id: id.clone(),
                at_ms: message.sent_ms,
                message_id: message.message_id.clone(),
                sequence: message.sequence,
            });
        }
        self.messages.insert(message.sequence, message);
    }

    /// Takes a message that another queue gave up.
    pub(super) fn adopt(&mut self, mut message: Message, source_arn: String, at_ms: EpochMillis) {
        message.sequence = self.next_sequence;
        message.dead_letter_source = Some(source_arn);
        message.receipt = None;
        message.visible_at_ms = at_ms;
        // A standard queue counts retention from the first sending, a FIFO queue from the move.
        if self.settings.fifo {
            message.retained_since_ms = at_ms;
        }
        self.insert(message);
    }

    /// The changes that rebuild this queue from nothing.
    pub(super) fn snapshot(&self, now_ms: EpochMillis) -> Vec<Change> {
        let queue = || self.settings.name.clone();
        let messages = self.messages.values().cloned();
        let mut changes: Vec<Change> =
            messages.map(|message| Change::Sent { queue: queue(), message }).collect();
        let remembered = self.deduplication.remembered(now_ms).into_iter();
        changes.extend(remembered.map(|sent| Change::Remembered { queue: queue(), sent }));
        changes.push(Change::Numbered { queue: queue(), next: self.next_sequence });
        changes
    }
}
