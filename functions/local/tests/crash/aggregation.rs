//! Aggregations that die, fail, double or come late: readers see the state of before or of after, never of b2th, and
//! in the end what should be there is there once.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::Message;
use http::StatusCode;
use retrospect::cloud::faults::{Action, Failure, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;
use serde_json::{Value, json};
use store::AgentKeys;

use crate::support::clock::pass;
use crate::support::model::Mood;
use crate::support::world::{Process, World, org};

const ASKED: &str = "playbook_aggregation";
/// Longer than a lease lasts, and than the sweep leaves an entry alone, in seconds.
const LEASE_SECONDS: u64 = 301;
/// How long a message is invisible after its receiver died, in seconds.
const VISIBILITY_SECONDS: u64 = 750;
/// Sweeps after which nothing may be due any more.
const SWEEPS_MAX: usize = 40;

/// Playbooks of users about topics. Ids so short are words: no rule is refused for naming them.
async fn teach(process: &Process, topics: &[usize], users: &[&str]) {
    let row = |topic: usize, user: &str| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": "r1",
            "content": format!("rule {topic} of {user}"), "trigger": format!("topic-{topic} comes up"),
        })
    };
    let rows: Vec<Value> =
        topics.iter().flat_map(|topic| users.iter().map(move |user| row(*topic, user))).collect();
    let (status, answer) =
        process.call("POST", "/api/add_user_playbook", Some(&json!({ "user_playbooks": rows }))).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

/// What stands in the agent playbooks, read as any reader reads.
async fn contents(process: &Process) -> BTreeSet<String> {
    let keys = AgentKeys { org: &org(), agent_version: "v1" };
    let rows = process.app.services.store.agent_playbooks(&keys).await.unwrap();
    let contents: Vec<String> = rows.into_iter().map(|row| row.playbook.content).collect();
    let set: BTreeSet<String> = contents.iter().cloned().collect();
    assert_eq!(set.len(), contents.len(), "{contents:?}");
    set
}

fn rules(topics: &[usize], users: &[&str]) -> BTreeSet<String> {
    let rule = |topic: &usize| {
        let rules: Vec<String> = users.iter().map(|user| format!("rule {topic} of {user}")).collect();
        format!("All: {}", rules.join(" "))
    };
    topics.iter().map(rule).collect()
}

async fn due_at(process: &Process) -> Option<i64> {
    let keys = AgentKeys { org: &org(), agent_version: "v1" };
    process.app.services.store.aggregation_state(&keys).await.unwrap().due_at
}

/// As the minutes pass, until nothing is due.
async fn run_until_quiet(process: &Process) {
    for _ in 0..SWEEPS_MAX {
        while process.aggregate_once().await.is_some() {}
        if due_at(process).await.is_none() {
            return;
        }
        pass(60).await;
        process.sweep().await.unwrap();
    }
    panic!("it stays due: {:?}", due_at(process).await);
}

/// A state that an aggregation made, and a change of it that waits.
async fn changed(world: &World) -> Process {
    let process = world.start();
    teach(&process, &[1, 2, 3], &["a1", "b2"]).await;
    run_until_quiet(&process).await;
    assert_eq!(contents(&process).await, rules(&[1, 2, 3], &["a1", "b2"]));
    teach(&process, &[1, 2], &["c3"]).await;
    process
}

fn before() -> BTreeSet<String> {
    rules(&[1, 2, 3], &["a1", "b2"])
}

fn after() -> BTreeSet<String> {
    let mut rows = rules(&[1, 2], &["a1", "b2", "c3"]);
    rows.extend(rules(&[3], &["a1", "b2"]));
    rows
}

