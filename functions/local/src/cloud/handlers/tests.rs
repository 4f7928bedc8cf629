//! The deployed template with its functions bound.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use domain::time::Clock;
use tokio::sync::mpsc;

use super::{Handlers, StartError};
use crate::cloud::clock::ManualClock;
use crate::cloud::sqs::{SendRequest, Sqs};
use crate::cloud::template::Cloud;

fn parts(yaml: Option<&str>) -> (Cloud, Arc<Sqs>, Arc<ManualClock>) {
    let none = BTreeMap::new();
    let cloud = match yaml {
        Some(yaml) => Cloud::from_template(yaml, &none).unwrap(),
        None => Cloud::deployed(&none).unwrap(),
    };
    let clock = Arc::new(ManualClock::new(0));
    let sqs = Arc::new(Sqs::open(&cloud.queues, clock.clone(), None).unwrap());
    (cloud, sqs, clock)
}

fn learn(handlers: Handlers) -> Handlers {
    workers(handlers.sqs("LearnFunction", async |_| Ok(SqsBatchResponse::default())))
}

/// The workers beside learning.
fn workers(handlers: Handlers) -> Handlers {
    let handlers = handlers.sqs("AggregateFunction", async |_| Ok(SqsBatchResponse::default()));
    let handlers = handlers.sqs("EvaluateFunction", async |_| Ok(SqsBatchResponse::default()));
    handlers.sqs("OperateFunction", async |_| Ok(SqsBatchResponse::default()))
}

fn sweep(handlers: Handlers) -> Handlers {
    handlers.schedule("SweepFunction", async |_| Ok(()))
}

async fn refusal(handlers: Handlers) -> String {
    let (cloud, sqs, clock) = parts(None);
    let clock: Arc<dyn Clock> = clock;
    handlers.start(&cloud, &sqs, &clock).expect_err("should not start").to_string()
}

#[tokio::test]
async fn a_function_without_code_and_code_without_a_function_are_named() {
    let missing = refusal(learn(Handlers::new())).await;
    assert_eq!(missing, "SweepFunction: there is no handler for its Schedule events");
    let missing = refusal(workers(sweep(Handlers::new()))).await;
    assert_eq!(missing, "LearnFunction: there is no handler for its SQS events");
    let unknown = sweep(learn(Handlers::new())).schedule("Nobody", async |_| Ok(()));
    assert_eq!(refusal(unknown).await, "Nobody: the template has no event for this handler");
    let wrong = sweep(learn(Handlers::new())).schedule("LearnFunction", async |_| Ok(()));
    assert_eq!(refusal(wrong).await, "LearnFunction: the template has no event for this handler");
}

#[tokio::test]
async fn a_schedule_that_cannot_be_obeyed_keeps_the_cloud_from_starting() {
    let yaml = "
Resources:
  SweepFunction:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: f}}
    Properties:
      ReservedConcurrentExecutions: 1
      EventInvokeConfig: {MaximumRetryAttempts: 0}
      Events: {E: {Type: Schedule, Properties: {Schedule: rate(1 fortnight)}}}";
    let (cloud, sqs, clock) = parts(Some(yaml));
    let clock: Arc<dyn Clock> = clock;
    let started = sweep(Handlers::new()).start(&cloud, &sqs, &clock);
    assert!(matches!(started, Err(StartError::Schedule { function, .. }) if function == "SweepFunction"));
}

#[tokio::test]
async fn the_deployed_template_wakes_learn_by_messages_and_sweep_by_the_minute() {
    let (cloud, sqs, clock) = parts(None);
    let (tell, mut told) = mpsc::unbounded_channel();
    let tell_too = tell.clone();
    let handlers = Handlers::new()
        .sqs("LearnFunction", move |event| {
            tell.send(event.records[0].body.clone().unwrap()).unwrap();
            async { Ok(SqsBatchResponse::default()) }
        })
        .sqs("OperateFunction", async |_| Ok(SqsBatchResponse::default()))
        .sqs("EvaluateFunction", async |_| Ok(SqsBatchResponse::default()))
        .sqs("AggregateFunction", async |_| Ok(SqsBatchResponse::default()))
        .schedule("SweepFunction", move |event| {
            tell_too.send(event.detail_type).unwrap();
            async { Ok(()) }
        });
    let as_clock: Arc<dyn Clock> = clock.clone();
    let running = handlers.start(&cloud, &sqs, &as_clock).unwrap();
    let url = &cloud.functions[1].environment["RETROSPECT_LEARN_QUEUE_URL"];
    let request = SendRequest {
        body: "look at ana".to_owned(),
        group: Some("ana".to_owned()),
        deduplication_id: Some("1".to_owned()),
        ..SendRequest::default()
    };
    sqs.send(url, request).unwrap();
    assert_eq!(told.recv().await.unwrap(), "look at ana");
    // The mappings' receives and the rule.
    while clock.sleepers() < 3 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(60));
    assert_eq!(told.recv().await.unwrap(), "Scheduled Event");
    running.stop().await;
}
