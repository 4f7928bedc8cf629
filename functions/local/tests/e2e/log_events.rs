//! What is logged of learning: events by name, with their key fields, and never a word of what was said.

use llm::testing::{Events, Fields, ModelServer, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, attentive, attentive_model, provider, purpose};
use crate::support::{Site, request, with};

/// Stands in everything that is said.
const MARK: &str = "xyzzy";

/// Learns a conversation with the mark; returns what was logged meanwhile.
async fn learned(site: &Site, id: &str, more: &[&str]) -> Events {
    let said: Vec<String> = more.iter().map(|text| text.replace('_', MARK)).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let body = with(request(&format!("{MARK}-user"), id, id, &said), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    let events = Events::note();
    site.learn().await;
    // The SDK and its like are not ours.
    let says =
        |fields: &Fields| fields.contains_key("event") && fields.values().any(|value| value.contains(MARK));
    let talkative: Vec<Fields> = events.all().into_iter().filter(says).collect();
    assert!(talkative.is_empty(), "{talkative:?}");
    events
}

fn values<'a>(events: &'a [Fields], names: &[&str]) -> Vec<Vec<&'a str>> {
    let value = |fields: &'a Fields, name: &str| fields.get(name).map_or("(missing)", String::as_str);
    events.iter().map(|fields| names.iter().map(|name| value(fields, name)).collect()).collect()
}

#[tokio::test]
async fn the_gate_is_logged_for_each_kind_with_its_decision() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let events = learned(&site, "r1", &["fact: _ tea", "rule: _"]).await;
    let names = ["service", "model", "extractor"];
    let mut started = events.named("consolidated_should_run_start");
    started.sort();
    let expected = [
        ["playbook", "scripted-model", "user_playbook_extractor_config"],
        ["profile", "scripted-model", "profile_extractor_config"],
    ];
    let mut found = values(&started, &names);
    found.sort();
    assert_eq!(found, expected);
    assert!(started.iter().all(|fields| fields["identifier"].len() == 64), "{started:?}");
    let ended = events.named("consolidated_should_run_end");
    let names = ["service", "decision", "elapsed_seconds"];
    let mut found = values(&ended, &names);
    found.sort();
    assert_eq!(found, [["playbook", "should_run", "0.0"], ["profile", "should_run", "0.0"]]);
}

#[tokio::test]
async fn extraction_is_logged_from_its_start_to_its_end() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let events = learned(&site, "r1", &["fact: _ tea"]).await;
    assert_eq!(values(&events.named("profile_extract_llm_start"), &["interactions"]), [["1"]]);
    let ended = events.named("profile_extract_llm_end");
    let names = ["model", "interactions", "elapsed_seconds", "proposed"];
    assert_eq!(values(&ended, &names), [["scripted-model", "1", "0.0", "1"]]);
    let purposes = |name: &str| {
        let events = events.named(name);
        let mut found: Vec<String> = events.iter().map(|fields| fields["purpose"].clone()).collect();
        found.sort();
        found
    };
    for name in ["extraction_agent_started", "extraction_agent_finished"] {
        assert_eq!(purposes(name), ["playbook_extraction_main", "profile_update_main"], "{name}");
    }
    let finished = events.named("extraction_agent_finished");
    assert!(finished.iter().all(|fields| fields["pending_tool_calls"] == "0" && fields["steps"] == "1"));
    assert!(events.named("extraction_agent_failed").is_empty());
}

#[tokio::test]
async fn an_extraction_that_fails_is_logged_with_its_reason() {
    let model = ModelServer::start().await;
    model.otherwise(Scripted::with(|request| match purpose(request) {
        Purpose::Gate => Scripted::text("true"),
        // Talks, and calls no tool.
        _ => Scripted::text(format!("I think {MARK}")),
    }));
    let site = Site::with(provider(&model)).await;
    let events = learned(&site, "r1", &["fact: _ tea"]).await;
    let failed = events.named("extraction_agent_failed");
    let expected = vec![vec!["no_tool_call", "false"]; 2];
    assert_eq!(values(&failed, &["finished_reason", "has_output"]), expected);
    let names = ["error_type", "interactions"];
    assert_eq!(values(&events.named("profile_extract_failed"), &names), [["answer_malformed", "1"]]);
    assert!(events.named("profile_extract_llm_end").is_empty());
}

/// A model that answers the second consolidation so.
async fn consolidating(decisions: Value) -> (Site, ModelServer) {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    learned(&site, "r1", &["rule: _ brief"]).await;
    model.otherwise(Scripted::with(move |request| match purpose(request) {
        Purpose::Consolidation => Scripted::json(&decisions),
        _ => attentive(request),
    }));
    (site, model)
}

#[tokio::test]
async fn each_decision_of_a_consolidation_is_logged_without_its_words() {
    let (site, _model) = consolidating(json!({ "decisions": [
        { "kind": "reject_new", "new_id": "NEW-0", "superseded_by_existing_id": 0, "reason": "same" },
        { "kind": "unify", "new_id": "NEW-1", "archive_existing_ids": [], "content": format!("{MARK} ").repeat(240),
          "trigger": "when", "rationale": "why", "reason": "better" },
    ] }))
    .await;
    let events = learned(&site, "r2", &["rule: _ brief", "rule: _ brief and kind"]).await;
    let decisions = events.named("playbook_consolidation.decision");
    let names = ["kind", "new_id", "existing_id", "trigger_match"];
    let expected = [["reject_new", "NEW-0", "1", "true"], ["unify", "NEW-1", "none", "false"]];
    assert_eq!(values(&decisions, &names), expected);
    assert_eq!(
        values(&events.named("consolidation_reject_new"), &["new_id", "existing_id"]),
        [["NEW-0", "1"]]
    );
    let over = values(&events.named("consolidation_over_budget"), &["chars", "budget"]).concat().join("/");
    assert_eq!(over, "1439/1200");
    let done = events.named("playbook_consolidation_done");
    let names = ["unify", "reject_new", "differentiate", "independent", "failed"];
    assert_eq!(values(&done, &names), [["1", "1", "0", "0", "0"]]);
}

#[tokio::test]
async fn decisions_that_are_passed_over_and_rows_that_none_handled_are_logged() {
    let (site, _model) = consolidating(json!({ "decisions": [
        { "kind": "differentiate", "new_id": "NEW-0", "existing_id": 0, "refined_new_trigger": "when",
          "refined_existing_trigger": "When", "reason": "no difference" },
    ] }))
    .await;
    let events = learned(&site, "r2", &["rule: _ brief and kind"]).await;
    assert_eq!(values(&events.named("consolidation_apply_failed"), &["kind"]), [["differentiate"]]);
    assert_eq!(values(&events.named("consolidation_unhandled_new"), &["new_id"]), [["NEW-0"]]);
    assert!(events.named("playbook_consolidation.decision").is_empty());
}
