//! Batch operations: starting them, looking at them, stopping them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use domain::learning::LearningKind;
use domain::operations::{GenerationMode, OperationService, OperationStatus};
use domain::requests::operations::{CancelOperation, OperationStatusQuery, StartGeneration};
use domain::views::{CancelledAnswer, FailedUser, GenerationAnswer, OperationAnswer, OperationView};
use learning::generation::{NOTHING_FOUND, Started, start_generation};
use runtime::App;
use serde_json::{Value, json};
use store::Operation;
use wake::{OperateWake, WakeReason};

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// Users of each kind that a status names.
const USERS_SHOWN_MAX: usize = 1_000;
/// How often a waiting call looks whether the operation is over.
const POLL: Duration = Duration::from_millis(500);
/// What the caller is told of a service that is busy.
const BUSY: &str = "Another generation attempt is already in progress";

pub(crate) async fn rerun_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    rerun(&app, &caller, LearningKind::Profile, "rerun_profile_generation", &body).await
}

pub(crate) async fn rerun_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    rerun(&app, &caller, LearningKind::Playbook, "rerun_playbook_generation", &body).await
}

pub(crate) async fn generate_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    manual(&app, &caller, LearningKind::Profile, &body).await
}

pub(crate) async fn generate_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    manual(&app, &caller, LearningKind::Playbook, &body).await
}

async fn rerun(app: &App, caller: &Caller, kind: LearningKind, name: &str, body: &Value) -> Answer {
    let (_, started) = start(app, caller, kind, GenerationMode::Rerun, body).await?;
    ok(match started {
        Started::Started(operation) => GenerationAnswer::started(kind).with_operation(operation.operation_id),
        Started::Busy => GenerationAnswer::refused(BUSY).with_operation(name),
        Started::NothingFound => GenerationAnswer::refused(NOTHING_FOUND).with_operation(name),
    })
}

async fn manual(app: &App, caller: &Caller, kind: LearningKind, body: &Value) -> Answer {
    let (service, started) = start(app, caller, kind, GenerationMode::Manual, body).await?;
    let operation = match started {
        Started::Started(operation) => operation,
        Started::Busy => return ok(GenerationAnswer::refused(BUSY)),
        Started::NothingFound => return ok(GenerationAnswer::refused(NOTHING_FOUND)),
    };
    let Some(over) = wait(app, caller, service, &operation.operation_id).await? else {
        let mut answer = GenerationAnswer::started(kind);
        answer.msg.push_str(" and continues; see get_operation_status for its progress");
        return ok(answer);
    };
    ok(match over.status {
        OperationStatus::Cancelled => {
            let done = format!("after {} of {} user(s)", over.processed + over.failed, over.total);
            GenerationAnswer::refused(format!("Generation was cancelled {done}"))
                .with_count(kind, over.generated)
        }
        OperationStatus::Failed => {
            GenerationAnswer::refused(over.error_message.unwrap_or_default()).with_count(kind, over.generated)
        }
        OperationStatus::Completed | OperationStatus::InProgress => {
            GenerationAnswer::completed(kind, over.generated, over.processed, over.failed)
        }
    })
}

async fn start(
    app: &App,
    caller: &Caller,
    kind: LearningKind,
    mode: GenerationMode,
    body: &Value,
) -> Result<(OperationService, Started), Failure> {
    let mut request = StartGeneration::parse(kind, mode, body)?;
    if let Some(version) = &mut request.plan.filter.agent_version {
        // As with publishing, a blank version is the deployment's.
        *version = match version.trim() {
            "" => app.settings.agent_version.clone(),
            version => version.to_owned(),
        };
    }
    let loaded = app.orgs.load(&caller.org).await?;
    let params = request.request_params();
    let (service, plan) = (request.service, &request.plan);
    let started = start_generation(&app.services, &caller.org, service, plan, params, &loaded.config).await?;
    Ok((service, started))
}

