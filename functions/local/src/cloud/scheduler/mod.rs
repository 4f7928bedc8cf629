//! EventBridge Scheduler on the laptop: one-shot schedules that send a message to a queue and are gone.
//!
//! As far as timers need it: `CreateSchedule` of an `at(…)` in UTC with a queue of the template as target and `DELETE`
//! after completion, `GetSchedule`, `DeleteSchedule`. Anything else is refused, as the service refuses what it does not
//! know. A schedule goes off at its time; the service itself may take up to a minute longer.

mod journal;
mod protocol;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::time::{Clock, EpochSeconds};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};

use self::journal::Journal;
pub use self::journal::OpenError;
use super::service::LocalService;
use super::sqs::{SendRequest, Sqs};

/// A clock that was set back is noticed within this time.
const NAP_MAX: Duration = Duration::from_secs(60);

/// A one-shot schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Schedule {
    at: EpochSeconds,
    queue_arn: String,
    role_arn: String,
    group: String,
    input: String,
}

struct State {
    schedules: BTreeMap<String, Schedule>,
    journal: Option<Journal>,
}

/// The local Scheduler.
pub struct LocalScheduler {
    state: Mutex<State>,
    /// URLs of queues by their ARN.
    queues: BTreeMap<String, String>,
    clock: Arc<dyn Clock>,
    changed: Notify,
}

impl std::fmt::Debug for LocalScheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocalScheduler({} schedules)", self.state.lock().schedules.len())
    }
}

impl LocalScheduler {
    /// Takes up the schedules of a journal, if there is one, and keeps it. `queues` are URLs by ARN.
    ///
    /// # Errors
    /// [`OpenError`] when the journal cannot be read or written.
    pub fn open(
        queues: BTreeMap<String, String>,
        clock: Arc<dyn Clock>,
        journal: Option<&Path>,
    ) -> Result<Self, OpenError> {
        let (schedules, journal) = match journal {
            None => (BTreeMap::new(), None),
            Some(path) => Journal::open(path).map(|(schedules, journal)| (schedules, Some(journal)))?,
        };
        let state = Mutex::new(State { schedules, journal });
        Ok(Self { state, queues, clock, changed: Notify::new() })
    }

    /// Sends the messages of all schedules whose time has come; returns how many there were.
    pub fn fire_due(&self, sqs: &Sqs) -> usize {
        let now = self.clock.now();
        self.fire(sqs, |_, at| at <= now)
    }

    /// Sends the messages of the schedules that `goes_off` says by name and time; returns how many there were.
    pub(crate) fn fire(&self, sqs: &Sqs, goes_off: impl Fn(&str, EpochSeconds) -> bool) -> usize {
        let due: Vec<(String, Schedule)> = {
            let state = self.state.lock();
            let due = state.schedules.iter().filter(|(name, schedule)| goes_off(name, schedule.at));
            due.map(|(name, schedule)| (name.clone(), schedule.clone())).collect()
        };
        for (name, schedule) in &due {
            // Sent before it is taken away: a message may come twice and is never lost.
            if let Some(url) = self.queues.get(&schedule.queue_arn) {
                let request = SendRequest {
                    body: schedule.input.clone(),
                    group: Some(schedule.group.clone()),
                    ..SendRequest::default()
                };
                if let Err(error) = sqs.send(url, request) {
                    tracing::error!(name, %error, "a schedule could not be delivered");
                }
            }
            self.remove(name);
        }
        due.len()
    }

    /// Takes every schedule away that `is_lost` names, as if the service had forgotten it: for tests of what then
    /// happens.
    pub fn lose(&self, is_lost: impl Fn(&str) -> bool) -> usize {
        let names: Vec<String> =
            self.state.lock().schedules.keys().filter(|name| is_lost(name)).cloned().collect();
        names.iter().for_each(|name| {
            self.remove(name);
        });
        names.len()
    }

    /// Runs until `stop` turns true.
    pub(crate) async fn run(self: Arc<Self>, sqs: Arc<Sqs>, mut stop: watch::Receiver<bool>) {
        loop {
            self.fire_due(&sqs);
            let next = self.state.lock().schedules.values().map(|schedule| schedule.at).min();
            let left = next.map_or(NAP_MAX, |at| {
                let left_ms = at.saturating_mul(1000) - self.clock.now_ms();
                Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)).min(NAP_MAX)
            });
            tokio::select! {
                biased;
                // An error means that nobody is left who could say stop: the same.
                _ = stop.wait_for(|stop| *stop) => return,
                () = self.changed.notified() => {}
                () = self.clock.sleep(left) => {}
            }
        }
    }

    fn create(&self, name: &str, schedule: Schedule) -> bool {
        let mut state = self.state.lock();
        if state.schedules.contains_key(name) {
            return false;
        }
        if let Some(journal) = &mut state.journal {
            journal.set(name, &schedule);
        }
        state.schedules.insert(name.to_owned(), schedule);
        drop(state);
        self.changed.notify_one();
        true
    }

    fn remove(&self, name: &str) -> bool {
        let mut state = self.state.lock();
        let was_there = state.schedules.remove(name).is_some();
        if was_there && let Some(journal) = &mut state.journal {
            journal.remove(name);
        }
        was_there
    }
}

#[async_trait]
impl LocalService for LocalScheduler {
    async fn call(&self, request: http::Request<Bytes>) -> http::Response<Bytes> {
        self.answer(&request)
    }
}
