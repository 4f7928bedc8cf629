//! `rate(…)` and `cron(…)`, in EventBridge's grammar.

use domain::time::EpochMillis;

use super::cron::Cron;

/// When a rule sets off its function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// Every so many milliseconds, counted from the start.
    Rate(EpochMillis),
    /// At times of the calendar, in UTC.
    Cron(Cron),
}

/// Why a schedule cannot be obeyed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Neither `rate(…)` nor `cron(…)`.
    #[error("{0:?} is neither rate(…) nor cron(…)")]
    Unknown(String),
    /// Not `rate(1 minute)`, `rate(5 minutes)` and the like.
    #[error("{0:?} is not a rate: a whole number from 1 and minute, hour or day, in the plural above 1")]
    Rate(String),
    /// A field of `cron(…)` that cannot be read, or that uses L, W or #.
    #[error("{field} of the cron expression: {text:?} is not known to the local cloud")]
    Field {
        /// Which one.
        field: &'static str,
        /// What it says.
        text: String,
    },
    /// Not six fields.
    #[error("a cron expression has six fields, {0:?} has not")]
    Fields(String),
    /// Neither or both of the day fields say `?`.
    #[error("one of day-of-month and day-of-week must be ?, and only one")]
    Days,
}

impl Schedule {
    /// Reads a schedule expression.
    ///
    /// # Errors
    /// [`ScheduleError`] when it is malformed, or beyond what the local cloud obeys.
    pub fn parse(expression: &str) -> Result<Self, ScheduleError> {
        let inside = |kind: &str| expression.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')');
        match (inside("rate"), inside("cron")) {
            (Some(rate), _) => {
                parse_rate(rate).map(Self::Rate).ok_or_else(|| ScheduleError::Rate(rate.to_owned()))
            }
            (_, Some(cron)) => Cron::parse(cron).map(Self::Cron),
            (None, None) => Err(ScheduleError::Unknown(expression.to_owned())),
        }
    }

    /// The first time after `after_ms` of a schedule that began at `started_ms`; none when there is no more.
    #[must_use]
    pub fn next_after(&self, started_ms: EpochMillis, after_ms: EpochMillis) -> Option<EpochMillis> {
        match self {
            Self::Rate(every_ms) => {
                let passed = (after_ms - started_ms).max(0) / every_ms;
                passed.checked_add(1)?.checked_mul(*every_ms)?.checked_add(started_ms)
            }
            Self::Cron(cron) => cron.next_after(after_ms),
        }
    }
}

fn parse_rate(text: &str) -> Option<EpochMillis> {
    let (number, unit) = text.split_once(' ')?;
    let number: EpochMillis = number.parse().ok().filter(|number| *number >= 1)?;
    let one_ms = match (number, unit) {
        (1, "minute") | (2.., "minutes") => 60_000,
        (1, "hour") | (2.., "hours") => 3_600_000,
        (1, "day") | (2.., "days") => 86_400_000,
        _ => return None,
    };
    number.checked_mul(one_ms)
}