#[tokio::test(start_paused = true)]
async fn a_worker_killed_at_any_call_leaves_all_or_nothing_and_the_rest_is_done_later() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = changed(&world).await;
            world.hub.kill_after(nth, moment);
            process.aggregate_once().await;
            let died = world.hub.is_dead();
            drop(process);
            let process = world.start();
            let seen = contents(&process).await;
            assert!(seen == before() || seen == after(), "{moment:?} {nth}: {seen:?}");
            pass(LEASE_SECONDS).await;
            run_until_quiet(&process).await;
            assert_eq!(contents(&process).await, after(), "{moment:?} {nth}");
            // Each cluster was asked about once, but for those whose answer died with the worker.
            let asked = world.script.asked(ASKED);
            assert!((5..=7).contains(&asked), "{moment:?} {nth}: asked {asked} times");
            if !died {
                assert!(nth > 20, "only {nth} calls");
                assert_eq!(asked, 5);
                break;
            }
            assert!(nth < 150);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_on_the_way_leaves_exactly_the_rows_from_before() {
    for operation in ["TransactWriteItems", "PutItem", "UpdateItem"] {
        let world = World::new();
        let process = changed(&world).await;
        let rule =
            Rule::new(Action::FailBefore(Failure::Unavailable)).service("dynamodb").operation(operation);
        world.hub.set_faults(FaultPlan::new(1).rule(rule));
        process.aggregate_once().await;
        world.hub.clear_faults();
        assert_eq!(contents(&process).await, before(), "{operation}");
        pass(VISIBILITY_SECONDS).await;
        run_until_quiet(&process).await;
        assert_eq!(contents(&process).await, after(), "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_frozen_worker_that_lost_its_lease_changes_nothing_when_it_goes_on() {
    let world = World::new();
    let process = changed(&world).await;
    let message = [process.receive_aggregation().await.unwrap()];
    world.script.on("rule 1", Mood::Hold);
    let mut zombie = std::pin::pin!(process.handle_aggregations(&message));
    tokio::select! {
        biased;
        _ = &mut zombie => panic!("it is held"),
        () = world.script.held() => {}
    }
    // Nobody polls the zombie: its heart does not beat.
    crate::support::clock::freeze(LEASE_SECONDS).await;
    world.script.calm();
    let other = world.start();
    run_until_quiet(&other).await;
    assert_eq!(contents(&other).await, after());
    world.script.release();
    assert_eq!(zombie.await.batch_item_failures, []);
    assert_eq!(contents(&other).await, after());
    run_until_quiet(&other).await;
    assert_eq!(contents(&other).await, after());
}

#[tokio::test(start_paused = true)]
async fn a_wake_that_comes_often_late_or_for_nothing_changes_nothing() {
    let world = World::new();
    let process = changed(&world).await;
    let message = process.receive_aggregation().await.unwrap();
    for _ in 0..10 {
        assert_eq!(process.handle_aggregations(std::slice::from_ref(&message)).await.batch_item_failures, []);
    }
    assert_eq!((contents(&process).await, world.script.asked(ASKED)), (after(), 5));
    run_until_quiet(&process).await;
    assert_eq!((contents(&process).await, world.script.asked(ASKED)), (after(), 5));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_read_is_acknowledged_and_changes_nothing() {
    let world = World::new();
    let process = changed(&world).await;
    let wake = process.receive_aggregation().await.unwrap();
    let body = wake.body.clone().unwrap();
    let poison = [
        "",
        "{",
        "[]",
        "{\"v\":1}",
        &body.replace("\"v\":1", "\"v\":2"),
        &body.replace("published", "bored"),
        &body.replace(org().as_str(), "no org#"),
        // An agent version that nobody knows.
        &body.replace("\"v1\"", "\"v9\""),
    ];
    for body in poison {
        let message = Message::builder().message_id("m").body(body).build();
        assert_eq!(process.handle_aggregations(&[message]).await.batch_item_failures, [], "{body}");
        assert_eq!(contents(&process).await, before(), "{body}");
    }
    assert_eq!(process.handle_aggregations(&[wake]).await.batch_item_failures, []);
    assert_eq!(contents(&process).await, after());
}

#[tokio::test(start_paused = true)]
async fn a_panic_sends_its_message_back_and_what_was_answered_is_not_asked_again() {
    let world = World::new();
    let process = changed(&world).await;
    world.script.on("rule 2", Mood::Panic);
    assert_eq!(process.aggregate_once().await, Some(false));
    assert_eq!(contents(&process).await, before());
    world.script.calm();
    pass(VISIBILITY_SECONDS).await;
    run_until_quiet(&process).await;
    assert_eq!(contents(&process).await, after());
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answers_are_lost_is_not_repeated() {
    for lost in 1..=3 {
        let world = World::new();
        let process = changed(&world).await;
        let rule = Rule::new(Action::FailAfter).service("dynamodb").operation("TransactWriteItems");
        world.hub.set_faults(FaultPlan::new(1).rule(rule.first(lost)));
        process.aggregate_once().await;
        world.hub.clear_faults();
        run_until_quiet(&process).await;
        assert_eq!(
            (contents(&process).await, world.script.asked(ASKED)),
            (after(), 5),
            "{lost} answers lost"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_wake_that_is_lost_is_made_up_for_by_the_sweep() {
    let world = World::new();
    let process = world.start();
    let rule = Rule::new(Action::FailBefore(Failure::Unavailable)).service("sqs").operation("SendMessage");
    world.hub.set_faults(FaultPlan::new(1).rule(rule));
    teach(&process, &[1], &["a1", "b2"]).await;
    world.hub.clear_faults();
    assert_eq!(process.aggregate_once().await, None);
    pass(31).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    assert_eq!(process.aggregate_once().await, Some(true));
    assert_eq!(contents(&process).await, rules(&[1], &["a1", "b2"]));
}
