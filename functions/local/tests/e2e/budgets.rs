//! What the usual calls cost on AWS.

use retrospect::cloud::counters::Snapshot;
use serde_json::json;

use crate::support::{Site, request, with};

/// Write units of a publish of two turns of 200 characters into a session that exists.
const PUBLISH_WRITE_UNITS_MAX: f64 = 14.0;

/// A site whose caches are warm, and in which Ana's session exists and something is known of her.
async fn warm() -> Site {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello", "there"])).await;
    let profile = json!({ "user_profiles": [{
        "profile_id": "p1", "user_id": "ana", "content": "Ana drinks tea",
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r1",
    }] });
    site.acme.ok("/api/add_user_profile", &profile).await;
    for path in ["/api/search", "/api/search_profiles", "/api/search_interactions"] {
        site.acme.ok(path, &json!({ "user_id": "ana", "query": "tea" })).await;
    }
    site
}

fn assert_publish(cost: &Snapshot, wakes: u64) {
    assert_eq!(cost.calls("dynamodb", "TransactWriteItems"), 1, "{cost:?}");
    assert!(cost.calls("dynamodb", "BatchGetItem") <= 1, "{cost:?}");
    assert_eq!(cost.calls("sqs", "SendMessage"), wakes, "{cost:?}");
    let counted = 1 + cost.calls("dynamodb", "BatchGetItem") + wakes;
    assert_eq!(cost.all_calls(), counted, "{cost:?}");
    assert!(cost.write_units() <= PUBLISH_WRITE_UNITS_MAX, "{} write units", cost.write_units());
}

#[tokio::test]
async fn a_publish_that_wakes_nobody_is_one_read_and_one_transaction() {
    let site = warm().await;
    let turn = "x".repeat(200);
    let before = site.cost();
    site.acme.publish(&request("ana", "s1", "r2", &[&turn, &turn])).await;
    assert_publish(&site.cost_since(&before), 0);
}

#[tokio::test]
async fn a_publish_that_fills_a_window_sends_one_message_more() {
    let site = warm().await;
    let turn = "x".repeat(200);
    let before = site.cost();
    let body = with(request("ana", "s1", "r2", &[&turn, &turn]), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    assert_publish(&site.cost_since(&before), 1);
}

#[tokio::test]
async fn a_warm_search_is_one_small_read_of_each_kind_of_memory() {
    let site = warm().await;
    for (path, reads) in [
        // The user's memory, and the agent playbooks, which belong to no user.
        ("/api/search", 2),
        ("/api/search_profiles", 1),
        ("/api/search_user_playbooks", 1),
        ("/api/search_agent_playbooks", 1),
        ("/api/search_interactions", 1),
    ] {
        site.acme.ok(path, &json!({ "user_id": "ana", "query": "to warm it" })).await;
        let before = site.cost();
        site.acme.ok(path, &json!({ "user_id": "ana", "query": "a quite different query" })).await;
        let cost = site.cost_since(&before);
        assert_eq!((cost.calls("dynamodb", "GetItem"), cost.all_calls()), (reads, reads), "{path}: {cost:?}");
        assert!(cost.read_units() <= reads as f64, "{path}: {} read units", cost.read_units());
    }
}

#[tokio::test]
async fn searches_over_all_users_at_the_same_time_load_the_playbooks_once() {
    let site = warm().await;
    let playbook = json!({ "user_playbooks": [{
        "user_id": "ana", "agent_version": "v1", "request_id": "r1",
        "content": "Answer briefly", "trigger": "When asked",
    }] });
    site.acme.ok("/api/add_user_playbook", &playbook).await;
    let query = json!({ "query": "briefly" });
    let search = || site.acme.ok("/api/search_user_playbooks", &query);
    let before = site.cost();
    let found = futures::future::join_all((0..8).map(|_| search())).await;
    let cost = site.cost_since(&before);
    assert!(found.iter().all(|found| found["user_playbooks"].as_array().unwrap().len() == 1), "{found:?}");
    assert_eq!(cost.calls("dynamodb", "Query"), 1, "{cost:?}");
}

#[tokio::test]
async fn an_idle_deployment_costs_a_look_at_each_part_of_the_index_a_minute() {
    let site = warm().await;
    let before = site.cost();
    site.advance(60);
    assert_eq!(site.sweep().await, 0);
    let cost = site.cost_since(&before);
    let looks = u64::from(store::DUE_SHARDS);
    assert_eq!(cost.calls("dynamodb", "Query"), looks, "{cost:?}");
    assert_eq!(cost.service_calls("dynamodb"), looks, "{cost:?}");
    assert!(cost.write_units() < 0.5, "{cost:?}");
}
