//! Organisations whose learning stands still: whatever dies while users are parked, let through or put back, nobody is
//! forgotten.

use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;
use store::{NewStall, PUT_BACK_PER_LOOK_MAX, STALL_PROBE_SECONDS};
use sweep::GRACE_SECONDS;

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::publish::Publish;
use crate::support::world::{Process, World, org};

const GRACE: u64 = GRACE_SECONDS.unsigned_abs();
const PROBE: u64 = STALL_PROBE_SECONDS.unsigned_abs();
const USERS: [&str; 2] = ["ana", "bo"];

async fn begin_stall(process: &Process) {
    let new = NewStall {
        reason: "billing_error",
        message: String::new(),
        role: "generation",
        config_version: 0,
        reset_estimate: None,
    };
    assert!(process.app.services.store.begin_stall(&org(), &new).await.unwrap());
}

async fn is_stalled(process: &Process) -> bool {
    process.app.services.store.stall(&org()).await.unwrap().is_some_and(|stall| stall.stalled)
}

/// Publishes of several users, all of them due, while learning stands still.
async fn publish_all(process: &Process) -> Vec<Publish> {
    let calls: Vec<Publish> = USERS.iter().map(|user| Publish::new(user, 0, 8)).collect();
    for call in &calls {
        assert_eq!(process.publish(call).await, StatusCode::OK);
    }
    calls
}

async fn check_all(process: &Process, calls: Vec<Publish>) {
    run_until_quiet(process, &USERS).await;
    for call in calls {
        check_user(process, &call.user.clone(), &[(call, Fate::Acknowledged)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_sweep_killed_while_it_parks_users_forgets_nobody() {
    kill_at_any_call(Phase::Park).await;
}

#[tokio::test(start_paused = true)]
async fn a_sweep_killed_while_it_lets_a_user_through_forgets_nobody() {
    kill_at_any_call(Phase::Probe).await;
}

#[tokio::test(start_paused = true)]
async fn a_sweep_killed_while_it_puts_users_back_forgets_nobody() {
    kill_at_any_call(Phase::PutBack).await;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Park,
    Probe,
    PutBack,
}

async fn kill_at_any_call(phase: Phase) {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            begin_stall(&process).await;
            let calls = publish_all(&process).await;
            pass(GRACE).await;
            if phase != Phase::Park {
                assert_eq!(process.sweep().await.unwrap().parked, 2);
                pass(PROBE).await;
            }
            if phase == Phase::PutBack {
                process.app.services.store.end_stall(&org()).await.unwrap();
            }
            world.hub.kill_after(nth, moment);
            let _ = process.sweep().await;
            let died = world.hub.is_dead();
            let process = world.start();
            assert_eq!(process.learned("ana").await, 0);
            // The user who is let through finds that the model answers.
            check_all(&process, calls).await;
            assert!(!is_stalled(&process).await, "{phase:?}: killed {moment:?} call {nth}");
            if !died {
                assert!(nth > 5, "{phase:?}: only {nth} calls");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn while_learning_stands_still_nobody_is_woken_but_the_one_who_looks() {
    let world = World::new();
    let process = world.start();
    begin_stall(&process).await;
    let calls = publish_all(&process).await;
    assert_eq!(process.count(&process.queue).await, (0, 0));
    pass(GRACE).await;
    let swept = process.sweep().await.unwrap();
    assert_eq!((swept.parked, swept.woken, swept.failed), (2, 0, 0));
    pass(PROBE - GRACE - 60).await;
    assert_eq!(process.sweep().await.unwrap(), sweep::Swept::default());
    pass(60 + GRACE).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    assert_eq!(process.drain().await, 1);
    assert_eq!(world.script.asked("profile_update_main"), 1);
    assert!(!is_stalled(&process).await, "the model answered");
    check_all(&process, calls).await;
}

#[tokio::test(start_paused = true)]
async fn an_old_wake_of_a_user_who_must_wait_asks_no_model() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, 8);
    assert_eq!(process.publish(&call).await, StatusCode::OK);
    begin_stall(&process).await;
    assert_eq!(process.drain().await, 1);
    assert_eq!(world.script.asked("profile_should_generate"), 0);
    assert!(process.due_at("ana").await.is_some_and(|at| at <= world.clock.now()), "due as before");
    pass(GRACE).await;
    assert_eq!(process.sweep().await.unwrap().parked, 1);
    // A publish puts the user back among those who are due, and the next sweep parks the user again.
    let more = Publish::new("ana", 1, 8);
    assert_eq!(process.publish(&more).await, StatusCode::OK);
    pass(GRACE).await;
    assert_eq!(process.sweep().await.unwrap().parked, 1);
    run_until_quiet(&process, &["ana"]).await;
    let calls = [(call, Fate::Acknowledged), (more, Fate::Acknowledged)];
    check_user(&process, "ana", &calls).await;
}

/// The stall ends between the sweep's look and its write.
#[tokio::test(start_paused = true)]
async fn nobody_is_parked_once_learning_goes_on() {
    let world = World::new();
    let process = world.start();
    begin_stall(&process).await;
    let calls = publish_all(&process).await;
    pass(GRACE).await;
    let hold = Rule::new(Action::Delay(std::time::Duration::from_secs(10))).operation("TransactWriteItems");
    world.hub.set_faults(FaultPlan::new(1).rule(hold.first(1)));
    let ends = async {
        pass(5).await;
        process.app.services.store.end_stall(&org()).await.unwrap();
    };
    let (swept, ()) = tokio::join!(process.sweep(), ends);
    world.hub.clear_faults();
    assert_eq!(swept.unwrap().parked, 0);
    check_all(&process, calls).await;
}

#[tokio::test(start_paused = true)]
async fn as_many_users_as_the_limit_are_put_back_by_one_look_and_the_others_by_the_next() {
    let world = World::new();
    let process = world.start();
    begin_stall(&process).await;
    let users = PUT_BACK_PER_LOOK_MAX + 1;
    for n in 0..users {
        let call = Publish { force: true, ..Publish::new(&format!("user{n}"), 0, 1) };
        assert_eq!(process.publish(&call).await, StatusCode::OK);
    }
    pass(GRACE).await;
    let swept = process.sweep().await.unwrap();
    assert_eq!((swept.parked, swept.woken), (users, 0));
    process.app.services.store.end_stall(&org()).await.unwrap();
    let first = process.sweep().await.unwrap();
    assert_eq!(first.put_back, PUT_BACK_PER_LOOK_MAX);
    pass(60).await;
    let second = process.sweep().await.unwrap();
    assert_eq!(second.put_back, 1);
    pass(60).await;
    let third = process.sweep().await.unwrap();
    assert_eq!(first.woken + second.woken + third.woken, users);
}

#[tokio::test(start_paused = true)]
async fn once_nobody_was_found_for_a_while_nobody_is_looked_for_any_more() {
    let world = World::new();
    let process = world.start();
    begin_stall(&process).await;
    let calls = publish_all(&process).await;
    pass(GRACE).await;
    assert_eq!(process.sweep().await.unwrap().parked, 2);
    process.app.services.store.end_stall(&org()).await.unwrap();
    for _ in 0..15 {
        pass(60).await;
        process.sweep().await.unwrap();
        process.drain().await;
    }
    let before = world.hub.counters().snapshot();
    pass(60).await;
    process.sweep().await.unwrap();
    let cost = &world.hub.counters().snapshot() - &before;
    assert_eq!(cost.service_calls("dynamodb"), u64::from(store::DUE_SHARDS), "{cost:?}");
    check_all(&process, calls).await;
}
