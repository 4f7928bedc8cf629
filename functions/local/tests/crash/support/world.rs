//! The local cloud, and processes that come and go in it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};
use axum::Router;
use axum::body::Body;
use domain::ids::{OrgId, UserHash, UserId};
use domain::learning::LearningKind;
use domain::time::{Clock, EpochSeconds};
use http::StatusCode;
use http_body_util::BodyExt;
use learning::services::Ids;
use retrospect::cloud::hub::Hub;
use retrospect::cloud::scheduler::LocalScheduler;
use retrospect::cloud::template::Cloud;
use retrospect::data_dir::DataDir;
use retrospect::deployment::{Data, Deployment, Options};
use runtime::{App, SELF_HOST_ORG, World as AppWorld};
use serde_json::{Value, json};
use store::{StoreError, UserKeys};
use sweep::Swept;
use tower::ServiceExt;

use super::chance::Chance;
use super::clock::VirtualClock;
use super::model::{Script, ScriptedOrgs};
use super::publish::Publish;

/// The time-out of the functions learn and aggregate in the template, in milliseconds.
const LEARN_MS: i64 = 720_000;
/// The time-out of the sweep function in the template, in milliseconds.
const SWEEP_MS: i64 = 60_000;

/// What outlives a process: the cloud, the time, the models.
pub(crate) struct World {
    pub(crate) hub: Hub,
    pub(crate) script: Arc<Script>,
    pub(crate) clock: Arc<dyn Clock>,
    deployment: Deployment,
    ids: Arc<CountedIds>,
    learn_queue: String,
    dead_letters: String,
    aggregate_queue: String,
}

