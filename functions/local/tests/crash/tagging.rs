//! Tags are given once, whatever dies on the way.

use http::StatusCode;
use retrospect::cloud::hub::Moment;
use serde_json::json;

use crate::support::check::{Fate, check_user, run_until_quiet};
use crate::support::clock::pass;
use crate::support::publish::Publish;
use crate::support::world::{Process, World, hash, keys, org};

/// Interactions that fill the first window.
const STRIDE: usize = 8;

async fn configure(process: &Process) {
    let extractor = json!({ "extraction_definition_prompt": "x", "tagging_definition_prompt": "By topic" });
    let body = json!({ "profile_extractor_config": extractor, "user_playbook_extractor_config": extractor });
    let (status, answer) = process.call("POST", "/api/update_config", Some(&body)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

async fn assert_tagged(process: &Process, about: &str) {
    let (org, user) = (org(), hash("ana"));
    let (store, keys) = (&process.app.services.store, keys(&org, &user));
    let expected = Some(vec!["tagged".to_owned()]);
    let profiles = store.profiles(&keys).await.unwrap();
    let playbooks = store.user_playbooks(&keys).await.unwrap();
    assert_eq!((profiles.len(), playbooks.len()), (1, 1), "{about}");
    assert_eq!(profiles[0].profile.tags, expected, "{about}");
    assert_eq!(playbooks[0].playbook.tags, expected, "{about}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_killed_at_any_call_of_tagging_leaves_rows_that_are_tagged() {
    for moment in [Moment::Before, Moment::After] {
        for nth in 1.. {
            let world = World::new();
            let process = world.start();
            configure(&process).await;
            let call = Publish::new("ana", 0, STRIDE);
            assert_eq!(process.publish(&call).await, StatusCode::OK);
            assert_eq!(process.work_once().await, Some(true));
            assert_eq!(world.script.asked("tagging"), 0);
            pass(60).await;
            process.sweep().await.unwrap();
            world.hub.kill_after(nth, moment);
            process.work_once().await;
            let died = world.hub.is_dead();
            drop(process);
            let process = world.start();
            run_until_quiet(&process, &["ana"]).await;
            let about = format!("killed at call {nth}");
            assert_tagged(&process, &about).await;
            check_user(&process, "ana", &[(call, Fate::Acknowledged)]).await;
            // Asked twice only where the answer died with the worker.
            assert!(world.script.asked("tagging") <= 4, "{about}");
            if !died {
                assert_eq!(world.script.asked("tagging"), 2);
                assert!(nth > 15, "only {nth} calls");
                break;
            }
            assert!(nth < 120);
        }
    }
}
