//! `POST /api/evaluations/regenerate`, `GET` and `DELETE /api/evaluations/regenerate/{job_id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use domain::errors::ApiError;
use domain::judging::RegenerationStatus;
use domain::requests::judging::Regenerate;
use domain::time::EpochMillis;
use domain::views::{RegenerationFailure, RegenerationStarted, RegenerationView};
use evaluation::regeneration::{StartError, start};
use runtime::App;
use serde_json::json;
use store::RegenerationJob;

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// Sessions that were judged in vain and are named.
const FAILURES_SHOWN_MAX: usize = 50;

pub(crate) async fn regenerate(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = Regenerate::parse(&body)?;
    let loaded = app.orgs.load(&caller.org).await?;
    let span = (wanted.from, wanted.to);
    match start(&app.services, &caller.org, &loaded.config, span).await {
        Ok(started) => ok(RegenerationStarted { job_id: started.job_id, total: started.total }),
        Err(error @ StartError::Busy) => Err(ApiError::conflict(error.to_string()).into()),
        Err(error @ StartError::TooMany) => {
            Err(ApiError::new(422, "span_too_long", error.to_string()).into())
        }
        Err(StartError::Store(error)) => Err(error.into()),
    }
}

pub(crate) async fn status(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(job_id): Path<String>,
) -> Answer {
    let job = find(&app, &caller, &job_id).await?;
    let failures = app.services.store.regeneration_failures(&caller.org, &job_id, FAILURES_SHOWN_MAX).await?;
    let failures =
        failures.into_iter().map(|(session_id, reason)| RegenerationFailure { session_id, reason });
    ok(RegenerationView {
        job_id,
        status: job.status,
        total: job.total,
        completed: job.completed,
        failed: job.failed,
        failures: failures.collect(),
        started_at: seconds(job.started_at_ms),
        finished_at: job.finished_at_ms.map(seconds),
        total_candidates: job.total,
        sampled_count: job.sampled,
        concurrency_limit: job.lanes,
    })
}

/// Stops a job: what is being judged is finished, and nothing more is begun. Stopping one that is over does nothing.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(job_id): Path<String>,
) -> Answer {
    find(&app, &caller, &job_id).await?;
    app.services.store.end_regeneration(&caller.org, &job_id, RegenerationStatus::Cancelled).await?;
    ok(json!({ "status": "cancelled" }))
}

async fn find(app: &App, caller: &Caller, job_id: &str) -> Result<RegenerationJob, Failure> {
    let job = app.services.store.regeneration(&caller.org, job_id).await?;
    Ok(job.ok_or_else(|| ApiError::not_found("Unknown job_id"))?)
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^53")]
fn seconds(at: EpochMillis) -> f64 {
    at as f64 / 1000.0
}
