//! Working the queue of the judge, and what the judges were seen to do.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use domain::time::EpochSeconds;

use super::world::{Process, World, record};

/// The time-out of the function in the template, in milliseconds.
const EVALUATE_MS: i64 = 720_000;
/// How long a judge thinks.
const JUDGE_TIME: Duration = Duration::from_secs(2);

/// What the judges did.
#[derive(Debug, Default)]
pub(crate) struct JudgeLog(Mutex<Judges>);

#[derive(Debug, Default)]
struct Judges {
    at_work: usize,
    at_work_max: usize,
    verdicts: BTreeMap<String, Vec<EpochSeconds>>,
}

impl JudgeLog {
    /// A judge reads a session, which its prompt names.
    pub(crate) async fn think(&self, prompt: &str, now: impl Fn() -> EpochSeconds) {
        {
            let mut judges = self.0.lock().unwrap();
            judges.at_work += 1;
            judges.at_work_max = judges.at_work_max.max(judges.at_work);
        }
        let leaves = Leaves(self);
        let session = prompt.split("=== Session: ").nth(1).and_then(|rest| rest.split(" (").next());
        let (session, began) = (session.unwrap_or_default().to_owned(), now());
        tokio::time::sleep(JUDGE_TIME).await;
        self.0.lock().unwrap().verdicts.entry(session).or_default().push(began);
        drop(leaves);
    }

    /// Most judges that were at work at once.
    pub(crate) fn at_once(&self) -> usize {
        self.0.lock().unwrap().at_work_max
    }

    /// When each session was judged.
    pub(crate) fn verdicts(&self) -> BTreeMap<String, Vec<EpochSeconds>> {
        self.0.lock().unwrap().verdicts.clone()
    }

    /// How many verdicts there were.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().verdicts.values().map(Vec::len).sum()
    }
}

/// A judge who dies leaves, too.
struct Leaves<'a>(&'a JudgeLog);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().at_work -= 1;
    }
}

impl Process {
    /// Receives one message of the judge's queue.
    pub(crate) async fn receive_evaluation(&self) -> Option<Message> {
        let url = &self.app.settings.queues.evaluate;
        let receive = self.sqs.receive_message().queue_url(url).max_number_of_messages(1);
        let receive = receive.message_system_attribute_names(MessageSystemAttributeName::All);
        receive.send().await.ok()?.messages.unwrap_or_default().pop()
    }

    /// Handles messages of the judge's queue as one batch.
    pub(crate) async fn handle_evaluations(&self, messages: &[Message]) -> SqsBatchResponse {
        let mut event = SqsEvent::default();
        event.records = messages.iter().map(record).collect();
        evaluate::handle(&self.app, event, self.app.services.clock.now_ms() + EVALUATE_MS).await
    }

    /// What a mapping does with one message. `None` when none came.
    pub(crate) async fn evaluate_once(&self) -> Option<bool> {
        let message = self.receive_evaluation().await?;
        let mut failures = self.handle_evaluations(std::slice::from_ref(&message)).await.batch_item_failures;
        if self.comes_twice() {
            failures = self.handle_evaluations(std::slice::from_ref(&message)).await.batch_item_failures;
        }
        if failures.is_empty() {
            let (url, handle) = (&self.app.settings.queues.evaluate, message.receipt_handle.clone().unwrap());
            // One that is not deleted comes again.
            let _ = self.sqs.delete_message().queue_url(url).receipt_handle(handle).send().await;
        }
        Some(failures.is_empty())
    }
}

impl World {
    /// So many workers work the judge's queue until it has nothing to give, or the process dies.
    pub(crate) async fn evaluate_with(&self, process: &Process, workers: usize) {
        let worker = async || while process.evaluate_once().await.is_some() {};
        let work = futures::future::join_all((0..workers).map(|_| worker()));
        tokio::select! {
            biased;
            () = self.death() => {}
            _ = work => {}
        }
    }
}
