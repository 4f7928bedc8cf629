//! Worked examples, with the first window due at the stride (window 10, stride 8 unless said otherwise).

use domain::ids::{RequestId, SessionId};
use domain::learning::{AdmissionPolicy, KindPolicy, LearningKind};

use super::*;

const KIND: LearningKind = LearningKind::Profile;
const IDLE: i64 = 21_600;

pub(super) fn policy(window: u32, stride: u32) -> KindPolicy {
    KindPolicy { eligible: true, window, stride }
}

pub(super) fn segment(first_position: u64, count: u32, session: &str, admitted_at: i64) -> Segment {
    Segment {
        first_position,
        count,
        deleted: Vec::new(),
        trigger: Trigger {
            request_id: RequestId::new(&format!("r{first_position}")).unwrap(),
            session_id: SessionId::new(session).unwrap(),
            source: "web".into(),
            agent_version: "agent-v0".into(),
        },
        admitted_at,
        policy: AdmissionPolicy {
            profile: policy(10, 8),
            playbook: policy(10, 8),
            idle_timeout_seconds: IDLE,
            force: false,
            session_finished: false,
            skip_aggregation: false,
            override_stall: false,
        },
    }
}

fn whole(segments: &[Segment]) -> Slice<'_> {
    Slice { segments, reaches_head: true }
}

/// Runs all windows that are due at `now` and returns (context, new, reason) of each.
fn drain(segments: &[Segment], cursor: &mut Cursor, now: i64) -> Vec<(Vec<u64>, Vec<u64>, WindowReason)> {
    let mut windows = Vec::new();
    while let Selection::Ready(window) = select(KIND, whole(segments), cursor, now).unwrap() {
        *cursor = cursor.after(&window);
        windows.push((window.context, window.new, window.reason));
    }
    windows
}

fn range(from: u64, to: u64) -> Vec<u64> {
    (from..to).collect()
}

#[test]
fn the_first_window_comes_at_the_stride_and_the_next_one_a_stride_later() {
    let mut stream: Vec<Segment> = (0..7).map(|p| segment(p, 1, "s", 0)).collect();
    let mut cursor = Cursor::default();
    assert_eq!(
        select(KIND, whole(&stream), &cursor, 0).unwrap(),
        Selection::Wait { due_at: Some(IDLE), reason: WaitReason::WaitingForWindow }
    );
    stream.push(segment(7, 1, "s", 0));
    assert_eq!(drain(&stream, &mut cursor, 0), [(vec![], range(0, 8), WindowReason::Stride)]);
    stream.extend((8..15).map(|p| segment(p, 1, "s", 0)));
    assert_eq!(drain(&stream, &mut cursor, 0), []);
    stream.push(segment(15, 1, "s", 0));
    assert_eq!(drain(&stream, &mut cursor, 0), [(range(6, 8), range(8, 16), WindowReason::Stride)]);
    assert_eq!(cursor, Cursor { completed: 16, completed_eligible: 16, started: true });
}

#[test]
fn what_is_left_is_learned_once_the_session_has_been_silent_for_long_enough() {
    let stream = [segment(0, 8, "s", 0), segment(8, 5, "s", 100)];
    let mut cursor = Cursor { completed: 8, completed_eligible: 8, started: true };
    assert_eq!(drain(&stream, &mut cursor, 100 + IDLE - 1), []);
    let windows = drain(&stream, &mut cursor, 100 + IDLE);
    assert_eq!(windows, [(range(3, 8), range(8, 13), WindowReason::Idle)]);
}

#[test]
fn a_forced_request_is_learned_at_once_and_the_next_window_is_filled_up() {
    let mut stream = vec![segment(0, 3, "s", 0)];
    stream[0].policy.force = true;
    let mut cursor = Cursor::default();
    assert_eq!(drain(&stream, &mut cursor, 0), [(vec![], range(0, 3), WindowReason::Force)]);
    stream.push(segment(3, 7, "s", 0));
    assert_eq!(drain(&stream, &mut cursor, 0), []);
    stream.push(segment(10, 1, "s", 0));
    assert_eq!(drain(&stream, &mut cursor, 0), [(range(1, 3), range(3, 11), WindowReason::Stride)]);
}

#[test]
fn a_burst_is_consumed_as_several_windows_without_skipping_any() {
    let stream = [segment(0, 43, "s", 0)];
    let mut cursor = Cursor::default();
    let windows = drain(&stream, &mut cursor, 0);
    let expected: Vec<_> = (0..5u64)
        .map(|n| (range((n * 8).saturating_sub(2), n * 8), range(n * 8, n * 8 + 8), WindowReason::Stride))
        .collect();
    assert_eq!(windows, expected);
    assert_eq!(cursor.completed, 40);
}

#[test]
fn a_forced_burst_is_drained_in_full_windows_first() {
    let mut stream = vec![segment(0, 19, "s", 0), segment(19, 3, "s", 0)];
    stream[0].policy.force = true;
    let new: Vec<_> = drain(&stream, &mut Cursor::default(), 0).into_iter().map(|(_, new, _)| new).collect();
    assert_eq!(new, [range(0, 8), range(8, 16), range(16, 19)]);
}

