//! The Scheduler through the SDK.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_scheduler::types::{
    ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, SqsParameters, Target,
};
use domain::time::Clock;

use super::LocalScheduler;
use crate::cloud::clock::ManualClock;
use crate::cloud::hub::Hub;
use crate::cloud::sqs::{ReceiveRequest, Sqs};
use crate::cloud::template::Cloud;

struct Bench {
    scheduler: Arc<LocalScheduler>,
    sqs: Arc<Sqs>,
    client: aws_sdk_scheduler::Client,
    clock: Arc<ManualClock>,
    arn: String,
    url: String,
}

fn bench(journal: Option<&std::path::Path>) -> Bench {
    let cloud = Cloud::deployed(&BTreeMap::new()).unwrap();
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let as_clock: Arc<dyn Clock> = clock.clone();
    let sqs = Arc::new(Sqs::open(&cloud.queues, Arc::clone(&as_clock), None).unwrap());
    let queue = cloud.queues.iter().find(|queue| queue.logical_id == "EvaluateQueue").unwrap();
    let queues = BTreeMap::from([(queue.arn(), queue.url())]);
    let scheduler = Arc::new(LocalScheduler::open(queues, Arc::clone(&as_clock), journal).unwrap());
    let hub = Hub::new(as_clock);
    hub.register("scheduler", scheduler.clone());
    let client = aws_sdk_scheduler::Client::new(&hub.sdk_config());
    Bench { scheduler, sqs, client, clock, arn: queue.arn(), url: queue.url() }
}

impl Bench {
    async fn create(&self, name: &str, expression: &str) -> Result<(), String> {
        let target = Target::builder()
            .arn(&self.arn)
            .role_arn("arn:aws:iam::000000000000:role/r")
            .input("{\"look\":1}")
            .sqs_parameters(SqsParameters::builder().message_group_id("g").build());
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().unwrap();
        let create = self.client.create_schedule().name(name).schedule_expression(expression);
        let create = create.action_after_completion(ActionAfterCompletion::Delete);
        let sent = create.flexible_time_window(window).target(target.build().unwrap()).send().await;
        sent.map(drop).map_err(|error| {
            use aws_sdk_scheduler::error::ProvideErrorMetadata;
            error.code().unwrap_or_default().to_owned()
        })
    }

    async fn received(&self) -> Vec<String> {
        let request = ReceiveRequest { max_messages: Some(10), ..ReceiveRequest::default() };
        let received = self.sqs.receive(&self.url, request).await.unwrap();
        received.into_iter().map(|message| message.message.body).collect()
    }
}

/// 1,750,000,600 seconds after 1970.
const IN_TEN_MINUTES: &str = "at(2025-06-15T15:16:40)";

#[tokio::test]
async fn a_schedule_goes_off_once_at_its_time_and_is_gone() {
    let bench = bench(None);
    bench.create("e-1", IN_TEN_MINUTES).await.unwrap();
    let found = bench.client.get_schedule().name("e-1").send().await.unwrap();
    assert_eq!(found.schedule_expression(), Some(IN_TEN_MINUTES));
    bench.clock.advance(std::time::Duration::from_secs(599));
    assert_eq!(bench.scheduler.fire_due(&bench.sqs), 0);
    bench.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(bench.scheduler.fire_due(&bench.sqs), 1);
    assert_eq!(bench.received().await, ["{\"look\":1}"]);
    assert_eq!(bench.scheduler.fire_due(&bench.sqs), 0);
    assert!(bench.client.get_schedule().name("e-1").send().await.is_err());
}

#[tokio::test]
async fn a_name_is_used_once_at_a_time_and_what_the_service_refuses_is_refused() {
    let bench = bench(None);
    bench.create("e-1", IN_TEN_MINUTES).await.unwrap();
    assert_eq!(bench.create("e-1", IN_TEN_MINUTES).await.unwrap_err(), "ConflictException");
    for (name, expression) in [
        ("e 2", IN_TEN_MINUTES),
        ("e-2", "at(tomorrow)"),
        ("e-2", "rate(1 minute)"),
        (&"e".repeat(65), IN_TEN_MINUTES),
    ] {
        assert_eq!(
            bench.create(name, expression).await.unwrap_err(),
            "ValidationException",
            "{name} {expression}"
        );
    }
    bench.create(&"e".repeat(64), IN_TEN_MINUTES).await.unwrap();
    bench.client.delete_schedule().name("e-1").send().await.unwrap();
    assert!(bench.client.delete_schedule().name("e-1").send().await.is_err());
    bench.create("e-1", IN_TEN_MINUTES).await.unwrap();
}

#[tokio::test]
async fn schedules_survive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("scheduler.journal");
    let before = bench(Some(&journal));
    before.create("e-1", IN_TEN_MINUTES).await.unwrap();
    before.create("e-2", IN_TEN_MINUTES).await.unwrap();
    before.client.delete_schedule().name("e-2").send().await.unwrap();
    drop(before);
    let after = bench(Some(&journal));
    after.clock.advance(std::time::Duration::from_secs(3_600));
    assert_eq!(after.scheduler.fire_due(&after.sqs), 1);
    drop(after);
    assert_eq!(bench(Some(&journal)).scheduler.fire_due(&bench(None).sqs), 0);
}
