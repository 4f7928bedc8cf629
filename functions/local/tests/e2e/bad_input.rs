//! What is not as it must be is refused at the door, by name, and leaves nothing behind.

use serde_json::{Value, json};

use crate::support::{Site, request, with};

const PUBLISH: &str = "/api/publish_interaction";

fn turn(members: Value) -> Value {
    with(request("ana", "s1", "r1", &[]), json!({ "interaction_data_list": [members] }))
}

fn said(content: &str) -> Value {
    request("ana", "s1", "r1", &[content])
}

/// Bodies that are JSON, and the field that the refusal names.
fn wrong_publishes() -> Vec<(Value, &'static str)> {
    let base = || said("hello");
    let without = |name: &str| {
        let mut body = base();
        body.as_object_mut().unwrap().remove(name);
        body
    };
    vec![
        (json!([]), "body"),
        (json!("text"), "body"),
        (without("user_id"), "user_id"),
        (without("session_id"), "session_id"),
        (without("interaction_data_list"), "interaction_data_list"),
        (with(base(), json!({ "user_id": "" })), "user_id"),
        (with(base(), json!({ "user_id": " \t\n" })), "user_id"),
        (with(base(), json!({ "user_id": 7 })), "user_id"),
        (with(base(), json!({ "user_id": null })), "user_id"),
        (with(base(), json!({ "user_id": "u".repeat(1_001) })), "user_id"),
        (with(base(), json!({ "session_id": "" })), "session_id"),
        (with(base(), json!({ "session_id": ["s"] })), "session_id"),
        (with(base(), json!({ "request_id": "  " })), "request_id"),
        (with(base(), json!({ "request_id": {} })), "request_id"),
        (with(base(), json!({ "source": 5 })), "source"),
        (with(base(), json!({ "agent_version": "v".repeat(1_001) })), "agent_version"),
        (with(base(), json!({ "session_finished": "perhaps" })), "session_finished"),
        (with(base(), json!({ "interaction_data_list": [] })), "interaction_data_list"),
        (with(base(), json!({ "interaction_data_list": {} })), "interaction_data_list"),
        (with(base(), json!({ "interaction_data_list": ["hello"] })), "interaction_data_list"),
        (
            with(base(), json!({ "retrieval_experiment_arm": "sideways", "retrieval_experiment_id": "e" })),
            "retrieval_experiment_arm",
        ),
        (turn(json!({ "content": 5 })), "content"),
        (turn(json!({ "content": "x", "role": [] })), "role"),
        (turn(json!({ "content": "x", "user_action": "dance" })), "user_action"),
        (turn(json!({ "content": "x", "created_at": "yesterday" })), "created_at"),
        (turn(json!({ "content": "x", "tools_used": [{}] })), "tool_name"),
        (turn(json!({ "content": "x", "citations": [{ "kind": "rumour", "real_id": "1" }] })), "kind"),
        (
            turn(
                json!({ "content": "x", "retrieved_learnings": [{ "kind": "profile", "learning_id": "" }] }),
            ),
            "learning_id",
        ),
        (
            turn(json!({ "content": "x", "interacted_image_url": "javascript:alert(1)" })),
            "interacted_image_url",
        ),
        (turn(json!({ "content": "nul \u{0} inside" })), "content"),
    ]
}

#[tokio::test]
async fn a_publish_that_is_not_valid_names_the_field_and_stores_nothing() {
    let site = Site::offline().await;
    let items = site.items().await;
    for (body, field) in wrong_publishes() {
        let answer = site.acme.post(PUBLISH, &body).await;
        let shown = body.to_string().chars().take(200).collect::<String>();
        assert_eq!(answer.status, 422, "{shown}: {}", answer.body);
        let faults = answer.body["detail"].as_array().unwrap();
        let named =
            faults.iter().flat_map(|fault| fault["loc"].as_array().unwrap()).any(|part| part == field);
        assert!(named, "{shown}: {}", answer.body);
    }
    assert_eq!(site.items().await, items);
}

#[tokio::test]
async fn rules_between_fields_are_refused_in_words_and_store_nothing() {
    let site = Site::offline().await;
    let items = site.items().await;
    let image = json!({ "interacted_image_url": "https://example.com/a.png", "image_encoding": "aGk=" });
    let cases = [
        (turn(image), "interaction_data_list[0] interacted_image_url and image_encoding cannot both be set"),
        (
            turn(json!({ "content": "x", "user_action": "click" })),
            "interaction_data_list[0] user_action requires a user_action_description",
        ),
        (said(""), "every interaction is empty"),
        (
            with(said("x"), json!({ "evaluation_only": true, "force_extraction": true })),
            "evaluation_only cannot be combined with force_extraction",
        ),
        (
            with(said("x"), json!({ "retrieval_experiment_id": "e" })),
            "retrieval_experiment_id and retrieval_experiment_arm must be provided together",
        ),
    ];
    for (body, message) in cases {
        let answer = site.acme.post(PUBLISH, &body).await;
        assert_eq!(answer.status, 422, "{message}: {}", answer.body);
        assert!(answer.body.to_string().contains(message), "{message}: {}", answer.body);
    }
    assert_eq!(site.items().await, items);
}