#[test]
fn a_finished_session_is_learned_up_to_its_end() {
    let mut stream =
        vec![segment(0, 2, "a", 0), segment(2, 2, "b", 0), segment(4, 1, "a", 0), segment(5, 1, "b", 0)];
    stream[2].policy.session_finished = true;
    let windows = drain(&stream, &mut Cursor::default(), 0);
    assert_eq!(windows, [(vec![], range(0, 5), WindowReason::SessionFinished)]);
}

#[test]
fn an_end_that_was_declared_in_a_request_that_is_not_learned_from_still_counts() {
    let mut stream = vec![segment(0, 2, "a", 0), segment(2, 1, "a", 0)];
    stream[1].policy.session_finished = true;
    stream[1].policy.profile.eligible = false;
    let mut cursor = Cursor::default();
    let windows = drain(&stream, &mut cursor, 0);
    assert_eq!(windows, [(vec![], range(0, 2), WindowReason::SessionFinished)]);
    assert_eq!(cursor.completed, 3);
}

#[test]
fn interactions_that_are_not_eligible_are_passed_over() {
    let mut stream = vec![segment(0, 5, "s", 0), segment(5, 20, "s", 0), segment(25, 4, "s", 0)];
    stream[1].policy.profile.eligible = false;
    let mut cursor = Cursor::default();
    let windows = drain(&stream, &mut cursor, 0);
    assert_eq!(windows, [(vec![], vec![0, 1, 2, 3, 4, 25, 26, 27], WindowReason::Stride)]);
    assert_eq!(cursor.completed, 28);
    stream.truncate(2);
    stream[0].policy.profile.eligible = false;
    assert_eq!(
        select(KIND, whole(&stream), &Cursor::default(), 0).unwrap(),
        Selection::Drained { end_exclusive: 25 }
    );
}

#[test]
fn a_deleted_interaction_is_neither_new_nor_context() {
    let mut stream = vec![segment(0, 8, "s", 0), segment(8, 9, "s", 0)];
    stream[0].deleted = vec![6];
    stream[1].deleted = vec![8];
    let mut cursor = Cursor { completed: 8, completed_eligible: 8, started: true };
    let windows = drain(&stream, &mut cursor, 0);
    assert_eq!(windows, [(vec![5, 7], range(9, 17), WindowReason::Stride)]);
}

#[test]
fn the_policy_of_the_first_waiting_interaction_applies() {
    let mut stream = vec![segment(0, 1, "s", 0), segment(1, 9, "s", 0)];
    stream[0].policy.profile = policy(5, 3);
    let Selection::Ready(window) = select(KIND, whole(&stream), &Cursor::default(), 0).unwrap() else {
        panic!("a window is due");
    };
    assert_eq!((window.new, window.policy), (range(0, 3), policy(5, 3)));
    assert_eq!(window.trigger.request_id.as_str(), "r1");
}

#[test]
fn one_request_that_asks_not_to_aggregate_speaks_for_its_window() {
    let mut stream = vec![segment(0, 8, "s", 0), segment(8, 8, "s", 0)];
    stream[1].policy.skip_aggregation = true;
    let mut cursor = Cursor::default();
    for expected in [false, true] {
        let Selection::Ready(window) = select(KIND, whole(&stream), &cursor, 0).unwrap() else {
            panic!("a window is due");
        };
        assert_eq!(window.skip_aggregation, expected);
        cursor = cursor.after(&window);
    }
}

#[test]
fn a_slice_that_ends_too_early_to_tell_asks_for_more() {
    let stream = [segment(0, 3, "s", 0)];
    let cut = Slice { segments: &stream, reaches_head: false };
    assert_eq!(select(KIND, cut, &Cursor::default(), i64::MAX).unwrap(), Selection::NeedsMore);
    let empty = Slice { segments: &[], reaches_head: false };
    assert_eq!(select(KIND, empty, &Cursor::default(), 0).unwrap(), Selection::NeedsMore);
}

#[test]
fn without_an_idle_time_only_arrivals_make_a_window_due() {
    let mut stream = vec![segment(0, 3, "s", 0)];
    stream[0].policy.idle_timeout_seconds = 0;
    assert_eq!(
        select(KIND, whole(&stream), &Cursor::default(), i64::MAX).unwrap(),
        Selection::Wait { due_at: None, reason: WaitReason::WaitingForWindow }
    );
}

#[test]
fn a_stride_beyond_the_window_is_a_fault_of_the_configuration() {
    let mut stream = vec![segment(0, 3, "s", 0)];
    stream[0].policy.profile = policy(5, 6);
    assert_eq!(
        select(KIND, whole(&stream), &Cursor::default(), 0),
        Err(InvalidPolicy { window: 5, stride: 6 })
    );
}
