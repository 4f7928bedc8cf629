//! A clock that stands still until it is moved: tests and demonstrations decide what time it is.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use domain::time::{Clock, EpochMillis};
use tokio::sync::watch;

/// Time that only passes when it is told to. Clones of an `Arc` share it.
///
/// A sleeper's deadline is fixed when `sleep` is called, not when its future is first polled, and a sleeper
/// wakes as soon as the clock stands at its deadline or past it.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: watch::Sender<EpochMillis>,
}

impl ManualClock {
    /// A clock that stands at `now_ms`.
    #[must_use]
    pub fn new(now_ms: EpochMillis) -> Self {
        Self { now_ms: watch::Sender::new(now_ms) }
    }

    /// Moves the clock forward, to the end of time at most.
    pub fn advance(&self, duration: Duration) {
        self.now_ms.send_modify(|now| *now = later(*now, duration));
    }

    /// Sets the clock, backwards too: sleepers then wait for their deadline all the longer.
    pub fn set(&self, now_ms: EpochMillis) {
        self.now_ms.send_replace(now_ms);
    }

    /// How many sleepers wait at this moment; a test advances the clock once those it expects are asleep.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.now_ms.receiver_count()
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> EpochMillis {
        *self.now_ms.borrow()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut time = self.now_ms.subscribe();
        let deadline = later(self.now_ms(), duration);
        Box::pin(async move {
            // The sender lives in `self`, which this future borrows: the channel cannot close.
            let _ = time.wait_for(|now| *now >= deadline).await;
        })
    }
}

fn later(now: EpochMillis, duration: Duration) -> EpochMillis {
    now.saturating_add(EpochMillis::try_from(duration.as_millis()).unwrap_or(EpochMillis::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_sleeper_wakes_at_its_deadline_and_not_a_millisecond_before() {
        let clock = ManualClock::new(1_000);
        let mut sleep = clock.sleep(Duration::from_millis(500));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_millis(499));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_millis(1));
        assert!((&mut sleep).now_or_never().is_some());
        assert_eq!(clock.now_ms(), 1_500);
        assert_eq!(clock.now(), 1);
    }

    #[test]
    fn a_deadline_counts_from_the_call_even_if_the_clock_moves_before_the_first_poll() {
        let clock = ManualClock::new(0);
        let sleep = clock.sleep(Duration::from_secs(1));
        clock.advance(Duration::from_secs(1));
        assert!(sleep.now_or_never().is_some());
    }

    #[test]
    fn one_jump_wakes_every_sleeper_it_passes_and_leaves_the_others() {
        let clock = ManualClock::new(0);
        let mut sleeps: Vec<_> = (1..=4).map(|seconds| clock.sleep(Duration::from_secs(seconds))).collect();
        assert_eq!(clock.sleepers(), 4);
        clock.set(2_500);
        let awake: Vec<bool> = sleeps.iter_mut().map(|sleep| sleep.now_or_never().is_some()).collect();
        assert_eq!(awake, [true, true, false, false]);
    }

    #[tokio::test]
    async fn a_sleeping_task_is_woken() {
        let clock = Arc::new(ManualClock::new(0));
        let task = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep(Duration::from_secs(60)).await;
                clock.now_ms()
            }
        });
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(90));
        assert_eq!(task.await.unwrap(), 90_000);
    }

    #[test]
    fn time_does_not_overflow() {
        let clock = ManualClock::new(5);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now_ms(), EpochMillis::MAX);
    }
}
