//! From a memory back to the turns that it was learned from.

use serde_json::{Value, json};

use crate::script::{attentive_model, provider};
use crate::support::{Caller, Site, contents, request, with};

/// Interactions of one look at most.
const NAMED_MAX: usize = 1_000;

async fn provenance(caller: &Caller, kind: &str, id: &str) -> Value {
    caller.ok("/api/get_learning_provenance", &json!({ "kind": kind, "id": id })).await
}

fn unavailable(kind: &str, id: &str, msg: &str) -> Value {
    json!({
        "success": false, "target_kind": kind, "target_id": id, "provenance_status": "unavailable",
        "interactions": [], "source_user_playbooks": [], "msg": msg,
    })
}

/// Adds a profile of Ana's that names a request and interactions.
async fn add_profile(caller: &Caller, id: &str, request: &str, interactions: &[i64]) {
    let row = json!({
        "profile_id": id, "user_id": "ana", "content": "likes tea", "last_modified_timestamp": 1_750_000_000,
        "generated_from_request_id": request, "source_interaction_ids": interactions,
    });
    caller.ok("/api/add_user_profile", &json!({ "user_profiles": [row] })).await;
}

/// An agent playbook that was made of a rule of Ana's, from `r1`, and one of Bo's, from `r2`, which name these turns.
async fn agent_playbook(site: &Site, named: [&[i64]; 2]) -> String {
    let row = |user: &str, request: &str, turns: &[i64]| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": request, "source_interaction_ids": turns,
            "content": format!("about invoices: rule {user}"), "trigger": "when it comes to invoices",
        })
    };
    let rows = [row("ana", "r1", named[0]), row("bo", "r2", named[1])];
    site.acme.ok("/api/add_user_playbook", &json!({ "user_playbooks": rows })).await;
    assert_eq!(site.aggregate().await, 1);
    let found = site.acme.agent_playbooks(json!({})).await;
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]["agent_playbook_id"].to_string()
}

/// Whose rules an agent playbook was made of.
fn users_of_sources(found: &Value) -> Vec<&str> {
    let sources = found["source_user_playbooks"].as_array().unwrap().iter();
    sources.map(|source| source["user_playbook"]["user_id"].as_str().unwrap()).collect()
}

/// Nothing is known of what an agent playbook was made of.
fn without_sources(id: &str) -> Value {
    let msg = "No source user playbooks are recorded for this agent playbook";
    with(unavailable("agent_playbook", id, msg), json!({ "success": true }))
}

fn ids(interactions: &[Value]) -> Vec<i64> {
    interactions.iter().map(|turn| turn["interaction_id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn what_was_learned_leads_to_the_very_turns_that_said_it() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let said = ["hello", "fact: Ana drinks oolong tea", "rule: answer briefly"];
    let body = with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    let profiles = site.acme.ok("/api/get_profiles", &json!({ "user_id": "ana" })).await;
    let profile = &profiles["user_profiles"][0];
    let found = provenance(&site.acme, "profile", profile["profile_id"].as_str().unwrap()).await;
    assert_eq!(found["provenance_status"], "exact", "{found}");
    assert_eq!(found["trigger_request_id"], "r1");
    assert_eq!(json!(ids(found["interactions"].as_array().unwrap())), profile["source_interaction_ids"]);
    assert!(contents(&found["interactions"]).contains(&said[1].to_owned()), "{found}");
    assert!(found.get("msg").is_none(), "{found}");
    let playbooks = site.acme.ok("/api/get_user_playbooks", &json!({ "user_id": "ana" })).await;
    let id = playbooks["user_playbooks"][0]["user_playbook_id"].to_string();
    let found = provenance(&site.acme, "user_playbook", &id).await;
    assert_eq!((&found["success"], &found["provenance_status"]), (&json!(true), &json!("exact")), "{found}");
    assert!(contents(&found["interactions"]).contains(&said[2].to_owned()), "{found}");
    let beta = site.caller("beta").await;
    let expected = unavailable("user_playbook", &id, "User playbook not found");
    assert_eq!(provenance(&beta, "user_playbook", &id).await, expected);
}

#[tokio::test]
async fn a_memory_that_names_no_turns_leads_to_those_of_its_request() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["one", "two"])).await;
    site.acme.publish(&request("ana", "s1", "r2", &["three"])).await;
    add_profile(&site.acme, "p1", "r1", &[]).await;
    let found = provenance(&site.acme, "profile", "p1").await;
    assert_eq!(found["provenance_status"], "best_effort");
    assert_eq!(contents(&found["interactions"]), ["one", "two"]);
}