/// Looks until the run is over; `None` when the time is up before, or too many callers wait.
async fn wait(
    app: &App,
    caller: &Caller,
    service: OperationService,
    operation_id: &str,
) -> Result<Option<Operation>, Failure> {
    let Some(_permit) = app.waiters.enter(&caller.org) else { return Ok(None) };
    let wait_ms = i64::try_from(app.settings.wait_seconds_max * 1000).unwrap_or(0);
    let deadline = app.services.clock.now_ms() + wait_ms;
    loop {
        let operation = app.services.store.operation(&caller.org, service).await?;
        match operation {
            Some(operation) if operation.operation_id == operation_id => {
                if operation.status != OperationStatus::InProgress {
                    return Ok(Some(operation));
                }
            }
            // Another run took its place: how it ended is not known any more.
            _ => return Ok(None),
        }
        if app.services.clock.now_ms() >= deadline {
            return Ok(None);
        }
        app.services.clock.sleep(POLL).await;
    }
}

pub(crate) async fn get_operation_status(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer {
    let name = OperationStatusQuery::parse(query.as_deref().unwrap_or(""))?.service_name;
    let operation = match OperationService::parse(&name) {
        Some(service) => app.services.store.operation(&caller.org, service).await?,
        None => None,
    };
    match operation {
        Some(operation) => ok(OperationAnswer::found(view(&app, &caller, operation).await?)),
        None => ok(OperationAnswer::not_found(&name)),
    }
}

pub(crate) async fn cancel_operation(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let mut cancelled = Vec::new();
    for service in CancelOperation::parse(&body)?.services() {
        if let Some(run) = app.services.store.cancel_operation(&caller.org, service).await? {
            cancelled.push(service.as_str().to_owned());
            // One that was put off ends now. Should the wake not be sent, it ends when its time comes.
            let wake =
                OperateWake::new(caller.org.clone(), service.as_str().to_owned(), run, WakeReason::Published);
            if let Err(error) = app.services.wakes.operate(&wake, "cancel").await {
                tracing::warn!(event = "wake_failed", reason = "cancel", %error);
            }
        }
    }
    ok(CancelledAnswer::new(cancelled))
}

async fn view(app: &App, caller: &Caller, operation: Operation) -> Result<OperationView, Failure> {
    let store = &app.services.store;
    let outcomes = store.operation_outcomes(&caller.org, &operation.operation_id, USERS_SHOWN_MAX).await?;
    let mut users: Vec<_> = outcomes.processed.clone();
    users.extend(outcomes.failed.iter().map(|(user, _)| user.clone()));
    users.extend(operation.current_user.clone());
    // Users who were erased since have no names any more.
    let names = store.user_ids(&caller.org, &users).await?;
    let name = |user| names.get(user).map(|id| id.as_str().to_owned());
    let mut processed: Vec<String> = outcomes.processed.iter().filter_map(name).collect();
    processed.sort();
    let failed = outcomes.failed.iter();
    let mut failed: Vec<FailedUser> = failed
        .filter_map(|(user, error)| Some(FailedUser { user_id: name(user)?, error: error.clone() }))
        .collect();
    failed.sort_by(|a, b| a.user_id.cmp(&b.user_id));
    let stats = json!({
        "total_interactions_processed": operation.interactions,
        "total_generated": operation.generated,
    });
    Ok(OperationView {
        service_name: operation.service.as_str().to_owned(),
        status: operation.status,
        started_at: operation.started_at,
        completed_at: operation.completed_at,
        total_users: operation.total,
        processed_users: operation.processed,
        failed_users: operation.failed,
        current_user_id: operation.current_user.as_ref().and_then(name),
        processed_user_ids: processed,
        failed_user_ids: failed,
        progress_percentage: percentage(&operation),
        request_params: operation.request_params,
        stats: if let Value::Object(stats) = stats { stats } else { serde_json::Map::new() },
        error_message: operation.error_message,
    })
}

/// While users are still being listed nothing is known, so that it never falls.
#[expect(clippy::cast_precision_loss, reason = "far fewer users than a float can count")]
fn percentage(operation: &Operation) -> f64 {
    let over = operation.processed + operation.failed;
    if operation.status == OperationStatus::Completed {
        100.0
    } else if operation.total == 0 || !operation.is_listed() {
        0.0
    } else {
        (over as f64 / operation.total as f64 * 100.0).min(100.0)
    }
}
