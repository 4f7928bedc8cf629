//! A deployment in this process and its callers.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::MessageSystemAttributeName;
use clap::Parser;
use domain::ids::OrgId;
use domain::time::Clock;
use retrospect::admin::Place;
use retrospect::cli::{Cli, Command};
use retrospect::cloud::counters::Snapshot;
use retrospect::cloud::handlers::Running;
use retrospect::deployment::{Data, Deployment, Options};
use retrospect::server;
use runtime::keys::{PresentedKey, new_key};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::clock::TestClock;

/// How long a run of a function may last, in milliseconds of the test's clock.
const FUNCTION_MS: i64 = 900_000;
/// Looks at a state that is bound to come before a test gives up.
const LOOKS_MAX: usize = 2_000;

/// An item of the table.
pub(crate) type Item = BTreeMap<String, AttributeValue>;

/// The deployment, its HTTP server and a first caller. No function runs unless a test runs it.
pub(crate) struct Site {
    pub(crate) deployment: Deployment,
    pub(crate) clock: Arc<TestClock>,
    /// The caller that most tests need: the organisation `acme`.
    pub(crate) acme: Caller,
    sqs: aws_sdk_sqs::Client,
    server: JoinHandle<()>,
}

impl Site {
    /// With the offline models.
    pub(crate) async fn offline() -> Self {
        Self::with(BTreeMap::new()).await
    }

    /// With these variables.
    pub(crate) async fn with(environment: BTreeMap<String, String>) -> Self {
        let clock = TestClock::shared();
        let shared_clock: Arc<dyn Clock> = clock.clone();
        let options = Options { open_to_loopback: false, environment };
        let deployment = Deployment::new(Data::Ephemeral, shared_clock, &options).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let app = Arc::clone(&deployment.app);
        let server = tokio::spawn(async move {
            server::serve(listener, app, std::future::pending()).await.unwrap();
        });
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let anyone = Caller { http: http.build().unwrap(), base, key: None };
        let sqs = aws_sdk_sqs::Client::new(&deployment.hub.sdk_config());
        let mut site = Self { deployment, clock, acme: anyone, sqs, server };
        site.acme = site.caller("acme").await;
        site
    }

    /// A caller with a new key of an organisation.
    pub(crate) async fn caller(&self, org: &str) -> Caller {
        let services = &self.deployment.app.services;
        let org: OrgId = org.parse().unwrap();
        let key = new_key([services.ids.uuid(), services.ids.uuid()]);
        let record = PresentedKey::read(&key).record(&org, services.clock.now());
        assert!(services.store.put_api_key(&record).await.unwrap());
        self.acme.with_key(&key)
    }

    /// A caller without a key.
    pub(crate) fn stranger(&self) -> Caller {
        Caller { key: None, ..self.acme.clone() }
    }

    /// Starts the functions of the template, as a deployment has them.
    pub(crate) fn start(&self) -> Running {
        self.deployment.start().unwrap()
    }

    /// What `retrospect admin` prints for these arguments, or why it refuses.
    pub(crate) async fn admin(&self, arguments: &[&str]) -> Result<String, String> {
        let cli = Cli::try_parse_from([&["retrospect", "admin"], arguments].concat()).unwrap();
        let Some(Command::Admin(options)) = cli.command else { panic!("{arguments:?} is no admin command") };
        let place = Place::Whole(Arc::clone(&self.deployment.app));
        retrospect::admin::carry_out(&place, &options.command).await.map_err(|error| error.to_string())
    }

    /// Sets a variable of the deployment, which is followed at once.
    pub(crate) async fn set_site_var(&self, key: &str, value: &Value) {
        self.admin(&["site-vars", "set", key, &value.to_string()]).await.unwrap();
        self.deployment.app.site.evict();
    }

    /// Moves the time.
    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Hands the waiting messages to the learning function until none is left; returns how many there were.
    pub(crate) async fn learn(&self) -> usize {
        let url = self.deployment.app.settings.queues.learn.clone();
        let handle = |event, deadline| learn::handle(&self.deployment.app, event, deadline);
        self.drain(&url, handle).await
    }

