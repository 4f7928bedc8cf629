//! Judging: sessions that fell silent, sessions that are judged anew, verdicts on demand; woken by the queue `evaluate.fifo`.

mod grade;
mod regeneration;
mod session;
mod shadow;

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use domain::time::EpochMillis;
use runtime::App;
use wake::{BODY_VERSION, EvaluateTask, EvaluateWake, Redeliver, process_fifo_batch};

/// Handles a batch of wakes until `deadline_ms`. Says which messages must be delivered again: those that the
/// infrastructure failed. What models do wrong is recorded with the work and acknowledged.
pub async fn handle(app: &Arc<App>, event: SqsEvent, deadline_ms: EpochMillis) -> SqsBatchResponse {
    // Boxed, since the whole of it is one deep future, more than the compiler follows in one type.
    let response =
        process_fifo_batch(event, |wake: EvaluateWake| Box::pin(carry_out(app, wake, deadline_ms))).await;
    app.usage.flush(&app.services.store).await;
    response
}

async fn carry_out(app: &Arc<App>, wake: EvaluateWake, deadline_ms: EpochMillis) -> Result<(), Redeliver> {
    if wake.v != BODY_VERSION {
        // Of another version than this one knows; the sweep wakes it in words that are known.
        tracing::error!(event = "unknown_message_version", version = wake.v);
        return Ok(());
    }
    match &wake.task {
        EvaluateTask::Session(task) => session::handle(app, &wake, task, deadline_ms).await,
        EvaluateTask::Grade(task) => grade::handle(app, &wake, task, deadline_ms).await,
        EvaluateTask::Shadow(task) => shadow::handle(app, &wake, task, deadline_ms).await,
        EvaluateTask::Regeneration(task) => regeneration::handle(app, &wake, task, deadline_ms).await,
    }
}
