//! The sweep: doubled, killed, with entries that it does not know, and while queue and index fail.

use aws_sdk_dynamodb::types::AttributeValue;
use http::StatusCode;
use retrospect::cloud::faults::{Action, Failure, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;
use sweep::{AGAIN_SECONDS, GRACE_SECONDS};

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::publish::Publish;
use crate::support::world::{Process, World};

const GRACE: u64 = GRACE_SECONDS.unsigned_abs();
const AGAIN: u64 = AGAIN_SECONDS.unsigned_abs();

/// Publishes what fills a window, and nobody is woken.
async fn publish_unheard(world: &World, process: &Process, call: &Publish) {
    let rule = Rule::new(Action::FailBefore(Failure::InternalError)).service("sqs");
    world.hub.set_faults(FaultPlan::new(1).rule(rule));
    assert_eq!(process.publish(call).await, StatusCode::OK);
    world.hub.clear_faults();
}

#[tokio::test(start_paused = true)]
async fn an_overdue_user_is_woken_once_after_the_grace_and_again_only_later() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, 8);
    publish_unheard(&world, &process, &call).await;
    pass(GRACE - 1).await;
    assert_eq!(process.sweep().await.unwrap().woken, 0);
    pass(1).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    for _ in 0..4 {
        pass(60).await;
        assert_eq!(process.sweep().await.unwrap().woken, 0);
    }
    assert_eq!(process.count(&process.queue).await, (1, 0));
    pass(AGAIN + GRACE - 240).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
    pass(3600).await;
    assert_eq!(process.sweep().await.unwrap().woken, 0);
}

#[tokio::test(start_paused = true)]
async fn sweeps_at_the_same_time_and_after_each_other_learn_the_window_once() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, 8);
    publish_unheard(&world, &process, &call).await;
    pass(GRACE).await;
    let (first, second) = tokio::join!(process.sweep(), process.sweep());
    assert!(first.unwrap().woken + second.unwrap().woken >= 1);
    process.sweep().await.unwrap();
    process.drain().await;
    assert_eq!(world.script.asked("profile_update_main"), 1);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_sweep_killed_at_any_call_is_made_up_for_by_the_next() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            let calls = [Publish::new("ana", 0, 8), Publish::new("bo", 0, 8)];
            for call in &calls {
                publish_unheard(&world, &process, call).await;
            }
            pass(GRACE).await;
            world.hub.kill_after(nth, moment);
            let swept = process.sweep().await;
            let died = world.hub.is_dead();
            let process = world.start();
            pass(60).await;
            let again = process.sweep().await.unwrap();
            process.drain().await;
            assert!(again.woken >= 1 || !died || swept.is_ok(), "killed {moment:?} call {nth}");
            run_until_quiet(&process, &["ana", "bo"]).await;
            assert_eq!(world.script.asked("profile_update_main"), 2);
            for call in calls {
                check_user(&process, &call.user.clone(), &[(call, Fate::Acknowledged)]).await;
            }
            if !died {
                assert!(nth > 6, "only {nth} calls");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn entries_that_are_no_users_do_not_keep_users_from_being_woken() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, 8);
    publish_unheard(&world, &process, &call).await;
    let dynamodb = aws_sdk_dynamodb::Client::new(&world.hub.sdk_config());
    // More than a page of each shard, all due before the user.
    for n in 0..4 * 110 {
        let text = |text: String| AttributeValue::S(text);
        let put = dynamodb.put_item().table_name(&process.app.settings.table);
        let put = put.item("PK", text(format!("odd {n}"))).item("SK", text("S#1".to_owned()));
        let put =
            put.item("duepk", text(format!("due#{}", n % 4))).item("dueat", AttributeValue::N(n.to_string()));
        put.send().await.unwrap();
    }
    pass(GRACE).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}

#[tokio::test(start_paused = true)]
async fn more_users_than_a_page_are_woken_in_one_sweep() {
    let world = World::new();
    let process = world.start();
    let rule = Rule::new(Action::FailBefore(Failure::InternalError)).service("sqs");
    world.hub.set_faults(FaultPlan::new(1).rule(rule));
    for n in 0..450 {
        let call = Publish { force: true, ..Publish::new(&format!("user{n}"), 0, 1) };
        assert_eq!(process.publish(&call).await, StatusCode::OK);
    }
    world.hub.clear_faults();
    pass(GRACE).await;
    let swept = process.sweep().await.unwrap();
    assert_eq!((swept.woken, swept.failed), (450, 0));
    assert_eq!(process.sweep().await.unwrap().woken, 0);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_cannot_be_woken_stays_overdue_and_keeps_nobody_else_waiting() {
    let world = World::new();
    let process = world.start();
    let calls = [Publish::new("ana", 0, 8), Publish::new("bo", 0, 8), Publish::new("cy", 0, 8)];
    for call in &calls {
        publish_unheard(&world, &process, call).await;
    }
    pass(GRACE).await;
    // The first user's three tries.
    let rule = Rule::new(Action::FailBefore(Failure::InternalError)).service("sqs").operation("SendMessage");
    world.hub.set_faults(FaultPlan::new(1).rule(rule.first(3)));
    let swept = process.sweep().await.unwrap();
    assert_eq!((swept.woken, swept.failed), (2, 1));
    world.hub.clear_faults();
    let swept = process.sweep().await.unwrap();
    assert_eq!((swept.woken, swept.failed), (1, 0));
    run_until_quiet(&process, &["ana", "bo", "cy"]).await;
    for call in calls {
        check_user(&process, &call.user.clone(), &[(call, Fate::Acknowledged)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_cannot_read_the_index_says_so_and_the_next_one_does_its_work() {
    let world = World::new();
    let process = world.start();
    let call = Publish::new("ana", 0, 8);
    publish_unheard(&world, &process, &call).await;
    pass(GRACE).await;
    let rule = Rule::new(Action::FailBefore(Failure::Unavailable)).service("dynamodb").operation("Query");
    world.hub.set_faults(FaultPlan::new(1).rule(rule));
    process.sweep().await.unwrap_err();
    world.hub.clear_faults();
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    run_until_quiet(&process, &["ana"]).await;
    check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
}
