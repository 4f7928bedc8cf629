//! Aggregating user playbooks into agent playbooks, woken by the queue `aggregate.fifo`.

use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use domain::time::EpochMillis;
use runtime::App;
use wake::{AggregateWake, BODY_VERSION, Redeliver, process_fifo_batch};

/// Handles a batch of wakes until `deadline_ms`. Says which messages must be delivered again: those that the
/// infrastructure failed. What models do wrong is recorded with the aggregation and acknowledged.
pub async fn handle(app: &Arc<App>, event: SqsEvent, deadline_ms: EpochMillis) -> SqsBatchResponse {
    let response = process_fifo_batch(event, |wake: AggregateWake| async move {
        if wake.v != BODY_VERSION {
            // Of another version than this one knows; the sweep wakes it in words that are known.
            tracing::error!(event = "unknown_message_version", version = wake.v);
            return Ok(());
        }
        let aggregate = learning::aggregation::aggregate;
        // Boxed, since the whole of it is one deep future, more than the compiler follows in one type.
        match Box::pin(aggregate(&app.services, &wake.org, &wake.agent_version, deadline_ms)).await {
            Ok(outcome) => {
                tracing::info!(
                    event = "playbooks_aggregated",
                    org = wake.org.as_str(),
                    reason = ?wake.reason,
                    outcome = ?outcome,
                );
                Ok(())
            }
            Err(interrupted) => Err(Redeliver(interrupted.to_string())),
        }
    })
    .await;
    app.usage.flush(&app.services.store).await;
    response
}
