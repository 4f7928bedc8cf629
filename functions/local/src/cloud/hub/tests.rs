//! Faults, the kill switch and the counters, through the SDK.

use std::time::Duration;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};

use super::*;
use crate::cloud::faults::Rule;
use crate::cloud::testing::{BUCKET, TABLE, TestCloud, text};

type PutResult = Result<(), SdkError<aws_sdk_dynamodb::operation::put_item::PutItemError>>;

async fn put(cloud: &TestCloud, pk: &str) -> PutResult {
    let call = cloud.dynamodb.put_item().table_name(TABLE).item("PK", text(pk)).item("SK", text("-"));
    call.condition_expression("attribute_not_exists(PK)").send().await.map(|_| ())
}

async fn is_there(cloud: &TestCloud, pk: &str) -> bool {
    let call = cloud.dynamodb.get_item().table_name(TABLE).key("PK", text(pk)).key("SK", text("-"));
    call.send().await.unwrap().item.is_some()
}

fn calls(cloud: &TestCloud) -> u64 {
    cloud.hub.counters().snapshot().calls("dynamodb", "PutItem")
}

fn plan(rule: Rule) -> FaultPlan {
    FaultPlan::new(1).rule(rule.service("dynamodb").operation("PutItem"))
}

#[tokio::test(start_paused = true)]
async fn a_delay_passes_on_the_clock() {
    let cloud = TestCloud::in_memory();
    cloud.hub.set_faults(plan(Rule::new(Action::Delay(Duration::from_secs(5))).nth(1)));
    let start = tokio::time::Instant::now();
    put(&cloud, "a").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    put(&cloud, "b").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_retried_by_the_sdk() {
    for action in [
        Action::FailBefore(Failure::InternalError),
        Action::FailBefore(Failure::Unavailable),
        Action::FailBefore(Failure::Connection),
        Action::Throttle,
    ] {
        let cloud = TestCloud::in_memory();
        cloud.hub.set_faults(plan(Rule::new(action).first(2)));
        put(&cloud, "a").await.unwrap();
        assert_eq!(calls(&cloud), 3, "{action:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lasting_failures_reach_the_caller_without_effect() {
    let cloud = TestCloud::in_memory();
    for (action, code) in [
        (Action::FailBefore(Failure::InternalError), "InternalServerError"),
        (Action::FailBefore(Failure::Unavailable), "ServiceUnavailable"),
        (Action::Throttle, "ProvisionedThroughputExceededException"),
        (Action::TransactionConflict, "TransactionConflictException"),
    ] {
        cloud.hub.set_faults(plan(Rule::new(action)));
        let error = put(&cloud, "a").await.unwrap_err().into_service_error();
        assert_eq!(error.meta().code(), Some(code), "{action:?}");
    }
    cloud.hub.clear_faults();
    assert!(!is_there(&cloud, "a").await);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_its_effect_and_the_retry_meets_it() {
    let cloud = TestCloud::in_memory();
    cloud.hub.set_faults(plan(Rule::new(Action::FailAfter).nth(1)));
    let error = put(&cloud, "a").await.unwrap_err().into_service_error();
    assert!(error.is_conditional_check_failed_exception(), "{error:?}");
    assert!(is_there(&cloud, "a").await);
}

#[tokio::test(start_paused = true)]
async fn the_token_of_a_transaction_makes_its_lost_answer_harmless() {
    let cloud = TestCloud::in_memory();
    cloud.hub.set_faults(
        FaultPlan::new(1).rule(Rule::new(Action::FailAfter).operation("TransactWriteItems").nth(1)),
    );
    transact(&cloud, 2).await.unwrap();
    assert_eq!(cloud.hub.counters().snapshot().calls("dynamodb", "TransactWriteItems"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_ends_with_the_time_out_of_the_caller() {
    let cloud = TestCloud::in_memory();
    cloud.hub.set_faults(plan(Rule::new(Action::Drop)));
    let timeouts = aws_config::timeout::TimeoutConfig::builder().read_timeout(Duration::from_secs(3)).build();
    let config = cloud.hub.sdk_config().to_builder().timeout_config(timeouts).build();
    let client = aws_sdk_dynamodb::Client::new(&config);
    let start = tokio::time::Instant::now();
    let call = client.put_item().table_name(TABLE).item("PK", text("a")).item("SK", text("-"));
    let error = call.send().await.unwrap_err();
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if failure.is_timeout()), "{error:?}");
    assert!(start.elapsed() >= Duration::from_secs(9), "three attempts of three seconds");
    let patient = tokio::time::timeout(Duration::from_secs(3600), put(&cloud, "a")).await;
    assert!(patient.is_err(), "without a time-out nothing ever comes");
}

async fn transact(cloud: &TestCloud, items: usize) -> Result<(), SdkError<TransactWriteItemsError>> {
    let items = (0..items).map(|item| {
        let put = Put::builder().table_name(TABLE).item("PK", text(item.to_string())).item("SK", text("-"));
        let put = put.condition_expression("attribute_not_exists(PK)").build().unwrap();
        TransactWriteItem::builder().put(put).build()
    });
    let call = cloud.dynamodb.transact_write_items().set_transact_items(Some(items.collect()));
    call.send().await.map(|_| ())
}

#[tokio::test]
async fn a_transaction_meets_a_conflict_at_one_of_its_items() {
    let cloud = TestCloud::in_memory();
    let rule = Rule::new(Action::TransactionConflict).operation("TransactWriteItems");
    cloud.hub.set_faults(FaultPlan::new(3).rule(rule.nth(1)));
    let error = transact(&cloud, 4).await.unwrap_err().into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { panic!("{error:?}") };
    let codes: Vec<_> =
        cancelled.cancellation_reasons().iter().map(|reason| reason.code().unwrap()).collect();
    assert_eq!(codes.len(), 4);
    assert_eq!(codes.iter().filter(|code| **code == "TransactionConflict").count(), 1);
    assert_eq!(codes.iter().filter(|code| **code == "None").count(), 3);
    transact(&cloud, 4).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_other_services_refuse_in_their_own_words() {
    let cloud = TestCloud::in_memory();
    cloud.hub.set_faults(FaultPlan::new(1).rule(Rule::new(Action::Throttle)));
    let error = cloud.s3.get_object().bucket(BUCKET).key("k").send().await.unwrap_err().into_service_error();
    assert_eq!(error.meta().code(), Some("SlowDown"));
    let error = cloud.kms.generate_data_key().key_id("k").send().await.unwrap_err().into_service_error();
    assert_eq!(error.meta().code(), Some("ThrottlingException"));
    assert_eq!(cloud.hub.counters().snapshot().calls("s3", "GetObject"), 3);
}

fn died(error: &SdkError<aws_sdk_dynamodb::operation::put_item::PutItemError>) -> bool {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if matches!(error.downcast_ref::<HubError>(), Some(HubError::Dead)) {
            return true;
        }
        source = error.source();
    }
    false
}

#[tokio::test]
async fn death_comes_at_the_chosen_call_and_lasts_until_the_next_process() {
    for (moment, took_effect) in [(Moment::Before, false), (Moment::After, true)] {
        let cloud = TestCloud::in_memory();
        cloud.hub.kill_after(2, moment);
        put(&cloud, "a").await.unwrap();
        assert!(!cloud.hub.is_dead());
        for pk in ["b", "c"] {
            let error = put(&cloud, pk).await.unwrap_err();
            assert!(died(&error), "{error:?}");
            assert!(cloud.hub.is_dead());
        }
        cloud.hub.revive();
        assert!(is_there(&cloud, "a").await);
        assert_eq!(is_there(&cloud, "b").await, took_effect, "{moment:?}");
        assert!(!is_there(&cloud, "c").await);
    }
}

#[tokio::test]
async fn a_seed_chooses_where_the_process_dies() {
    let cloud = TestCloud::in_memory();
    let chosen: Vec<_> = (0..20).map(|seed| cloud.hub.kill_within(10, seed)).collect();
    assert_eq!(chosen, (0..20).map(|seed| cloud.hub.kill_within(10, seed)).collect::<Vec<_>>());
    assert!(chosen.iter().all(|(n, _)| (1..=10).contains(n)));
    assert!(chosen.iter().any(|(_, moment)| *moment == Moment::Before));
    assert!(chosen.iter().any(|(_, moment)| *moment == Moment::After));
}

#[tokio::test]
async fn calls_to_nobody_are_errors_at_once() {
    let hub = TestCloud::in_memory().hub;
    let sqs = aws_sdk_sqs::Client::new(&hub.sdk_config());
    let error = sqs.list_queues().send().await.unwrap_err();
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if failure.is_user()), "{error:?}");
}

#[tokio::test]
async fn every_kind_of_call_is_counted_by_its_name() {
    let cloud = TestCloud::in_memory();
    put(&cloud, "a").await.unwrap();
    cloud.s3.put_object().bucket(BUCKET).key("k").send().await.unwrap();
    cloud.s3.list_objects_v2().bucket(BUCKET).send().await.unwrap();
    cloud.s3.copy_object().bucket(BUCKET).key("l").copy_source(format!("{BUCKET}/k")).send().await.unwrap();
    let counts = cloud.hub.counters().snapshot();
    for (service, operation) in
        [("dynamodb", "PutItem"), ("s3", "PutObject"), ("s3", "ListObjectsV2"), ("s3", "CopyObject")]
    {
        assert_eq!(counts.calls(service, operation), 1, "{operation}");
    }
    assert_eq!(counts.all_calls(), 4);
}
