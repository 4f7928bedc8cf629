//! A provider that refuses the key or wants money: learning stands still, nothing is lost, and it goes on by itself.

use llm::testing::{ModelServer, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive, provider};
use crate::support::{Caller, Site, request, with};

/// Minutes within which a user is let through to see whether the provider answers, and what follows is done.
const MINUTES: usize = 8;
const BILLING_WARNING: &str = "Reflexio learning is paused (billing_error); wait for the limit/reset condition to clear, \
                               then run an explicit override retry to resume.";
const AUTH_WARNING: &str = "Reflexio learning is paused (auth_error); re-authenticate the provider, then run an \
                            explicit override retry to resume.";

fn refuse(model: &ModelServer, status: u16, message: &str) {
    model.otherwise(Scripted::status(status, &json!({ "error": { "message": message } })));
}

fn recover(model: &ModelServer) {
    model.otherwise(Scripted::with(attentive));
}

fn finished(user: &str, id: &str, said: &str) -> Value {
    with(request(user, "s1", id, &[said]), json!({ "session_finished": true }))
}

/// A site whose learning stands still since Ana's first request.
async fn stalled(status: u16, message: &str) -> (Site, ModelServer) {
    let model = ModelServer::start().await;
    refuse(&model, status, message);
    let site = Site::with(provider(&model)).await;
    site.acme.publish(&finished("ana", "r1", "fact: tea")).await;
    site.learn().await;
    (site, model)
}

async fn is_stalled(caller: &Caller) -> bool {
    caller.get("/stall_state").await["stalled"] == true
}

#[tokio::test]
async fn an_organisation_that_never_stood_still_says_so() {
    let site = Site::offline().await;
    let clean = json!({
        "stalled": false, "reason": null, "stalled_at": null, "reset_estimate": null, "notified_in_cc": false,
        "error_message": null,
    });
    for path in ["/stall_state", "/api/stall_state"] {
        assert_eq!(site.acme.get(path).await, clean);
    }
    let notified = site.acme.ok("/stall_state/notified", &json!({})).await;
    assert_eq!(notified, json!({ "notified_in_cc": false }));
    assert_eq!(site.acme.get("/stall_state").await, clean);
}

#[tokio::test]
async fn the_state_says_why_since_when_and_until_when_and_remembers_that_somebody_was_told() {
    let (site, _model) = stalled(402, "out of credits, resets 4:30 pm").await;
    let state = site.acme.get("/stall_state").await;
    assert_eq!((&state["stalled"], &state["reason"]), (&json!(true), &json!("billing_error")), "{state}");
    assert!(state["stalled_at"].as_str().unwrap().starts_with("2025-06-16T10:0"), "{state}");
    assert_eq!(state["reset_estimate"], "2025-06-16T16:30:00Z");
    assert!(state["error_message"].as_str().unwrap().contains("out of credits"), "{state}");
    assert_eq!(state["notified_in_cc"], false);
    for _ in 0..2 {
        let notified = site.acme.send("POST", "/stall_state/notified", None).await;
        assert_eq!((notified.status, notified.body), (200, json!({ "notified_in_cc": true })));
    }
    assert_eq!(site.acme.get("/stall_state").await["notified_in_cc"], true);
    // Those who are let through to look change nothing of it.
    site.pass_minutes(MINUTES).await;
    let later = site.acme.get("/stall_state").await;
    assert_eq!((&later["notified_in_cc"], &later["stalled_at"]), (&json!(true), &state["stalled_at"]));
}

#[tokio::test]
async fn a_publish_while_learning_stands_still_is_stored_and_warned_and_wakes_nobody() {
    for (status, message, warning) in
        [(402, "out of credits", BILLING_WARNING), (401, "Incorrect API key provided", AUTH_WARNING)]
    {
        let (site, model) = stalled(status, message).await;
        let before = model.requests().len();
        for path in ["/api/publish_interaction", "/api/publish_interaction?wait_for_response=true"] {
            let id = format!("r{}", path.len());
            let body = with(finished("bo", &id, "fact: jazz"), json!({ "unknown": 1 }));
            let answer = site.acme.ok(path, &body).await;
            assert_eq!(answer["message"], "Interaction published successfully with 1 warning(s)");
            let payload = "publish request: ignored unrecognised field(s) unknown";
            assert_eq!(answer["warnings"], json!([warning, payload]));
            let learning = ["learning_status", "learning_reason"].map(|name| answer[name].as_str().unwrap());
            assert_eq!(learning, ["done", "not_applicable"]);
            assert_eq!((&answer["profiles_added"], &answer["playbooks_added"]), (&json!(0), &json!(0)));
            assert_eq!(site.learn().await, 0);
            let state = site.acme.status(&id).await;
            assert_eq!((state.0.as_str(), state.1.as_str()), ("pending", "queued"));
            assert!(state.2.is_some_and(|error| warning.contains(&error)));
        }
        assert_eq!(site.acme.interactions("bo").await.len(), 2);
        site.pass_minutes(3).await;
        assert_eq!(model.requests().len(), before, "no model was asked");
    }
}

