//! Aggregations that callers asked for, from the queue to their end.

use domain::time::EpochSeconds;
use store::{AggregationOperation, AggregationOperationStatus, AggregationResult};

/// Times that a worker begins with an operation before it is given up.
pub const OPERATION_ATTEMPTS_MAX: u32 = 5;
/// Why an operation is given up whose workers died.
const INTERRUPTED: &str = "interrupted";

/// An operation that nobody has begun.
#[must_use]
pub fn new_operation(
    operation_id: String,
    request_id: String,
    agent_version: String,
    now: EpochSeconds,
) -> AggregationOperation {
    AggregationOperation {
        operation_id,
        request_id,
        agent_version,
        status: AggregationOperationStatus::Queued,
        created_at: now,
        updated_at: now,
        started_at: None,
        completed_at: None,
        attempts: 0,
        next_attempt_at: Some(now),
        error: None,
        result: None,
        partly_done: false,
        version: 0,
    }
}

/// A worker begins with it; one that workers died of too often is given up.
pub(super) fn begin(operation: &mut AggregationOperation, now: EpochSeconds) {
    if operation.attempts >= OPERATION_ATTEMPTS_MAX {
        end(operation, now, AggregationOperationStatus::Failed);
        operation.error = Some(INTERRUPTED.to_owned());
        return;
    }
    operation.attempts += 1;
    operation.status = AggregationOperationStatus::Running;
    operation.started_at = operation.started_at.or(Some(now));
    operation.updated_at = now;
    // Should the worker die, the next one may go on at once.
    operation.next_attempt_at = Some(now);
}

/// A run came through.
pub(super) fn succeed(operation: &mut AggregationOperation, now: EpochSeconds, result: &AggregationResult) {
    end(operation, now, AggregationOperationStatus::Succeeded);
    operation.error = None;
    operation.result = Some(result.clone());
}

/// A run failed, wholly or in part; it is tried again, but not for ever.
pub(super) fn fail(
    operation: &mut AggregationOperation,
    now: EpochSeconds,
    retry_at: EpochSeconds,
    error: &str,
    result: Option<&AggregationResult>,
) {
    operation.error = Some(error.to_owned());
    if let Some(result) = result {
        operation.partly_done = true;
        operation.result = Some(result.clone());
    }
    if operation.attempts >= OPERATION_ATTEMPTS_MAX {
        end(operation, now, AggregationOperationStatus::Failed);
    } else {
        operation.status = AggregationOperationStatus::Retrying;
        operation.next_attempt_at = Some(retry_at);
        operation.updated_at = now;
    }
}

/// It waits until then, and this attempt does not count.
pub(super) fn put_off(operation: &mut AggregationOperation, now: EpochSeconds, until: EpochSeconds) {
    operation.attempts = operation.attempts.saturating_sub(1);
    operation.status = if operation.attempts == 0 {
        AggregationOperationStatus::Queued
    } else {
        AggregationOperationStatus::Retrying
    };
    operation.next_attempt_at = Some(until);
    operation.updated_at = now;
}

fn end(operation: &mut AggregationOperation, now: EpochSeconds, status: AggregationOperationStatus) {
    operation.status = status;
    operation.completed_at = Some(now);
    operation.updated_at = now;
    operation.next_attempt_at = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation() -> AggregationOperation {
        new_operation("o".to_owned(), "r".to_owned(), "v1".to_owned(), 100)
    }

    #[test]
    fn an_operation_is_tried_so_often_and_then_given_up() {
        let mut tried = operation();
        for attempt in 1..=OPERATION_ATTEMPTS_MAX {
            begin(&mut tried, 200);
            assert_eq!((tried.attempts, tried.status), (attempt, AggregationOperationStatus::Running));
            fail(&mut tried, 210, 240, "retryable_failure", None);
            let is_last = attempt == OPERATION_ATTEMPTS_MAX;
            assert_eq!(tried.status.is_final(), is_last);
            assert_eq!(tried.next_attempt_at, (!is_last).then_some(240));
        }
        assert_eq!((tried.started_at, tried.completed_at), (Some(200), Some(210)));
    }

    #[test]
    fn an_operation_whose_workers_die_is_given_up_too() {
        let mut died = operation();
        for _ in 0..OPERATION_ATTEMPTS_MAX {
            begin(&mut died, 200);
        }
        assert_eq!(died.status, AggregationOperationStatus::Running);
        begin(&mut died, 300);
        assert_eq!(
            (died.status, died.error.as_deref()),
            (AggregationOperationStatus::Failed, Some(INTERRUPTED))
        );
    }

    #[test]
    fn success_clears_what_was_wrong_before() {
        let mut done = operation();
        begin(&mut done, 200);
        fail(&mut done, 210, 240, "retryable_failure", Some(&AggregationResult::default()));
        assert!(done.partly_done);
        begin(&mut done, 240);
        succeed(&mut done, 250, &AggregationResult::default());
        assert_eq!((done.status, &done.error), (AggregationOperationStatus::Succeeded, &None));
        assert_eq!((done.next_attempt_at, done.completed_at), (None, Some(250)));
    }
}