    /// The same for aggregations.
    pub(crate) async fn aggregate(&self) -> usize {
        let url = self.deployment.app.settings.queues.aggregate.clone();
        let handle = |event, deadline| aggregate::handle(&self.deployment.app, event, deadline);
        self.drain(&url, handle).await
    }

    /// The same for batch operations.
    pub(crate) async fn operate(&self) -> usize {
        let url = self.deployment.app.settings.queues.operate.clone();
        let handle = |event, deadline| operate::handle(&self.deployment.app, event, deadline);
        self.drain(&url, handle).await
    }

    /// The same for judgements.
    pub(crate) async fn evaluate(&self) -> usize {
        let url = self.deployment.app.settings.queues.evaluate.clone();
        let handle = |event, deadline| evaluate::handle(&self.deployment.app, event, deadline);
        self.drain(&url, handle).await
    }

    /// Lets the timers go off whose time has come, then hands what they sent to the judge.
    pub(crate) async fn judge(&self) -> usize {
        self.deployment.fire_timers();
        self.evaluate().await
    }

    async fn drain<F>(&self, url: &str, handle: impl Fn(SqsEvent, i64) -> F) -> usize
    where
        F: Future<Output = SqsBatchResponse>,
    {
        let mut handled = 0;
        loop {
            let receive = self.sqs.receive_message().queue_url(url).wait_time_seconds(0);
            let receive = receive.message_system_attribute_names(MessageSystemAttributeName::MessageGroupId);
            let messages = receive.send().await.unwrap().messages.unwrap_or_default();
            let Some(message) = messages.into_iter().next() else { return handled };
            let receipt = message.receipt_handle.clone().unwrap();
            let response = handle(event(message), self.clock.now_ms() + FUNCTION_MS).await;
            assert!(response.batch_item_failures.is_empty(), "{response:?}");
            self.sqs.delete_message().queue_url(url).receipt_handle(receipt).send().await.unwrap();
            handled += 1;
        }
    }

    /// Runs the sweep once, then learns what it woke; returns how many messages there were.
    pub(crate) async fn sweep(&self) -> usize {
        let deadline = self.clock.now_ms() + FUNCTION_MS;
        sweep::handle(&self.deployment.app, deadline).await.unwrap();
        self.learn().await
    }

    /// As the minutes pass: moves the time on and sweeps, so often.
    pub(crate) async fn pass_minutes(&self, minutes: usize) {
        for _ in 0..minutes {
            self.advance(60);
            self.sweep().await;
        }
    }

    /// Every item of the table but counters, which are raised by calls that are refused later, too.
    pub(crate) async fn stored(&self) -> Vec<Item> {
        let mut items = self.items().await;
        items.retain(|item| !item["SK"].as_s().unwrap().starts_with("CTR#"));
        items
    }

    /// Every item of the table.
    pub(crate) async fn items(&self) -> Vec<Item> {
        let dynamodb = aws_sdk_dynamodb::Client::new(&self.deployment.hub.sdk_config());
        let scan = dynamodb.scan().table_name(&self.deployment.app.settings.table).consistent_read(true);
        let pages = scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await;
        pages.unwrap().into_iter().map(|item| item.into_iter().collect()).collect()
    }

    /// The calls and capacity since `earlier`.
    pub(crate) fn cost_since(&self, earlier: &Snapshot) -> Snapshot {
        &self.deployment.hub.counters().snapshot() - earlier
    }

    /// The calls and capacity so far.
    pub(crate) fn cost(&self) -> Snapshot {
        self.deployment.hub.counters().snapshot()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A received message as Lambda hands it over.
fn event(message: aws_sdk_sqs::types::Message) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = message.message_id;
    record.body = message.body;
    let attributes = message.attributes.unwrap_or_default().into_iter();
    record.attributes = attributes.map(|(name, value)| (name.as_str().to_owned(), value)).collect();
    let mut event = SqsEvent::default();
    event.records = vec![record];
    event
}

/// What a call was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    /// The body; a text where it is no JSON.
    pub(crate) body: Value,
}

