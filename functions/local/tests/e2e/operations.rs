//! Batch operations over HTTP: what callers are told when they start, watch and stop them.

use llm::testing::Scripted;
use serde_json::{Value, json};

use crate::script::{attentive, attentive_model, provider};
use crate::support::{Site, request, with};

const RERUN_PROFILES: &str = "/api/rerun_profile_generation";
const RERUN_PLAYBOOKS: &str = "/api/rerun_playbook_generation";
const MANUAL_PROFILES: &str = "/api/manual_profile_generation";
const MANUAL_PLAYBOOKS: &str = "/api/manual_playbook_generation";
const STATUS: &str = "/api/get_operation_status";
const CANCEL: &str = "/api/cancel_operation";
const BUSY: &str = "Another generation attempt is already in progress";
const NOTHING_FOUND: &str = "No interactions found matching the specified filters";

async fn status(site: &Site) -> Value {
    site.acme.get(STATUS).await["operation_status"].clone()
}

async fn publish_facts(site: &Site, users: &[&str]) {
    for user in users {
        let said = format!("fact: {user} likes tea");
        site.acme.publish(&request(user, "s1", &format!("r-{user}"), &[&said])).await;
    }
}

#[tokio::test]
async fn a_rerun_is_started_watched_and_completed() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish_facts(&site, &["ana"]).await;
    let body = json!({ "user_id": "ana", "start_time": null, "end_time": null, "source": null });
    let answer = site.acme.ok(RERUN_PROFILES, &body).await;
    assert_eq!((&answer["success"], &answer["msg"]), (&json!(true), &json!("Profile generation started")));
    let run = answer["operation_id"].as_str().unwrap();
    let again = site.acme.ok(RERUN_PROFILES, &body).await;
    let refusal = json!({ "success": false, "msg": BUSY, "operation_id": "rerun_profile_generation" });
    assert_eq!(again, refusal);
    assert_eq!(site.acme.ok(MANUAL_PROFILES, &json!({})).await, json!({ "success": false, "msg": BUSY }));
    let started_at = status(&site).await["started_at"].clone();
    let running = json!({
        "service_name": "profile_generation",
        "status": "in_progress",
        "started_at": started_at,
        "total_users": 1,
        "processed_users": 0,
        "failed_users": 0,
        "processed_user_ids": [],
        "failed_user_ids": [],
        "request_params": {
            "user_id": "ana", "start_time": null, "end_time": null, "source": null, "operation_id": run,
        },
        "stats": { "total_interactions_processed": 0, "total_generated": 0 },
        "progress_percentage": 0.0,
    });
    assert_eq!(status(&site).await, running);
    site.advance(7);
    site.operate().await;
    let completed = with(
        running,
        json!({
            "status": "completed",
            "completed_at": started_at.as_i64().unwrap() + 7,
            "processed_users": 1,
            "processed_user_ids": ["ana"],
            "stats": { "total_interactions_processed": 1, "total_generated": 1 },
            "progress_percentage": 100.0,
        }),
    );
    let answer = site.acme.get(&format!("{STATUS}?service_name=profile_generation")).await;
    let expected = json!({
        "success": true,
        "operation_status": completed,
        "msg": "Retrieved operation status successfully",
    });
    assert_eq!(answer, expected);
    // The other service is another operation.
    let other = site.acme.get(&format!("{STATUS}?service_name=playbook_generation")).await;
    assert_eq!(
        other,
        json!({ "success": false, "msg": "No operation found for service: playbook_generation" })
    );
    assert_eq!(site.acme.ok(RERUN_PROFILES, &body).await["success"], true, "and the next one may begin");
}

