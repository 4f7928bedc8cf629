//! Event-source mappings: messages of a queue set off runs of a function, as Lambda's pollers do it.

mod event;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use domain::time::Clock;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::handlers::SqsHandler;
use super::invocation::invoke;
use super::sqs::{ReceiveRequest, Received, Sqs, WAIT_SECONDS_MAX};
use super::template::Queue;

/// How long a mapping waits after its queue could not be read.
const QUEUE_RETRY: Duration = Duration::from_secs(1);

/// One queue and the function that it sets off.
pub(super) struct Mapping {
    /// Logical id of the function.
    pub(super) function: String,
    pub(super) queue: Queue,
    pub(super) batch_size: u32,
    /// Whether the function's answer tells which messages failed.
    pub(super) report_failures: bool,
    /// Most runs at once.
    pub(super) concurrency: usize,
    pub(super) timeout: Duration,
    pub(super) handler: SqsHandler,
    pub(super) sqs: Arc<Sqs>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Mapping {
    /// Runs until `stop` turns true, then waits for the runs under way.
    ///
    /// A batch is received only when there is room for its run, so that no message is in flight without being
    /// worked on.
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        let mapping = Arc::new(self);
        let mut runs = JoinSet::new();
        loop {
            let room = runs.len() < mapping.concurrency;
            tokio::select! {
                biased;
                // An error means that nobody is left who could say stop: the same.
                _ = stop.wait_for(|stop| *stop) => break,
                Some(ended) = runs.join_next(), if !runs.is_empty() => report(ended),
                batch = mapping.receive(), if room => {
                    if !batch.is_empty() {
                        runs.spawn(run_batch(mapping.clone(), batch));
                    }
                }
            }
        }
        while let Some(ended) = runs.join_next().await {
            report(ended);
        }
    }

    /// The next batch; empty when none came for a while.
    async fn receive(&self) -> Vec<Received> {
        let request = ReceiveRequest {
            max_messages: Some(self.batch_size.into()),
            visibility_seconds: None,
            wait_seconds: Some(WAIT_SECONDS_MAX),
        };
        match self.sqs.receive(&self.queue.url(), request).await {
            Ok(batch) => batch,
            Err(error) => {
                tracing::error!(function = self.function, %error, "a queue could not be read");
                self.clock.sleep(QUEUE_RETRY).await;
                Vec::new()
            }
        }
    }

    /// The messages of a batch that the function is done with.
    async fn done(&self, batch: Vec<Received>) -> Vec<Received> {
        let event = match event::sqs_event(&self.queue, &batch) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(function = self.function, %error, "a batch could not be made into an event");
                return Vec::new();
            }
        };
        match invoke(&*self.clock, self.timeout, || (self.handler)(event)).await {
            Ok(response) if self.report_failures => successes(batch, &response),
            Ok(_) => batch,
            // The whole batch comes again when its visibility ends.
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(function = self.function, messages = batch.len(), %error, source, "a run failed");
                Vec::new()
            }
        }
    }
}

async fn run_batch(mapping: Arc<Mapping>, batch: Vec<Received>) {
    for received in mapping.done(batch).await {
        if let Err(error) = mapping.sqs.delete(&mapping.queue.url(), &received.receipt_handle) {
            // It comes again: deliveries are at least once.
            tracing::warn!(function = mapping.function, %error, "a finished message could not be deleted");
        }
    }
}

/// What a function did not report as failed. An answer that names no message of the batch makes the whole
/// batch a failure, as in Lambda.
fn successes(batch: Vec<Received>, response: &SqsBatchResponse) -> Vec<Received> {
    let failed: HashSet<&str> =
        response.batch_item_failures.iter().map(|failure| failure.item_identifier.as_str()).collect();
    let of_batch = |id: &&str| batch.iter().any(|one| one.message.message_id == **id);
    if !failed.iter().all(of_batch) {
        tracing::warn!("a function reported the failure of a message that it was not given");
        return Vec::new();
    }
    let is_done = |one: &Received| !failed.contains(one.message.message_id.as_str());
    let done: Vec<bool> = batch.iter().map(is_done).collect();
    batch.into_iter().zip(done).filter_map(|(one, done)| done.then_some(one)).collect()
}

/// Panics of handlers are caught within their run: this one would be ours.
fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a run ended abnormally");
    }
}

#[cfg(test)]
mod tests;