#[tokio::test]
async fn everybody_who_is_due_is_learned_once_when_the_provider_answers_again() {
    let (site, model) = stalled(402, "out of credits").await;
    let users: Vec<String> = (0..12).map(|n| format!("user{n}")).collect();
    for user in &users {
        site.acme.publish(&finished(user, &format!("r-{user}"), "fact: jazz")).await;
    }
    site.pass_minutes(20).await;
    assert!(is_stalled(&site.acme).await);
    // One in five minutes is let through, with a few calls.
    let tries = model.requests().len();
    assert!(tries < 40, "{tries} calls");
    recover(&model);
    site.pass_minutes(MINUTES).await;
    assert!(!is_stalled(&site.acme).await);
    for user in &users {
        assert_eq!(site.acme.profiles(user).await, ["jazz"], "{user}");
        assert_eq!(site.acme.status(&format!("r-{user}")).await, ("done".into(), "covered".into(), None));
    }
    assert_eq!(site.acme.profiles("ana").await, ["tea"]);
    let learned = asked(&model, Purpose::Profiles);
    site.pass_minutes(30).await;
    assert_eq!(asked(&model, Purpose::Profiles), learned, "once");
    let answer = site.acme.publish(&request("cy", "s1", "r-cy", &["hello"])).await;
    assert_eq!(answer["warnings"], json!([]));
}

#[tokio::test]
async fn a_request_that_overrides_is_learned_at_once_and_ends_the_stall() {
    let (site, model) = stalled(401, "Incorrect API key provided").await;
    recover(&model);
    let body = with(finished("bo", "r2", "fact: jazz"), json!({ "override_learning_stall": true }));
    let answer = site.acme.publish(&body).await;
    assert_eq!((&answer["warnings"], &answer["learning_reason"]), (&json!([]), &json!("queued")));
    assert_eq!(site.learn().await, 1);
    assert_eq!(site.acme.profiles("bo").await, ["jazz"]);
    assert!(!is_stalled(&site.acme).await);
    site.pass_minutes(MINUTES).await;
    assert_eq!(site.acme.profiles("ana").await, ["tea"]);
}

