use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::*;
use crate::testing::{JumpClock, random_always};

const NOW: EpochMillis = 1_000_000;

fn retries(clock: &Arc<JumpClock>, random: f64) -> Retries {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
    Retries { clock, random: random_always(random), permits: Arc::new(Semaphore::new(1)) }
}

fn bounds() -> Bounds {
    Bounds { timeout: Duration::from_secs(120), deadline: None, retries_max: RETRIES_MAX }
}

fn limited(retry_after: Option<RetryAfter>) -> ChatError {
    ChatError::RateLimited { retry_after, detail: String::new() }
}

/// Fails `failures` times with `error`, then succeeds; returns the outcome and the number of tries.
async fn run(
    retries: &Retries,
    bounds: Bounds,
    failures: u32,
    error: ChatError,
) -> (Result<u32, ChatError>, u32) {
    let tries = AtomicU32::new(0);
    let call = |_| {
        let tried = tries.fetch_add(1, Ordering::SeqCst);
        let result = if tried < failures { Err(error.clone()) } else { Ok(tried) };
        async move { result }
    };
    let result = retries.run(bounds, call).await;
    (result, tries.load(Ordering::SeqCst))
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[tokio::test]
async fn the_first_try_and_three_more_and_no_further() {
    for (failures, ok, tries) in [(0, true, 1), (3, true, 4), (4, false, 4)] {
        let clock = JumpClock::new(NOW, Duration::from_secs(60));
        let outcome = run(&retries(&clock, 0.5), bounds(), failures, limited(None)).await;
        assert_eq!((outcome.0.is_ok(), outcome.1), (ok, tries), "{failures}");
    }
}

#[tokio::test]
async fn waits_double_and_are_jittered_in_full() {
    let clock = JumpClock::new(NOW, Duration::from_secs(60));
    run(&retries(&clock, 0.5), bounds(), 9, limited(None)).await.0.unwrap_err();
    assert_eq!(clock.slept(), [ms(250), ms(500), ms(1000)]);
    let clock = JumpClock::new(NOW, Duration::from_secs(60));
    run(&retries(&clock, 0.0), bounds(), 9, limited(None)).await.0.unwrap_err();
    assert_eq!(clock.slept(), [ms(0); 3]);
}

#[tokio::test]
async fn the_providers_wish_is_honoured_as_a_delay_and_as_a_date() {
    for wish in [RetryAfter::Delay(ms(7000)), RetryAfter::At(NOW + 7000)] {
        let clock = JumpClock::new(NOW, Duration::from_secs(61));
        run(&retries(&clock, 0.5), bounds(), 1, limited(Some(wish))).await.0.unwrap();
        assert_eq!(clock.slept(), [ms(7250)]);
    }
}

#[tokio::test]
async fn a_wish_beyond_the_limit_ends_the_tries_and_goes_up() {
    let limit = u64::try_from(RETRY_AFTER_MAX.as_millis()).unwrap();
    for (wish, tries) in [(limit - 1, 2), (limit, 2), (limit + 1, 1)] {
        let clock = JumpClock::new(NOW, Duration::from_secs(90));
        let told = Some(RetryAfter::Delay(ms(wish)));
        let outcome = run(&retries(&clock, 0.0), bounds(), 1, limited(told)).await;
        assert_eq!(outcome.1, tries, "{wish}");
        if tries == 1 {
            assert_eq!(outcome.0.unwrap_err().retry_after(), told);
        }
    }
}

#[tokio::test]
async fn an_error_that_time_does_not_heal_is_not_retried() {
    let clock = JumpClock::new(NOW, Duration::from_secs(60));
    let auth = ChatError::Auth { detail: String::new() };
    assert_eq!(run(&retries(&clock, 0.5), bounds(), 9, auth).await.1, 1);
}

#[tokio::test]
async fn no_wait_reaches_past_the_deadline() {
    for (left_ms, tries) in [(250, 1), (251, 2), (750, 2), (751, 3)] {
        let clock = JumpClock::new(NOW, Duration::from_secs(60));
        let bounds = Bounds { deadline: Some(NOW + left_ms), ..bounds() };
        let outcome = run(&retries(&clock, 0.5), bounds, 9, limited(None)).await;
        assert_eq!(outcome.1, tries, "{left_ms}");
        assert_eq!(outcome.0.unwrap_err().class(), "rate_limited");
    }
}

#[tokio::test]
async fn a_deadline_in_the_past_costs_no_call() {
    let clock = JumpClock::new(NOW, Duration::from_secs(60));
    let bounds = Bounds { deadline: Some(NOW), ..bounds() };
    let outcome = run(&retries(&clock, 0.5), bounds, 0, limited(None)).await;
    assert_eq!((outcome.0.unwrap_err().class(), outcome.1), ("timeout", 0));
}

#[tokio::test]
async fn a_try_gets_no_more_time_than_is_left() {
    let clock = JumpClock::new(NOW, ms(1));
    let bounds = Bounds { deadline: Some(NOW + 4000), ..bounds() };
    let given = retries(&clock, 0.5).run(bounds, |timeout| async move { Ok::<_, ChatError>(timeout) }).await;
    assert_eq!(given, Ok(ms(4000)));
}

#[tokio::test]
async fn a_call_that_hangs_past_its_timeout_is_killed_and_repeated_once() {
    let clock = JumpClock::new(NOW, Duration::from_secs(200));
    let tries = AtomicU32::new(0);
    let call = |_| {
        tries.fetch_add(1, Ordering::SeqCst);
        pending::<Result<(), ChatError>>()
    };
    let error = retries(&clock, 0.5).run(bounds(), call).await.unwrap_err();
    assert_eq!((error.class(), tries.load(Ordering::SeqCst)), ("timeout", 2));
    assert_eq!(clock.slept(), [Duration::from_secs(125), ms(250), Duration::from_secs(125)]);
}

#[derive(Debug)]
struct WatchingClock(Arc<JumpClock>, Arc<Semaphore>);

impl Clock for WatchingClock {
    fn now_ms(&self) -> EpochMillis {
        self.0.now_ms()
    }

    fn sleep(&self, duration: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if duration < Duration::from_secs(60) {
            assert_eq!(self.1.available_permits(), 1, "a permit is held while waiting");
        }
        self.0.sleep(duration)
    }
}

#[tokio::test]
async fn no_permit_is_held_while_waiting_for_the_next_try() {
    let permits = Arc::new(Semaphore::new(1));
    let clock = WatchingClock(JumpClock::new(NOW, Duration::from_secs(60)), Arc::clone(&permits));
    let retries =
        Retries { clock: Arc::new(clock), random: random_always(0.5), permits: Arc::clone(&permits) };
    let watched = Arc::clone(&permits);
    let call = move |_| {
        assert_eq!(watched.available_permits(), 0, "a call runs without a permit");
        async { Err::<(), _>(limited(None)) }
    };
    retries.run(bounds(), call).await.unwrap_err();
    assert_eq!(permits.available_permits(), 1);
}

proptest! {
    #[test]
    fn every_wait_is_within_its_bound(tried in 0u32..40, chance in 0.0f64..1.0) {
        let clock = JumpClock::new(NOW, Duration::from_secs(60));
        let wait = retries(&clock, chance).wait_before(tried, &limited(None), None).unwrap();
        prop_assert!(wait <= BACKOFF_MAX);
        prop_assert!(wait <= BACKOFF_BASE.saturating_mul(2_u32.saturating_pow(tried)));
    }
}
