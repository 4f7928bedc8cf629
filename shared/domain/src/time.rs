//! Times: epoch seconds on the wire and in rows, milliseconds for leases and timers, and the port through
//! which everything above asks what time it is. This crate never looks at a clock itself.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Seconds since 1970-01-01T00:00:00Z.
pub type EpochSeconds = i64;
/// Milliseconds since 1970-01-01T00:00:00Z.
pub type EpochMillis = i64;

/// 2100-01-01T00:00:00Z: the expiration of what never expires.
pub const NEVER_EXPIRES: EpochSeconds = 4_102_444_800;
/// One day in seconds.
pub const DAY_SECONDS: i64 = 86_400;

/// What time it is, and waiting for later. The system clock in production, one that tests move in tests.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The current time in milliseconds.
    fn now_ms(&self) -> EpochMillis;

    /// The current time in whole seconds.
    fn now(&self) -> EpochSeconds {
        self.now_ms().div_euclid(1000)
    }

    /// Completes once `duration` has passed on this clock.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The UTC date of a time as `YYYY-MM-DD`; `None` outside the years that can be written so.
#[must_use]
pub fn utc_date(at: EpochSeconds) -> Option<String> {
    let moment = jiff::Timestamp::from_second(at).ok()?;
    Some(moment.strftime("%Y-%m-%d").to_string())
}

/// The UTC time as `YYYY-MM-DD HH:MM UTC`; `None` outside the years that can be written so.
#[must_use]
pub fn utc_minute(at: EpochSeconds) -> Option<String> {
    let moment = jiff::Timestamp::from_second(at).ok()?;
    Some(moment.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// The UTC time in ISO 8601, with as many decimals as it has; `None` outside the years that can be written so.
#[must_use]
pub fn utc_timestamp(at: EpochMillis) -> Option<String> {
    jiff::Timestamp::from_millisecond(at).ok().map(|moment| moment.to_string())
}

/// The UTC time as `YYYY-MM-DDTHH:MM:SS+00:00`; `None` outside the years that can be written so.
#[must_use]
pub fn utc_iso(at: EpochSeconds) -> Option<String> {
    let moment = jiff::Timestamp::from_second(at).ok()?;
    Some(moment.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_utc() {
        assert_eq!(utc_date(1_750_000_000).as_deref(), Some("2025-06-15"));
        assert_eq!(utc_minute(1_750_000_000).as_deref(), Some("2025-06-15 15:06 UTC"));
        assert_eq!(utc_iso(1_750_000_000).as_deref(), Some("2025-06-15T15:06:40+00:00"));
        assert_eq!(utc_date(i64::MAX), None);
        assert_eq!(utc_timestamp(1_750_000_000_679).as_deref(), Some("2025-06-15T15:06:40.679Z"));
        assert_eq!(utc_timestamp(1_750_000_000_000).as_deref(), Some("2025-06-15T15:06:40Z"));
        assert_eq!(utc_timestamp(i64::MAX), None);
    }
}
