//! What differs between learning from the stream, a rerun and a manual generation.

use llm::testing::ModelServer;
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive_model, provider};
use crate::support::{Item, Site, contents, request, with};

const RERUN_PROFILES: &str = "/api/rerun_profile_generation";
const RERUN_PLAYBOOKS: &str = "/api/rerun_playbook_generation";
const MANUAL_PROFILES: &str = "/api/manual_profile_generation";
const MANUAL_PLAYBOOKS: &str = "/api/manual_playbook_generation";

async fn scripted() -> (Site, ModelServer) {
    let model = attentive_model().await;
    (Site::with(provider(&model)).await, model)
}

/// Starts a rerun and carries it out.
async fn rerun(site: &Site, path: &str, body: &Value) {
    let answer = site.acme.ok(path, body).await;
    assert_eq!(answer["success"], true, "{answer}");
    site.operate().await;
}

/// A manual generation, with the functions running meanwhile.
async fn manual(site: &Site, path: &str, body: &Value) -> Value {
    let running = site.start();
    let answer = site.acme.ok(path, body).await;
    running.stop().await;
    answer
}

async fn profiles(site: &Site, user: &str, status: Value) -> Vec<String> {
    let body = json!({ "user_id": user, "top_k": 1_000, "status_filter": [status] });
    contents(&site.acme.ok("/api/get_profiles", &body).await["user_profiles"])
}

async fn playbooks(site: &Site, user: &str, status: Value) -> Vec<String> {
    let body = json!({ "user_id": user, "limit": 1_000, "status_filter": [status] });
    contents(&site.acme.ok("/api/get_user_playbooks", &body).await["user_playbooks"])
}

/// The items whose sort keys begin with one of these.
async fn items(site: &Site, prefixes: &[&str]) -> Vec<Item> {
    let mut items = site.items().await;
    items.retain(|item| prefixes.iter().any(|prefix| item["SK"].as_s().unwrap().starts_with(prefix)));
    items
}

fn finished(user: &str, id: &str, said: &[&str]) -> Value {
    with(request(user, "s1", id, said), json!({ "session_finished": true }))
}

#[tokio::test]
async fn a_rerun_makes_pending_rows_and_touches_neither_current_ones_nor_the_cursor() {
    let (site, model) = scripted().await;
    site.acme.publish(&finished("ana", "r1", &["fact: likes tea", "rule: answer briefly"])).await;
    site.learn().await;
    let before = items(&site, &["P#", "B#", "CUR#", "WIN#", "PCL#"]).await;
    let (gates, merges) = (asked(&model, Purpose::Gate), asked(&model, Purpose::Deduplication));
    rerun(&site, RERUN_PROFILES, &json!({ "user_id": "ana" })).await;
    rerun(&site, RERUN_PLAYBOOKS, &json!({})).await;
    assert_eq!(profiles(&site, "ana", json!("pending")).await, ["likes tea"]);
    assert_eq!(playbooks(&site, "ana", json!("pending")).await, ["answer briefly"]);
    let after = items(&site, &["P#", "B#", "CUR#", "WIN#", "PCL#"]).await;
    assert!(before.iter().all(|item| after.contains(item)), "current rows, cursor and log stay as they are");
    assert_eq!(asked(&model, Purpose::Gate), gates, "nobody is asked whether it is worth it");
    assert_eq!(asked(&model, Purpose::Deduplication), merges, "current rows are not there to compare with");
    assert_eq!(site.acme.profiles("ana").await, ["likes tea"]);
}

