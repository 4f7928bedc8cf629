//! Mappings as the template wires them, on a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use domain::time::Clock;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use crate::cloud::clock::ManualClock;
use crate::cloud::handlers::{BoxError, Handlers, Running};
use crate::cloud::sqs::{Attribute, Attributes, Counts, SendRequest, Sqs};
use crate::cloud::template::Cloud;

const START_MS: i64 = 1_750_000_000_000;
const TIMEOUT: Duration = Duration::from_secs(20);
const VISIBILITY: Duration = Duration::from_secs(50);

type Answer = Result<SqsBatchResponse, BoxError>;

/// A FIFO queue with a function behind it; `event` are further properties of the mapping.
fn cloud(event: &str) -> Cloud {
    let yaml = format!(
        "
Resources:
  Q: {{Type: AWS::SQS::Queue, Properties: {{FifoQueue: true, VisibilityTimeout: 50}}}}
  F:
    Type: AWS::Serverless::Function
    Metadata: {{BuildProperties: {{Binary: f}}}}
    Properties:
      Timeout: 20
      Events: {{E: {{Type: SQS, Properties: {{Queue: !GetAtt Q.Arn, {event}}}}}}}"
    );
    Cloud::from_template(&yaml, &Default::default()).unwrap()
}

const REPORTING: &str = "BatchSize: 10, FunctionResponseTypes: [ReportBatchItemFailures]";

struct Bench {
    clock: Arc<ManualClock>,
    sqs: Arc<Sqs>,
    url: String,
    cloud: Cloud,
}

impl Bench {
    fn new(event: &str) -> Self {
        let cloud = cloud(event);
        let clock = Arc::new(ManualClock::new(START_MS));
        let sqs = Arc::new(Sqs::open(&cloud.queues, clock.clone(), None).unwrap());
        Self { clock, sqs, url: cloud.queues[0].url(), cloud }
    }

    fn start(&self, handlers: Handlers) -> Running {
        let clock: Arc<dyn Clock> = self.clock.clone();
        handlers.start(&self.cloud, &self.sqs, &clock).unwrap()
    }

    /// A function that tells its events and answers by `answer`.
    fn answering(
        &self,
        answer: impl Fn(&SqsEvent) -> Answer + Send + Sync + 'static,
    ) -> (Running, mpsc::UnboundedReceiver<SqsEvent>) {
        let (tell, told) = mpsc::unbounded_channel();
        let handler = move |event: SqsEvent| {
            let answer = answer(&event);
            tell.send(event).unwrap();
            async { answer }
        };
        (self.start(Handlers::new().sqs("F", handler)), told)
    }

    fn send(&self, group: &str, body: &str) {
        let request = SendRequest {
            body: body.to_owned(),
            group: Some(group.to_owned()),
            deduplication_id: Some(body.to_owned()),
            ..SendRequest::default()
        };
        self.sqs.send(&self.url, request).unwrap();
    }

    fn counts(&self) -> Counts {
        self.sqs.counts(&self.url).unwrap()
    }
}

/// Lets every task go as far as it can without time passing.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

fn bodies(event: &SqsEvent) -> Vec<&str> {
    event.records.iter().filter_map(|record| record.body.as_deref()).collect()
}

fn failures(ids: &[&str]) -> Answer {
    let mut response = SqsBatchResponse::default();
    for id in ids {
        let mut failure = BatchItemFailure::default();
        failure.item_identifier = (*id).to_owned();
        response.batch_item_failures.push(failure);
    }
    Ok(response)
}

fn id_of(event: &SqsEvent, body: &str) -> String {
    let record = event.records.iter().find(|record| record.body.as_deref() == Some(body)).unwrap();
    record.message_id.clone().unwrap()
}

#[tokio::test]
async fn the_event_is_the_one_that_lambda_delivers() {
    let bench = Bench::new(REPORTING);
    let (_running, mut told) = bench.answering(|_| failures(&[]));
    let attribute =
        Attribute { data_type: "String".to_owned(), string_value: Some("v".to_owned()), binary_value: None };
    let request = SendRequest {
        body: "hello".to_owned(),
        attributes: Attributes([("name".to_owned(), attribute)].into()),
        delay_seconds: None,
        group: Some("g".to_owned()),
        deduplication_id: Some("d".to_owned()),
    };
    let sent = bench.sqs.send(&bench.url, request).unwrap();
    let event = told.recv().await.unwrap();
    let mut value = serde_json::to_value(&event).unwrap();
    let record = value["Records"][0].as_object_mut().unwrap();
    assert!(record.remove("receiptHandle").is_some());
    let expected = json!({
        "messageId": sent.message_id,
        "body": "hello",
        "md5OfBody": "5d41402abc4b2a76b9719d911017c592",
        "md5OfMessageAttributes": sent.md5_of_attributes,
        "attributes": {
            "ApproximateFirstReceiveTimestamp": START_MS.to_string(),
            "ApproximateReceiveCount": "1",
            "MessageDeduplicationId": "d",
            "MessageGroupId": "g",
            "SenderId": "AIDARETROSPECTLOCAL00",
            "SentTimestamp": START_MS.to_string(),
            "SequenceNumber": "00000000000000000001",
        },
        "messageAttributes": {
            "name": {
                "stringValue": "v",
                "binaryValue": null,
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": "String",
            }
        },
        "eventSourceARN": bench.cloud.queues[0].arn(),
        "eventSource": "aws:sqs",
        "awsRegion": "us-east-1",
    });
    assert_eq!(value["Records"][0], expected);
}