/// Identifiers in sequence, over all processes of a test.
#[derive(Debug, Default)]
struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn uuid(&self) -> String {
        format!("00000000-0000-4000-8000-{:012x}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl World {
    /// A cloud in memory.
    pub(crate) fn new() -> Self {
        Self::over(Data::Ephemeral, Arc::new(VirtualClock::new()))
    }

    /// The cloud of a data directory.
    pub(crate) fn in_directory(path: &Path, clock: Arc<dyn Clock>) -> Self {
        Self::over(Data::Directory(DataDir::open(path).unwrap()), clock)
    }

    fn over(data: Data, clock: Arc<dyn Clock>) -> Self {
        let options = Options { open_to_loopback: true, ..Options::default() };
        let deployment = Deployment::new(data, Arc::clone(&clock), &options).unwrap();
        let cloud = Cloud::deployed(&[].into()).unwrap();
        let url = |id: &str| cloud.queues.iter().find(|queue| queue.logical_id == id).unwrap().url();
        Self {
            hub: deployment.hub.clone(),
            script: Arc::default(),
            clock,
            deployment,
            ids: Arc::default(),
            learn_queue: url("LearnQueue"),
            aggregate_queue: url("AggregateQueue"),
            dead_letters: url("LearnDeadLetterQueue"),
        }
    }

    /// A process starts: nothing is cached, and it is alive.
    pub(crate) fn start(&self) -> Process {
        self.hub.revive();
        let chance = Mutex::new(Chance::new(7));
        let random = move || (chance.lock().unwrap().next() >> 11) as f64 / (1_u64 << 53) as f64;
        let world = AppWorld {
            // Without the SDK's waits between tries, whose length is left to real chance.
            aws: self.hub.sdk_config_without_backoff(),
            clock: Arc::clone(&self.clock),
            ids: self.ids.clone(),
            random: Arc::new(random),
        };
        let mut app = App::new(self.deployment.app.settings.clone(), world);
        let scripted = ScriptedOrgs {
            orgs: Arc::clone(&app.orgs),
            script: Arc::clone(&self.script),
            clock: Arc::clone(&self.clock),
        };
        Arc::get_mut(&mut app).unwrap().services.orgs = Arc::new(scripted);
        Process {
            router: api::router(Arc::clone(&app)),
            app,
            sqs: aws_sdk_sqs::Client::new(&self.hub.sdk_config_without_backoff()),
            queue: self.learn_queue.clone(),
            dead_letters: self.dead_letters.clone(),
            aggregate_queue: self.aggregate_queue.clone(),
            doubles: Arc::default(),
        }
    }

    /// The timers.
    pub(crate) fn timers(&self) -> &LocalScheduler {
        self.deployment.scheduler()
    }

    /// Sends the messages of timers whose time has come, and of those that go off early.
    pub(crate) fn fire_timers(&self, is_early: impl Fn(&str) -> bool) {
        self.deployment.fire_timers_if(is_early);
        self.deployment.fire_timers();
    }

    /// Completes when the process is dead; looked at whenever anything else in this task moves.
    pub(crate) async fn death(&self) {
        std::future::poll_fn(|_| {
            if self.hub.is_dead() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

/// One process: the API, the worker and the sweep over one application.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) app: Arc<App>,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) queue: String,
    pub(crate) dead_letters: String,
    aggregate_queue: String,
    router: Router,
    /// Share of messages that come twice, in percent, and the chance that decides.
    doubles: Arc<Mutex<Option<(u64, Chance)>>>,
}

/// The organisation of all tests.
pub(crate) fn org() -> OrgId {
    SELF_HOST_ORG.parse().unwrap()
}

/// The hash of a user's name.
pub(crate) fn hash(user: &str) -> UserHash {
    UserHash::of(&UserId::new(user).unwrap())
}

/// Gives `run` the keys of a user.
pub(crate) fn keys<'a>(org: &'a OrgId, user: &'a UserHash) -> UserKeys<'a> {
    UserKeys { org, user }
}

impl Process {
    /// One HTTP call.
    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let peer: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .extension(api::LoopbackPeer(peer))
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// Publishes; the status of the answer. A 200 that does not say success is a failed test.
    pub(crate) async fn publish(&self, publish: &Publish) -> StatusCode {
        self.publish_body(&publish.body()).await
    }

    pub(crate) async fn publish_body(&self, body: &Value) -> StatusCode {
        let (status, answer) = self.call("POST", "/api/publish_interaction", Some(body)).await;
        assert!(status != StatusCode::OK || answer["success"] == true, "{answer}");
        status
    }

    /// Declares a session over; whether there was such a session.
    pub(crate) async fn finalize(&self, user: &str, session: &str) -> bool {
        let body = json!({ "user_id": user, "session_id": session });
        let (status, answer) = self.call("POST", "/api/finalize_session", Some(&body)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["accepted"] == true
    }

    /// As [`Self::finalize`], but the process may die: whether it answered with success.
    pub(crate) async fn try_finalize(&self, user: &str, session: &str) -> bool {
        let body = json!({ "user_id": user, "session_id": session });
        self.call("POST", "/api/finalize_session", Some(&body)).await.0 == StatusCode::OK
    }

    /// When a worker should look at a user.
    pub(crate) async fn due_at(&self, user: &str) -> Option<EpochSeconds> {
        let (org, user) = (org(), hash(user));
        self.app.services.store.head(&keys(&org, &user)).await.unwrap().and_then(|head| head.due_at)
    }

    /// Eligible interactions of a user that profiles were learned from.
    pub(crate) async fn learned(&self, user: &str) -> i64 {
        let (org, user) = (org(), hash(user));
        self.app.services.store.cursor(&keys(&org, &user), LearningKind::Profile).await.unwrap().learned
    }

    /// What `learning_status` says of a request.
    pub(crate) async fn learning_status(&self, request: &str) -> Value {
        let (status, answer) =
            self.call("GET", &format!("/api/learning_status?request_id={request}"), None).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer
    }

    /// Receives one message; `None` when the queue has none to give, or is out of reach.
    pub(crate) async fn receive(&self) -> Option<Message> {
        self.receive_within(0).await
    }

    async fn receive_within(&self, wait_seconds: i32) -> Option<Message> {
        self.receive_from(&self.queue, wait_seconds).await
    }

    async fn receive_from(&self, queue: &str, wait_seconds: i32) -> Option<Message> {
        let receive = self.sqs.receive_message().queue_url(queue).max_number_of_messages(1);
        let receive = receive.wait_time_seconds(wait_seconds);
        let answer = receive.message_system_attribute_names(MessageSystemAttributeName::All).send().await;
        answer.ok()?.messages.unwrap_or_default().pop()
    }

    /// Handles messages as one batch.
    pub(crate) async fn handle(&self, messages: &[Message]) -> SqsBatchResponse {
        let mut event = SqsEvent::default();
        event.records = messages.iter().map(record).collect();
        learn::handle(&self.app, event, self.app.services.clock.now_ms() + LEARN_MS).await
    }

    /// From now on so many messages of a hundred come twice.
    pub(crate) fn double_messages(&self, percent: u64, seed: u64) {
        *self.doubles.lock().unwrap() = Some((percent, Chance::new(seed)));
    }

    pub(crate) fn comes_twice(&self) -> bool {
        let mut doubles = self.doubles.lock().unwrap();
        doubles.as_mut().is_some_and(|(percent, chance)| chance.percent(*percent))
    }

    /// Acknowledges a message.
    pub(crate) async fn delete(&self, message: &Message) {
        let handle = message.receipt_handle.clone().unwrap();
        // One that is not deleted comes again.
        let _ = self.sqs.delete_message().queue_url(&self.queue).receipt_handle(handle).send().await;
    }

    /// What a mapping does with one message: receive, handle, delete unless it failed. `None` when none came.
    pub(crate) async fn work_once(&self) -> Option<bool> {
        self.work_within(0).await
    }

    /// As [`Self::work_once`], waiting for a message as long as that, 20 seconds at most.
    pub(crate) async fn work_within(&self, wait_seconds: i32) -> Option<bool> {
        let message = self.receive_within(wait_seconds).await?;
        let mut failures = self.handle(std::slice::from_ref(&message)).await.batch_item_failures;
        if self.comes_twice() {
            failures = self.handle(std::slice::from_ref(&message)).await.batch_item_failures;
        }
        if failures.is_empty() {
            self.delete(&message).await;
        }
        Some(failures.is_empty())
    }

    /// Works until the queue has nothing to give; how many messages were done with.
    pub(crate) async fn drain(&self) -> usize {
        let mut done = 0;
        while let Some(succeeded) = self.work_once().await {
            done += usize::from(succeeded);
        }
        done
    }

    /// Receives one wake of an aggregation.
    pub(crate) async fn receive_aggregation(&self) -> Option<Message> {
        self.receive_from(&self.aggregate_queue, 0).await
    }

    /// Handles wakes of aggregations as one batch.
    pub(crate) async fn handle_aggregations(&self, messages: &[Message]) -> SqsBatchResponse {
        let mut event = SqsEvent::default();
        event.records = messages.iter().map(record).collect();
        aggregate::handle(&self.app, event, self.app.services.clock.now_ms() + LEARN_MS).await
    }

    /// Receives, handles and deletes one wake; `None` when none came.
    pub(crate) async fn aggregate_once(&self) -> Option<bool> {
        let message = self.receive_aggregation().await?;
        let mut failures = self.handle_aggregations(std::slice::from_ref(&message)).await.batch_item_failures;
        if self.comes_twice() {
            failures = self.handle_aggregations(std::slice::from_ref(&message)).await.batch_item_failures;
        }
        let succeeded = failures.is_empty();
        if succeeded {
            let handle = message.receipt_handle.clone().unwrap();
            // One that is not deleted comes again.
            let _ = self
                .sqs
                .delete_message()
                .queue_url(&self.aggregate_queue)
                .receipt_handle(handle)
                .send()
                .await;
        }
        Some(succeeded)
    }

    /// Works on all queues until none has anything to give.
    pub(crate) async fn drain_all(&self) {
        loop {
            let done = [self.work_once().await, self.operate_once().await, self.aggregate_once().await];
            if done.iter().all(Option::is_none) {
                return;
            }
        }
    }

    /// Whether a message waits in any queue, or is with a worker.
    pub(crate) async fn has_messages(&self) -> bool {
        let operations = &self.app.settings.queues.operate;
        for queue in [&self.queue, &self.aggregate_queue, operations] {
            if self.count(queue).await != (0, 0) {
                return true;
            }
        }
        false
    }

    /// One sweep.
    pub(crate) async fn sweep(&self) -> Result<Swept, StoreError> {
        sweep::handle(&self.app, self.app.services.clock.now_ms() + SWEEP_MS).await
    }

    /// Messages of a queue: those that can be received, and those in flight.
    pub(crate) async fn count(&self, queue: &str) -> (u64, u64) {
        let get = self.sqs.get_queue_attributes().queue_url(queue);
        let answer = get.attribute_names(QueueAttributeName::All).send().await.unwrap();
        let attributes = answer.attributes.unwrap();
        let number = |name: QueueAttributeName| attributes[&name].parse().unwrap();
        (
            number(QueueAttributeName::ApproximateNumberOfMessages),
            number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
        )
    }
}

pub(crate) fn record(message: &Message) -> SqsMessage {
    let mut record = SqsMessage::default();
    record.message_id.clone_from(&message.message_id);
    record.body.clone_from(&message.body);
    let attributes = message.attributes.iter().flatten();
    record.attributes = attributes.map(|(name, value)| (name.as_str().to_owned(), value.clone())).collect();
    record
}
