//! Workers of batch operations that die, freeze, meet others, or are told to stop.

use std::pin::pin;

use domain::learning::LearningKind;
use http::StatusCode;
use retrospect::cloud::hub::Moment;
use serde_json::{Value, json};

use crate::support::check::run_until_quiet;
use crate::support::clock::{freeze, pass};
use crate::support::model::Mood;
use crate::support::operations::PROFILES;
use crate::support::publish::Publish;
use crate::support::world::{Process, World};

/// Interactions that fill the first window.
const STRIDE: usize = 8;

async fn publish(process: &Process, users: &[&str]) {
    for user in users {
        assert_eq!(process.publish(&Publish::new(user, 0, 2)).await, StatusCode::OK);
    }
}

async fn cancel(process: &Process) -> Value {
    process.ask("POST", "/api/cancel_operation", Some(&json!({ "service_name": PROFILES }))).await
}

fn count(operation: &Value, name: &str) -> i64 {
    operation[name].as_i64().unwrap()
}

#[tokio::test(start_paused = true)]
async fn five_hundred_users_and_three_dead_workers_are_five_hundred_turns() {
    let world = World::new();
    let mut process = world.start();
    let users: Vec<String> = (0..500).map(|n| format!("user-{n:03}")).collect();
    let names: Vec<&str> = users.iter().map(String::as_str).collect();
    publish(&process, &names).await;
    process.rerun().await;
    let (mut progress, mut deaths) = (0.0, 0);
    loop {
        if deaths < 3 {
            // In the midst of different turns.
            world.hub.kill_after(801 + 203 * deaths, Moment::After);
        }
        process.drain_operations().await;
        if world.hub.is_dead() {
            deaths += 1;
            drop(process);
            process = world.start();
        }
        let operation = process.operation(PROFILES).await;
        let now = operation["progress_percentage"].as_f64().unwrap();
        assert!(now >= progress, "{now} after {progress}");
        progress = now;
        if operation["status"] != "in_progress" {
            break;
        }
        pass(60).await;
        process.sweep().await.unwrap();
    }
    assert_eq!(deaths, 3);
    let operation = process.operation(PROFILES).await;
    assert_eq!(operation["status"], "completed");
    assert_eq!(
        ["total_users", "processed_users", "failed_users"].map(|name| count(&operation, name)),
        [500, 500, 0]
    );
    assert_eq!(operation["stats"], json!({ "total_interactions_processed": 1_000, "total_generated": 500 }));
    assert_eq!(operation["processed_user_ids"], json!(users));
    for user in names {
        assert_eq!(process.rows(user, LearningKind::Profile).await, (1, 0), "{user}");
    }
    let asked = world.script.asked("profile_update_main");
    assert!((500..=503).contains(&asked), "{asked} questions");
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_is_cancelled_in_its_midst_lets_the_turn_at_hand_finish_and_no_other_begin() {
    let world = World::new();
    let process = world.start();
    publish(&process, &["ana", "bo", "cy", "di", "ed"]).await;
    process.rerun().await;
    world.script.on("cy-0", Mood::Hold);
    let worker = process.clone();
    let work = tokio::spawn(async move { worker.operate_once().await });
    world.script.held().await;
    let before = process.operation(PROFILES).await;
    assert_eq!((&before["status"], &before["current_user_id"]), (&"in_progress".into(), &"cy".into()));
    assert_eq!(cancel(&process).await["cancelled_services"], json!([PROFILES]));
    assert_eq!(process.operation(PROFILES).await["status"], "in_progress", "the turn at hand is not over");
    world.script.release();
    assert_eq!(work.await.unwrap(), Some(true));
    let after = process.operation(PROFILES).await;
    assert_eq!(after["status"], "cancelled");
    assert_eq!(after.get("current_user_id"), None);
    assert_eq!(count(&after, "processed_users"), count(&before, "processed_users") + 1);
    assert_eq!(process.rows("cy", LearningKind::Profile).await, (1, 0));
    assert_eq!(cancel(&process).await["cancelled_services"], json!([]));
    // Nothing comes of later wakes.
    for _ in 0..10 {
        pass(60).await;
        process.sweep().await.unwrap();
        process.drain_operations().await;
    }
    assert_eq!(process.operation(PROFILES).await, after);
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_stop_that_comes_with_the_last_turn_wins() {
    let world = World::new();
    let process = world.start();
    publish(&process, &["ana"]).await;
    process.rerun().await;
    world.script.on("ana-0", Mood::Hold);
    let worker = process.clone();
    let work = tokio::spawn(async move { worker.operate_once().await });
    world.script.held().await;
    cancel(&process).await;
    world.script.release();
    work.await.unwrap();
    let operation = process.operation(PROFILES).await;
    assert_eq!((&operation["status"], count(&operation, "processed_users")), (&"cancelled".into(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_long_healthy_operation_is_not_taken_for_a_dead_one() {
    let world = World::new();
    let process = world.start();
    let users = ["ana", "bo", "cy", "di"];
    publish(&process, &users).await;
    process.rerun().await;
    let began = world.clock.now();
    world.script.on("-0-0", Mood::Hold);
    let worker = process.clone();
    let work = tokio::spawn(async move { worker.drain_operations().await });
    for turn in 1..=users.len() {
        world.script.held().await;
        for _ in 0..5 {
            pass(50).await;
            process.sweep().await.unwrap();
            assert_eq!(process.operation(PROFILES).await["status"], "in_progress");
            let other = process.ask("POST", "/api/rerun_profile_generation", Some(&json!({}))).await;
            assert_eq!(other["success"], false, "{other}");
        }
        world.script.release();
        if turn < users.len() {
            world.script.on("-0-0", Mood::Hold);
        }
    }
    work.await.unwrap();
    assert!(world.clock.now() - began >= 1_000);
    let operation = process.run_operation(PROFILES).await;
    assert_eq!((&operation["status"], count(&operation, "processed_users")), (&"completed".into(), 4));
    assert_eq!(world.script.asked("profile_update_main"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_costs_its_user_the_turn_and_nobody_else() {
    let world = World::new();
    let process = world.start();
    publish(&process, &["ana", "bo", "cy"]).await;
    process.rerun().await;
    world.script.on("bo-0", Mood::Hold);
    let began = world.clock.now();
    let operation = process.run_operation(PROFILES).await;
    assert_eq!(operation["failed_user_ids"], json!([{ "user_id": "bo", "error": "timeout" }]));
    assert_eq!(count(&operation, "processed_users"), 2);
    assert!((300..=400).contains(&(world.clock.now() - began)), "an extraction may take 300 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_user_who_is_being_learned_from_gets_a_turn_later() {
    let world = World::new();
    let (learner, process) = (world.start(), world.start());
    let full = Publish::new("bo", 0, STRIDE);
    assert_eq!(process.publish(&full).await, StatusCode::OK);
    publish(&process, &["ana", "cy"]).await;
    world.script.on("bo-0", Mood::Hold);
    let work = tokio::spawn(async move { learner.work_once().await });
    world.script.held().await;
    process.rerun().await;
    assert_eq!(process.operate_once().await, Some(true), "it is no failure");
    let operation = process.operation(PROFILES).await;
    assert_eq!((&operation["status"], count(&operation, "processed_users")), (&"in_progress".into(), 2));
    assert_eq!(count(&operation, "failed_users"), 0);
    world.script.release();
    assert_eq!(work.await.unwrap(), Some(true));
    let operation = process.run_operation(PROFILES).await;
    assert_eq!((&operation["status"], count(&operation, "processed_users")), (&"completed".into(), 3));
    assert_eq!(process.rows("bo", LearningKind::Profile).await, (1, 1), "a preview, and what was learned");
}

#[tokio::test(start_paused = true)]
async fn what_is_published_during_a_turn_is_learned_after_it() {
    let world = World::new();
    let process = world.start();
    let calls = [Publish::new("ana", 0, 2), Publish::new("ana", 1, STRIDE)];
    assert_eq!(process.publish(&calls[0]).await, StatusCode::OK);
    process.rerun().await;
    world.script.on("ana-0", Mood::Hold);
    let worker = process.clone();
    let work = tokio::spawn(async move { worker.operate_once().await });
    world.script.held().await;
    assert_eq!(process.publish(&calls[1]).await, StatusCode::OK);
    assert_eq!(process.work_once().await, Some(true), "the lease is taken, which is no failure");
    assert_eq!(process.learned("ana").await, 0);
    world.script.release();
    work.await.unwrap();
    // Without any sweep.
    assert_eq!(process.drain().await, 1);
    assert!(process.learned("ana").await >= 8);
    run_until_quiet(&process, &["ana"]).await;
    let pending = process.rows("ana", LearningKind::Profile).await.0;
    assert_eq!(pending, 1);
}

#[tokio::test(start_paused = true)]
async fn a_frozen_worker_whose_operation_was_given_up_writes_nothing_when_it_goes_on() {
    let world = World::new();
    let (frozen, other) = (world.start(), world.start());
    publish(&other, &["ana"]).await;
    other.rerun().await;
    world.script.on("ana-0", Mood::Hold);
    let messages = [frozen.receive_operation().await.unwrap()];
    let mut zombie = pin!(frozen.handle_operations(&messages));
    tokio::select! {
        biased;
        _ = &mut zombie => panic!("it is held"),
        () = world.script.held() => {}
    }
    // Nobody polls the zombie: its heart does not beat.
    freeze(601).await;
    let given_up = other.operation(PROFILES).await;
    assert_eq!(given_up["status"], "failed", "{given_up}");
    world.script.calm();
    other.rerun().await;
    pass(1).await;
    world.script.release();
    assert_eq!(zombie.await.batch_item_failures, []);
    frozen.delete_operation(&messages[0]).await;
    let operation = other.run_operation(PROFILES).await;
    assert_eq!(count(&operation, "processed_users"), 1);
    assert_eq!(other.rows("ana", LearningKind::Profile).await, (1, 0));
}

#[tokio::test(start_paused = true)]
async fn manual_generation_and_the_stream_learn_everything_once_between_them() {
    let world = World::new();
    let process = world.start();
    let calls: Vec<_> = (0..6).map(|n| Publish::new("ana", n, 1 + n)).collect();
    for (n, call) in calls.iter().enumerate() {
        assert_eq!(process.publish(call).await, StatusCode::OK);
        if n % 2 == 0 {
            for path in ["profile", "playbook"] {
                let starting = process.clone();
                let body = json!({ "user_id": "ana" });
                let path = format!("/api/manual_{path}_generation");
                let waiting = tokio::spawn(async move { starting.ask("POST", &path, Some(&body)).await });
                while !waiting.is_finished() {
                    process.drain_operations().await;
                    pass(1).await;
                }
                assert_eq!(waiting.await.unwrap()["success"], true);
            }
        }
        process.drain().await;
    }
    run_until_quiet(&process, &["ana"]).await;
    // Not every row: a manual generation reads again what was learned before.
    let learned = process.learned("ana").await;
    let published: i64 = calls.iter().map(|call| i64::try_from(call.size).unwrap()).sum();
    assert_eq!(learned, published);
}