#[tokio::test]
async fn where_there_is_nothing_it_is_said_and_nothing_begins() {
    let site = Site::offline().await;
    let before = site.stored().await;
    for (path, name) in [
        (RERUN_PROFILES, Some("rerun_profile_generation")),
        (RERUN_PLAYBOOKS, Some("rerun_playbook_generation")),
        (MANUAL_PROFILES, None),
        (MANUAL_PLAYBOOKS, None),
    ] {
        let mut expected = json!({ "success": false, "msg": NOTHING_FOUND });
        if let Some(name) = name {
            expected["operation_id"] = name.into();
        }
        assert_eq!(site.acme.ok(path, &json!({})).await, expected, "{path}");
    }
    let none = json!({ "success": true, "cancelled_services": [], "msg": "No in-progress operations found to cancel" });
    for body in [json!({}), json!({ "service_name": null }), json!({ "service_name": "nothing" })] {
        assert_eq!(site.acme.ok(CANCEL, &body).await, none);
    }
    for name in ["profile_generation", "playbook_generation", "nothing", "OP#", ""] {
        let answer = site.acme.get(&format!("{STATUS}?service_name={}", name.replace('#', "%23"))).await;
        assert_eq!(
            answer,
            json!({ "success": false, "msg": format!("No operation found for service: {name}") })
        );
    }
    assert_eq!(site.stored().await, before);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_by_name_and_begins_nothing() {
    let site = Site::offline().await;
    publish_facts(&site, &["ana"]).await;
    let before = site.stored().await;
    for (path, body, field) in [
        (RERUN_PROFILES, json!({ "source": "Bad Source" }), "source"),
        (RERUN_PROFILES, json!({ "user_id": 7 }), "user_id"),
        (RERUN_PROFILES, json!({ "start_time": "soon" }), "start_time"),
        (RERUN_PROFILES, json!({ "start_time": 20, "end_time": 10 }), "end_time must be after start_time"),
        (RERUN_PLAYBOOKS, json!({ "agent_version": null }), "agent_version"),
        (RERUN_PLAYBOOKS, json!({ "end_time": [] }), "end_time"),
        (MANUAL_PROFILES, json!({ "extractor_names": 1 }), "extractor_names"),
        (MANUAL_PLAYBOOKS, json!({ "playbook_name": {} }), "playbook_name"),
        (CANCEL, json!({ "service_name": 5 }), "service_name"),
        (CANCEL, json!([]), "body"),
    ] {
        let answer = site.acme.post(path, &body).await;
        assert_eq!(answer.status, 422, "{path} {body}");
        assert!(answer.body.to_string().contains(field), "{path} {body}: {}", answer.body);
    }
    assert_eq!(site.stored().await, before);
}

#[tokio::test]
async fn of_eight_wishes_at_once_one_is_granted() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish_facts(&site, &["ana"]).await;
    for _ in 0..3 {
        let body = json!({});
        let wishes = (0..8).map(|_| site.acme.ok(RERUN_PROFILES, &body));
        let answers = futures::future::join_all(wishes).await;
        let granted = answers.iter().filter(|answer| answer["success"] == true).count();
        assert_eq!(granted, 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer["success"] == true || answer["msg"] == BUSY));
        site.operate().await;
        assert_eq!(status(&site).await["status"], "completed");
    }
}

#[tokio::test]
async fn a_user_whose_model_fails_is_named_and_the_others_get_their_turn() {
    let model = attentive_model().await;
    model.otherwise(Scripted::with(|request| {
        if request.prompt().contains("bo likes") {
            return Scripted::status(400, &json!({ "error": { "message": "no" } }));
        }
        attentive(request)
    }));
    let site = Site::with(provider(&model)).await;
    publish_facts(&site, &["ana", "bo", "cy"]).await;
    let running = site.start();
    let answer = site.acme.ok(MANUAL_PROFILES, &json!({})).await;
    let expected = json!({
        "success": true,
        "msg": "Generated 2 profiles for 2 user(s); 1 user(s) failed",
        "profiles_generated": 2,
    });
    assert_eq!(answer, expected);
    let seen = status(&site).await;
    assert_eq!((&seen["status"], &seen["progress_percentage"]), (&json!("completed"), &json!(100.0)));
    assert_eq!(seen["processed_user_ids"], json!(["ana", "cy"]));
    assert_eq!(seen["failed_user_ids"], json!([{ "user_id": "bo", "error": "request_rejected" }]));
    let answer = site.acme.ok(MANUAL_PROFILES, &json!({ "user_id": "bo" })).await;
    let expected = json!({ "success": false, "msg": "All 1 user(s) failed", "profiles_generated": 0 });
    assert_eq!(answer, expected);
    assert_eq!(status(&site).await["status"], "failed");
    assert_eq!(status(&site).await["error_message"], "All 1 user(s) failed");
    running.stop().await;
}

#[tokio::test]
async fn a_manual_generation_that_takes_longer_than_its_caller_may_wait_goes_on() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let rule = request("ana", "s1", "r1", &["rule: answer briefly"]);
    site.acme.publish(&rule).await;
    // No function runs: the caller waits in vain.
    let answer = site.acme.ok(MANUAL_PLAYBOOKS, &json!({})).await;
    assert_eq!(answer["success"], true);
    assert!(answer["msg"].as_str().unwrap().contains("continues"), "{answer}");
    assert_eq!(answer.get("playbooks_generated"), None, "nothing is known yet");
    site.operate().await;
    assert_eq!(site.acme.playbooks("ana").await, ["answer briefly"]);
}

