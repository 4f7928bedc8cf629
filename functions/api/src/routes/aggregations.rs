//! Aggregations that callers ask for, and the log of what aggregations changed.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use domain::errors::ApiError;
use domain::requests::agent_playbooks::{AggregationChangesQuery, RunAggregation, SubmitAggregation};
use domain::views::AggregationAnswer;
use learning::aggregation::{new_operation, result_message, submit};
use runtime::App;
use serde_json::{Value, json};
use store::{AgentKeys, AggregationOperation, AggregationOperationStatus, Submitted};

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// Entries of the log that are looked at.
const CHANGES_MAX: usize = 100;
/// An answer gets no further change beyond this size, in bytes: Lambda carries 6 MB, and the route has no pages.
const CHANGES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How often a waiting call looks.
const POLL: Duration = Duration::from_millis(250);
/// What callers are told who ask while another aggregation of the same agent version runs.
const BUSY: &str = "Playbook aggregation is already in progress";

/// Runs an aggregation and waits for it as long as the gateway lets it; after that it goes on by itself.
pub(crate) async fn run_playbook_aggregation(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = RunAggregation::parse(&body)?;
    let agent_version = wanted.agent_version.unwrap_or_else(|| app.settings.agent_version.clone());
    let keys = AgentKeys { org: &caller.org, agent_version: &agent_version };
    if app.services.store.is_aggregating(&keys).await? {
        return ok(AggregationAnswer { success: false, message: BUSY.to_owned() });
    }
    let id = operation_id(&app);
    let operation = new_operation(id.clone(), format!("run-{id}"), agent_version, app.services.clock.now());
    submit(&app.services, &caller.org, &operation).await?;
    let Some(done) = wait_for(&app, &caller, &id).await? else {
        let message = format!("Playbook aggregation continues in the background as operation {id}");
        return ok(AggregationAnswer { success: true, message });
    };
    ok(match (done.status, done.result) {
        (AggregationOperationStatus::Succeeded, Some(result)) => {
            AggregationAnswer { success: true, message: result_message(&result) }
        }
        _ => AggregationAnswer { success: false, message: done.error.unwrap_or_default() },
    })
}

/// Looks until the operation has come to its end or has failed once; `None` when the time is up.
async fn wait_for(app: &App, caller: &Caller, id: &str) -> Result<Option<AggregationOperation>, Failure> {
    let Some(_permit) = app.waiters.enter(&caller.org) else { return Ok(None) };
    let wait_ms = i64::try_from(app.settings.wait_seconds_max * 1000).unwrap_or(0);
    let deadline = app.services.clock.now_ms() + wait_ms;
    loop {
        let seen = app.services.store.aggregation_operation(&caller.org, id).await?;
        let has_answer = |operation: &AggregationOperation| {
            operation.status.is_final() || operation.status == AggregationOperationStatus::Retrying
        };
        if let Some(operation) = seen.filter(has_answer) {
            return Ok(Some(operation));
        }
        if app.services.clock.now_ms() >= deadline {
            return Ok(None);
        }
        app.services.clock.sleep(POLL).await;
    }
}

pub(crate) async fn submit_aggregation(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = SubmitAggregation::parse(&body)?;
    let now = app.services.clock.now();
    let operation = new_operation(operation_id(&app), wanted.request_id, wanted.agent_version, now);
    match submit(&app.services, &caller.org, &operation).await? {
        Submitted::Accepted(operation) => {
            Ok((StatusCode::ACCEPTED, Json(operation_view(&operation))).into_response())
        }
        Submitted::Conflict(operation_id) => {
            let public = json!({ "message": "request_id parameters changed", "operation_id": operation_id });
            Err(ApiError::conflict(public).into())
        }
    }
}

pub(crate) async fn operation(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(operation_id): Path<String>,
) -> Answer {
    let operation = app.services.store.aggregation_operation(&caller.org, &operation_id).await?;
    let operation = operation.ok_or_else(|| ApiError::not_found("Aggregation operation not found"))?;
    ok(operation_view(&operation))
}

/// The wire shape: nulls are sent.
fn operation_view(operation: &AggregationOperation) -> Value {
    json!({
        "operation_id": operation.operation_id,
        "request_id": operation.request_id,
        "agent_version": operation.agent_version,
        "status": operation.status,
        "created_at": operation.created_at,
        "updated_at": operation.updated_at,
        "started_at": operation.started_at,
        "completed_at": operation.completed_at,
        "attempts": operation.attempts,
        "next_attempt_at": operation.next_attempt_at,
        "error": operation.error,
        "result": operation.result,
    })
}

fn operation_id(app: &App) -> String {
    app.services.ids.uuid().replace('-', "")
}

pub(crate) async fn playbook_aggregation_change_logs(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer {
    let wanted = AggregationChangesQuery::parse(query.as_deref().unwrap_or(""))?;
    let keys = AgentKeys { org: &caller.org, agent_version: &wanted.agent_version };
    let (store, name) = (&app.services.store, &wanted.playbook_name);
    let changes = store.aggregation_changes(&keys, name, CHANGES_MAX, CHANGES_BYTES_MAX).await?;
    ok(json!({ "success": true, "change_logs": changes }))
}
