//! FIFO queues against a plain model: order, blocked groups, duplicates, visibility, dead letters, restarts.

use std::sync::Arc;
use std::time::Duration;

use domain::time::Clock;
use futures::FutureExt;
use proptest::prelude::*;

use super::{START_MS, url, with_dead_letters};
use crate::cloud::clock::ManualClock;
use crate::cloud::sqs::{ReceiveRequest, SendRequest, Sqs};

const Q: &str = "q.fifo";
const DEAD: &str = "dead.fifo";
const VISIBILITY_MS: i64 = 30_000;
const RECEIVES_MAX: u32 = 2;

#[derive(Debug, Clone)]
enum Step {
    Send {
        group: u8,
        id: u8,
    },
    Receive {
        max: i64,
    },
    /// Deletes by one of the handles given out so far, whatever became of its message.
    Delete {
        handle: usize,
    },
    GiveBack {
        handle: usize,
    },
    Pass {
        seconds: u64,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3u8, 0..4u8).prop_map(|(group, id)| Step::Send { group, id }),
        4 => (1..4i64).prop_map(|max| Step::Receive { max }),
        3 => any::<usize>().prop_map(|handle| Step::Delete { handle }),
        1 => any::<usize>().prop_map(|handle| Step::GiveBack { handle }),
        3 => prop::sample::select(vec![1, 15, 30, 299, 300]).prop_map(|seconds| Step::Pass { seconds }),
        1 => Just(Step::Restart),
    ]
}

#[derive(Debug, Clone)]
struct Plain {
    body: String,
    group: u8,
    visible_at: i64,
    receives: u32,
    /// The number of the handle that holds it.
    holder: Option<usize>,
}

/// The rules once more, without regard to speed.
#[derive(Debug, Default)]
struct Model {
    queue: Vec<Plain>,
    dead: Vec<String>,
    sent: Vec<(u8, u8, i64)>,
    /// Bodies by handle.
    handles: Vec<String>,
}

impl Model {
    fn send(&mut self, group: u8, id: u8, body: String, now: i64) {
        if self.sent.iter().any(|(g, i, at)| (*g, *i) == (group, id) && now - at < 300_000) {
            return;
        }
        self.sent.push((group, id, now));
        self.queue.push(Plain { body, group, visible_at: now, receives: 0, holder: None });
    }

    fn receive(&mut self, max: usize, now: i64) -> Vec<String> {
        let in_flight =
            |group: u8, queue: &[Plain]| queue.iter().any(|m| m.group == group && m.visible_at > now);
        let first = |group: u8, queue: &[Plain]| queue.iter().position(|m| m.group == group);
        let mut free: Vec<Plain> =
            self.queue.iter().filter(|m| !in_flight(m.group, &self.queue)).cloned().collect();
        // Stable: within a group the order of sending stays.
        free.sort_by_key(|m| first(m.group, &self.queue));
        let mut taken = Vec::new();
        for message in free {
            if taken.len() == max {
                break;
            }
            if message.receives >= RECEIVES_MAX {
                self.queue.retain(|m| m.body != message.body);
                self.dead.push(message.body);
                continue;
            }
            let own = self.queue.iter_mut().find(|m| m.body == message.body).unwrap();
            own.receives += 1;
            own.visible_at = now + VISIBILITY_MS;
            own.holder = Some(self.handles.len());
            self.handles.push(message.body.clone());
            taken.push(message.body);
        }
        taken
    }

    /// Whether the step is allowed.
    fn delete(&mut self, handle: usize, now: i64) -> bool {
        let body = &self.handles[handle];
        let Some(at) = self.queue.iter().position(|m| m.body == *body) else { return true };
        let held = self.queue[at].holder == Some(handle) && self.queue[at].visible_at > now;
        if held {
            self.queue.remove(at);
        }
        held
    }

    fn give_back(&mut self, handle: usize, now: i64) -> bool {
        let held = self.queue.iter_mut().find(|m| m.holder == Some(handle) && m.visible_at > now);
        held.map(|m| m.visible_at = now).is_some()
    }
}

fn run(steps: Vec<Step>) {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal");
    let clock = Arc::new(ManualClock::new(START_MS));
    let queues = with_dead_letters(Q, DEAD, RECEIVES_MAX);
    let open = || Sqs::open(&queues, clock.clone(), Some(&journal)).unwrap();
    let (mut sqs, mut model, mut handles) = (open(), Model::default(), Vec::new());
    for (number, step) in steps.into_iter().enumerate() {
        let now = clock.now_ms();
        match step {
            Step::Send { group, id } => {
                let request = SendRequest {
                    body: number.to_string(),
                    group: Some(group.to_string()),
                    deduplication_id: Some(id.to_string()),
                    ..SendRequest::default()
                };
                sqs.send(&url(Q), request).unwrap();
                model.send(group, id, number.to_string(), now);
            }
            Step::Receive { max } => {
                let request = ReceiveRequest { max_messages: Some(max), ..ReceiveRequest::default() };
                let received = sqs.receive(&url(Q), request).now_or_never().unwrap().unwrap();
                let bodies: Vec<String> = received.iter().map(|one| one.message.body.clone()).collect();
                assert_eq!(bodies, model.receive(max as usize, now));
                handles.extend(received.into_iter().map(|one| one.receipt_handle));
            }
            Step::Delete { handle } if !handles.is_empty() => {
                let handle = handle % handles.len();
                assert_eq!(sqs.delete(&url(Q), &handles[handle]).is_ok(), model.delete(handle, now));
            }
            Step::GiveBack { handle } if !handles.is_empty() => {
                let handle = handle % handles.len();
                let changed = sqs.change_visibility(&url(Q), &handles[handle], 0).is_ok();
                assert_eq!(changed, model.give_back(handle, now));
            }
            Step::Delete { .. } | Step::GiveBack { .. } => {}
            Step::Pass { seconds } => clock.advance(Duration::from_secs(seconds)),
            Step::Restart => {
                drop(sqs);
                sqs = open();
            }
        }
    }
    let counts = sqs.counts(&url(Q)).unwrap();
    assert_eq!(counts.visible + counts.in_flight, model.queue.len());
    assert_eq!(sqs.counts(&url(DEAD)).unwrap().visible, model.dead.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fifo_queue_does_what_the_plain_model_does_through_any_number_of_restarts(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        run(steps);
    }
}
