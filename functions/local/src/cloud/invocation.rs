//! One run of a function, as Lambda sees it: it ends, fails, panics, or is stopped at its time-out.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use domain::time::Clock;
use futures::FutureExt;

use super::handlers::BoxError;

/// Why a run did not end well.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvocationError {
    /// The handler returned an error.
    #[error("the function failed")]
    Failed(#[source] BoxError),
    /// The handler panicked.
    #[error("the function panicked: {0}")]
    Panicked(String),
    /// The handler took too long and was stopped where it stood.
    #[error("the function was stopped after {0} seconds")]
    TimedOut(u64),
}

/// Runs a handler for at most `timeout`. A panic inside `start`, which makes the future, counts as one too.
pub(super) async fn invoke<T, F>(
    clock: &dyn Clock,
    timeout: Duration,
    start: impl FnOnce() -> F,
) -> Result<T, InvocationError>
where
    F: Future<Output = Result<T, BoxError>>,
{
    let run = AssertUnwindSafe(async { start().await }).catch_unwind();
    tokio::select! {
        biased;
        ended = run => match ended {
            Ok(result) => result.map_err(InvocationError::Failed),
            Err(panic) => Err(InvocationError::Panicked(panic_text(panic.as_ref()))),
        },
        () = clock.sleep(timeout) => Err(InvocationError::TimedOut(timeout.as_secs())),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