#[tokio::test]
async fn rows_name_a_request_that_tells_the_mode() {
    let (site, _model) = scripted().await;
    site.acme.publish(&request("ana", "s1", "r1", &["fact: likes tea", "rule: answer briefly"])).await;
    rerun(&site, RERUN_PROFILES, &json!({})).await;
    rerun(&site, RERUN_PLAYBOOKS, &json!({})).await;
    manual(&site, MANUAL_PROFILES, &json!({})).await;
    manual(&site, MANUAL_PLAYBOOKS, &json!({})).await;
    let body = json!({ "user_id": "ana", "status_filter": ["pending", null] });
    let found = site.acme.ok("/api/get_profiles", &body).await;
    let mut ids: Vec<_> = found["user_profiles"].as_array().unwrap().iter().collect();
    ids.sort_by_key(|row| row["generated_from_request_id"].as_str().unwrap().to_owned());
    let rows = site.acme.ok("/api/get_user_playbooks", &body).await;
    let mut names: Vec<String> =
        ids.iter().map(|row| row["generated_from_request_id"].as_str().unwrap().to_owned()).collect();
    names.extend(
        rows["user_playbooks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["request_id"].as_str().unwrap().to_owned()),
    );
    names.sort();
    let shapes: Vec<_> = names.iter().map(|name| name.rsplit_once('_').unwrap()).collect();
    assert_eq!(
        shapes.iter().map(|(prefix, _)| *prefix).collect::<Vec<_>>(),
        ["manual", "manual", "rerun", "rerun_playbook"]
    );
    for (_, hex) in shapes {
        assert!(hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hex}");
    }
}

#[tokio::test]
async fn a_manual_generation_below_the_stride_makes_current_rows_and_moves_the_cursor() {
    let (site, model) = scripted().await;
    site.acme.publish(&request("ana", "s1", "r1", &["fact: likes tea", "hm", "so"])).await;
    assert_eq!(site.learn().await, 0, "below the stride");
    let answer = manual(&site, MANUAL_PROFILES, &json!({ "user_id": "ana" })).await;
    assert_eq!(answer["msg"], "Generated 1 profiles for 1 user(s)", "{answer}");
    assert_eq!((&answer["success"], &answer["profiles_generated"]), (&json!(true), &json!(1)));
    assert_eq!(site.acme.profiles("ana").await, ["likes tea"]);
    assert_eq!(asked(&model, Purpose::Gate), 0);
    // Those three are learned from: five more do not fill a window of profiles, eight more do.
    site.acme.publish(&request("ana", "s1", "r2", &["a", "b", "c", "d", "e"])).await;
    site.learn().await;
    let profiles_asked = asked(&model, Purpose::Profiles);
    site.acme.publish(&request("ana", "s1", "r3", &["fact: has a cat", "g", "h"])).await;
    site.learn().await;
    assert_eq!(profiles_asked, 1, "the manual one");
    assert_eq!(site.acme.profiles("ana").await, ["has a cat", "likes tea"]);
    assert_eq!(asked(&model, Purpose::Profiles), 2);
}

#[tokio::test]
async fn a_rerun_leaves_the_stream_to_be_learned() {
    let (site, model) = scripted().await;
    site.acme.publish(&request("ana", "s1", "r1", &["fact: likes tea", "hm", "so"])).await;
    rerun(&site, RERUN_PROFILES, &json!({})).await;
    assert!(site.acme.profiles("ana").await.is_empty());
    site.acme.publish(&request("ana", "s1", "r2", &["a", "b", "c", "d", "e"])).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["likes tea"]);
    assert_eq!(asked(&model, Purpose::Profiles), 2);
}

#[tokio::test]
async fn a_manual_generation_moves_the_cursor_over_nothing_that_it_did_not_read() {
    let (site, _model) = scripted().await;
    site.acme.ok("/api/update_config", &json!({ "window_size": 2, "stride_size": 2 })).await;
    site.acme
        .publish(&with(request("ana", "s1", "r1", &["fact: likes tea"]), json!({ "source": "web" })))
        .await;
    site.acme
        .publish(&with(request("ana", "s1", "r2", &["fact: has a cat"]), json!({ "source": "app" })))
        .await;
    // Before anything is learned from the stream.
    let answer = manual_before_learning(&site, &json!({ "user_id": "ana", "source": "app" })).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(site.acme.profiles("ana").await, ["has a cat"]);
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["has a cat", "has a cat", "likes tea"]);
}

