//! Messages of batch operations that double, come out of order, cannot be read, or whose handler panics or crashes.

use aws_sdk_sqs::types::Message;
use domain::learning::LearningKind;
use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;
use serde_json::json;

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::model::Mood;
use crate::support::operations::{PLAYBOOKS, PROFILES};
use crate::support::publish::Publish;
use crate::support::world::{Process, World, org};

/// How long a message is invisible after its receiver died, in seconds.
const VISIBILITY_SECONDS: u64 = 750;

/// One call of each user, too small for a window.
async fn publish(process: &Process, users: &[&str]) -> Vec<Publish> {
    let calls: Vec<_> = users.iter().map(|user| Publish::new(user, 0, 2)).collect();
    for call in &calls {
        assert_eq!(process.publish(call).await, StatusCode::OK);
    }
    calls
}

#[tokio::test(start_paused = true)]
async fn a_wake_delivered_ten_times_gives_each_user_one_turn() {
    let world = World::new();
    let process = world.start();
    publish(&process, &["ana", "bo", "cy"]).await;
    process.rerun().await;
    let message = process.receive_operation().await.unwrap();
    for _ in 0..10 {
        let failures = process.handle_operations(std::slice::from_ref(&message)).await.batch_item_failures;
        assert_eq!(failures, []);
    }
    assert_eq!(world.script.asked("profile_update_main"), 3);
    let operation = process.operation(PROFILES).await;
    assert_eq!((&operation["status"], &operation["processed_users"]), (&"completed".into(), &3.into()));
    for user in ["ana", "bo", "cy"] {
        assert_eq!(process.rows(user, LearningKind::Profile).await, (1, 0), "{user}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wake_of_a_run_that_is_over_does_not_touch_the_next_one() {
    let world = World::new();
    let process = world.start();
    publish(&process, &["ana"]).await;
    process.rerun().await;
    let first = process.receive_operation().await.unwrap();
    process.delete_operation(&first).await;
    process.ask("POST", "/api/cancel_operation", Some(&json!({}))).await;
    process.drain_operations().await;
    assert_eq!(process.operation(PROFILES).await["status"], "cancelled");
    process.rerun().await;
    let second = process.receive_operation().await.unwrap();
    process.delete_operation(&second).await;
    // In the order in which they must not come, and the first one twice.
    for message in [&first, &second, &first] {
        let failures = process.handle_operations(std::slice::from_ref(message)).await.batch_item_failures;
        assert_eq!(failures, []);
    }
    assert_eq!(process.operation(PROFILES).await["status"], "completed");
    assert_eq!(process.rows("ana", LearningKind::Profile).await, (1, 0));
    assert_eq!(world.script.asked("profile_update_main"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_wake_that_cannot_be_read_is_acknowledged_and_changes_nothing() {
    let world = World::new();
    let process = world.start();
    publish(&process, &["ana"]).await;
    process.rerun().await;
    let wake = process.receive_operation().await.unwrap();
    let body = wake.body.clone().unwrap();
    let run =
        process.operation(PROFILES).await["request_params"]["operation_id"].as_str().unwrap().to_owned();
    let poison = [
        "",
        "{",
        "[]",
        "{\"v\":1}",
        &body.replace("\"v\":1", "\"v\":2"),
        &body.replace(PROFILES, "nothing"),
        // The right run of the wrong service, and the wrong run of the right one.
        &body.replace(PROFILES, PLAYBOOKS),
        &body.replace(&run, "another run"),
        &body.replace(org().as_str(), "no org#"),
    ];
    for body in poison {
        let message = Message::builder().message_id("m").body(body).build();
        assert_eq!(process.handle_operations(&[message]).await.batch_item_failures, [], "{body}");
        assert_eq!(process.operation(PROFILES).await["processed_users"], 0, "{body}");
    }
    assert_eq!(world.script.asked("profile_update_main"), 0);
    process.handle_operations(&[wake]).await;
    assert_eq!(process.operation(PROFILES).await["status"], "completed");
}

#[tokio::test(start_paused = true)]
async fn a_user_whose_turn_kills_the_worker_again_and_again_is_given_up_and_the_others_are_not() {
    let world = World::new();
    let process = world.start();
    publish(&process, &["ana", "bo", "cy"]).await;
    process.rerun().await;
    world.script.on("bo-0", Mood::Panic);
    assert_eq!(process.operate_once().await, Some(false), "it goes back to the queue");
    let operation = process.run_operation(PROFILES).await;
    assert_eq!((&operation["status"], &operation["processed_users"]), (&"completed".into(), &2.into()));
    assert_eq!(operation["failed_user_ids"], json!([{ "user_id": "bo", "error": "interrupted" }]));
    assert_eq!(operation["progress_percentage"], 100.0);
    assert!(world.script.asked("profile_update_main") <= 2 + 3);
    // Its message comes again once more, and finds that all is over.
    pass(VISIBILITY_SECONDS).await;
    process.drain_operations().await;
    assert_eq!(process.operation(PROFILES).await, operation);
}

#[tokio::test(start_paused = true)]
async fn commits_whose_answers_are_lost_are_not_repeated() {
    // Of 4 tries the SDK makes 3: the last case fails for good, after its write took effect.
    for lost in 1..=4 {
        let world = World::new();
        let process = world.start();
        publish(&process, &["ana", "bo"]).await;
        process.rerun().await;
        let rule = Rule::new(Action::FailAfter).service("dynamodb").operation("TransactWriteItems");
        world.hub.set_faults(FaultPlan::new(1).rule(rule.first(lost)));
        process.operate_once().await;
        world.hub.clear_faults();
        let operation = process.run_operation(PROFILES).await;
        assert_eq!(operation["processed_users"], 2, "{lost} answers lost: {operation}");
        assert_eq!(operation["stats"]["total_generated"], 2);
        assert_eq!(world.script.asked("profile_update_main"), 2, "{lost} answers lost");
    }
}

/// Ends with the step at hand done once, whenever its worker dies.
#[tokio::test(start_paused = true)]
async fn a_rerun_killed_at_any_call_gives_each_user_one_turn() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            publish(&process, &["ana", "bo"]).await;
            process.rerun().await;
            world.hub.kill_after(nth, moment);
            process.operate_once().await;
            let died = world.hub.is_dead();
            drop(process);
            let process = world.start();
            let operation = process.run_operation(PROFILES).await;
            assert_eq!(operation["status"], "completed", "{moment:?} {nth}");
            let counts =
                ["total_users", "processed_users", "failed_users"].map(|name| operation[name].clone());
            assert_eq!(counts, [2, 2, 0].map(serde_json::Value::from), "{moment:?} {nth}");
            assert_eq!(operation["stats"]["total_generated"], 2, "{moment:?} {nth}");
            assert_eq!(operation["stats"]["total_interactions_processed"], 4, "{moment:?} {nth}");
            for user in ["ana", "bo"] {
                assert_eq!(
                    process.rows(user, LearningKind::Profile).await,
                    (1, 0),
                    "{moment:?} {nth} {user}"
                );
            }
            assert!(world.script.asked("profile_update_main") <= 3, "{moment:?} {nth}");
            if !died {
                assert!(nth > 20, "only {nth} calls");
                break;
            }
            assert!(nth < 200);
        }
    }
}

/// What a manual generation learns counts as learned, whenever its worker dies.
#[tokio::test(start_paused = true)]
async fn a_manual_generation_killed_at_any_call_learns_each_interaction_once() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            let calls = publish(&process, &["ana"]).await;
            let starting = process.clone();
            let body = json!({ "agent_version": "agent-v0" });
            let waiting = tokio::spawn(async move {
                starting.call("POST", "/api/manual_playbook_generation", Some(&body)).await
            });
            while process.operation(PLAYBOOKS).await["status"] != "in_progress" {
                pass(1).await;
            }
            // The caller waits no longer.
            waiting.abort();
            let _ = waiting.await;
            world.hub.kill_after(nth, moment);
            process.operate_once().await;
            let died = world.hub.is_dead();
            drop(process);
            let process = world.start();
            let operation = process.run_operation(PLAYBOOKS).await;
            assert_eq!(operation["processed_users"], 1, "{moment:?} {nth}: {operation}");
            assert_eq!(process.rows("ana", LearningKind::Playbook).await, (0, 1), "{moment:?} {nth}");
            run_until_quiet(&process, &["ana"]).await;
            let calls: Vec<_> = calls.into_iter().map(|call| (call, Fate::Acknowledged)).collect();
            check_user(&process, "ana", &calls).await;
            assert_eq!(process.rows("ana", LearningKind::Playbook).await, (0, 1), "{moment:?} {nth}");
            if !died {
                assert!(nth > 15, "only {nth} calls");
                break;
            }
            assert!(nth < 200);
        }
    }
}