#[tokio::test]
async fn turns_that_are_not_stored_make_it_a_best_effort() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["one", "two"])).await;
    let stored = ids(&site.acme.interactions("ana").await);
    add_profile(&site.acme, "some", "gone", &[stored[1], stored[1] + 7]).await;
    let found = provenance(&site.acme, "profile", "some").await;
    assert_eq!(found["provenance_status"], "best_effort");
    assert_eq!(contents(&found["interactions"]), ["two"]);
    add_profile(&site.acme, "none", "gone", &[-1, 0, 5, i64::MAX]).await;
    let expected = unavailable("profile", "none", "Profile generation request was not found");
    assert_eq!(provenance(&site.acme, "profile", "none").await, expected);
}

#[tokio::test]
async fn turns_far_apart_in_long_conversations_are_all_found() {
    let site = Site::offline().await;
    for n in 0..12 {
        let said: Vec<String> = (0..40).map(|turn| format!("{n}-{turn}")).collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        site.acme.publish(&request("ana", "s1", &format!("r{n}"), &said)).await;
    }
    let stored = ids(&site.acme.interactions("ana").await);
    let named = [stored[0], stored[39], stored[40], stored[241], stored[479]];
    add_profile(&site.acme, "p1", "r1", &named).await;
    let found = provenance(&site.acme, "profile", "p1").await;
    assert_eq!(found["provenance_status"], "exact");
    assert_eq!(ids(found["interactions"].as_array().unwrap()), named);
}

#[tokio::test]
async fn a_row_leads_to_no_other_users_turns_whatever_it_names() {
    let site = Site::offline().await;
    site.acme.publish(&request("bo", "s1", "r1", &["secret"])).await;
    let others = ids(&site.acme.interactions("bo").await);
    add_profile(&site.acme, "p1", "r1", &others).await;
    let found = provenance(&site.acme, "profile", "p1").await;
    assert!(!found.to_string().contains("secret"), "{found}");
    assert_eq!(found["success"], false);
}

#[tokio::test]
async fn no_more_than_a_thousand_named_turns_are_looked_for() {
    let site = Site::offline().await;
    let said = vec!["x"; NAMED_MAX];
    site.acme.publish(&request("ana", "s1", "r1", &said)).await;
    site.acme.publish(&request("ana", "s1", "r2", &["y"])).await;
    let stored = ids(&site.acme.interactions("ana").await);
    for (named, status, shown) in [
        (NAMED_MAX - 1, "exact", NAMED_MAX - 1),
        (NAMED_MAX, "exact", NAMED_MAX),
        (NAMED_MAX + 1, "best_effort", NAMED_MAX),
    ] {
        add_profile(&site.acme, "p1", "r1", &stored[..named]).await;
        let found = provenance(&site.acme, "profile", "p1").await;
        assert_eq!(found["provenance_status"], status, "{named}");
        assert_eq!(found["interactions"].as_array().unwrap().len(), shown, "{named}");
    }
}