/// A manual generation while only batch operations run.
async fn manual_before_learning(site: &Site, body: &Value) -> Value {
    let caller = site.acme.clone();
    let body = body.clone();
    let waiting = tokio::spawn(async move { caller.ok(MANUAL_PROFILES, &body).await });
    while !waiting.is_finished() {
        site.operate().await;
        tokio::task::yield_now().await;
    }
    waiting.await.unwrap()
}

#[tokio::test]
async fn times_bound_a_rerun_on_both_sides_inclusively() {
    let (site, _model) = scripted().await;
    let at = |time: i64, what: &str| json!({ "role": "User", "content": format!("fact: {what}"), "created_at": time });
    let turns = [at(100, "before"), at(200, "first"), at(300, "last"), at(400, "after")];
    // The order of arrival says nothing about when something was said.
    let body = json!({ "user_id": "ana", "session_id": "s1", "interaction_data_list": turns });
    site.acme.publish(&body).await;
    rerun(&site, RERUN_PROFILES, &json!({ "start_time": 200, "end_time": 300 })).await;
    assert_eq!(profiles(&site, "ana", json!("pending")).await, ["first", "last"]);
    let none = site.acme.ok(RERUN_PROFILES, &json!({ "start_time": 201, "end_time": 299 })).await;
    assert_eq!(none["msg"], "No interactions found matching the specified filters");
    assert_eq!(none["success"], false);
}

#[tokio::test]
async fn sources_and_agent_versions_are_filtered_exactly() {
    let (site, _model) = scripted().await;
    for (user, source, version, rule) in [
        ("ana", "web", "v1", "one"),
        ("ana", "app", "v2", "two"),
        ("bo", "web", "v2", "three"),
        ("cy", "", "v1", "four"),
    ] {
        let more = json!({ "source": source, "agent_version": version });
        let said = [format!("rule: {rule}"), format!("fact: {rule}")];
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        site.acme.publish(&with(request(user, "s1", rule, &said), more)).await;
    }
    rerun(&site, RERUN_PLAYBOOKS, &json!({ "agent_version": "v2", "source": "web" })).await;
    let status = site.acme.get("/api/get_operation_status?service_name=playbook_generation").await;
    assert_eq!(status["operation_status"]["processed_user_ids"], json!(["bo"]));
    assert_eq!(playbooks(&site, "bo", json!("pending")).await, ["three"]);
    assert!(playbooks(&site, "ana", json!("pending")).await.is_empty());
    rerun(&site, RERUN_PROFILES, &json!({ "source": "app" })).await;
    assert_eq!(profiles(&site, "ana", json!("pending")).await, ["two"]);
    assert!(profiles(&site, "bo", json!("pending")).await.is_empty());
    assert!(profiles(&site, "cy", json!("pending")).await.is_empty());
    let rows = site
        .acme
        .ok("/api/get_user_playbooks", &json!({ "user_id": "bo", "status_filter": ["pending"] }))
        .await;
    assert_eq!(rows["user_playbooks"][0]["agent_version"], "v2");
    assert_eq!(rows["user_playbooks"][0]["source"], "web");
}

#[tokio::test]
async fn a_rerun_of_playbooks_replaces_the_previews_of_its_agent_version_only() {
    let (site, _model) = scripted().await;
    for version in ["v1", "v2"] {
        let said = format!("rule: as {version}");
        let body = with(request("ana", "s1", version, &[&said]), json!({ "agent_version": version }));
        site.acme.publish(&body).await;
        rerun(&site, RERUN_PLAYBOOKS, &json!({ "agent_version": version })).await;
    }
    assert_eq!(playbooks(&site, "ana", json!("pending")).await, ["as v1", "as v2"]);
    rerun(&site, RERUN_PLAYBOOKS, &json!({ "agent_version": "v1" })).await;
    assert_eq!(playbooks(&site, "ana", json!("pending")).await, ["as v1", "as v2"]);
}

