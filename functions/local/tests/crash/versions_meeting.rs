//! Readers, writers and workers that meet a change of versions at any call: a user is seen before or after, never in
//! between, and nothing that is written is lost.

use std::time::Duration;

use domain::entities::Status;
use domain::learning::LearningKind;
use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use serde_json::json;

use crate::support::check::run_until_quiet;
use crate::support::clock::pass;
use crate::support::model::Mood;
use crate::support::publish::Publish;
use crate::support::rows::{Shown, add, count, listed, row, shown, try_add, upgrade, upgraded};
use crate::support::versions::{ARCHIVED, PENDING, USERS, populated, some_rows};
use crate::support::world::World;

/// Each call of a reader waits while a whole upgrade goes by.
#[tokio::test(start_paused = true)]
async fn a_reader_whom_an_upgrade_overtakes_at_any_call_sees_each_user_whole() {
    let kind = LearningKind::Profile;
    for nth in 1.. {
        let world = World::new();
        let (reader, other) = (world.start(), world.start());
        let before = populated(&other, kind).await;
        let hold = Rule::new(Action::Delay(Duration::from_secs(10)));
        world.hub.set_faults(FaultPlan::new(1).rule(hold.nth(nth)));
        let began = world.clock.now();
        let read = async {
            let mut seen = Vec::new();
            for user in USERS {
                seen.push((user, shown(&reader, kind, user).await));
            }
            seen
        };
        let late = async {
            pass(5).await;
            upgrade(&other, kind, json!({})).await
        };
        let (seen, (_, answer)) = tokio::join!(read, late);
        assert_eq!(answer["success"], true, "{answer}");
        let held = world.clock.now() - began >= 10;
        world.hub.clear_faults();
        for (user, rows) in seen {
            let old = &before[user];
            assert!(rows == *old || rows == upgraded(old), "call {nth}: {user}: {rows:?}");
        }
        if !held {
            assert!(nth > 8, "only {nth} calls");
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_over_all_users_that_an_upgrade_overtakes_at_any_call_shows_each_user_whole() {
    let kind = LearningKind::Playbook;
    for nth in 1.. {
        let world = World::new();
        let (reader, other) = (world.start(), world.start());
        let before = populated(&other, kind).await;
        let hold = Rule::new(Action::Delay(Duration::from_secs(10)));
        world.hub.set_faults(FaultPlan::new(1).rule(hold.nth(nth)));
        let began = world.clock.now();
        let late = async {
            pass(5).await;
            upgrade(&other, kind, json!({})).await;
        };
        let (seen, ()) = tokio::join!(listed(&reader, kind), late);
        let held = world.clock.now() - began >= 10;
        world.hub.clear_faults();
        for (user, old) in &before {
            let listed = |rows: &Shown| {
                let mut rows = rows.clone();
                rows.retain(|_, status| !status.is_some_and(Status::is_tombstone));
                rows
            };
            let rows = &seen[*user];
            assert!(*rows == listed(old) || *rows == listed(&upgraded(old)), "call {nth}: {user}: {rows:?}");
        }
        if !held {
            assert!(nth > 4, "only {nth} calls");
            break;
        }
    }
}

/// At every call of an upgrade a profile is written, and one is replaced: both are there afterwards, in a state
/// that some order of the two explains.
#[tokio::test(start_paused = true)]
async fn direct_writes_at_any_moment_of_an_upgrade_are_kept() {
    let kind = LearningKind::Profile;
    for nth in 1.. {
        let world = World::new();
        let (process, writer) = (world.start(), world.start());
        let rows = some_rows("ana", 3);
        add(&process, kind, "ana", &rows).await;
        let before = shown(&process, kind, "ana").await;
        let hold = Rule::new(Action::Delay(Duration::from_secs(10)));
        world.hub.set_faults(FaultPlan::new(1).rule(hold.nth(nth)));
        let began = world.clock.now();
        let late = async {
            pass(5).await;
            let writes = [row("ana new", None), row("ana pending 0", None)];
            assert_eq!(try_add(&writer, kind, "ana", &writes).await, StatusCode::OK);
        };
        let ((_, answer), ()) = tokio::join!(upgrade(&process, kind, json!({})), late);
        let held = world.clock.now() - began >= 10;
        world.hub.clear_faults();
        let mut first = before.clone();
        first.extend([("ana new".to_owned(), None), ("ana pending 0".to_owned(), None)]);
        let mut last = upgraded(&before);
        last.extend([("ana new".to_owned(), None), ("ana pending 0".to_owned(), None)]);
        let seen = shown(&process, kind, "ana").await;
        assert!(seen == upgraded(&first) || seen == last, "call {nth}: {seen:?} {answer}");
        if !held {
            assert!(nth > 6, "only {nth} calls");
            break;
        }
    }
}

/// A worker that thinks, or whose commit is on its way, while its user is upgraded.
#[tokio::test(start_paused = true)]
async fn what_was_learned_across_an_upgrade_is_learned_again_under_the_new_version() {
    for round in 0..4 {
        let world = World::new();
        let (process, other) = (world.start(), world.start());
        let kind = LearningKind::Profile;
        add(&process, kind, "ana", &[row("old", None), row("next", PENDING)]).await;
        let call = Publish::new("ana", 0, 8);
        assert_eq!(process.publish(&call).await, StatusCode::OK);
        if round % 2 == 0 {
            world.script.on("ana-0", Mood::Hold);
        } else {
            let late = Rule::new(Action::Delay(Duration::from_secs(20))).operation("TransactWriteItems");
            world.hub.set_faults(FaultPlan::new(1).rule(late.first(2)));
        }
        let work = tokio::spawn(async move { process.work_once().await });
        pass(5).await;
        let asked = world.script.asked("profile_update_main");
        let (_, answer) = upgrade(&other, kind, json!({})).await;
        assert_eq!(answer["success"], true, "{answer}");
        world.script.release();
        assert_eq!(work.await.unwrap(), Some(true));
        world.hub.clear_faults();
        run_until_quiet(&other, &["ana"]).await;
        assert_eq!(other.learned("ana").await, 8);
        assert!(round % 2 == 0 || world.script.asked("profile_update_main") > asked, "learned again");
        let seen = shown(&other, kind, "ana").await;
        assert_eq!((seen["old"], seen["next"]), (ARCHIVED, None), "{seen:?}");
        assert_eq!(count(&seen, None), 2, "one row was learned, and it is current: {seen:?}");
    }
}
