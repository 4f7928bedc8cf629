//! Batch operations, woken by the queue `operate.fifo`.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use domain::learning::LearningKind;
use domain::operations::OperationService;
use domain::time::EpochMillis;
use learning::generation::{Operated, operate};
use learning::versions;
use runtime::App;
use wake::{BODY_VERSION, OperateWake, Redeliver, WakeReason, process_fifo_batch};

/// A change of versions begins no further transaction with less time than this left, in milliseconds.
const VERSIONS_RESERVE_MS: i64 = 10_000;

/// Handles a batch of wakes until `deadline_ms`. Says which messages must be delivered again: those that the
/// infrastructure failed. What models do wrong is recorded with the operation and acknowledged.
pub async fn handle(app: &Arc<App>, event: SqsEvent, deadline_ms: EpochMillis) -> SqsBatchResponse {
    // Boxed, since the whole of it is one deep future, more than the compiler follows in one type.
    let response =
        process_fifo_batch(event, |wake: OperateWake| Box::pin(go_on(app, wake, deadline_ms))).await;
    app.usage.flush(&app.services.store).await;
    response
}

async fn go_on(app: &Arc<App>, wake: OperateWake, deadline_ms: EpochMillis) -> Result<(), Redeliver> {
    if let Some(kind) = versions::kind_of(&wake.service).filter(|_| wake.v == BODY_VERSION) {
        return change_versions(app, &wake, kind, deadline_ms).await;
    }
    let service = OperationService::parse(&wake.service).filter(|_| wake.v == BODY_VERSION);
    let Some(service) = service else {
        // Of another version than this one knows; the sweep wakes the operation in words that are known.
        tracing::error!(event = "unknown_message_version", version = wake.v);
        return Ok(());
    };
    let operated = operate(&app.services, &wake.org, service, &wake.operation_id, deadline_ms).await;
    let operated = operated.map_err(|interrupted| Redeliver(interrupted.to_string()))?;
    tracing::info!(
        event = "operation_looked_at",
        org = wake.org.as_str(),
        service = service.as_str(),
        reason = ?wake.reason,
        outcome = ?operated,
    );
    if let Operated::Continued(changing) = operated {
        let next = OperateWake { reason: WakeReason::Continued, ..wake };
        if let Err(error) = app.services.wakes.operate(&next, &changing).await {
            // The operation is still due: the sweep will find it.
            tracing::warn!(event = "wake_failed", reason = "continued", %error);
        }
    }
    Ok(())
}

/// Goes on with an upgrade or downgrade that took longer than its caller could wait, or whose runner died.
async fn change_versions(
    app: &Arc<App>,
    wake: &OperateWake,
    kind: LearningKind,
    deadline_ms: EpochMillis,
) -> Result<(), Redeliver> {
    let until_ms = deadline_ms - VERSIONS_RESERVE_MS;
    let progress = versions::go_on(&app.services, &wake.org, kind, &wake.operation_id, until_ms).await;
    let progress = progress.map_err(|error| Redeliver(error.to_string()))?;
    tracing::info!(
        event = "versions_looked_at",
        org = wake.org.as_str(),
        kind = kind.as_str(),
        reason = ?wake.reason,
        outcome = ?progress,
    );
    Ok(())
}