#[tokio::test]
async fn a_second_rerun_of_profiles_is_compared_with_pending_rows_only() {
    let (site, model) = scripted().await;
    site.acme.publish(&finished("ana", "r1", &["fact: likes tea"])).await;
    site.learn().await;
    rerun(&site, RERUN_PROFILES, &json!({})).await;
    assert_eq!(asked(&model, Purpose::Deduplication), 0);
    site.acme.publish(&request("ana", "s1", "r2", &["forget: likes tea"])).await;
    rerun(&site, RERUN_PROFILES, &json!({})).await;
    assert_eq!(asked(&model, Purpose::Deduplication), 1, "the pending row of the first rerun");
    // What the user wants forgotten is forgotten among pending rows; current ones stay as they were.
    assert_eq!(profiles(&site, "ana", Value::Null).await, ["likes tea"]);
}

#[tokio::test]
async fn an_extractor_for_manual_use_runs_in_batches_and_only_there() {
    let (site, model) = scripted().await;
    let manual_only = json!({ "profile_extractor_config": {
        "extraction_definition_prompt": "What the user says of themselves.", "manual_trigger": true,
    } });
    site.acme.ok("/api/update_config", &manual_only).await;
    site.acme.publish(&finished("ana", "r1", &["fact: likes tea"])).await;
    site.learn().await;
    assert_eq!(asked(&model, Purpose::Profiles), 0);
    rerun(&site, RERUN_PROFILES, &json!({})).await;
    assert_eq!(profiles(&site, "ana", json!("pending")).await, ["likes tea"]);
    manual(&site, MANUAL_PROFILES, &json!({})).await;
    assert_eq!(site.acme.profiles("ana").await, ["likes tea"]);
}

#[tokio::test]
async fn without_an_extractor_there_is_nothing_to_generate() {
    let (site, _model) = scripted().await;
    site.acme.ok("/api/update_config", &json!({ "profile_extractor_config": null })).await;
    site.acme.publish(&request("ana", "s1", "r1", &["fact: likes tea"])).await;
    let answer = site.acme.ok(RERUN_PROFILES, &json!({})).await;
    assert_eq!(answer["success"], false, "{answer}");
}

#[tokio::test]
async fn a_batch_reads_the_newest_of_a_set_window_and_up_to_a_thousand_without_one() {
    let (site, model) = scripted().await;
    for page in 0..8 {
        let turn = |n| if n == 0 { "fact: turn 0 of tea".to_owned() } else { format!("turn {n}") };
        let said: Vec<String> = (0..100).map(|n| turn(page * 100 + n)).collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let said = if page == 7 { &said[..5] } else { &said[..] };
        site.acme.publish(&request("ana", "s1", &format!("r{page}"), said)).await;
    }
    let read = async |site: &Site| {
        rerun(site, RERUN_PROFILES, &json!({})).await;
        let status = site.acme.get("/api/get_operation_status").await;
        assert_eq!(status["operation_status"]["status"], "completed", "{status}");
        status["operation_status"]["stats"]["total_interactions_processed"].as_i64().unwrap()
    };
    assert_eq!(read(&site).await, 705);
    assert_eq!(profiles(&site, "ana", json!("pending")).await, ["turn 0 of tea"]);
    let prompt = model.requests().last().unwrap().prompt();
    assert!(prompt.contains("turn 0 of") && prompt.contains("turn 704"));
    site.acme.ok("/api/update_config", &json!({ "window_size": 20 })).await;
    site.advance(10);
    assert_eq!(read(&site).await, 20);
    let prompt = model.requests().last().unwrap().prompt();
    assert!(prompt.contains("turn 685") && prompt.contains("turn 704") && !prompt.contains("turn 684"));
}

#[tokio::test]
async fn what_is_for_evaluation_only_is_not_read() {
    let (site, _model) = scripted().await;
    let body = with(request("ana", "s1", "r1", &["fact: likes tea"]), json!({ "evaluation_only": true }));
    site.acme.publish(&body).await;
    let answer = site.acme.ok(RERUN_PROFILES, &json!({})).await;
    assert_eq!(answer["msg"], "No interactions found matching the specified filters");
}