#[tokio::test]
async fn what_is_no_json_is_refused_and_stores_nothing() {
    let site = Site::offline().await;
    let items = site.items().await;
    let whole = said("hello").to_string();
    let cut = whole[..whole.len() - 2].to_owned();
    let surrogate = whole.replace("hello", "half \\ud83d emoji");
    let cases: [(&str, Vec<u8>, u16); 9] = [
        ("application/json", cut.into_bytes(), 422),
        ("application/json", b"{'user_id': 'ana'}".to_vec(), 422),
        ("application/json", b"".to_vec(), 422),
        ("application/json", b"null".to_vec(), 422),
        ("application/json", format!("{whole}{whole}").into_bytes(), 422),
        ("application/json", "[".repeat(100_000).into_bytes(), 422),
        ("application/json", surrogate.into_bytes(), 422),
        ("application/json", b"{\"user_id\": \"\xff\xfe\"}".to_vec(), 400),
        ("text/plain", whole.into_bytes(), 422),
    ];
    for (content_type, bytes, status) in cases {
        let shown = String::from_utf8_lossy(&bytes).chars().take(80).collect::<String>();
        let answer = site.acme.send("POST", PUBLISH, Some((content_type, bytes))).await;
        assert_eq!(answer.status, status, "{shown}: {}", answer.body);
        assert!(answer.body.get("detail").is_some(), "{shown}: {}", answer.body);
    }
    assert_eq!(site.items().await, items);
}

#[tokio::test]
async fn every_route_with_a_body_refuses_what_is_no_object() {
    let site = Site::offline().await;
    let items = site.items().await;
    // Takes no body: whatever comes with it is not looked at.
    let bodiless =
        ["/stall_state/notified", "/api/stall_state/notified", "/api/evaluations/regenerate/{job_id}"];
    let takes_body = |(method, path): &(&str, &str)| *method != "GET" && !bodiless.contains(path);
    for (method, path) in api::ROUTES.into_iter().filter(takes_body) {
        for body in ["[]", "7", "\"x\"", "{", ""] {
            let answer = site.acme.send(method, path, Some(("application/json", body.into()))).await;
            assert_eq!(answer.status, 422, "{path} {body:?}: {}", answer.body);
        }
    }
    assert_eq!(site.items().await, items);
}

#[tokio::test]
async fn other_routes_name_the_field_too_and_store_nothing() {
    let site = Site::offline().await;
    let items = site.items().await;
    let profile = json!({ "profile_id": "p", "user_id": "ana", "content": "tea",
        "last_modified_timestamp": 1, "generated_from_request_id": "r" });
    let profiles = |more: Value| json!({ "user_profiles": [with(profile.clone(), more)] });
    let cases = [
        ("/api/add_user_profile", profiles(json!({ "profile_id": " " })), "profile_id"),
        (
            "/api/add_user_profile",
            profiles(json!({ "profile_time_to_live": "a_while" })),
            "profile_time_to_live",
        ),
        (
            "/api/add_user_profile",
            profiles(json!({ "last_modified_timestamp": "now" })),
            "last_modified_timestamp",
        ),
        ("/api/add_user_profile", json!({ "user_profiles": [] }), "user_profiles"),
        ("/api/add_user_playbook", json!({ "user_playbooks": [{ "content": "x" }] }), "agent_version"),
        ("/api/get_profiles", json!({}), "user_id"),
        ("/api/get_profiles", json!({ "user_id": "ana", "status_filter": ["asleep"] }), "status_filter"),
        ("/api/get_requests", json!({ "offset": -1 }), "offset"),
        ("/api/get_requests", json!({ "start_time": "soon" }), "start_time"),
        ("/api/search", json!({ "query": "x", "top_k": 0 }), "top_k"),
        ("/api/search", json!({ "query": "x", "top_k": 101 }), "top_k"),
        ("/api/search", json!({ "query": "x", "threshold": 1.5 }), "threshold"),
        ("/api/search", json!({ "query": "x", "search_mode": "psychic" }), "search_mode"),
        ("/api/search_profiles", json!({ "user_id": "" }), "user_id"),
        ("/api/search_interactions", json!({ "user_id": "ana", "most_recent_k": 0 }), "most_recent_k"),
    ];
    for (path, body, field) in cases {
        let answer = site.acme.post(path, &body).await;
        assert_eq!(answer.status, 422, "{path} {body}: {}", answer.body);
        assert!(
            answer.body["detail"].to_string().contains(&format!("\"{field}\"")),
            "{path}: {}",
            answer.body
        );
    }
    assert_eq!(site.items().await, items);
}

#[tokio::test]
async fn a_time_without_a_zone_is_utc_and_may_stand_beside_one_with() {
    let site = Site::offline().await;
    // The clock of the test stands at 10:00 UTC.
    site.acme.publish(&said("hello")).await;
    let found = |start: &'static str, end: &'static str| {
        let acme = site.acme.clone();
        async move {
            let body = json!({ "user_id": "ana", "start_time": start, "end_time": end });
            let answer = acme.ok("/api/get_requests", &body).await;
            answer["sessions"].as_array().unwrap().len()
        }
    };
    assert_eq!(found("2025-06-16T09:59:00", "2025-06-16T10:01:00Z").await, 1);
    assert_eq!(found("2025-06-16T12:59:00+03:00", "2025-06-16T10:01:00").await, 1);
    assert_eq!(found("2025-06-16T10:01:00", "2025-06-16T11:00:00Z").await, 0);
    let reversed = json!({ "start_time": "2025-06-16T10:00:00", "end_time": "2025-06-16T09:00:00Z" });
    assert_eq!(site.acme.post("/api/get_requests", &reversed).await.status, 422);
}
