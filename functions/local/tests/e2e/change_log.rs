//! The log of what changed in profiles.

use serde_json::{Value, json};

use crate::script::{attentive_model, provider};
use crate::support::{Caller, Site, request, with};

async fn changes(caller: &Caller) -> Vec<Value> {
    let answer = caller.get("/api/profile_change_log").await;
    assert_eq!(answer["success"], true, "{answer}");
    answer["profile_change_logs"].as_array().unwrap().clone()
}

fn contents(change: &Value, list: &str) -> Vec<String> {
    crate::support::contents(&change[list])
}

fn profile(id: &str, request: &str, content: &str) -> Value {
    json!({
        "profile_id": id, "user_id": "ana", "content": content,
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": request,
    })
}

#[tokio::test]
async fn each_window_that_changed_profiles_stands_in_the_log_the_newest_first() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    assert!(changes(&site.acme).await.is_empty());
    for (id, said) in [("r1", "fact: tea"), ("r2", "fact: jazz")] {
        let body = with(request("ana", "s1", id, &[said]), json!({ "session_finished": true }));
        site.acme.publish(&body).await;
        site.learn().await;
        site.advance(60);
    }
    let log = changes(&site.acme).await;
    let ids: Vec<_> = log.iter().map(|change| change["request_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["r2", "r1"]);
    assert_eq!(contents(&log[1], "added_profiles"), ["tea"]);
    assert_eq!(log[1]["removed_profiles"], json!([]));
    assert!(
        site.caller("beta").await.get("/api/profile_change_log").await["profile_change_logs"] == json!([])
    );
}

#[tokio::test]
async fn an_entry_has_every_member_of_the_contract_and_sends_nulls() {
    let site = Site::offline().await;
    site.acme.ok("/api/add_user_profile", &json!({ "user_profiles": [profile("p1", "r1", "tea")] })).await;
    let log = changes(&site.acme).await;
    let names = |value: &Value| {
        let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    let of_entry = ["added_profiles", "created_at", "id", "removed_profiles", "request_id", "user_id"];
    assert_eq!(names(&log[0]), of_entry);
    assert_eq!(log[0]["id"], 0);
    let row = &log[0]["added_profiles"][0];
    let of_row = [
        "content",
        "custom_features",
        "expiration_timestamp",
        "extractor_names",
        "generated_from_request_id",
        "last_modified_timestamp",
        "profile_id",
        "profile_time_to_live",
        "source",
        "source_interaction_ids",
        "source_span",
        "status",
        "tags",
        "user_id",
    ];
    assert_eq!(names(row), of_row);
    assert_eq!((&row["status"], &row["source"], &row["tags"]), (&Value::Null, &json!(""), &json!([])));
}

#[tokio::test]
async fn profiles_that_a_caller_adds_stand_in_it_by_request_and_once() {
    let site = Site::offline().await;
    let rows = [profile("p1", "r1", "tea"), profile("p2", "r2", "jazz"), profile("p3", "r1", "cats")];
    for _ in 0..2 {
        // The second time they are replaced, not added.
        site.acme.ok("/api/add_user_profile", &json!({ "user_profiles": rows })).await;
        site.advance(1);
    }
    let log = changes(&site.acme).await;
    let mut found: Vec<_> = log
        .iter()
        .map(|change| (change["request_id"].as_str().unwrap(), contents(change, "added_profiles")))
        .collect();
    found.sort();
    assert_eq!(found, [("r1", vec!["cats".into(), "tea".into()]), ("r2", vec!["jazz".into()])]);
}

#[tokio::test]
async fn it_lists_a_hundred_changes_and_no_more() {
    for (count, listed) in [(99, 99), (100, 100), (101, 100)] {
        let site = Site::offline().await;
        for n in 0..count {
            let row = profile(&format!("p{n}"), &format!("r{n}"), "tea");
            site.acme.ok("/api/add_user_profile", &json!({ "user_profiles": [row] })).await;
            site.advance(1);
        }
        let log = changes(&site.acme).await;
        assert_eq!(log.len(), listed);
        let at: Vec<_> = log.iter().map(|change| change["created_at"].as_i64().unwrap()).collect();
        assert!(at.is_sorted_by(|newer, older| newer >= older), "{at:?}");
        assert_eq!(log[0]["request_id"], format!("r{}", count - 1));
    }
}

#[tokio::test]
async fn it_ends_before_it_is_too_large_to_be_carried() {
    let site = Site::offline().await;
    let text = "x".repeat(100_000);
    for n in 0..50 {
        let row = profile(&format!("p{n}"), &format!("r{n}"), &text);
        site.acme.ok("/api/add_user_profile", &json!({ "user_profiles": [row] })).await;
    }
    let listed = changes(&site.acme).await.len();
    assert!((35..=42).contains(&listed), "{listed}");
}

#[tokio::test]
async fn what_a_user_asked_to_forget_is_not_in_it() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let row = profile("p1", "r0", "Ana drinks oolong tea");
    site.acme.ok("/api/add_user_profile", &json!({ "user_profiles": [row] })).await;
    assert_eq!(changes(&site.acme).await.len(), 1);
    let said = ["forget: oolong tea"];
    let body = with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    assert!(site.acme.profiles("ana").await.is_empty());
    let log = changes(&site.acme).await;
    assert!(!json!(log).to_string().contains("oolong"), "{log:?}");
}
