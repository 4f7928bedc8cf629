//! The clock of production: the machine's time and tokio's timer.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::time::{Clock, EpochMillis};

/// The time of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// The machine's time; a machine set before 1970 reads as negative time, one beyond the year 292 million
    /// as the last millisecond there is.
    fn now_ms(&self) -> EpochMillis {
        let signed =
            |duration: Duration| EpochMillis::try_from(duration.as_millis()).unwrap_or(EpochMillis::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => signed(since),
            Err(before) => -signed(before.duration()),
        }
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_reads_the_machine_time() {
        let before =
            i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        let now = SystemClock.now_ms();
        let after = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        assert!((before..=after).contains(&now));
    }

    #[tokio::test]
    async fn a_sleep_of_nothing_ends() {
        SystemClock.sleep(Duration::ZERO).await;
    }
}