#[tokio::test]
async fn a_message_sets_off_a_run_at_once_and_is_deleted_after_it() {
    let bench = Bench::new("BatchSize: 1");
    let (_running, mut told) = bench.answering(|_| failures(&[]));
    settle().await;
    bench.send("g", "a");
    assert_eq!(bodies(&told.recv().await.unwrap()), ["a"]);
    settle().await;
    assert_eq!(bench.counts(), Counts::default());
}

#[tokio::test]
async fn an_idle_mapping_waits_instead_of_polling() {
    let bench = Bench::new("BatchSize: 1");
    let (_running, _told) = bench.answering(|_| failures(&[]));
    settle().await;
    assert_eq!(bench.clock.sleepers(), 1, "one receive waits for its 20 seconds to pass");
}

#[tokio::test]
async fn a_batch_has_no_more_messages_than_the_template_says() {
    let bench = Bench::new("BatchSize: 2");
    for body in ["1", "2", "3"] {
        bench.send("g", body);
    }
    let (_running, mut told) = bench.answering(|_| failures(&[]));
    assert_eq!(bodies(&told.recv().await.unwrap()), ["1", "2"]);
    assert_eq!(bodies(&told.recv().await.unwrap()), ["3"]);
}

#[tokio::test]
async fn a_failed_run_leaves_the_whole_batch_for_after_its_visibility() {
    let bench = Bench::new(REPORTING);
    bench.send("g", "1");
    bench.send("g", "2");
    let (_running, mut told) = bench.answering(|_| Err("no".into()));
    assert_eq!(bodies(&told.recv().await.unwrap()), ["1", "2"]);
    settle().await;
    assert_eq!(bench.counts().in_flight, 2);
    bench.clock.advance(VISIBILITY);
    let again = told.recv().await.unwrap();
    assert_eq!(bodies(&again), ["1", "2"]);
    assert_eq!(again.records[0].attributes["ApproximateReceiveCount"], "2");
}

#[tokio::test]
async fn a_panic_is_a_failed_run_and_the_mapping_goes_on() {
    let bench = Bench::new("BatchSize: 1");
    bench.send("g", "early");
    bench.send("h", "late");
    bench.send("i", "good");
    let (tell, mut told) = mpsc::unbounded_channel();
    let handler = move |event: SqsEvent| {
        assert_ne!(bodies(&event), ["early"]);
        let tell = tell.clone();
        async move {
            assert_ne!(bodies(&event), ["late"]);
            tell.send(()).unwrap();
            failures(&[])
        }
    };
    let _running = bench.start(Handlers::new().sqs("F", handler));
    told.recv().await.unwrap();
    settle().await;
    assert_eq!(bench.counts(), Counts { visible: 0, in_flight: 2, delayed: 0 });
}

#[tokio::test]
async fn a_run_is_stopped_at_its_time_out_and_its_batch_comes_again() {
    let bench = Bench::new("BatchSize: 1");
    bench.send("g", "a");
    let (begin, mut begun) = mpsc::unbounded_channel();
    let alive = Arc::new(());
    let handler = {
        let alive = alive.clone();
        move |_| {
            let (begin, alive) = (begin.clone(), alive.clone());
            async move {
                let _alive = alive;
                begin.send(()).unwrap();
                std::future::pending().await
            }
        }
    };
    let _running = bench.start(Handlers::new().sqs("F", handler));
    begun.recv().await.unwrap();
    bench.clock.advance(TIMEOUT - Duration::from_millis(1));
    settle().await;
    assert_eq!(Arc::strong_count(&alive), 3);
    bench.clock.advance(Duration::from_millis(1));
    settle().await;
    assert_eq!(Arc::strong_count(&alive), 2, "the run is gone");
    assert_eq!(bench.counts().in_flight, 1);
    bench.clock.advance(VISIBILITY - TIMEOUT);
    begun.recv().await.expect("it comes again");
}

