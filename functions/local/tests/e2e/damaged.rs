//! A damaged item costs what depends on it, not the work on all others.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;

use crate::script::{attentive_model, provider};
use crate::support::{Item, Site, contents, request, with};

/// Spoils the items whose sort key begins so and that hold this text; returns them as they were.
async fn damage(site: &Site, sort_key: &str, text: &str) -> Vec<Item> {
    let holds = |item: &Item| {
        let document = item.get("doc").and_then(|document| document.as_s().ok());
        item["SK"].as_s().unwrap().starts_with(sort_key) && document.is_some_and(|found| found.contains(text))
    };
    let mut found = site.items().await;
    found.retain(holds);
    assert!(!found.is_empty(), "nothing to damage");
    for item in &found {
        let spoiled = AttributeValue::S("{".to_owned());
        put(site, item.clone().into_iter().chain([("doc".to_owned(), spoiled)]).collect()).await;
    }
    found
}

async fn put(site: &Site, item: Item) {
    let dynamodb = aws_sdk_dynamodb::Client::new(&site.deployment.hub.sdk_config());
    let put = dynamodb.put_item().table_name(&site.deployment.app.settings.table);
    put.set_item(Some(item.into_iter().collect())).send().await.unwrap();
}

async fn aggregating_site() -> (Site, llm::testing::ModelServer) {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let config = site.acme.get("/api/get_config").await;
    let extractor = config["user_playbook_extractor_config"].clone();
    let eager = json!({ "clustering_similarity": 0.95, "reaggregation_trigger_count": 1 });
    let aggregation = with(extractor["aggregation_config"].clone(), eager);
    let extractor = with(extractor, json!({ "aggregation_config": aggregation }));
    site.acme.ok("/api/update_config", &json!({ "user_playbook_extractor_config": extractor })).await;
    (site, model)
}

async fn teach(site: &Site, topic: &str, users: &[&str]) {
    let row = |user: &&str| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": "r1", "playbook_name": "playbook",
            "content": format!("about {topic}: rule {user}"), "trigger": format!("when it comes to {topic}"),
        })
    };
    let rows: Vec<_> = users.iter().map(row).collect();
    site.acme.ok("/api/add_user_playbook", &json!({ "user_playbooks": rows })).await;
}

async fn agent_contents(site: &Site) -> Vec<String> {
    contents(&serde_json::Value::Array(site.acme.agent_playbooks(json!({})).await))
}

#[tokio::test]
async fn a_damaged_user_playbook_does_not_hold_up_an_aggregation_and_counts_again_once_it_is_mended() {
    let (site, _model) = aggregating_site().await;
    teach(&site, "invoices", &["ana", "bo"]).await;
    teach(&site, "volcanoes", &["ana", "bo"]).await;
    let whole = damage(&site, "B#", "about volcanoes: rule bo").await;
    site.aggregate().await;
    assert_eq!(agent_contents(&site).await, ["about invoices: rule"]);
    for item in whole {
        put(&site, item).await;
    }
    teach(&site, "penguins", &["cy"]).await;
    site.aggregate().await;
    assert_eq!(agent_contents(&site).await, ["about invoices: rule", "about volcanoes: rule"]);
}

#[tokio::test]
async fn a_damaged_state_of_an_aggregation_is_written_anew() {
    let (site, _model) = aggregating_site().await;
    teach(&site, "invoices", &["ana", "bo"]).await;
    site.aggregate().await;
    damage(&site, "STATE", "attempts").await;
    teach(&site, "volcanoes", &["ana", "bo"]).await;
    assert_eq!(site.aggregate().await, 1);
    assert_eq!(agent_contents(&site).await, ["about invoices: rule", "about volcanoes: rule"]);
}

#[tokio::test]
async fn a_user_with_a_damaged_document_fails_in_a_batch_and_the_others_have_their_turn() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    for user in ["ana", "bo", "cy"] {
        let said = format!("fact: {user} likes tea");
        site.acme.publish(&request(user, "s1", &format!("r-{user}"), &[&said])).await;
    }
    damage(&site, "R#", "bo likes tea").await;
    let started = site.acme.ok("/api/rerun_profile_generation", &json!({})).await;
    assert_eq!(started["success"], true, "{started}");
    site.operate().await;
    let status = site.acme.get("/api/get_operation_status").await["operation_status"].clone();
    assert_eq!(status["status"], "completed", "{status}");
    assert_eq!((&status["processed_users"], &status["failed_users"]), (&json!(2), &json!(1)));
}

#[tokio::test]
async fn a_user_with_a_damaged_row_keeps_nobody_from_an_upgrade() {
    let site = Site::offline().await;
    for user in ["ana", "bo", "cy"] {
        let profile = json!({
            "profile_id": user, "user_id": user, "content": format!("{user} next"), "status": "pending",
            "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r1",
        });
        site.acme.ok("/api/add_user_profile", &json!({ "user_profiles": [profile] })).await;
    }
    // Users are looked at in the order of their hashes: the first one is damaged.
    let mut rows = site.items().await;
    rows.retain(|item| item["SK"].as_s().unwrap().starts_with("P#"));
    rows.sort_by_key(|item| item["PK"].as_s().unwrap().clone());
    let spoiled = ("st".to_owned(), AttributeValue::S("?".to_owned()));
    put(&site, rows.remove(0).into_iter().chain([spoiled]).collect()).await;
    let answer = site.acme.ok("/api/upgrade_all_profiles", &json!({})).await;
    assert_eq!(answer["profiles_promoted"], 2, "{answer}");
    assert_eq!(answer["success"], false, "one was left out: {answer}");
}
