//! Verdicts for tests.

use domain::entities::{AGENT_SUCCESS, EvaluationResult};
use domain::ids::{RequestId, SessionId, UserId};
use domain::requests::overview::{GetEvaluationOverview, OverviewBucket};
use domain::time::EpochSeconds;

/// A success of the session `s<id>` without corrections.
pub(super) fn success(id: i64, created_at: EpochSeconds) -> EvaluationResult {
    EvaluationResult {
        result_id: id,
        user_id: UserId::new("ana").unwrap(),
        session_id: SessionId::new(&format!("s{id}")).unwrap(),
        agent_version: "v1".to_owned(),
        evaluation_name: AGENT_SUCCESS.to_owned(),
        is_success: true,
        failure_type: None,
        failure_reason: String::new(),
        created_at,
        number_of_correction_per_session: 0,
        user_turns_to_resolution: None,
        is_escalated: false,
        tags: None,
        trajectory_through_request_id: RequestId::new("r").unwrap(),
        trajectory_interaction_count: 2,
        judged_at: 0,
        is_windowed: false,
    }
}

/// A request for a span of time.
pub(super) fn span(from_ts: EpochSeconds, to_ts: EpochSeconds) -> GetEvaluationOverview {
    GetEvaluationOverview {
        from_ts,
        to_ts,
        bucket: OverviewBucket::Week,
        include_shadow: true,
        source_sets: Vec::new(),
    }
}
