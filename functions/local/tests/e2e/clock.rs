//! A clock for whole deployments: short waits pass by themselves, long ones when a test moves the time.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::time::{Clock, EpochMillis};
use retrospect::cloud::clock::ManualClock;

/// Waits up to this are over at once, and move the clock: back-offs, and the looks of a waiting publish.
const JUMP_MAX: Duration = Duration::from_secs(3);
/// Monday, 2025-06-16, 10:00 UTC.
pub(crate) const START_MS: EpochMillis = 1_750_068_000_000;

/// Nobody waits in real time, and time-outs strike only when a test says so.
#[derive(Debug)]
pub(crate) struct TestClock {
    time: ManualClock,
    jumped: Mutex<Vec<Duration>>,
}

impl TestClock {
    pub(crate) fn shared() -> Arc<Self> {
        Arc::new(Self { time: ManualClock::new(START_MS), jumped: Mutex::default() })
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.time.advance(duration);
    }

    /// The waits that passed by themselves.
    pub(crate) fn jumped(&self) -> Vec<Duration> {
        self.jumped.lock().unwrap().clone()
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> EpochMillis {
        self.time.now_ms()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if duration > JUMP_MAX {
            return self.time.sleep(duration);
        }
        Box::pin(async move {
            // Whatever else can go on goes on first, as it would in a real wait.
            tokio::task::yield_now().await;
            self.time.advance(duration);
            self.jumped.lock().unwrap().push(duration);
        })
    }
}
