//! Workers that meet: zombies, busy leases, failing models, publishes at the worst moment.

use std::pin::pin;
use std::time::Duration;

use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::{freeze, pass};
use crate::support::model::Mood;
use crate::support::publish::Publish;
use crate::support::world::{Process, World};

/// Interactions that fill the first window.
const STRIDE: usize = 8;
/// How long a message is invisible after its receiver died, in seconds.
const VISIBILITY_SECONDS: u64 = 750;
/// The most often that a message is received before it is set aside.
const RECEIVES_MAX: usize = 5;

async fn publish(process: &Process, call: &Publish) {
    assert_eq!(process.publish(call).await, StatusCode::OK);
}

/// Frozen while its model thinks, or with its commit on the way.
#[tokio::test(start_paused = true)]
async fn a_frozen_worker_that_lost_its_lease_writes_nothing_when_it_goes_on() {
    // Whether the heartbeat or the commit finds out first is left to chance: several times.
    for round in 0..8 {
        let world = World::new();
        let (frozen, other) = (world.start(), world.start());
        let call = Publish::new("ana", 0, STRIDE);
        publish(&other, &call).await;
        let messages = [frozen.receive().await.unwrap()];
        let commit = Rule::new(Action::Delay(Duration::from_secs(1))).operation("TransactWriteItems");
        if round % 2 == 0 {
            world.script.on("ana-0", Mood::Hold);
        } else {
            world.hub.set_faults(FaultPlan::new(1).rule(commit.first(2)));
        }
        let mut zombie = pin!(frozen.handle(&messages));
        tokio::select! {
            biased;
            _ = &mut zombie => panic!("it is held"),
            () = world.script.held() => {}
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
        // Nobody polls the zombie: its heart does not beat.
        freeze(301).await;
        world.script.calm();
        assert_eq!(other.sweep().await.unwrap().woken, 1);
        assert_eq!(other.drain().await, 1);
        assert_eq!(other.learned("ana").await, 8);
        world.script.release();
        assert_eq!(zombie.await.batch_item_failures, []);
        frozen.delete(&messages[0]).await;
        run_until_quiet(&other, &["ana"]).await;
        check_user(&other, "ana", &[(call, Fate::Acknowledged)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_keeps_its_lease_by_the_heartbeat() {
    let world = World::new();
    let (slow, other) = (world.start(), world.start());
    let call = Publish::new("ana", 0, 2 * STRIDE);
    publish(&other, &call).await;
    // Two windows, each within its own time, together longer than a lease.
    world.script.on(&call.mark(0), Mood::Hold);
    let work = tokio::spawn(async move { slow.work_once().await });
    for learned in [0, 8] {
        world.script.held().await;
        for _ in 0..4 {
            pass(60).await;
            other.sweep().await.unwrap();
            other.drain().await;
        }
        assert_eq!(other.learned("ana").await, learned);
        world.script.release();
        if learned == 0 {
            world.script.on(&call.mark(STRIDE), Mood::Hold);
        }
    }
    assert_eq!(work.await.unwrap(), Some(true));
    assert_eq!(other.learned("ana").await, 16);
    assert_eq!(world.script.asked("profile_update_main") + world.script.asked("profile_should_generate"), 4);
    run_until_quiet(&other, &["ana"]).await;
    check_user(&other, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_wake_that_finds_the_lease_taken_is_acknowledged_and_its_work_is_done_by_the_holder() {
    let world = World::new();
    let (holder, other) = (world.start(), world.start());
    let calls = [Publish::new("ana", 0, STRIDE), Publish::new("ana", 1, STRIDE + 2)];
    publish(&other, &calls[0]).await;
    let message = other.receive().await.unwrap();
    other.delete(&message).await;
    world.script.on("ana-0", Mood::Hold);
    let work = tokio::spawn(async move { holder.handle(&[message]).await });
    world.script.held().await;
    publish(&other, &calls[1]).await;
    assert_eq!(other.work_once().await, Some(true));
    assert_eq!(other.learned("ana").await, 0);
    world.script.release();
    assert_eq!(work.await.unwrap().batch_item_failures, []);
    assert!(other.learned("ana").await > 8);
    run_until_quiet(&other, &["ana"]).await;
    check_user(&other, "ana", &calls.map(|call| (call, Fate::Acknowledged))).await;
}

/// Whatever call of the worker a publish comes before, its interactions are learned by this worker, or the user
/// stays due.
#[tokio::test(start_paused = true)]
async fn a_publish_at_any_moment_of_a_run_is_not_forgotten() {
    for nth in 1.. {
        let world = World::new();
        let process = world.start();
        let calls = [Publish::new("ana", 0, STRIDE), Publish::new("ana", 1, STRIDE + 2)];
        publish(&process, &calls[0]).await;
        let messages = [process.receive().await.unwrap()];
        let hold = Rule::new(Action::Delay(Duration::from_secs(10)));
        world.hub.set_faults(FaultPlan::new(1).rule(hold.nth(nth)));
        let before = world.clock.now();
        let late = async {
            pass(5).await;
            publish(&process, &calls[1]).await;
        };
        let (response, ()) = tokio::join!(process.handle(&messages), late);
        assert_eq!(response.batch_item_failures, []);
        world.hub.clear_faults();
        let held = world.clock.now() - before >= 10;
        let is_due = process.due_at("ana").await.is_some_and(|at| at <= world.clock.now());
        assert!(is_due || process.learned("ana").await >= 16, "forgotten at call {nth}");
        process.delete(&messages[0]).await;
        run_until_quiet(&process, &["ana"]).await;
        check_user(&process, "ana", &calls.map(|call| (call, Fate::Acknowledged))).await;
        if !held {
            assert!(nth > 15, "only {nth} calls");
            break;
        }
    }
}

/// As above, but nothing is published: that the session is over must be noticed all the same.
#[tokio::test(start_paused = true)]
async fn a_session_declared_over_at_any_moment_of_a_run_is_not_forgotten() {
    for nth in 1.. {
        let world = World::new();
        let process = world.start();
        let calls = [Publish::new("ana", 0, STRIDE), Publish::new("ana", 1, 2)];
        for call in &calls {
            publish(&process, call).await;
        }
        let messages = [process.receive().await.unwrap()];
        let hold = Rule::new(Action::Delay(Duration::from_secs(10)));
        world.hub.set_faults(FaultPlan::new(1).rule(hold.nth(nth)));
        let before = world.clock.now();
        let late = async {
            pass(5).await;
            assert!(process.finalize("ana", &calls[1].session).await);
        };
        let (response, ()) = tokio::join!(process.handle(&messages), late);
        assert_eq!(response.batch_item_failures, []);
        world.hub.clear_faults();
        let held = world.clock.now() - before >= 10;
        let is_due = process.due_at("ana").await.is_some_and(|at| at <= world.clock.now());
        assert!(is_due || process.learned("ana").await == 10, "forgotten at call {nth}");
        process.delete(&messages[0]).await;
        process.drain().await;
        assert_eq!(process.learned("ana").await, 10, "at call {nth}");
        run_until_quiet(&process, &["ana"]).await;
        check_user(&process, "ana", &calls.map(|call| (call, Fate::Acknowledged))).await;
        if !held {
            assert!(nth > 15, "only {nth} calls");
            break;
        }
    }
}

/// Whether the caller was answered or not, the session is over as a whole or not at all, and a repeat mends it.
#[tokio::test(start_paused = true)]
async fn a_process_killed_while_a_session_is_declared_over_leaves_all_of_it_or_nothing() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            let call = Publish::new("ana", 0, 2);
            publish(&process, &call).await;
            world.hub.kill_after(nth, moment);
            let answered = process.try_finalize("ana", &call.session).await;
            let died = world.hub.is_dead();
            let process = world.start();
            pass(60).await;
            process.sweep().await.unwrap();
            process.drain().await;
            let learned = process.learned("ana").await;
            assert!(learned == 2 || !answered, "killed {moment:?} call {nth}");
            assert!(process.finalize("ana", &call.session).await);
            process.drain().await;
            assert_eq!(process.learned("ana").await, 2, "killed {moment:?} call {nth}");
            assert_eq!(world.script.asked("profile_update_main"), 1);
            run_until_quiet(&process, &["ana"]).await;
            check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
            if !died {
                assert!(nth > 3, "only {nth} calls");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_whose_model_fails_delays_nobody_and_goes_on_publishing() {
    let world = World::new();
    let process = world.start();
    let ana = [Publish::new("ana", 0, STRIDE), Publish::new("ana", 1, STRIDE)];
    let bo = Publish::new("bo", 0, STRIDE);
    publish(&process, &ana[0]).await;
    publish(&process, &bo).await;
    world.script.on("ana-", Mood::Fail);
    assert_eq!(process.drain().await, 2);
    assert_eq!((process.learned("ana").await, process.learned("bo").await), (0, 8));
    let status = process.learning_status("ana-0").await;
    assert_eq!((&status["status"], &status["error"]), (&"pending".into(), &"provider_unavailable".into()));
    assert_eq!(status["reason"], "retrying");
    publish(&process, &ana[1]).await;
    assert_eq!(process.drain().await, 1);
    // An hour of it: tried again and again, never given up, since the cause lies outside.
    for _ in 0..60 {
        pass(60).await;
        process.sweep().await.unwrap();
        process.drain().await;
    }
    assert_eq!(process.learning_status("ana-0").await["status"], "pending");
    assert!(world.script.asked("profile_should_generate") > 10);
    assert!(world.script.asked("profile_should_generate") < 70);
    world.script.calm();
    run_until_quiet(&process, &["ana", "bo"]).await;
    check_user(&process, "ana", &ana.map(|call| (call, Fate::Acknowledged))).await;
    check_user(&process, "bo", &[(bo, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn wakes_for_retries_within_five_minutes_are_not_taken_for_duplicates() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, STRIDE);
    publish(&process, &call).await;
    world.script.on("ana-", Mood::Fail);
    assert_eq!(process.drain().await, 1);
    let began = world.clock.now();
    for attempt in 1..=3 {
        let asked = world.script.asked("profile_should_generate");
        pass(60).await;
        assert_eq!(process.sweep().await.unwrap().woken, 1, "attempt {attempt}");
        assert_eq!(process.drain().await, 1, "attempt {attempt}");
        assert!(world.script.asked("profile_should_generate") > asked, "attempt {attempt}");
    }
    assert!(world.clock.now() - began < 300);
    world.script.calm();
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_set_aside_after_five_receives_does_not_take_its_work_with_it() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, STRIDE);
    publish(&process, &call).await;
    world.script.on("ana-", Mood::Panic);
    for receive in 1..=RECEIVES_MAX {
        assert_eq!(process.work_once().await, Some(false), "receive {receive}");
        assert_eq!(process.work_once().await, None, "receive {receive}");
        pass(VISIBILITY_SECONDS).await;
    }
    assert_eq!(process.work_once().await, None);
    assert_eq!(process.count(&process.queue).await, (0, 0));
    assert_eq!(process.count(&process.dead_letters).await, (1, 0));
    world.script.calm();
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_window_that_kills_its_worker_again_and_again_is_tried_ever_more_rarely_and_says_so() {
    let world = World::new();
    let process = world.start();
    let (ana, bo) = (Publish::new("ana", 0, STRIDE), Publish::new("bo", 0, STRIDE));
    publish(&process, &ana).await;
    world.script.on("ana-", Mood::Panic);
    // Half a day of messages that come again and of sweeps.
    for _ in 0..12 * 60 {
        pass(60).await;
        process.sweep().await.unwrap();
        process.drain().await;
    }
    let asked = world.script.asked("profile_should_generate");
    // Eight times, then once an hour at most.
    assert!(asked <= 8 + 12, "asked {asked} times");
    assert_eq!(process.learning_status("ana-0").await["status"], "failed");
    assert_eq!(process.learning_status("ana-0").await["error"], "interrupted");
    // Looked at now and then, should its cause have been removed, but not at once.
    assert!(process.due_at("ana").await.is_none_or(|at| at > world.clock.now()));
    publish(&process, &bo).await;
    process.drain().await;
    assert_eq!(process.learned("bo").await, 8);
}
