//! What a failed comparison leads to: the turn is at fault, or its surroundings are.

use llm::ChatError;
use llm::error::RetryAfter;

/// Attempts at a turn whose answers cannot be used, before it is given up.
pub const ATTEMPTS_MAX: u32 = 3;
/// How long a request waits before it is tried again, in seconds: the first time, and at most.
pub const PUT_OFF_SECONDS_FIRST: i64 = 60;
/// See [`PUT_OFF_SECONDS_FIRST`].
pub const PUT_OFF_SECONDS_MAX: i64 = 3_600;

/// Why a turn has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The provider: the turn is tried again without end, at this time at the earliest.
    Provider(Option<RetryAfter>),
    /// The model's answer: the turn is tried [`ATTEMPTS_MAX`] times.
    Answer,
    /// The turn itself: no try will end otherwise.
    Turn,
}

impl Fault {
    pub(super) fn of(error: &ChatError) -> Self {
        match error {
            ChatError::Auth { .. }
            | ChatError::Billing { .. }
            | ChatError::RateLimited { .. }
            | ChatError::Timeout { .. }
            | ChatError::Overloaded { .. }
            | ChatError::Network { .. }
            | ChatError::AddressRefused { .. } => Self::Provider(error.retry_after()),
            ChatError::BadRequest { .. }
            | ChatError::ContentFiltered { .. }
            | ChatError::Truncated { .. }
            | ChatError::Malformed { .. } => Self::Answer,
            ChatError::ContextTooLong { .. } => Self::Turn,
        }
    }
}

/// How long a request is put off after `failures` failures of the provider in a row.
#[must_use]
pub fn put_off_seconds(failures: u32) -> i64 {
    (PUT_OFF_SECONDS_FIRST << failures.saturating_sub(1).min(10)).min(PUT_OFF_SECONDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_an_hour() {
        let waits = [0, 1, 2, 3, 6, 7, u32::MAX].map(put_off_seconds);
        assert_eq!(waits, [60, 60, 120, 240, 1_920, 3_600, 3_600]);
    }
}