#[tokio::test]
async fn an_agent_playbook_leads_to_the_rules_that_it_was_made_of_and_to_their_turns() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello", "send no invoices"])).await;
    site.acme.publish(&request("bo", "s2", "r2", &["no invoices please"])).await;
    let (anas, bos) = (ids(&site.acme.interactions("ana").await), ids(&site.acme.interactions("bo").await));
    let id = agent_playbook(&site, [&anas[1..], &bos[..]]).await;
    let found = provenance(&site.acme, "agent_playbook", &id).await;
    assert_eq!((&found["success"], &found["provenance_status"]), (&json!(true), &json!("exact")), "{found}");
    assert_eq!((&found["target_id"], &found["interactions"]), (&json!(id), &json!([])), "{found}");
    assert_eq!(users_of_sources(&found), ["ana", "bo"]);
    let sources = &found["source_user_playbooks"];
    assert_eq!(sources[0]["user_playbook"]["content"], "about invoices: rule ana");
    assert_eq!(contents(&sources[0]["interactions"]), ["send no invoices"]);
    assert_eq!(sources[1]["source_interaction_ids"], json!(bos));
    let beta = site.caller("beta").await;
    let expected = unavailable("agent_playbook", &id, "Agent playbook not found");
    assert_eq!(provenance(&beta, "agent_playbook", &id).await, expected);
}

#[tokio::test]
async fn rules_that_are_gone_are_left_out_of_what_an_agent_playbook_was_made_of() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.acme.publish(&request("bo", "s2", "r2", &["no invoices please"])).await;
    let bos = ids(&site.acme.interactions("bo").await);
    let id = agent_playbook(&site, [&[], &bos[..]]).await;
    let found = provenance(&site.acme, "agent_playbook", &id).await;
    // Of Ana's, neither turns nor the request are stored.
    assert_eq!(found["provenance_status"], "best_effort", "{found}");
    assert_eq!(found["source_user_playbooks"][0]["interactions"], json!([]));
    for (n, source) in found["source_user_playbooks"].as_array().unwrap().iter().enumerate() {
        let body = json!({ "user_playbook_id": source["user_playbook"]["user_playbook_id"] }).to_string();
        let body = Some(("application/json", body.into_bytes()));
        assert_eq!(site.acme.send("DELETE", "/api/delete_user_playbook", body).await.status, 200);
        let found = provenance(&site.acme, "agent_playbook", &id).await;
        assert_eq!(users_of_sources(&found), &["ana", "bo"][n + 1..], "{found}");
        let status = ["best_effort", "unavailable"][n];
        assert_eq!(found["provenance_status"], status, "{found}");
    }
    assert_eq!(provenance(&site.acme, "agent_playbook", &id).await, without_sources(&id));
}

#[tokio::test]
async fn an_agent_playbook_that_a_caller_wrote_was_made_of_nothing() {
    let site = Site::offline().await;
    let row = json!({ "agent_version": "v1", "content": "offer tea", "trigger": "when tea is mentioned" });
    site.acme.ok("/api/add_agent_playbook", &json!({ "agent_playbooks": [row] })).await;
    let id = site.acme.agent_playbooks(json!({})).await[0]["agent_playbook_id"].to_string();
    assert_eq!(provenance(&site.acme, "agent_playbook", &id).await, without_sources(&id));
}

#[tokio::test]
async fn what_is_not_there_says_so_in_the_words_of_its_kind() {
    let site = Site::offline().await;
    for (kind, id, msg) in [
        ("profile", "nope", "Profile not found"),
        ("profile", " ", "Profile not found"),
        ("user_playbook", "999999", "User playbook not found"),
        ("user_playbook", "abc", "user_playbook id must be an integer"),
        ("user_playbook", "99999999999999999999", "user_playbook id must be an integer"),
        ("agent_playbook", "999999", "Agent playbook not found"),
        ("agent_playbook", "", "agent_playbook id must be an integer"),
    ] {
        assert_eq!(provenance(&site.acme, kind, id).await, unavailable(kind, id, msg), "{kind} {id:?}");
    }
}

#[tokio::test]
async fn an_unknown_kind_is_named() {
    let site = Site::offline().await;
    let answer = site.acme.post("/api/get_learning_provenance", &json!({ "kind": "bogus", "id": "1" })).await;
    assert_eq!(answer.status, 422);
    let expected = "'profile', 'user_playbook' or 'agent_playbook'";
    assert_eq!(
        answer.body,
        json!({ "detail": [{
            "type": "literal_error", "loc": ["body", "kind"], "msg": format!("Input should be {expected}"),
            "input": "bogus", "ctx": { "expected": expected },
        }] })
    );
}
