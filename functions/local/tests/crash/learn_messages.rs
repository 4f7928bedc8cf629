//! Messages of the queue that double, come out of order, cannot be read, or whose handler panics or crashes.

use aws_sdk_sqs::types::Message;
use domain::learning::LearningKind;
use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::model::Mood;
use crate::support::publish::Publish;
use crate::support::world::{Process, World, hash, keys, org};

/// Interactions that fill the first window.
const STRIDE: usize = 8;
/// Longest a lease lasts after its holder died, in seconds.
const LEASE_SECONDS: u64 = 300;
/// How long a message is invisible after its receiver died, in seconds.
const VISIBILITY_SECONDS: u64 = 750;

/// Publishes and expects success.
async fn publish(process: &Process, call: &Publish) {
    assert_eq!(process.publish(call).await, StatusCode::OK);
}

async fn windows(process: &Process, user: &str, kind: LearningKind) -> usize {
    let (org, user) = (org(), hash(user));
    process.app.services.store.window_receipts(&keys(&org, &user), kind, 0).await.unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn a_wake_delivered_ten_times_learns_its_window_once() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, STRIDE);
    publish(&process, &call).await;
    let message = process.receive().await.unwrap();
    for _ in 0..10 {
        assert_eq!(process.handle(std::slice::from_ref(&message)).await.batch_item_failures, []);
    }
    assert_eq!(world.script.asked("profile_update_main"), 1);
    assert_eq!(world.script.asked("playbook_extraction_main"), 1);
    process.delete(&message).await;
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn wakes_out_of_order_learn_in_the_order_of_arrival() {
    let world = World::new();
    let process = world.start();
    let calls = [Publish::new("ana", 0, STRIDE), Publish::new("ana", 1, STRIDE), Publish::new("ana", 2, 3)];
    let mut messages = Vec::new();
    for call in &calls {
        publish(&process, call).await;
        if let Some(message) = process.receive().await {
            // Deleted, so that the group gives out the next one; handled later.
            process.delete(&message).await;
            messages.push(message);
        }
    }
    assert_eq!(messages.len(), 3);
    messages.reverse();
    for message in &messages {
        assert_eq!(process.handle(std::slice::from_ref(message)).await.batch_item_failures, []);
    }
    assert_eq!(windows(&process, "ana", LearningKind::Profile).await, 2);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &calls.map(|call| (call, Fate::Acknowledged))).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_read_is_acknowledged_and_changes_nothing() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, STRIDE);
    publish(&process, &call).await;
    let wake = process.receive().await.unwrap();
    let body = wake.body.clone().unwrap();
    let poison = [
        "",
        "{",
        "[]",
        "\"ana\"",
        "{\"v\":1}",
        &body.replace("\"v\":1", "\"v\":2"),
        &body.replace("\"v\":1", "\"v\":-1"),
        &body.replace("published", "bored"),
        &body.replace(org().as_str(), "no org#"),
        // A user that nobody knows.
        &body.replace(hash("ana").as_str(), hash("nobody").as_str()),
    ];
    for body in poison {
        let message = Message::builder().message_id("m").body(body).build();
        let failures = process.handle(&[message]).await.batch_item_failures;
        assert_eq!(failures, [], "{body}");
        assert_eq!(windows(&process, "ana", LearningKind::Profile).await, 0, "{body}");
    }
    assert_eq!(process.handle(std::slice::from_ref(&wake)).await.batch_item_failures, []);
    process.delete(&wake).await;
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_sends_its_message_back_and_the_window_is_learned_when_it_comes_again() {
    let world = World::new();
    let process = world.start();
    let (ana, bo) = (Publish::new("ana", 0, STRIDE), Publish::new("bo", 0, STRIDE));
    publish(&process, &ana).await;
    publish(&process, &bo).await;
    let messages = [process.receive().await.unwrap(), process.receive().await.unwrap()];
    world.script.on("ana-0", Mood::Panic);
    let failures = process.handle(&messages).await.batch_item_failures;
    let failed: Vec<_> = failures.iter().map(|failure| failure.item_identifier.as_str()).collect();
    assert_eq!(failed, [messages[0].message_id.as_deref().unwrap()]);
    assert_eq!(windows(&process, "bo", LearningKind::Profile).await, 1);
    process.delete(&messages[1]).await;
    world.script.calm();
    assert_eq!(process.receive().await, None);
    pass(VISIBILITY_SECONDS).await;
    assert_eq!(process.work_once().await, Some(true));
    assert_eq!(windows(&process, "ana", LearningKind::Profile).await, 1);
    run_until_quiet(&process, &["ana", "bo"]).await;
    check_user(&process, "ana", &[(ana, Fate::Acknowledged)]).await;
    check_user(&process, "bo", &[(bo, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answers_are_lost_is_not_repeated() {
    // Of 4 tries the SDK makes 3: the last case fails for good, after its write took effect.
    for lost in 1..=3 {
        let world = World::new();
        let process = world.start();
        let call = Publish::new("ana", 0, STRIDE);
        publish(&process, &call).await;
        let rule = Rule::new(Action::FailAfter).service("dynamodb").operation("TransactWriteItems");
        world.hub.set_faults(FaultPlan::new(1).rule(rule.first(lost)));
        assert_eq!(process.work_once().await, Some(true), "{lost} answers lost");
        world.hub.clear_faults();
        assert_eq!(world.script.asked("profile_update_main"), 1, "{lost} answers lost");
        run_until_quiet(&process, &["ana"]).await;
        check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_killed_at_any_call_leaves_a_window_that_is_learned_once() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            let call = Publish::new("ana", 0, STRIDE);
            publish(&process, &call).await;
            world.hub.kill_after(nth, moment);
            process.work_once().await;
            let died = world.hub.is_dead();
            drop(process);
            let process = world.start();
            run_until_quiet(&process, &["ana"]).await;
            check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
            if !died {
                assert!(nth > 15, "only {nth} calls");
                break;
            }
            assert!(nth < 100);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_publish_killed_at_any_call_is_whole_or_absent_and_its_repeat_is_stored_once() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            let call = Publish::new("ana", 0, STRIDE);
            world.hub.kill_after(nth, moment);
            let status = process.publish(&call).await;
            let died = world.hub.is_dead();
            let process = world.start();
            let fate = if status == StatusCode::OK { Fate::Acknowledged } else { Fate::Unknown };
            pass(LEASE_SECONDS).await;
            run_until_quiet(&process, &["ana"]).await;
            check_user(&process, "ana", &[(call.clone(), fate)]).await;
            publish(&process, &call).await;
            run_until_quiet(&process, &["ana"]).await;
            check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
            if !died {
                assert!(nth > 3, "only {nth} calls");
                break;
            }
            assert!(nth < 100);
        }
    }
}