#[tokio::test]
async fn a_cancelled_operation_stops_and_a_new_one_may_begin() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish_facts(&site, &["ana", "bo"]).await;
    site.acme.ok(RERUN_PROFILES, &json!({})).await;
    site.acme.ok(RERUN_PLAYBOOKS, &json!({})).await;
    let answer = site.acme.ok(CANCEL, &json!({})).await;
    let expected = json!({
        "success": true,
        "cancelled_services": ["profile_generation", "playbook_generation"],
        "msg": "Cancellation requested for: profile_generation, playbook_generation",
    });
    assert_eq!(answer, expected);
    site.operate().await;
    let seen = status(&site).await;
    assert_eq!((&seen["status"], &seen["processed_users"]), (&json!("cancelled"), &json!(0)));
    assert!(seen["completed_at"].is_i64());
    assert!(model.requests().is_empty());
    // After completion there is nothing to stop, and what is complete stays so.
    site.acme.ok(RERUN_PROFILES, &json!({})).await;
    site.operate().await;
    let answer = site.acme.ok(CANCEL, &json!({ "service_name": "profile_generation" })).await;
    assert_eq!(answer["cancelled_services"], json!([]));
    let seen = status(&site).await;
    assert_eq!((&seen["status"], &seen["processed_users"]), (&json!("completed"), &json!(2)));
}

#[tokio::test]
async fn an_operation_whose_worker_is_silent_for_ten_minutes_makes_way() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish_facts(&site, &["ana"]).await;
    let first = site.acme.ok(RERUN_PROFILES, &json!({})).await;
    site.advance(599);
    assert_eq!(status(&site).await["status"], "in_progress");
    assert_eq!(site.acme.ok(RERUN_PROFILES, &json!({})).await["msg"], BUSY);
    site.advance(1);
    let second = site.acme.ok(RERUN_PROFILES, &json!({})).await;
    assert_eq!(second["success"], true, "{second}");
    assert_ne!(first["operation_id"], second["operation_id"]);
    // Both wakes are there; the first one is of a run that is over.
    assert_eq!(site.operate().await, 2);
    assert_eq!(status(&site).await["request_params"]["operation_id"], second["operation_id"]);
    assert_eq!(status(&site).await["stats"]["total_generated"], 1);
    // Without a successor it is the look at it that closes it.
    site.acme.ok(RERUN_PROFILES, &json!({})).await;
    site.advance(645);
    let seen = status(&site).await;
    assert_eq!(seen["status"], "failed");
    let message = "Auto-recovered: operation was stuck IN_PROGRESS for 645s (threshold: 600s)";
    assert_eq!(seen["error_message"], message);
}

#[tokio::test]
async fn operations_of_two_organisations_know_nothing_of_each_other() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let beta = site.caller("beta").await;
    publish_facts(&site, &["ana"]).await;
    beta.publish(&request("ana", "s1", "r-ana", &["fact: likes rum"])).await;
    site.acme.ok(RERUN_PROFILES, &json!({})).await;
    assert_eq!(beta.get(STATUS).await["success"], false);
    assert_eq!(beta.ok(CANCEL, &json!({})).await["cancelled_services"], json!([]));
    assert_eq!(beta.ok(RERUN_PROFILES, &json!({})).await["success"], true);
    assert_eq!(beta.ok(CANCEL, &json!({})).await["cancelled_services"], json!(["profile_generation"]));
    site.operate().await;
    assert_eq!(status(&site).await["status"], "completed");
    assert_eq!(beta.get(STATUS).await["operation_status"]["status"], "cancelled");
    let pending = json!({ "user_id": "ana", "status_filter": ["pending"] });
    assert_eq!(beta.ok("/api/get_profiles", &pending).await["user_profiles"], json!([]));
}

#[tokio::test]
async fn a_lost_wake_is_made_up_for_by_the_sweep() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    publish_facts(&site, &["ana"]).await;
    let queue = site.deployment.app.settings.queues.operate.clone();
    site.acme.ok(RERUN_PROFILES, &json!({})).await;
    let sqs = aws_sdk_sqs::Client::new(&site.deployment.hub.sdk_config());
    sqs.purge_queue().queue_url(queue).send().await.unwrap();
    assert_eq!(site.operate().await, 0);
    for seconds in [store::OPERATION_REVIVE_SECONDS, 31] {
        assert_eq!(site.operate().await, 0);
        site.advance(seconds.unsigned_abs());
        site.sweep().await;
    }
    assert_eq!(site.operate().await, 1);
    assert_eq!(status(&site).await["status"], "completed");
}
