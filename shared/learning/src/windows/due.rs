//! The same question asked of counters alone: publishing must know whether to wake a worker, and reads no stream.

use domain::learning::KindPolicy;

use super::stream::{InvalidPolicy, needed};

/// What the user's head item knows of one kind of learning.
///
/// The numbers of the worker may lag behind; then a worker is woken for nothing, but never left asleep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeadCounters {
    /// Eligible interactions ever admitted, the ones just arriving included.
    pub eligible: u64,
    /// How many of them were learned from ([`super::Cursor::completed_eligible`]).
    pub completed_eligible: u64,
    /// Whether any window was completed yet ([`super::Cursor::started`]).
    pub started: bool,
}

/// Whether enough new interactions wait for a full window.
///
/// # Errors
/// [`InvalidPolicy`] unless `1 ≤ stride ≤ window`.
pub fn is_window_due(counters: HeadCounters, policy: KindPolicy) -> Result<bool, InvalidPolicy> {
    let needed = needed(policy, counters.started, counters.completed_eligible)?;
    let pending = counters.eligible.saturating_sub(counters.completed_eligible);
    Ok(pending >= needed as u64)
}

/// Whether an arriving request makes a window due: it fills one, or it asks for one (`force`, `session_finished`) and
/// something waits.
///
/// # Errors
/// [`InvalidPolicy`] unless `1 ≤ stride ≤ window`.
pub fn is_due_on_arrival(
    counters: HeadCounters,
    policy: KindPolicy,
    asks_for_window: bool,
) -> Result<bool, InvalidPolicy> {
    let waiting = counters.eligible > counters.completed_eligible;
    Ok(is_window_due(counters, policy)? || (asks_for_window && waiting))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> KindPolicy {
        KindPolicy { eligible: true, window: 10, stride: 8 }
    }

    #[test]
    fn the_first_window_is_due_at_the_stride_and_not_before() {
        for (eligible, due) in [(0, false), (7, false), (8, true), (9, true)] {
            let counters = HeadCounters { eligible, ..HeadCounters::default() };
            assert_eq!(is_window_due(counters, policy()), Ok(due), "{eligible}");
        }
    }

    #[test]
    fn a_later_window_is_due_when_it_would_be_full() {
        for (completed_eligible, eligible, due) in
            [(8, 15, false), (8, 16, true), (1, 9, false), (1, 10, true), (40, 47, false), (40, 48, true)]
        {
            let counters = HeadCounters { eligible, completed_eligible, started: true };
            assert_eq!(is_window_due(counters, policy()), Ok(due), "{completed_eligible} of {eligible}");
        }
    }

    #[test]
    fn a_forced_request_is_due_only_when_something_waits() {
        let waiting = HeadCounters { eligible: 9, completed_eligible: 8, started: true };
        assert_eq!(is_due_on_arrival(waiting, policy(), true), Ok(true));
        assert_eq!(is_due_on_arrival(waiting, policy(), false), Ok(false));
        let drained = HeadCounters { eligible: 8, ..waiting };
        assert_eq!(is_due_on_arrival(drained, policy(), true), Ok(false));
    }

    #[test]
    fn a_stride_outside_the_window_is_refused() {
        for (stride, ok) in [(0, false), (1, true), (10, true), (11, false)] {
            let policy = KindPolicy { stride, ..policy() };
            assert_eq!(is_window_due(HeadCounters::default(), policy).is_ok(), ok, "{stride}");
        }
    }
}