#[tokio::test]
async fn what_a_run_reports_as_failed_comes_again_in_order_and_the_rest_is_done() {
    let bench = Bench::new(REPORTING);
    for body in ["1", "2", "3"] {
        bench.send("g", body);
    }
    let (_running, mut told) = bench.answering(|event| match event.records.len() {
        3 => failures(&[&id_of(event, "2"), &id_of(event, "3")]),
        _ => failures(&[]),
    });
    assert_eq!(bodies(&told.recv().await.unwrap()), ["1", "2", "3"]);
    settle().await;
    assert_eq!(bench.counts().in_flight, 2);
    bench.clock.advance(VISIBILITY);
    assert_eq!(bodies(&told.recv().await.unwrap()), ["2", "3"]);
    settle().await;
    assert_eq!(bench.counts(), Counts::default());
}

#[tokio::test]
async fn a_report_that_names_no_message_of_the_batch_fails_all_of_it() {
    for id in ["", "nobody"] {
        let bench = Bench::new(REPORTING);
        bench.send("g", "1");
        bench.send("g", "2");
        let (_running, mut told) = bench.answering(move |event| failures(&[&id_of(event, "1"), id]));
        told.recv().await.unwrap();
        settle().await;
        assert_eq!(bench.counts().in_flight, 2, "{id:?}");
    }
}

#[tokio::test]
async fn a_mapping_that_asks_for_no_report_ignores_it() {
    let bench = Bench::new("BatchSize: 10");
    bench.send("g", "1");
    let (_running, mut told) = bench.answering(|event| failures(&[&id_of(event, "1")]));
    told.recv().await.unwrap();
    settle().await;
    assert_eq!(bench.counts(), Counts::default());
}

/// A function whose runs wait for a permit of `gate`.
fn gated(bench: &Bench) -> (Running, Arc<Semaphore>, mpsc::UnboundedReceiver<String>) {
    let (tell, told) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let handler = {
        let gate = gate.clone();
        move |event: SqsEvent| {
            tell.send(bodies(&event).join(",")).unwrap();
            let gate = gate.clone();
            async move {
                gate.acquire().await?.forget();
                failures(&[])
            }
        }
    };
    (bench.start(Handlers::new().sqs("F", handler)), gate, told)
}

fn drain(told: &mut mpsc::UnboundedReceiver<String>) -> Vec<String> {
    std::iter::from_fn(|| told.try_recv().ok()).collect()
}

#[tokio::test]
async fn groups_run_side_by_side_up_to_the_maximum_and_what_has_no_room_is_not_received() {
    let bench = Bench::new("BatchSize: 1, ScalingConfig: {MaximumConcurrency: 2}");
    for group in ["g", "h", "i"] {
        bench.send(group, group);
    }
    let (_running, gate, mut told) = gated(&bench);
    settle().await;
    assert_eq!(drain(&mut told), ["g", "h"]);
    assert_eq!(bench.counts(), Counts { visible: 1, in_flight: 2, delayed: 0 });
    gate.add_permits(1);
    settle().await;
    assert_eq!(drain(&mut told), ["i"]);
    gate.add_permits(2);
    settle().await;
    assert_eq!(bench.counts(), Counts::default());
}

#[tokio::test]
async fn one_group_runs_one_after_the_other() {
    let bench = Bench::new("BatchSize: 1");
    bench.send("g", "1");
    bench.send("g", "2");
    let (_running, gate, mut told) = gated(&bench);
    settle().await;
    assert_eq!(drain(&mut told), ["1"]);
    gate.add_permits(1);
    settle().await;
    assert_eq!(drain(&mut told), ["2"]);
}

#[tokio::test]
async fn a_stop_takes_nothing_new_and_waits_for_the_runs_under_way() {
    let bench = Bench::new("BatchSize: 1");
    bench.send("g", "1");
    let (running, gate, mut told) = gated(&bench);
    settle().await;
    assert_eq!(drain(&mut told), ["1"]);
    let stop = tokio::spawn(running.stop());
    settle().await;
    bench.send("h", "2");
    settle().await;
    assert!(!stop.is_finished());
    gate.add_permits(1);
    stop.await.unwrap();
    assert!(drain(&mut told).is_empty());
    assert_eq!(bench.counts(), Counts { visible: 1, in_flight: 0, delayed: 0 });
}

#[tokio::test]
async fn what_was_under_way_at_a_crash_comes_again() {
    let bench = Bench::new("BatchSize: 1");
    bench.send("g", "1");
    let (running, _gate, mut told) = gated(&bench);
    settle().await;
    drop(running);
    settle().await;
    assert_eq!(drain(&mut told), ["1"]);
    let (_running, _gate, mut told) = gated(&bench);
    settle().await;
    assert!(drain(&mut told).is_empty());
    bench.clock.advance(VISIBILITY);
    settle().await;
    assert_eq!(drain(&mut told), ["1"]);
}
