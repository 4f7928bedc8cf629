//! Whether what was just published must be looked at at once.

use domain::learning::{AdmissionPolicy, LearningKind};
use domain::time::EpochSeconds;
use store::{Admission, Head};

use crate::windows::{HeadCounters, is_due_on_arrival};

/// Decides from the head as it is once the request is counted.
#[must_use]
pub fn admit(head: &Head, policy: &AdmissionPolicy, now: EpochSeconds) -> Admission {
    let asks = policy.force || policy.session_finished;
    let mut any_eligible = false;
    for kind in LearningKind::ALL {
        let waiting = head.admitted(kind) > head.learned(kind);
        let is_concerned = policy.of(kind).eligible || (asks && waiting);
        if !is_concerned {
            continue;
        }
        any_eligible |= policy.of(kind).eligible;
        let counters = HeadCounters {
            eligible: count(head.admitted(kind)),
            completed_eligible: count(head.learned(kind)),
            started: head.learned(kind) > 0,
        };
        // A policy that cannot be followed is for the worker to report: it must see it.
        if is_due_on_arrival(counters, policy.of(kind), asks).unwrap_or(true) {
            // An overdue mark is repeated as it was found, so that its place in the index does not move.
            return Admission::DueSince(head.due_at.filter(|at| *at <= now).unwrap_or(now));
        }
    }
    if any_eligible && policy.idle_timeout_seconds > 0 {
        Admission::IdleAt(now.saturating_add(policy.idle_timeout_seconds))
    } else {
        Admission::Nothing
    }
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use domain::ids::UserId;
    use domain::learning::KindPolicy;

    use super::*;

    fn policy(eligible: bool) -> AdmissionPolicy {
        let kind = KindPolicy { eligible, window: 10, stride: 8 };
        AdmissionPolicy {
            profile: kind,
            playbook: kind,
            idle_timeout_seconds: 60,
            force: false,
            session_finished: false,
            skip_aggregation: false,
            override_stall: false,
        }
    }

    fn head(admitted: i64, learned: i64, due_at: Option<i64>) -> Head {
        Head {
            user_id: UserId::new("ana").unwrap(),
            user_number: 1,
            user_number_base: 0,
            count: admitted,
            admitted_profile: admitted,
            admitted_playbook: admitted,
            learned_profile: learned,
            learned_playbook: learned,
            due_at,
            due_revision: 0,
            purge_epoch: 0,
            barred: false,
        }
    }

    #[test]
    fn a_publish_wakes_at_the_stride_and_not_before() {
        assert_eq!(admit(&head(7, 0, None), &policy(true), 100), Admission::IdleAt(160));
        assert_eq!(admit(&head(8, 0, None), &policy(true), 100), Admission::DueSince(100));
        assert_eq!(admit(&head(15, 8, None), &policy(true), 100), Admission::IdleAt(160));
        assert_eq!(admit(&head(16, 8, None), &policy(true), 100), Admission::DueSince(100));
    }

    #[test]
    fn an_overdue_mark_keeps_its_place_and_a_later_one_moves_forward() {
        assert_eq!(admit(&head(8, 0, Some(50)), &policy(true), 100), Admission::DueSince(50));
        assert_eq!(admit(&head(8, 0, Some(500)), &policy(true), 100), Admission::DueSince(100));
    }

    #[test]
    fn what_is_never_learned_from_is_never_due() {
        assert_eq!(admit(&head(0, 0, None), &policy(false), 100), Admission::Nothing);
        let no_idle = AdmissionPolicy { idle_timeout_seconds: 0, ..policy(true) };
        assert_eq!(admit(&head(1, 0, None), &no_idle, 100), Admission::Nothing);
    }

    #[test]
    fn a_forced_request_is_due_at_once() {
        let forced = AdmissionPolicy { force: true, ..policy(true) };
        assert_eq!(admit(&head(1, 0, None), &forced, 100), Admission::DueSince(100));
    }
}
