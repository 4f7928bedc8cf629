//! Publishing while DynamoDB, S3 and SQS fail: stored whole and acknowledged, or a 503 and nothing by halves.

use std::collections::BTreeMap;

use domain::ids::RequestId;
use http::StatusCode;
use retrospect::cloud::faults::{Action, Failure, FaultPlan, Rule};
use serde_json::json;

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::publish::Publish;
use crate::support::world::{Process, World, hash, keys, org};

/// An interaction of this length goes to S3.
const OVERSIZE_BYTES: usize = 40_000;

/// Whether anything of a request is there: its look-up, or a head that counts it.
async fn is_anything_stored(process: &Process, call: &Publish) -> bool {
    let (org, user) = (org(), hash(&call.user));
    let store = &process.app.services.store;
    let receipt = store.request_receipt(&org, &RequestId::new(&call.request).unwrap()).await.unwrap();
    receipt.is_some() || store.head(&keys(&org, &user)).await.unwrap().is_some()
}

#[tokio::test(start_paused = true)]
async fn a_publish_outlasts_a_short_failure_of_dynamodb() {
    let short = [
        Action::Throttle,
        Action::FailBefore(Failure::InternalError),
        Action::FailBefore(Failure::Connection),
    ];
    for action in short {
        for operation in ["BatchGetItem", "TransactWriteItems", "UpdateItem", "GetItem"] {
            let world = World::new();
            let process = world.start();
            let call = Publish::new("ana", 0, 3);
            let rule = Rule::new(action).service("dynamodb").operation(operation);
            world.hub.set_faults(FaultPlan::new(1).rule(rule.first(2)));
            assert_eq!(process.publish(&call).await, StatusCode::OK, "{action:?} {operation}");
            world.hub.clear_faults();
            run_until_quiet(&process, &["ana"]).await;
            check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_publish_that_dynamodb_refuses_for_good_is_a_503_and_leaves_nothing() {
    let long = [
        Action::Throttle,
        Action::FailBefore(Failure::InternalError),
        Action::FailBefore(Failure::Unavailable),
    ];
    for action in long {
        for operation in ["BatchGetItem", "TransactWriteItems", "UpdateItem"] {
            let world = World::new();
            let process = world.start();
            let call = Publish::new("ana", 0, 8);
            let rule = Rule::new(action).service("dynamodb").operation(operation);
            world.hub.set_faults(FaultPlan::new(1).rule(rule));
            let status = process.publish(&call).await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{action:?} {operation}");
            world.hub.clear_faults();
            assert!(!is_anything_stored(&process, &call).await, "{action:?} {operation}");
            assert_eq!(process.drain().await, 0);
            assert_eq!(process.publish(&call).await, StatusCode::OK);
            run_until_quiet(&process, &["ana"]).await;
            check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_publish_whose_answer_was_lost_by_dynamodb_is_acknowledged_all_the_same() {
    for lost in 1..=3 {
        let world = World::new();
        let process = world.start();
        let call = Publish::new("ana", 0, 8);
        let rule = Rule::new(Action::FailAfter).service("dynamodb").operation("TransactWriteItems");
        world.hub.set_faults(FaultPlan::new(1).rule(rule.first(lost)));
        assert_eq!(process.publish(&call).await, StatusCode::OK, "{lost} answers lost");
        world.hub.clear_faults();
        run_until_quiet(&process, &["ana"]).await;
        check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_publishes_at_once_amid_faults_are_each_stored_once_or_not_at_all() {
    for seed in 0..3 {
        let world = World::new();
        let process = world.start();
        let calls: Vec<Publish> = (0..16).map(|n| Publish::new("ana", n, 1 + n % 3)).collect();
        let conflict = Rule::new(Action::TransactionConflict).operation("TransactWriteItems");
        let plan = FaultPlan::new(seed)
            .rule(Rule::new(Action::FailAfter).probability(0.1))
            .rule(Rule::new(Action::Throttle).probability(0.15))
            .rule(Rule::new(Action::FailBefore(Failure::Connection)).probability(0.1))
            .rule(conflict.probability(0.2));
        world.hub.set_faults(plan);
        let statuses = futures::future::join_all(calls.iter().map(|call| process.publish(call))).await;
        world.hub.clear_faults();
        let mut fates: BTreeMap<&str, Fate> = BTreeMap::new();
        for (call, status) in calls.iter().zip(&statuses) {
            let fate = match *status {
                StatusCode::OK => Fate::Acknowledged,
                StatusCode::SERVICE_UNAVAILABLE => Fate::Unknown,
                other => panic!("seed {seed}: {other}"),
            };
            fates.insert(&call.request, fate);
        }
        assert!(
            fates.values().filter(|fate| **fate == Fate::Acknowledged).count() >= 8,
            "seed {seed}: {fates:?}"
        );
        run_until_quiet(&process, &["ana"]).await;
        let known: Vec<_> = calls.iter().map(|call| (call.clone(), fates[call.request.as_str()])).collect();
        check_user(&process, "ana", &known).await;
        // All of them once more, in the same words.
        for call in &calls {
            assert_eq!(process.publish(call).await, StatusCode::OK, "seed {seed}");
        }
        run_until_quiet(&process, &["ana"]).await;
        let all: Vec<_> = calls.iter().map(|call| (call.clone(), Fate::Acknowledged)).collect();
        check_user(&process, "ana", &all).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_oversize_publish_that_s3_refuses_is_a_503_and_leaves_nothing() {
    for action in [Action::Throttle, Action::FailBefore(Failure::InternalError), Action::FailAfter] {
        let world = World::new();
        let process = world.start();
        let call = Publish::new("ana", 0, 1);
        let long = format!("{}{}", call.mark(0), " long".repeat(OVERSIZE_BYTES / 5));
        let body = call.body_with(vec![json!({ "role": "User", "content": long })]);
        world.hub.set_faults(FaultPlan::new(1).rule(Rule::new(action).service("s3")));
        assert_eq!(process.publish_body(&body).await, StatusCode::SERVICE_UNAVAILABLE, "{action:?}");
        world.hub.clear_faults();
        assert!(!is_anything_stored(&process, &call).await, "{action:?}");
        assert_eq!(process.publish_body(&body).await, StatusCode::OK, "{action:?}");
        let (_, answer) =
            process.call("POST", "/api/get_interactions", Some(&json!({ "user_id": "ana" }))).await;
        assert_eq!(answer["interactions"][0]["content"], long, "{action:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_publish_that_cannot_wake_anybody_is_acknowledged_and_found_by_the_sweep() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, 8);
    let rule = Rule::new(Action::FailBefore(Failure::InternalError)).service("sqs").operation("SendMessage");
    world.hub.set_faults(FaultPlan::new(1).rule(rule));
    assert_eq!(process.publish(&call).await, StatusCode::OK);
    world.hub.clear_faults();
    assert_eq!(process.drain().await, 0);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}
