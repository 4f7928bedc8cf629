//! The memory of a FIFO queue: what was sent in the last five minutes, even if it was processed since.

use std::collections::{HashMap, VecDeque};

use domain::time::EpochMillis;

use super::change::Sent;
use super::limits::DEDUPLICATION_MS;

type Key = (Option<String>, String);

/// Deduplication ids, each with the message that first had it.
#[derive(Debug, Default)]
pub(super) struct Deduplication {
    by_key: HashMap<Key, Sent>,
    /// In the order of sending, to forget the oldest first.
    order: VecDeque<(EpochMillis, Key)>,
}

impl Deduplication {
    /// The earlier message of this id, if it was sent within the window that ends `now`.
    pub(super) fn find(&self, group: Option<&str>, id: &str, now_ms: EpochMillis) -> Option<&Sent> {
        let sent = self.by_key.get(&(group.map(str::to_owned), id.to_owned()))?;
        (now_ms < sent.at_ms + DEDUPLICATION_MS).then_some(sent)
    }

    /// Remembers a message and forgets what is older than the window.
    pub(super) fn remember(&mut self, sent: Sent) {
        while let Some((at_ms, _)) = self.order.front() {
            if sent.at_ms < at_ms + DEDUPLICATION_MS {
                break;
            }
            if let Some((at_ms, key)) = self.order.pop_front() {
                // The same id may have been sent again since.
                if self.by_key.get(&key).is_some_and(|kept| kept.at_ms == at_ms) {
                    self.by_key.remove(&key);
                }
            }
        }
        let key = (sent.group.clone(), sent.deduplication_id.clone());
        self.order.push_back((sent.at_ms, key.clone()));
        self.by_key.insert(key, sent);
    }

    /// What is still remembered at `now`, in the order of sending.
    pub(super) fn remembered(&self, now_ms: EpochMillis) -> Vec<Sent> {
        let live = self.by_key.values().filter(|sent| now_ms < sent.at_ms + DEDUPLICATION_MS);
        let mut live: Vec<Sent> = live.cloned().collect();
        live.sort_by_key(|sent| sent.sequence);
        live
    }
}
