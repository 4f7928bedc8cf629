//! Asking again, without making a bad moment worse: jitter, the provider's own wishes, a bound, and no permit
//! held while waiting.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use domain::time::{Clock, EpochMillis};
use tokio::sync::Semaphore;

use crate::embedding::EmbedError;
use crate::error::{ChatError, RetryAfter};

/// Tries after the first.
pub const RETRIES_MAX: u32 = 3;
/// The first wait is at most this long; each further one at most twice the one before.
pub const BACKOFF_BASE: Duration = Duration::from_millis(500);
/// No wait of our own choice is longer.
pub const BACKOFF_MAX: Duration = Duration::from_secs(20);
/// A provider that wants a longer pause is not waited for: the error goes up, with the pause in it.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// How long past its own timeout a call may hang before it is killed.
pub const HARD_TIMEOUT_GRACE: Duration = Duration::from_secs(5);
/// How often a killed call is repeated.
pub const HARD_TIMEOUT_RETRIES_MAX: u32 = 1;

/// Yields numbers from 0 to below 1.
pub type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// What the retry rules ask of an error.
pub trait Failure: Sized {
    /// Whether asking again can help.
    fn is_retryable(&self) -> bool;
    /// When the provider wants to be asked again.
    fn retry_after(&self) -> Option<RetryAfter>;
    /// The failure of a call that did not end in time.
    fn timed_out(detail: &str) -> Self;
}

impl Failure for ChatError {
    fn is_retryable(&self) -> bool {
        self.is_retryable()
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        self.retry_after()
    }

    fn timed_out(detail: &str) -> Self {
        Self::Timeout { detail: detail.to_owned() }
    }
}

impl Failure for EmbedError {
    fn is_retryable(&self) -> bool {
        match self {
            Self::Provider(error) => error.is_retryable(),
            Self::Count { .. } | Self::Dimension { .. } | Self::NotFinite { .. } => true,
        }
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Provider(error) => error.retry_after(),
            Self::Count { .. } | Self::Dimension { .. } | Self::NotFinite { .. } => None,
        }
    }

    fn timed_out(detail: &str) -> Self {
        Self::Provider(ChatError::timed_out(detail))
    }
}

/// What retrying needs: the time, chance, and permits of one provider.
#[derive(Clone)]
pub struct Retries {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Random,
    /// One permit per call under way to this provider.
    pub permits: Arc<Semaphore>,
}

/// The bounds of one request.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long one try may take.
    pub timeout: Duration,
    /// When all is over.
    pub deadline: Option<EpochMillis>,
    /// Tries after the first.
    pub retries_max: u32,
}

impl Retries {
    /// Calls until it succeeds, fails for good, or the bounds are reached. `call` is given the time it has.
    ///
    /// # Errors
    /// The last error of `call`, or a timeout.
    pub async fn run<T, E, C, F>(&self, bounds: Bounds, mut call: C) -> Result<T, E>
    where
        E: Failure,
        C: FnMut(Duration) -> F,
        F: Future<Output = Result<T, E>>,
    {
        let mut killed = 0;
        let mut tried = 0;
        loop {
            let error = match self.attempt(bounds, &mut call).await {
                Attempt::Done(Ok(value)) => return Ok(value),
                Attempt::Done(Err(error)) => error,
                Attempt::Killed(error) => {
                    killed += 1;
                    if killed > HARD_TIMEOUT_RETRIES_MAX {
                        return Err(error);
                    }
                    let timeout = bounds.timeout.as_secs();
                    tracing::warn!(event = "llm_hard_timeout_retry", attempt = tried + 1, timeout);
                    error
                }
                Attempt::Late(error) => return Err(error),
            };
            if tried >= bounds.retries_max || !error.is_retryable() {
                return Err(error);
            }
            let Some(wait) = self.wait_before(tried, &error, bounds.deadline) else { return Err(error) };
            self.clock.sleep(wait).await;
            tried += 1;
        }
    }

    async fn attempt<T, E, C, F>(&self, bounds: Bounds, call: &mut C) -> Attempt<T, E>
    where
        E: Failure,
        C: FnMut(Duration) -> F,
        F: Future<Output = Result<T, E>>,
    {
        let late = || Attempt::Late(E::timed_out("the deadline has passed"));
        let Some(left) = self.left(bounds.deadline) else { return late() };
        let permit = async {
            match left {
                Some(left) => tokio::select! {
                    biased;
                    permit = self.permits.acquire() => permit.ok(),
                    () = self.clock.sleep(left) => None,
                },
                None => self.permits.acquire().await.ok(),
            }
        };
        // Held to the end of this function and not while waiting for the next try.
        let Some(_permit) = permit.await else { return late() };
        let Some(left) = self.left(bounds.deadline) else { return late() };
        let timeout = left.map_or(bounds.timeout, |left| left.min(bounds.timeout));
        tokio::select! {
            biased;
            result = call(timeout) => Attempt::Done(result),
            () = self.clock.sleep(timeout + HARD_TIMEOUT_GRACE) => {
                Attempt::Killed(E::timed_out("the call hung past its timeout and was killed"))
            }
        }
    }

    /// The time left: `Some(None)` is without end, `None` is none.
    fn left(&self, deadline: Option<EpochMillis>) -> Option<Option<Duration>> {
        let Some(deadline) = deadline else { return Some(None) };
        let left =
            u64::try_from(deadline.saturating_sub(self.clock.now_ms())).ok().filter(|left| *left > 0)?;
        Some(Some(Duration::from_millis(left)))
    }

    /// How long to wait before the next try; `None` when waiting is of no use.
    fn wait_before<E: Failure>(
        &self,
        tried: u32,
        error: &E,
        deadline: Option<EpochMillis>,
    ) -> Option<Duration> {
        let chance = (self.random)().clamp(0.0, 1.0);
        let told = error.retry_after().map(|when| when.from_now(self.clock.now_ms()));
        let wait = match told {
            Some(told) if told > RETRY_AFTER_MAX => return None,
            // A little later than told, so that not all workers come back in the same moment.
            Some(told) => told + BACKOFF_BASE.mul_f64(chance),
            None => backoff_max(tried).mul_f64(chance),
        };
        let left = self.left(deadline)?;
        if left.is_some_and(|left| wait >= left) { None } else { Some(wait) }
    }
}

enum Attempt<T, E> {
    Done(Result<T, E>),
    Killed(E),
    Late(E),
}

/// The longest wait before the try after `tried` retries.
fn backoff_max(tried: u32) -> Duration {
    BACKOFF_BASE.saturating_mul(2_u32.saturating_pow(tried)).min(BACKOFF_MAX)
}

#[cfg(test)]
mod tests;
