//! `POST /api/evaluations/grade_on_demand`, and where its answer is found when it takes longer than a caller can wait.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use domain::errors::ApiError;
use domain::ids::SessionId;
use domain::requests::judging::GradeOnDemand;
use domain::views::GradeAnswer;
use evaluation::on_demand::{Asked, GradeQuestion, ask};
use runtime::App;
use store::{Grade, GradeOutcome};

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// How often a waiting call looks.
const POLL: Duration = Duration::from_millis(250);

/// Answers with the verdict, judging if need be. The worker judges, so that a caller who goes away stops nothing; one
/// who would wait longer than the gateway lets it is told where the answer will be.
pub(crate) async fn grade_on_demand(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GradeOnDemand::parse(&body)?;
    let Ok(session_id) = SessionId::new(&wanted.session_id) else {
        return ok(GradeAnswer::without(wanted.session_id, "NO_REQUESTS"));
    };
    let GradeOnDemand { agent_version, evaluation_name, .. } = wanted;
    let question = GradeQuestion { session_id, agent_version, evaluation_name };
    match ask(&app.services, &caller.org, &question).await? {
        Asked::NoRequests => ok(GradeAnswer::without(question.session_id.to_string(), "NO_REQUESTS")),
        Asked::Known(outcome) => ok(answer(question.session_id.to_string(), outcome, true)),
        Asked::UnderWay { grade_id } => match wait_for(&app, &caller, &grade_id).await? {
            Some(outcome) => ok(answer(question.session_id.to_string(), outcome, false)),
            None => under_way(question.session_id.to_string(), &grade_id),
        },
    }
}

/// What came of an attempt that took longer than its caller could wait.
pub(crate) async fn grade(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(grade_id): Path<String>,
) -> Answer {
    let grade = app.services.store.grade(&caller.org, &grade_id).await?;
    let Grade { order, outcome, .. } = grade.ok_or_else(|| ApiError::not_found("Unknown grade"))?;
    match outcome {
        Some(outcome) => ok(answer(order.session_id, outcome, false)),
        None => under_way(order.session_id, &grade_id),
    }
}

fn answer(session_id: String, outcome: GradeOutcome, cached: bool) -> GradeAnswer {
    GradeAnswer {
        session_id,
        result_id: outcome.result_id,
        cached,
        skipped_reason: outcome.skipped_reason,
        retrieved_learning_status: Some(outcome.retrieved_learning.as_str()),
    }
}

fn under_way(session_id: String, grade_id: &str) -> Answer {
    let body = Json(GradeAnswer::without(session_id, "IN_PROGRESS"));
    let mut response = (StatusCode::ACCEPTED, body).into_response();
    let location = format!("/api/evaluations/grade_on_demand/{grade_id}");
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Looks until the attempt, or one that took its place, has come to something; `None` when the time is up.
async fn wait_for(app: &App, caller: &Caller, grade_id: &str) -> Result<Option<GradeOutcome>, Failure> {
    let Some(_permit) = app.waiters.enter(&caller.org) else { return Ok(None) };
    let wait_ms = i64::try_from(app.settings.wait_seconds_max * 1000).unwrap_or(0);
    let deadline = app.services.clock.now_ms() + wait_ms;
    loop {
        let seen = app.services.store.grade(&caller.org, grade_id).await?;
        if let Some(outcome) = seen.and_then(|grade| grade.outcome) {
            return Ok(Some(outcome));
        }
        if app.services.clock.now_ms() >= deadline {
            return Ok(None);
        }
        app.services.clock.sleep(POLL).await;
    }
}
