//! Workers whose store conflicts, fails, or answers without being heard.

use std::time::Duration;

use http::StatusCode;
use retrospect::cloud::faults::{Action, Failure, FaultPlan, Rule};

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::model::Mood;
use crate::support::publish::Publish;
use crate::support::world::{Process, World};

/// Interactions that fill the first window.
const STRIDE: usize = 8;

async fn publish(process: &Process, call: &Publish) {
    assert_eq!(process.publish(call).await, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_meets_conflicts_late_in_a_long_run_is_tried_again_under_the_renewed_lease() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, 2 * STRIDE);
    publish(&process, &call).await;
    world.script.on(&call.mark(0), Mood::Hold);
    let worker = process.clone();
    let work = tokio::spawn(async move { worker.work_once().await });
    world.script.held().await;
    pass(200).await;
    world.script.release();
    world.script.on(&call.mark(STRIDE), Mood::Hold);
    // Longer than a lease lasts by itself, but its heart beats.
    pass(200).await;
    assert_eq!(process.learned("ana").await, 8);
    let conflict = Rule::new(Action::TransactionConflict).operation("TransactWriteItems");
    world.hub.set_faults(FaultPlan::new(1).rule(conflict.first(3)));
    world.script.release();
    assert_eq!(work.await.unwrap(), Some(true));
    assert_eq!(process.learned("ana").await, 16);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

/// The write of one item (lease, cursor, head) meets a publish's transaction on the same item.
#[tokio::test(start_paused = true)]
async fn writes_of_single_items_wait_for_transactions_to_pass() {
    for operation in ["UpdateItem", "PutItem"] {
        let world = World::new();
        let process = world.start();
        let call = Publish::new("ana", 0, STRIDE);
        publish(&process, &call).await;
        let conflict = Rule::new(Action::TransactionConflict).operation(operation);
        world.hub.set_faults(FaultPlan::new(1).rule(conflict.probability(0.7)));
        assert_eq!(process.work_once().await, Some(true), "{operation}");
        world.hub.clear_faults();
        assert_eq!((process.learned("ana").await, process.due_at("ana").await), (8, None), "{operation}");
        check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
    }
}

/// Each kind of write of one item loses its answer, one after the other, and the SDK repeats it.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_does_not_make_a_worker_take_itself_for_another_one() {
    for operation in ["UpdateItem", "PutItem"] {
        for nth in 1..=6 {
            let world = World::new();
            let process = world.start();
            let call = Publish::new("ana", 0, STRIDE);
            publish(&process, &call).await;
            let lost = Rule::new(Action::FailAfter).service("dynamodb").operation(operation);
            world.hub.set_faults(FaultPlan::new(1).rule(lost.nth(nth)));
            assert_eq!(process.work_once().await, Some(true));
            world.hub.clear_faults();
            assert_eq!(process.learned("ana").await, 8, "answer to {operation} {nth} lost");
            assert_eq!(process.due_at("ana").await, None, "answer to {operation} {nth} lost");
            run_until_quiet(&process, &["ana"]).await;
            check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
        }
    }
}

/// The store fails in the middle of a run: the lease is given back, so that the next worker need not wait.
#[tokio::test(start_paused = true)]
async fn a_run_that_the_store_broke_off_gives_its_lease_back() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, STRIDE);
    publish(&process, &call).await;
    let down = Rule::new(Action::FailBefore(Failure::Unavailable)).operation("TransactWriteItems");
    world.hub.set_faults(FaultPlan::new(1).rule(down));
    assert_eq!(process.work_once().await, Some(false));
    world.hub.clear_faults();
    pass(60).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    assert_eq!(process.drain().await, 1);
    assert_eq!(process.learned("ana").await, 8);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn both_kinds_commit_through_conflicts() {
    for seed in 0..4 {
        let world = World::new();
        let process = world.start();
        let calls = [Publish::new("ana", 0, STRIDE), Publish::new("ana", 1, 2 * STRIDE)];
        for call in &calls {
            publish(&process, call).await;
        }
        let conflict = Rule::new(Action::TransactionConflict).operation("TransactWriteItems");
        let delay = Rule::new(Action::Delay(Duration::from_millis(20)));
        let plan = FaultPlan::new(seed).rule(delay.probability(0.5)).rule(conflict.probability(0.6));
        world.hub.set_faults(plan);
        assert_eq!(process.work_once().await, Some(true));
        world.hub.clear_faults();
        assert_eq!(process.learned("ana").await, 24);
        assert_eq!(world.script.asked("playbook_extraction_main"), world.script.asked("profile_update_main"));
        run_until_quiet(&process, &["ana"]).await;
        check_user(&process, "ana", &calls.map(|call| (call, Fate::Acknowledged))).await;
    }
}