#[tokio::test]
async fn a_request_that_overrides_in_vain_leaves_it_as_it_is() {
    let (site, model) = stalled(401, "Incorrect API key provided").await;
    let before = model.requests().len();
    let body = with(finished("bo", "r2", "fact: jazz"), json!({ "override_learning_stall": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    assert!(model.requests().len() > before, "the provider was asked");
    assert!(is_stalled(&site.acme).await);
    assert_eq!(site.acme.status("r2").await.2.as_deref(), Some("auth_error"));
    recover(&model);
    site.pass_minutes(MINUTES).await;
    assert_eq!(site.acme.profiles("bo").await, ["jazz"]);
}

#[tokio::test]
async fn a_changed_configuration_is_another_chance() {
    let (site, model) = stalled(401, "Incorrect API key provided").await;
    recover(&model);
    site.acme.ok("/api/update_config", &json!({ "agent_context_prompt": "a waiter" })).await;
    let answer = site.acme.publish(&finished("bo", "r2", "fact: jazz")).await;
    assert_eq!((&answer["warnings"], &answer["learning_reason"]), (&json!([]), &json!("queued")));
    site.learn().await;
    assert_eq!(site.acme.profiles("bo").await, ["jazz"]);
    assert!(!is_stalled(&site.acme).await);
}

#[tokio::test]
async fn an_organisation_that_stands_still_holds_up_no_other_one() {
    let model = ModelServer::start().await;
    model.otherwise(Scripted::with(|request| {
        if request.prompt().contains("acme") {
            return Scripted::status(402, &json!({ "error": { "message": "out of credits" } }));
        }
        attentive(request)
    }));
    let site = Site::with(provider(&model)).await;
    let beta = site.caller("beta").await;
    site.acme.publish(&finished("ana", "r1", "fact: acme")).await;
    site.learn().await;
    for n in 0..20 {
        site.acme.publish(&finished(&format!("user{n}"), &format!("r-{n}"), "fact: acme")).await;
    }
    site.pass_minutes(2).await;
    assert!(is_stalled(&site.acme).await && !is_stalled(&beta).await);
    let (before, calls) = (site.cost(), model.requests().len());
    site.pass_minutes(1).await;
    let cost = site.cost_since(&before);
    assert_eq!(
        (cost.calls("sqs", "SendMessage"), model.requests().len()),
        (0, calls),
        "all of them wait apart"
    );
    let answer = beta.publish(&finished("ana", "r1", "fact: jazz")).await;
    assert_eq!(answer["warnings"], json!([]));
    site.learn().await;
    assert_eq!(beta.profiles("ana").await, ["jazz"]);
    let notified = beta.ok("/stall_state/notified", &json!({})).await;
    assert_eq!(notified, json!({ "notified_in_cc": false }));
    assert_eq!(site.acme.get("/stall_state").await["notified_in_cc"], false);
}

#[tokio::test]
async fn a_provider_that_throttles_or_is_down_is_no_reason_to_stand_still() {
    for (status, message) in [(429, "slow down"), (500, "on fire"), (503, "overloaded")] {
        let (site, _model) = stalled(status, message).await;
        assert!(!is_stalled(&site.acme).await, "{status}");
    }
}

/// Fails no more than it must: so often may work that waits look whether the provider answers.
const LOOKS_IN_AN_HOUR: usize = 15;

#[tokio::test]
async fn a_batch_waits_while_learning_stands_still_and_is_done_by_itself_when_it_goes_on() {
    let (site, model) = stalled(402, "out of credits").await;
    site.acme.publish(&request("bo", "s1", "r-bo", &["fact: bo likes jazz"])).await;
    let before = model.requests().len();
    let started = site.acme.ok("/api/rerun_profile_generation", &json!({})).await;
    assert_eq!(started["success"], true, "{started}");
    site.operate().await;
    assert_eq!(model.requests().len(), before, "no model was asked");
    let status = || async { site.acme.get("/api/get_operation_status").await["operation_status"].clone() };
    assert_eq!(status().await["status"], "in_progress");
    // Longer than any number of attempts.
    for _ in 0..60 {
        site.pass_minutes(1).await;
        site.operate().await;
    }
    let waiting = status().await;
    assert_eq!((&waiting["status"], &waiting["failed_users"]), (&json!("in_progress"), &json!(0)));
    recover(&model);
    for _ in 0..2 * MINUTES {
        site.pass_minutes(1).await;
        site.operate().await;
    }
    let done = status().await;
    assert_eq!((&done["status"], &done["processed_users"]), (&json!("completed"), &json!(2)), "{done}");
}

#[tokio::test]
async fn an_aggregation_waits_while_its_provider_refuses_and_costs_its_caller_no_attempt() {
    let model = ModelServer::start().await;
    refuse(&model, 402, "out of credits");
    let site = Site::with(provider(&model)).await;
    let row = |user: &str| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": "r1", "playbook_name": "playbook",
            "content": "about tea: rule", "trigger": "when it comes to tea",
        })
    };
    site.acme.ok("/api/add_user_playbook", &json!({ "user_playbooks": [row("ana"), row("bo")] })).await;
    let asked_for = json!({ "request_id": "q1", "agent_version": "v1" });
    let operation = site.acme.post("/api/playbook_aggregation_operations", &asked_for).await.body;
    let id = operation["operation_id"].as_str().unwrap_or_else(|| panic!("{operation}")).to_owned();
    let state = || async { site.acme.get(&format!("/api/playbook_aggregation_operations/{id}")).await };
    site.aggregate().await;
    assert!(is_stalled(&site.acme).await, "nobody but the aggregation asked");
    let (first, calls) = (state().await, model.requests().len());
    assert_eq!((&first["status"], &first["attempts"]), (&json!("queued"), &json!(0)), "{first}");
    for minutes in [4, 56] {
        for _ in 0..minutes {
            site.pass_minutes(1).await;
            site.aggregate().await;
        }
        if minutes == 4 {
            assert_eq!(model.requests().len(), calls, "no model was asked");
        }
    }
    // Where no user waits, it is the aggregation that sees whether the provider answers.
    let looks = model.requests().len() - calls;
    assert!((1..=LOOKS_IN_AN_HOUR).contains(&looks), "{looks}");
    assert_eq!(state().await["attempts"], 0);
    recover(&model);
    for _ in 0..MINUTES {
        site.pass_minutes(1).await;
        site.aggregate().await;
    }
    assert!(!is_stalled(&site.acme).await);
    assert_eq!(state().await["status"], "succeeded");
    assert_eq!(site.acme.agent_playbooks(json!({})).await.len(), 1);
}
