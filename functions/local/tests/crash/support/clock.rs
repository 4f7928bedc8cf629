//! Time that passes only when nothing else is to be done.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use domain::time::{Clock, EpochMillis};
use tokio::time::Instant;

/// When every test begins.
const START_MS: EpochMillis = 1_750_000_000_000;

/// Tokio's paused clock. A test with `start_paused` moves it on by itself to the next sleeper when all tasks wait.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    began: Instant,
    start_ms: EpochMillis,
}

impl VirtualClock {
    pub(crate) fn new() -> Self {
        Self::at(START_MS)
    }

    pub(crate) fn at(start_ms: EpochMillis) -> Self {
        Self { began: Instant::now(), start_ms }
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> EpochMillis {
        self.start_ms + EpochMillis::try_from(self.began.elapsed().as_millis()).unwrap()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Lets time pass; sleepers on the way are woken.
pub(crate) async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Moves time on while nothing in the process runs: it was frozen.
pub(crate) async fn freeze(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}
