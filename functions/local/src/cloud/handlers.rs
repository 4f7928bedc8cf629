//! The functions of the template, bound to the code that runs them and to what sets them off.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::eventbridge::EventBridgeEvent;
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use domain::time::Clock;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::mapping::Mapping;
use super::rules::{Rule, Schedule, ScheduleError};
use super::sqs::Sqs;
use super::template::{Cloud, Function, FunctionEvent};

/// Any failure of a handler.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// Code that takes a batch of messages.
pub type SqsHandler =
    Arc<dyn Fn(SqsEvent) -> BoxFuture<'static, Result<SqsBatchResponse, BoxError>> + Send + Sync>;
/// Code that the clock sets off.
pub type ScheduleHandler =
    Arc<dyn Fn(EventBridgeEvent) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// Runs at once of a function that sets no limit: the default of an AWS account.
const CONCURRENCY_DEFAULT: u32 = 1_000;

/// Why the template's functions could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The template sets off a function that no code was given for.
    #[error("{function}: there is no handler for its {event} events")]
    NoHandler {
        /// Its logical id.
        function: String,
        /// The kind of event.
        event: &'static str,
    },
    /// Code was given for what the template does not set off.
    #[error("{0}: the template has no event for this handler")]
    Unused(String),
    /// A mapping names a queue that does not exist.
    #[error("{0}: its queue is not in the template")]
    NoQueue(String),
    /// A schedule that cannot be read.
    #[error("{function}: its schedule cannot be obeyed")]
    Schedule {
        /// Its logical id.
        function: String,
        /// The reason.
        #[source]
        source: ScheduleError,
    },
}

/// The code of the template's functions, by logical id.
#[derive(Default)]
pub struct Handlers {
    sqs: BTreeMap<String, SqsHandler>,
    schedule: BTreeMap<String, ScheduleHandler>,
}

impl Handlers {
    /// No code yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the code for the messages of a function.
    #[must_use]
    pub fn sqs<F, R>(mut self, logical_id: &str, handler: F) -> Self
    where
        F: Fn(SqsEvent) -> R + Send + Sync + 'static,
        R: Future<Output = Result<SqsBatchResponse, BoxError>> + Send + 'static,
    {
        let handler: SqsHandler = Arc::new(move |event| Box::pin(handler(event)));
        self.sqs.insert(logical_id.to_owned(), handler);
        self
    }

    /// Gives the code for the schedules of a function.
    #[must_use]
    pub fn schedule<F, R>(mut self, logical_id: &str, handler: F) -> Self
    where
        F: Fn(EventBridgeEvent) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let handler: ScheduleHandler = Arc::new(move |event| Box::pin(handler(event)));
        self.schedule.insert(logical_id.to_owned(), handler);
        self
    }

    /// Starts every mapping and every schedule of the template, on the current tokio runtime. HTTP events are
    /// left to the server.
    ///
    /// # Errors
    /// [`StartError`] unless every function has its code and every piece of code its function.
    pub fn start(
        mut self,
        cloud: &Cloud,
        sqs: &Arc<Sqs>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Running, StartError> {
        let (mut mappings, mut rules) = (Vec::new(), Vec::new());
        for function in &cloud.functions {
            let (messages, schedules) =
                (self.sqs.remove(&function.logical_id), self.schedule.remove(&function.logical_id));
            let (mut messages_used, mut schedules_used) = (messages.is_none(), schedules.is_none());
            for event in &function.events {
                match event {
                    FunctionEvent::Sqs { .. } => {
                        let handler = messages.clone().ok_or_else(|| no_handler(function, "SQS"))?;
                        mappings.push(mapping(cloud, function, event, handler, sqs, clock)?);
                        messages_used = true;
                    }
                    FunctionEvent::Schedule { name, expression } => {
                        let handler = schedules.clone().ok_or_else(|| no_handler(function, "Schedule"))?;
                        rules.push(rule(function, name, expression, handler, clock)?);
                        schedules_used = true;
                    }
                    FunctionEvent::HttpApi { .. } => {}
                }
            }
            if !(messages_used && schedules_used) {
                return Err(StartError::Unused(function.logical_id.clone()));
            }
        }
        if let Some(unknown) = self.sqs.keys().chain(self.schedule.keys()).next() {
            return Err(StartError::Unused(unknown.clone()));
        }
        let stop = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        for mapping in mappings {
            tasks.spawn(mapping.run(stop.subscribe()));
        }
        for rule in rules {
            tasks.spawn(rule.run(stop.subscribe()));
        }
        Ok(Running { stop, tasks })
    }
}

fn no_handler(function: &Function, event: &'static str) -> StartError {
    StartError::NoHandler { function: function.logical_id.clone(), event }
}

fn mapping(
    cloud: &Cloud,
    function: &Function,
    event: &FunctionEvent,
    handler: SqsHandler,
    sqs: &Arc<Sqs>,
    clock: &Arc<dyn Clock>,
) -> Result<Mapping, StartError> {
    let no_queue = || StartError::NoQueue(function.logical_id.clone());
    let FunctionEvent::Sqs { queue, batch_size, report_failures, maximum_concurrency } = event else {
        return Err(no_queue());
    };
    let queue = cloud.queues.iter().find(|one| one.logical_id == *queue).ok_or_else(no_queue)?;
    let limits = [*maximum_concurrency, function.reserved_concurrency, Some(CONCURRENCY_DEFAULT)];
    Ok(Mapping {
        function: function.logical_id.clone(),
        queue: queue.clone(),
        batch_size: *batch_size,
        report_failures: *report_failures,
        concurrency: limits.into_iter().flatten().min().unwrap_or(1) as usize,
        timeout: Duration::from_secs(function.timeout_seconds.into()),
        handler,
        sqs: sqs.clone(),
        clock: clock.clone(),
    })
}

fn rule(
    function: &Function,
    name: &str,
    expression: &str,
    handler: ScheduleHandler,
    clock: &Arc<dyn Clock>,
) -> Result<Rule, StartError> {
    let schedule = Schedule::parse(expression)
        .map_err(|source| StartError::Schedule { function: function.logical_id.clone(), source })?;
    Ok(Rule {
        // As SAM names the rule.
        name: format!("{}{name}", function.logical_id),
        schedule,
        timeout: Duration::from_secs(function.timeout_seconds.into()),
        handler,
        clock: clock.clone(),
    })
}

/// The functions at work. Dropping it stops them where they stand, as a crash would.
#[derive(Debug)]
pub struct Running {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Running {
    /// Runs something else beside the functions, which ends when its argument turns true.
    pub(crate) fn add<R>(&mut self, work: impl FnOnce(watch::Receiver<bool>) -> R)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(work(self.stop.subscribe()));
    }

    /// Takes no new work, and returns when the runs under way have ended.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a mapping or a schedule ended abnormally");
            }
        }
    }
}

#[cfg(test)]
mod tests;
