//! Each rule of SQS through the SDK's client, the journal through crashes, and both against a plain model.

mod fifo;
mod journal;
mod limits;
mod model;
mod protocol;
mod standard;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;

use super::{ReceiveRequest, Sqs};
use crate::cloud::clock::ManualClock;
use crate::cloud::service::LocalService;
use crate::cloud::template::{DeduplicationScope, Queue, Redrive};

/// Noon of some day: a time that is not zero.
const START_MS: i64 = 1_750_075_200_000;

/// A queue with SQS's defaults; FIFO by its name.
fn queue(name: &str) -> Queue {
    Queue {
        logical_id: name.to_owned(),
        name: name.to_owned(),
        fifo: name.ends_with(".fifo"),
        content_based_deduplication: false,
        deduplication_scope: DeduplicationScope::MessageGroup,
        visibility_seconds: 30,
        delay_seconds: 0,
        retention_seconds: 345_600,
        receive_wait_seconds: 0,
        message_bytes_max: 1_048_576,
        redrive: None,
    }
}

/// The queue `name` with a dead-letter queue `dead`, which comes second.
fn with_dead_letters(name: &str, dead: &str, max_receive_count: u32) -> Vec<Queue> {
    let redrive = Some(Redrive { dead_letter: dead.to_owned(), max_receive_count });
    vec![Queue { redrive, ..queue(name) }, queue(dead)]
}

fn url(name: &str) -> String {
    queue(name).url()
}

/// Queues on a clock that stands still, and the SDK's client in front of them.
struct Bench {
    clock: Arc<ManualClock>,
    sqs: Arc<Sqs>,
    client: Client,
}

impl Bench {
    fn new(queues: &[Queue]) -> Self {
        Self::open(queues, None, Arc::new(ManualClock::new(START_MS)))
    }

    fn open(queues: &[Queue], journal: Option<&Path>, clock: Arc<ManualClock>) -> Self {
        let sqs = Arc::new(Sqs::open(queues, clock.clone(), journal).unwrap());
        let client = client(sqs.clone());
        Self { clock, sqs, client }
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Sends to a FIFO queue; the body is the deduplication id too.
    async fn send_fifo(&self, name: &str, group: &str, body: &str) {
        let request = self.client.send_message().queue_url(url(name)).message_body(body);
        request.message_group_id(group).message_deduplication_id(body).send().await.unwrap();
    }

    async fn send(&self, name: &str, body: &str) {
        self.client.send_message().queue_url(url(name)).message_body(body).send().await.unwrap();
    }

    async fn receive(&self, name: &str, max: i32) -> Vec<Message> {
        let request = self.client.receive_message().queue_url(url(name)).max_number_of_messages(max);
        let request = request.message_system_attribute_names(MessageSystemAttributeName::All);
        request.send().await.unwrap().messages.unwrap_or_default()
    }

    async fn bodies(&self, name: &str, max: i32) -> Vec<String> {
        self.receive(name, max).await.into_iter().filter_map(|message| message.body).collect()
    }

    async fn delete(&self, name: &str, message: &Message) {
        let request = self.client.delete_message().queue_url(url(name));
        request.receipt_handle(message.receipt_handle().unwrap()).send().await.unwrap();
    }
}

fn client(sqs: Arc<Sqs>) -> Client {
    let connector = SharedHttpConnector::new(Direct(sqs));
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .http_client(http_client_fn(move |_, _| connector.clone()))
        .build();
    Client::from_conf(config)
}

/// Takes the client's requests straight to the queues.
#[derive(Debug)]
struct Direct(Arc<Sqs>);

impl HttpConnector for Direct {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let sqs = self.0.clone();
        HttpConnectorFuture::new(async move {
            let request = request.try_into_http1x().unwrap();
            let request = request.map(|body| Bytes::copy_from_slice(body.bytes().unwrap_or_default()));
            let response = sqs.call(request).await.map(SdkBody::from);
            Ok(HttpResponse::try_from(response).unwrap())
        })
    }
}

/// The bodies that a receiver gets who waits as long as it may.
async fn waiting(bench: &Bench, name: &str) -> Vec<String> {
    let request = ReceiveRequest { wait_seconds: Some(20), ..ReceiveRequest::default() };
    let url = url(name);
    let received = tokio::select! {
        received = bench.sqs.receive(&url, request) => received.unwrap(),
        () = many_turns() => panic!("nothing woke the receiver"),
    };
    received.into_iter().map(|one| one.message.body).collect()
}

/// Far more turns than the other tasks of a test need.
async fn many_turns() {
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
}

/// Returns once something waits for time to pass.
async fn asleep(bench: &Bench) {
    while bench.clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
}