/// Somebody who calls the API.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

impl Caller {
    /// The key that it calls with; empty when there is none.
    pub(crate) fn key(&self) -> &str {
        self.key.as_deref().unwrap_or_default()
    }

    /// The same with another key.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    /// Calls with a body of any kind.
    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<(&str, Vec<u8>)>) -> Answer {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        if let Some((content_type, bytes)) = body {
            request = request.header("content-type", content_type).body(bytes);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Answer { status, headers, body }
    }

    /// Calls with JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(("application/json", body.to_string().into_bytes()))).await
    }

    /// Calls with JSON and more headers.
    pub(crate) async fn post_with(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.http.post(format!("{}{path}", self.base)).bearer_auth(self.key()).json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        Answer { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
    }

    /// Calls with JSON and expects a success.
    pub(crate) async fn ok(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// Reads, and expects a success.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, None).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// Publishes, and expects that it is stored.
    pub(crate) async fn publish(&self, body: &Value) -> Value {
        let answer = self.ok("/api/publish_interaction", body).await;
        assert_eq!(answer["success"], true, "{answer}");
        answer
    }

    /// How far the learning of a request is: status, reason, and the error if there is one.
    pub(crate) async fn status(&self, request_id: &str) -> (String, String, Option<String>) {
        let answer = self.get(&format!("/api/learning_status?request_id={request_id}")).await;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        (text("status").unwrap(), text("reason").unwrap_or_default(), text("error"))
    }

    /// The agent playbooks that these members of a query let through.
    pub(crate) async fn agent_playbooks(&self, query: Value) -> Vec<Value> {
        let answer = self.ok("/api/get_agent_playbooks", &with(json!({ "limit": 1_000 }), query)).await;
        answer["agent_playbooks"].as_array().unwrap().clone()
    }

    /// Calls with JSON by PUT.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, Some(("application/json", body.to_string().into_bytes()))).await
    }

    /// Looks until a request is learned by functions that run.
    pub(crate) async fn learned(&self, request_id: &str) {
        for _ in 0..LOOKS_MAX {
            if self.status(request_id).await.0 == "done" {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{request_id} is not learned: {:?}", self.status(request_id).await);
    }

    /// Contents of the current profiles of a user, sorted.
    pub(crate) async fn profiles(&self, user: &str) -> Vec<String> {
        let body = json!({ "user_id": user, "top_k": 1_000 });
        contents(&self.ok("/api/get_profiles", &body).await["user_profiles"])
    }

    /// Contents of the current playbooks of a user, sorted.
    pub(crate) async fn playbooks(&self, user: &str) -> Vec<String> {
        let body = json!({ "user_id": user, "limit": 1_000, "status_filter": [null] });
        contents(&self.ok("/api/get_user_playbooks", &body).await["user_playbooks"])
    }

    /// All interactions of a user in the order of their positions.
    pub(crate) async fn interactions(&self, user: &str) -> Vec<Value> {
        let answer = self.ok("/api/get_interactions", &json!({ "user_id": user, "top_k": 10_000 })).await;
        let mut found = answer["interactions"].as_array().unwrap().clone();
        found.sort_by_key(|interaction| interaction["interaction_id"].as_i64());
        found
    }
}

/// Contents of rows, sorted.
pub(crate) fn contents(rows: &Value) -> Vec<String> {
    let rows = rows.as_array().unwrap().iter();
    let mut found: Vec<String> = rows.map(|row| row["content"].as_str().unwrap().to_owned()).collect();
    found.sort();
    found
}

/// A publish call: turns of the user, in one session.
pub(crate) fn request(user: &str, session: &str, request_id: &str, said: &[&str]) -> Value {
    let turns: Vec<Value> =
        said.iter().map(|content| json!({ "role": "User", "content": content })).collect();
    json!({
        "request_id": request_id,
        "user_id": user,
        "session_id": session,
        "interaction_data_list": turns,
    })
}

/// A value with more members, or with other values for them.
pub(crate) fn with(mut body: Value, more: Value) -> Value {
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    body
}
