//! Edits and deletes of single rows, through HTTP.

use serde_json::{Value, json};

use crate::support::{Caller, Site};

fn profile(id: &str, user: &str, content: &str) -> Value {
    json!({
        "profile_id": id, "user_id": user, "content": content,
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r1",
    })
}

async fn add_profiles(caller: &Caller, rows: &[Value]) {
    caller.ok("/api/add_user_profile", &json!({ "user_profiles": rows })).await;
}

async fn change(caller: &Caller, method: &str, path: &str, body: &Value) -> Value {
    let answer = caller.send(method, path, Some(("application/json", body.to_string().into_bytes()))).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

async fn playbook_ids(caller: &Caller, user: &str) -> Vec<i64> {
    let answer = caller.ok("/api/get_user_playbooks", &json!({ "user_id": user })).await;
    let rows = answer["user_playbooks"].as_array().unwrap();
    let mut ids: Vec<_> = rows.iter().map(|row| row["user_playbook_id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

async fn add_playbooks(caller: &Caller, user: &str, contents: &[&str]) -> Vec<i64> {
    let row = |content: &&str| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": "r1",
            "content": content, "trigger": format!("when {content}"),
        })
    };
    let rows: Vec<_> = contents.iter().map(row).collect();
    caller.ok("/api/add_user_playbook", &json!({ "user_playbooks": rows })).await;
    playbook_ids(caller, user).await
}

#[tokio::test]
async fn an_edited_profile_is_found_by_its_new_words_at_once() {
    let site = Site::offline().await;
    add_profiles(&site.acme, &[profile("p1", "ana", "likes green tea")]).await;
    let search = |query: &str| json!({ "user_id": "ana", "query": query, "search_mode": "fts" });
    let before = site.acme.ok("/api/search_profiles", &search("tea")).await;
    assert_eq!(before["user_profiles"].as_array().unwrap().len(), 1);
    site.advance(10);
    let edit = json!({ "user_id": "ana", "profile_id": "p1", "content": "likes dark coffee",
        "custom_features": { "cup": "large" } });
    let answer = change(&site.acme, "PUT", "/api/update_user_profile", &edit).await;
    assert_eq!(answer, json!({ "success": true, "msg": "User profile updated successfully" }));
    let row = site.acme.ok("/api/search_profiles", &search("coffee")).await["user_profiles"][0].clone();
    assert_eq!(row["content"], "likes dark coffee");
    assert_eq!(row["custom_features"], json!({ "cup": "large" }));
    assert!(row["last_modified_timestamp"].as_i64().unwrap() > 1_750_000_000);
    let gone = site.acme.ok("/api/search_profiles", &search("tea")).await;
    assert_eq!(gone["user_profiles"], json!([]));
}

#[tokio::test]
async fn only_the_users_own_current_profiles_can_be_edited() {
    let site = Site::offline().await;
    let pending = json!({ "profile_id": "p2", "user_id": "ana", "content": "likes rum", "status": "pending",
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r1" });
    let expired = json!({ "profile_id": "p3", "user_id": "ana", "content": "is away",
        "expiration_timestamp": 1_500_000_001,
        "last_modified_timestamp": 1_500_000_000, "generated_from_request_id": "r1" });
    add_profiles(&site.acme, &[profile("p1", "ana", "likes tea"), pending, expired]).await;
    let before = site.stored().await;
    for (user, id) in [("ana", "p2"), ("ana", "p3"), ("bo", "p1"), ("ana", "nope"), ("", "p1"), ("ana", "")] {
        let edit = json!({ "user_id": user, "profile_id": id, "content": "x" });
        let answer = change(&site.acme, "PUT", "/api/update_user_profile", &edit).await;
        let msg = format!("Profile not found: user_id='{user}' profile_id='{id}'");
        assert_eq!(answer, json!({ "success": false, "msg": msg }));
    }
    assert_eq!(site.stored().await, before);
}

#[tokio::test]
async fn an_edited_playbook_keeps_what_was_not_named() {
    let site = Site::offline().await;
    let ids = add_playbooks(&site.acme, "ana", &["offer tea"]).await;
    let edit = json!({ "user_playbook_id": ids[0], "rationale": "asked twice" });
    let answer = change(&site.acme, "PUT", "/api/update_user_playbook", &edit).await;
    assert_eq!(answer["success"], true);
    let rows = site.acme.ok("/api/get_user_playbooks", &json!({ "user_id": "ana" })).await;
    let row = &rows["user_playbooks"][0];
    assert_eq!(
        (row["content"].as_str(), row["rationale"].as_str()),
        (Some("offer tea"), Some("asked twice"))
    );
    let unknown = json!({ "user_playbook_id": 999, "content": "x" });
    let answer = change(&site.acme, "PUT", "/api/update_user_playbook", &unknown).await;
    assert_eq!(answer, json!({ "success": false, "msg": "User playbook with ID 999 not found" }));
}

#[tokio::test]
async fn an_edit_that_leaves_a_playbook_without_words_changes_nothing() {
    let site = Site::offline().await;
    let ids = add_playbooks(&site.acme, "ana", &["offer tea"]).await;
    let before = site.stored().await;
    let body = json!({ "user_playbook_id": ids[0], "content": "", "trigger": " " }).to_string();
    let answer = site
        .acme
        .send("PUT", "/api/update_user_playbook", Some(("application/json", body.into_bytes())))
        .await;
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert_eq!(site.stored().await, before);
}

#[tokio::test]
async fn a_deleted_profile_leaves_nothing_of_its_words() {
    let site = Site::offline().await;
    let said = "I'm allergic to xyzzynuts.";
    let mut body = crate::support::request("ana", "s1", "r1", &[said]);
    body["session_finished"] = json!(true);
    site.acme.publish(&body).await;
    site.learn().await;
    let rows = site.acme.ok("/api/get_profiles", &json!({ "user_id": "ana" })).await;
    let id = rows["user_profiles"][0]["profile_id"].as_str().unwrap().to_owned();
    let delete = json!({ "user_id": "ana", "profile_id": id });
    let answer = change(&site.acme, "DELETE", "/api/delete_profile", &delete).await;
    assert_eq!(answer, json!({ "success": true, "message": "Deleted successfully" }));
    assert!(site.acme.profiles("ana").await.is_empty());
    let conversation = |item: &crate::support::Item| {
        let sk = item["SK"].as_s().unwrap();
        sk.starts_with("R#") || sk.starts_with("B#")
    };
    for item in site.items().await.into_iter().filter(|item| !conversation(item)) {
        assert!(!format!("{item:?}").contains("xyzzynut"), "{item:?}");
    }
    // Once more, and for what never was.
    for id in [id.as_str(), "nope"] {
        let delete = json!({ "user_id": "ana", "profile_id": id });
        let answer = change(&site.acme, "DELETE", "/api/delete_profile", &delete).await;
        assert_eq!(answer["success"], true);
    }
}

#[tokio::test]
async fn deletes_by_ids_count_what_was_there_once() {
    let site = Site::offline().await;
    // More than one transaction holds, of two users, with doubles and strangers among the ids.
    let mut rows: Vec<_> = (0..90).map(|n| profile(&format!("a{n}"), "ana", "likes tea")).collect();
    rows.push(profile("b0", "bo", "likes rum"));
    add_profiles(&site.acme, &rows).await;
    let mut ids: Vec<_> = (0..85).map(|n| format!("a{n}")).collect();
    ids.extend(["a0", "b0", "nope", ""].map(str::to_owned));
    let delete = json!({ "profile_ids": ids });
    let answer = change(&site.acme, "DELETE", "/api/delete_profiles_by_ids", &delete).await;
    assert_eq!(answer, json!({ "success": true, "deleted_count": 86, "message": "Deleted 86 item(s)" }));
    assert_eq!(site.acme.profiles("ana").await.len(), 5);
    assert!(site.acme.profiles("bo").await.is_empty());
    let again = change(&site.acme, "DELETE", "/api/delete_profiles_by_ids", &delete).await;
    assert_eq!(again["deleted_count"], 0);
}

#[tokio::test]
async fn deleted_playbooks_are_gone_from_every_list() {
    let site = Site::offline().await;
    let ids = add_playbooks(&site.acme, "ana", &["offer tea", "offer rum", "offer water"]).await;
    let delete = json!({ "user_playbook_id": ids[0] });
    let answer = change(&site.acme, "DELETE", "/api/delete_user_playbook", &delete).await;
    assert_eq!(answer, json!({ "success": true, "message": "Deleted successfully" }));
    let delete = json!({ "user_playbook_ids": [ids[1], ids[1], ids[0], 999, -1] });
    let answer = change(&site.acme, "DELETE", "/api/delete_user_playbooks_by_ids", &delete).await;
    assert_eq!(answer["deleted_count"], 1);
    assert_eq!(playbook_ids(&site.acme, "ana").await, [ids[2]]);
    let all = site.acme.ok("/api/get_user_playbooks", &json!({})).await;
    assert_eq!(all["user_playbooks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn deleting_by_a_search_is_refused_and_says_so() {
    let site = Site::offline().await;
    add_profiles(&site.acme, &[profile("p1", "ana", "likes tea")]).await;
    for (body, message) in [
        (json!({ "user_id": "ana" }), "Profile id or search query is required"),
        (json!({ "user_id": "ana", "search_query": "tea" }), "Deleting by search query is not supported"),
    ] {
        let answer = change(&site.acme, "DELETE", "/api/delete_profile", &body).await;
        assert_eq!(answer, json!({ "success": false, "message": message }));
    }
    assert_eq!(site.acme.profiles("ana").await, ["likes tea"]);
}
