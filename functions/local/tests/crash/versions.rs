//! Changes of versions that die at any call: whoever comes next finishes them, and counts nothing twice.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::entities::Status;
use domain::learning::LearningKind;
use http::StatusCode;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use retrospect::cloud::hub::Moment;
use serde_json::{Value, json};

use crate::support::clock::pass;
use crate::support::rows::{
    NewRow, Shown, add, downgrade, downgraded, listed, row, shown, upgrade, upgraded,
};
use crate::support::versions::{
    ARCHIVED, PENDING, USERS, all_shown, expected_counts, populated, redeliver, some_rows,
};
use crate::support::world::{Process, World, hash, org};

/// How long a dead runner is waited for, in seconds.
const SILENCE_SECONDS: u64 = 61;

/// Whatever is read, each user is as before or as after; how many are as after.
async fn assert_whole(process: &Process, kind: LearningKind, before: &BTreeMap<&str, Shown>, label: &str) {
    let lists = listed(process, kind).await;
    let ordinary = |rows: &Shown| -> Shown {
        let is_listed = |status: &Option<Status>| !status.is_some_and(Status::is_tombstone);
        rows.iter().filter(|(_, status)| is_listed(status)).map(|(name, s)| (name.clone(), *s)).collect()
    };
    for (user, old) in before {
        let seen = shown(process, kind, user).await;
        assert!(seen == *old || seen == upgraded(old), "{label}: {user} is between versions: {seen:?}");
        assert_eq!(lists.get(*user), Some(&ordinary(&seen)), "{label}: the list shows another {user}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_of_profiles_that_dies_at_any_call_is_finished_and_counted_once() {
    die_at_every_call(LearningKind::Profile, &[Moment::Before, Moment::After]).await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_of_playbooks_that_dies_at_any_call_is_finished_and_counted_once() {
    die_at_every_call(LearningKind::Playbook, &[Moment::After]).await;
}

async fn die_at_every_call(kind: LearningKind, moments: &[Moment]) {
    for moment in moments.iter().copied() {
        for call in 1.. {
            let label = format!("{moment:?} call {call}");
            let world = World::new();
            let process = world.start();
            let before = populated(&process, kind).await;
            world.hub.kill_after(call, moment);
            let (status, answer) = upgrade(&process, kind, json!({})).await;
            let died = world.hub.is_dead();
            let process = world.start();
            assert_whole(&process, kind, &before, &label).await;
            let counts = match redeliver(&process, kind).await {
                Some(counts) => counts,
                None => {
                    // It died before it began: the caller asks again.
                    let (status, answer) = upgrade(&process, kind, json!({})).await;
                    assert_eq!((status, &answer["success"]), (StatusCode::OK, &true.into()), "{answer}");
                    redeliver(&process, kind).await.unwrap()
                }
            };
            assert_eq!(counts, expected_counts(&before), "{label}");
            for (user, rows) in all_shown(&process, kind).await {
                assert_eq!(rows, upgraded(&before[user]), "{label}: {user}");
            }
            if !died {
                // Each version stays restorable until the next upgrade: there and back.
                let after = all_shown(&process, kind).await;
                for _ in 0..2 {
                    let (_, answer) = downgrade(&process, kind, json!({})).await;
                    assert_eq!(answer["success"], true, "{label}: {answer}");
                }
                assert_eq!(all_shown(&process, kind).await, after, "{label}");
                assert_eq!((status, &answer["success"]), (StatusCode::OK, &true.into()), "{answer}");
                assert!(call > 15, "only {call} calls");
                break;
            }
        }
    }
}

/// The process is back, and nobody woke the upgrade: callers and workers find each user whole and writable.
#[tokio::test(start_paused = true)]
async fn a_write_that_meets_an_abandoned_upgrade_finishes_it_for_its_user_first() {
    let kind = LearningKind::Playbook;
    for call in 1.. {
        let world = World::new();
        let process = world.start();
        let before = populated(&process, kind).await;
        world.hub.kill_after(call, Moment::After);
        upgrade(&process, kind, json!({})).await;
        let died = world.hub.is_dead();
        let process = world.start();
        for user in USERS {
            let was_flipped = shown(&process, kind, user).await == upgraded(&before[user]);
            let name = format!("{user} new");
            add(&process, kind, user, &[row(&name, None)]).await;
            let mut expected = if was_flipped { upgraded(&before[user]) } else { before[user].clone() };
            expected.insert(name, None);
            assert_eq!(shown(&process, kind, user).await, expected, "call {call}: {user}");
        }
        let is_done = redeliver(&process, kind).await.is_some();
        for user in USERS.into_iter().filter(|_| is_done) {
            let seen = shown(&process, kind, user).await;
            let name = format!("{user} new");
            // Written before its user's turn it is archived with the rest, after it it is current.
            assert!(seen[&name].is_none() || seen[&name] == ARCHIVED, "call {call}: {seen:?}");
            assert_eq!(seen.values().filter(|status| **status == PENDING).count(), 0, "call {call}");
        }
        if !died {
            break;
        }
    }
}

/// A second call after the first one died does not wait for the sweep.
#[tokio::test(start_paused = true)]
async fn a_caller_who_asks_again_after_a_crash_finishes_what_was_begun() {
    let kind = LearningKind::Profile;
    let world = World::new();
    let process = world.start();
    let before = populated(&process, kind).await;
    world.hub.kill_after(9, Moment::After);
    upgrade(&process, kind, json!({})).await;
    assert!(world.hub.is_dead());
    let process = world.start();
    let abandoned = process.app.services.store.version_progress(&org(), kind).await.unwrap().unwrap();
    assert!(abandoned.is_active);
    let (_, answer) = upgrade(&process, kind, json!({})).await;
    assert_eq!(answer["message"], "Failed to upgrade: another operation on these items is in progress");
    pass(SILENCE_SECONDS).await;
    // What was begun is finished; of its own nothing may be left to do.
    let (_, answer) = downgrade(&process, kind, json!({})).await;
    assert_eq!(answer["success"], true, "{answer}");
    for (user, rows) in all_shown(&process, kind).await {
        assert_eq!(rows, downgraded(&upgraded(&before[user])), "{user}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_sweep_finds_a_change_of_versions_that_nobody_is_at() {
    // Of profiles: playbooks make their aggregation due as well.
    let kind = LearningKind::Profile;
    let world = World::new();
    let process = world.start();
    let before = populated(&process, kind).await;
    world.hub.kill_after(9, Moment::After);
    upgrade(&process, kind, json!({})).await;
    let process = world.start();
    assert_eq!(process.sweep().await.unwrap().woken, 0);
    pass(2 * SILENCE_SECONDS).await;
    assert_eq!(process.sweep().await.unwrap().woken, 1);
    process.drain_operations().await;
    let done = process.app.services.store.version_progress(&org(), kind).await.unwrap().unwrap();
    assert_eq!((done.is_active, done.counts), (false, expected_counts(&before)));
    pass(10 * SILENCE_SECONDS).await;
    assert_eq!(process.sweep().await.unwrap().woken, 0, "it is over");
}

#[tokio::test(start_paused = true)]
async fn a_user_with_seven_hundred_rows_is_upgraded_in_several_transactions() {
    for kind in LearningKind::ALL {
        let world = World::new();
        let process = world.start();
        let rows: Vec<NewRow> =
            (0..700).map(|n| row(format!("row {n}"), [None, PENDING, ARCHIVED][n % 3])).collect();
        for chunk in rows.chunks(350) {
            add(&process, kind, "ana", chunk).await;
        }
        let before = shown(&process, kind, "ana").await;
        let calls = world.hub.counters().snapshot();
        let (_, answer) = upgrade(&process, kind, json!({})).await;
        let calls = &world.hub.counters().snapshot() - &calls;
        assert!(calls.calls("dynamodb", "TransactWriteItems") > 8, "{calls:?}");
        assert_eq!(answer["message"], "Upgraded: 233 promoted, 234 archived, 233 old archived deleted");
        assert_eq!(shown(&process, kind, "ana").await, upgraded(&before));
    }
}

/// Time is up after a few users: the answer says so, and the rest goes on.
#[tokio::test(start_paused = true)]
async fn an_upgrade_that_takes_longer_than_a_caller_waits_goes_on_by_itself() {
    let kind = LearningKind::Profile;
    let world = World::new();
    let process = world.start();
    let before = populated(&process, kind).await;
    let slow = Rule::new(Action::Delay(Duration::from_secs(50))).operation("TransactWriteItems");
    world.hub.set_faults(FaultPlan::new(1).rule(slow));
    let (status, answer) = upgrade(&process, kind, json!({})).await;
    world.hub.clear_faults();
    assert_eq!((status, &answer["success"]), (StatusCode::OK, &true.into()), "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.ends_with(" so far; the rest goes on in the background"), "{message}");
    assert_whole(&process, kind, &before, "while it goes on").await;
    // The message that its caller's process sent is enough.
    process.drain_operations().await;
    let done = process.app.services.store.version_progress(&org(), kind).await.unwrap().unwrap();
    assert!(!done.is_active);
    assert_eq!(redeliver(&process, kind).await, Some(expected_counts(&before)));
    for (user, rows) in all_shown(&process, kind).await {
        assert_eq!(rows, upgraded(&before[user]), "{user}");
    }
}

/// A runner that was frozen while others ended its operation, and a second one came and went, changes nothing.
#[tokio::test(start_paused = true)]
async fn a_runner_that_was_left_behind_upgrades_nobody_twice() {
    let kind = LearningKind::Profile;
    for nth in 1.. {
        let world = World::new();
        let (frozen, other) = (world.start(), world.start());
        let mut before = BTreeMap::new();
        for user in ["ana", "bo"] {
            add(&other, kind, user, &some_rows(user, 2)).await;
            before.insert(user, shown(&other, kind, user).await);
        }
        let hold = Rule::new(Action::Delay(Duration::from_secs(200)));
        world.hub.set_faults(FaultPlan::new(1).rule(hold.nth(nth)));
        let began = world.clock.now();
        let others = async {
            pass(100).await;
            let run = other.app.services.store.version_progress(&org(), kind).await.unwrap();
            let has_begun = run.is_some();
            if has_begun {
                redeliver(&other, kind).await.unwrap();
                let (_, answer) = downgrade(&other, kind, json!({})).await;
                assert_eq!(answer["success"], true, "{answer}");
            }
            has_begun
        };
        let (_, has_begun) = tokio::join!(upgrade(&frozen, kind, json!({})), others);
        let held = world.clock.now() - began >= 200;
        world.hub.clear_faults();
        for (user, old) in &before {
            let (rows, once) = (shown(&other, kind, user).await, upgraded(old));
            let expected = if has_begun { downgraded(&once) } else { once };
            assert_eq!(rows, expected, "call {nth}: {user}");
        }
        if !held {
            assert!(nth > 15, "only {nth} calls");
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_on_its_way_to_the_archive_arrives_there_with_the_next_change() {
    for kind in LearningKind::ALL {
        let world = World::new();
        let process = world.start();
        let stuck = Some(Status::ArchiveInProgress);
        add(&process, kind, "ana", &[row("stuck", stuck), row("archived", ARCHIVED)]).await;
        let (_, answer) = downgrade(&process, kind, json!({})).await;
        assert_eq!(answer["message"], "Downgraded: 1 archived, 1 restored");
        let seen = shown(&process, kind, "ana").await;
        assert_eq!((seen["stuck"], seen["archived"]), (ARCHIVED, None));
    }
}

#[tokio::test(start_paused = true)]
async fn marks_of_users_follow_their_rows() {
    let kind = LearningKind::Profile;
    let world = World::new();
    let process = world.start();
    let marked =
        async |mark| process.app.services.store.marked_users(&org(), kind, mark, None, 9).await.unwrap();
    use store::VersionMark::{Any, Archived, Pending};
    add(&process, kind, "ana", &[row("a", PENDING)]).await;
    add(&process, kind, "bo", &[row("b", None)]).await;
    let [ana, bo] = ["ana", "bo"].map(hash);
    let mut both = vec![ana.clone(), bo.clone()];
    both.sort();
    assert_eq!((marked(Any).await, marked(Pending).await), (both.clone(), vec![ana]));
    assert_eq!(marked(Archived).await, []);
    upgrade(&process, kind, json!({})).await;
    assert_eq!((marked(Any).await, marked(Pending).await, marked(Archived).await), (both, vec![], vec![bo]));
    let body: Value = json!({});
    let (_, answer) = upgrade(&process, kind, body).await;
    assert_eq!(answer["message"], "No pending items found to upgrade");
}
