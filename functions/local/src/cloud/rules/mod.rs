//! EventBridge rules on a schedule: the clock sets off runs of a function.
//!
//! Runs of one rule never overlap, and times that passed during a run (or while the machine slept) are not
//! made up for: the template demands a function of concurrency one without retries.

mod cron;
mod schedule;

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::eventbridge::EventBridgeEvent;
use domain::time::{Clock, EpochMillis};
use serde_json::json;
use tokio::sync::watch;

pub use schedule::{Schedule, ScheduleError};

use super::handlers::ScheduleHandler;
use super::invocation::invoke;
use super::template::{ACCOUNT_ID, REGION, STACK_NAME};

/// One schedule and the function that it sets off.
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) schedule: Schedule,
    pub(super) timeout: Duration,
    pub(super) handler: ScheduleHandler,
    pub(super) clock: Arc<dyn Clock>,
}

impl Rule {
    /// Runs until `stop` turns true; a run under way is finished first.
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        let started_ms = self.clock.now_ms();
        let mut passed_ms = started_ms;
        while let Some(due_ms) = self.schedule.next_after(started_ms, passed_ms) {
            tokio::select! {
                biased;
                // An error means that nobody is left who could say stop: the same.
                _ = stop.wait_for(|stop| *stop) => return,
                () = self.wait_until(due_ms) => {}
            }
            self.fire(due_ms).await;
            passed_ms = due_ms.max(self.clock.now_ms());
        }
        tracing::info!(rule = self.name, "a schedule has come to its end");
    }

    /// A timer may end early on a machine whose clock was set back.
    async fn wait_until(&self, due_ms: EpochMillis) {
        loop {
            let Ok(left_ms @ 1..) = u64::try_from(due_ms - self.clock.now_ms()) else { return };
            self.clock.sleep(Duration::from_millis(left_ms)).await;
        }
    }

    async fn fire(&self, due_ms: EpochMillis) {
        let event = match scheduled_event(&self.name, due_ms) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(rule = self.name, %error, "a scheduled event could not be made");
                return;
            }
        };
        if let Err(error) = invoke(&*self.clock, self.timeout, || (self.handler)(event)).await {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(rule = self.name, %error, source, "a scheduled run failed");
        }
    }
}

/// The event that EventBridge sends, made as JSON and then read.
fn scheduled_event(rule: &str, due_ms: EpochMillis) -> Result<EventBridgeEvent, serde_json::Error> {
    let time = jiff::Timestamp::from_second(due_ms.div_euclid(1000)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    serde_json::from_value(json!({
        "version": "0",
        "id": uuid::Uuid::new_v4().to_string(),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT_ID,
        "time": time.to_string(),
        "region": REGION,
        "resources": [format!("arn:aws:events:{REGION}:{ACCOUNT_ID}:rule/{STACK_NAME}-{rule}")],
        "detail": {},
    }))
}

#[cfg(test)]
mod tests;
