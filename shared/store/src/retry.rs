//! Waiting for other writers: full jitter, doubling, with a bound.

use std::sync::Arc;
use std::time::Duration;

use domain::time::Clock;

/// Longest single wait.
const WAIT_MS_MAX: u64 = 800;
/// First wait is between 0 and this.
const WAIT_MS_FIRST: u64 = 10;
/// Attempts before a writer gives up on a contended item.
pub const ATTEMPTS_MAX: u32 = 24;

/// How to wait between attempts; the randomness comes from outside, so that tests repeat.
#[derive(Clone)]
pub struct Retries {
    random: Arc<dyn Fn() -> f64 + Send + Sync>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Retries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Retries")
    }
}

impl Retries {
    /// `random` gives numbers in `[0, 1)`.
    pub fn new(random: Arc<dyn Fn() -> f64 + Send + Sync>, clock: Arc<dyn Clock>) -> Self {
        Self { random, clock }
    }

    /// Waits before attempt `attempt` (the first retry is 1).
    pub async fn wait(&self, attempt: u32) {
        let ceiling = WAIT_MS_FIRST.saturating_mul(1 << attempt.min(10)).min(WAIT_MS_MAX);
        let share = (self.random)().clamp(0.0, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "at most 800 milliseconds"
        )]
        let wait = (ceiling as f64 * share) as u64;
        self.clock.sleep(Duration::from_millis(wait)).await;
    }
}
