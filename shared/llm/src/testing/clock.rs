//! A clock that jumps over waits, chance that always falls the same way, a sink that remembers.

use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::time::{Clock, EpochMillis};

use crate::meter::{UsageRecord, UsageSink};
use crate::retry::Random;

/// A clock on which waits up to a limit are over at once, and move it; longer ones never end. So a test sees the
/// pauses between tries pass while the timeouts beside running calls do not strike.
#[derive(Debug)]
pub struct JumpClock {
    now_ms: AtomicI64,
    limit: Duration,
    slept: Mutex<Vec<Duration>>,
}

impl JumpClock {
    /// Jumps over waits of at most `limit`.
    #[must_use]
    pub fn new(now_ms: EpochMillis, limit: Duration) -> Arc<Self> {
        Arc::new(Self { now_ms: AtomicI64::new(now_ms), limit, slept: Mutex::default() })
    }

    /// The waits that were jumped over.
    pub fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves the clock on.
    pub fn advance(&self, duration: Duration) {
        let by = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.now_ms.fetch_add(by, Ordering::SeqCst);
    }

    fn jump(&self, duration: Duration) {
        self.advance(duration);
        self.slept.lock().unwrap_or_else(PoisonError::into_inner).push(duration);
    }
}

impl Clock for JumpClock {
    fn now_ms(&self) -> EpochMillis {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if duration > self.limit {
            return Box::pin(pending());
        }
        // Only a wait that is really awaited moves the clock.
        Box::pin(async move {
            self.jump(duration);
            ready(()).await;
        })
    }
}

/// Chance that always yields `value`, from 0 to below 1.
#[must_use]
pub fn random_always(value: f64) -> Random {
    Arc::new(move || value)
}

/// Remembers what was metered.
#[derive(Debug, Default)]
pub struct RecordingSink(Mutex<Vec<UsageRecord>>);

impl RecordingSink {
    /// All records so far.
    pub fn records(&self) -> Vec<UsageRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl UsageSink for RecordingSink {
    fn record(&self, record: UsageRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}
