//! Cited memories are revised once, whatever dies or changes on the way.

use domain::entities::{Status, UserProfile};
use http::StatusCode;
use retrospect::cloud::hub::Moment;
use serde_json::json;
use store::CursorName;

use crate::support::check::run_until_quiet;
use crate::support::clock::pass;
use crate::support::model::Mood;
use crate::support::publish::Publish;
use crate::support::world::{Process, World, hash, keys, org};

/// Interactions that fill the first window.
const STRIDE: usize = 8;

async fn put_profile(process: &Process, content: &str) {
    let body = json!({ "user_profiles": [{
        "profile_id": "p1", "user_id": "ana", "content": content,
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r0",
    }] });
    let (status, answer) = process.call("POST", "/api/add_user_profile", Some(&body)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

/// A window in whose first turn the agent cites what is known of Ana.
async fn publish(process: &Process) {
    put_profile(process, "Ana drinks tea").await;
    let call = Publish::new("ana", 0, STRIDE);
    let mut turns: Vec<_> =
        (0..STRIDE).map(|index| json!({ "role": "User", "content": call.mark(index) })).collect();
    turns[0]["role"] = json!("Assistant");
    turns[0]["citations"] = json!([{ "kind": "profile", "real_id": "p1" }]);
    assert_eq!(process.publish_body(&call.body_with(turns)).await, StatusCode::OK);
}

async fn profiles(process: &Process) -> Vec<UserProfile> {
    let (org, user) = (org(), hash("ana"));
    let rows = process.app.services.store.profiles(&keys(&org, &user)).await.unwrap();
    rows.into_iter().map(|row| row.profile).collect()
}

/// The cited fact is the tombstone of exactly one other, the window is learned, and nothing is left to do.
async fn assert_revised_once(process: &Process, about: &str) {
    let profiles = profiles(process).await;
    let revised: Vec<_> = profiles.iter().filter(|row| row.content == "Revised p1").collect();
    assert_eq!(revised.len(), 1, "{about}: {profiles:#?}");
    assert_eq!(revised[0].status, None, "{about}");
    let old = profiles.iter().find(|row| row.profile_id.as_str() == "p1").unwrap();
    assert_eq!(old.status, Some(Status::Superseded), "{about}");
    assert_eq!(old.superseded_by.as_deref(), Some(revised[0].profile_id.as_str()), "{about}");
    assert_eq!(profiles.len(), 3, "{about}: {profiles:#?}");
    assert_eq!(process.learned("ana").await, 8, "{about}");
    let (org, user) = (org(), hash("ana"));
    let cursor = process.app.services.store.cursor(&keys(&org, &user), CursorName::Reflection).await.unwrap();
    assert_eq!((cursor.completed, cursor.attempts, cursor.retry_at), (8, 0, None), "{about}");
    assert_eq!(process.due_at("ana").await, None, "{about}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_killed_at_any_call_revises_a_cited_memory_once() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            publish(&process).await;
            world.hub.kill_after(nth, moment);
            process.work_once().await;
            let died = world.hub.is_dead();
            drop(process);
            let process = world.start();
            run_until_quiet(&process, &["ana"]).await;
            assert_revised_once(&process, &format!("killed at call {nth}")).await;
            if !died {
                assert!(nth > 20, "only {nth} calls");
                break;
            }
            assert!(nth < 120);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_kills_its_worker_delays_learning_by_one_message_only() {
    let world = World::new();
    let process = world.start();
    publish(&process).await;
    world.script.on("citation_context", Mood::Panic);
    assert_eq!(process.work_once().await, Some(false));
    pass(750).await;
    assert_eq!(process.work_once().await, Some(true));
    assert_eq!(process.learned("ana").await, 8, "learned though the pass died");
    assert_eq!(world.script.asked("memory_reflection"), 1);
    world.script.calm();
    run_until_quiet(&process, &["ana"]).await;
    assert_revised_once(&process, "after a panic").await;
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_its_owner_changes_meanwhile_is_judged_anew() {
    let world = World::new();
    let process = world.start();
    publish(&process).await;
    world.script.on("drinks tea", Mood::Hold);
    let worker = process.clone();
    let work = tokio::spawn(async move { worker.work_once().await });
    world.script.held().await;
    put_profile(&process, "Ana drinks mate").await;
    world.script.release();
    assert_eq!(work.await.unwrap(), Some(true));
    assert_eq!(world.script.asked("memory_reflection"), 2);
    let old = profiles(&process).await.into_iter().find(|row| row.profile_id.as_str() == "p1").unwrap();
    assert_eq!(old.content, "Ana drinks mate", "what the owner wrote is not overwritten");
    run_until_quiet(&process, &["ana"]).await;
    assert_revised_once(&process, "changed meanwhile").await;
}
