//! Limits, at one below, at, and one above; and what is too large for an item.

use llm::testing::ModelServer;
use serde_json::{Value, json};

use crate::script::{Purpose, attentive_model, provider, purpose};
use crate::support::{Site, request, with};

const PUBLISH: &str = "/api/publish_interaction";
const INTERACTIONS_MAX: usize = 1_000;
const CONTENT_CHARS_MAX: usize = 1_000_000;
const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;
/// An interaction whose JSON is longer does not stand in an item.
const INLINE_BYTES: usize = 32 * 1024;

fn turns(count: usize, bytes: usize) -> Value {
    let filler = "é".repeat(bytes / 2);
    let turns: Vec<Value> =
        (0..count).map(|n| json!({ "role": "User", "content": format!("{n} {filler}") })).collect();
    with(request("ana", "s1", &format!("r{count}"), &[]), json!({ "interaction_data_list": turns }))
}

/// Everything that a publish call said is read back by the list and by its session.
async fn assert_read_back(site: &Site, body: &Value) {
    let said = body["interaction_data_list"].as_array().unwrap();
    assert_same(said, &site.acme.interactions("ana").await);
    assert_session_read_back(site, body).await;
}

/// Everything that a publish call said is read back by its session.
async fn assert_session_read_back(site: &Site, body: &Value) {
    let said = body["interaction_data_list"].as_array().unwrap();
    let requests = site.acme.ok("/api/get_requests", &json!({ "request_id": body["request_id"] })).await;
    let session = requests["sessions"][0]["requests"][0]["interactions"].as_array().unwrap();
    assert_same(said, session);
}

fn assert_same(said: &[Value], read: &[Value]) {
    assert_eq!(said.len(), read.len());
    for (said, read) in said.iter().zip(read) {
        // Not assert_eq: it would print megabytes.
        assert!(said["content"] == read["content"], "read back otherwise than written");
    }
}

#[tokio::test]
async fn a_request_holds_a_thousand_interactions_and_no_more() {
    for count in [INTERACTIONS_MAX - 1, INTERACTIONS_MAX, INTERACTIONS_MAX + 1] {
        let site = Site::offline().await;
        let items = site.items().await;
        let body = turns(count, 10);
        let answer = site.acme.post(PUBLISH, &body).await;
        if count > INTERACTIONS_MAX {
            assert_eq!(answer.status, 422, "{count}");
            assert!(answer.body.to_string().contains("interaction_data_list"), "{count}");
            assert_eq!(site.items().await, items);
        } else {
            assert_eq!(answer.status, 200, "{count}: {}", answer.body);
            assert_read_back(&site, &body).await;
        }
    }
}

#[tokio::test]
async fn a_body_holds_ten_mebibytes_and_no_more() {
    let site = Site::offline().await;
    for bytes in [BODY_BYTES_MAX - 1, BODY_BYTES_MAX, BODY_BYTES_MAX + 1] {
        let id = format!("r{bytes}");
        let mut body = request("ana", "s1", &id, &["hello"]).to_string().into_bytes();
        body.resize(bytes, b' ');
        let items = site.items().await;
        let answer = site.acme.send("POST", PUBLISH, Some(("application/json", body))).await;
        if bytes > BODY_BYTES_MAX {
            assert_eq!((answer.status, &answer.body), (413, &json!({ "detail": "Request body too large" })));
            assert_eq!(site.items().await, items);
        } else {
            assert_eq!(answer.status, 200, "{bytes}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn a_content_holds_a_million_characters_and_no_more() {
    for chars in [CONTENT_CHARS_MAX - 1, CONTENT_CHARS_MAX, CONTENT_CHARS_MAX + 1] {
        let site = Site::offline().await;
        let content = "界".repeat(chars);
        let body = request("ana", "s1", "r1", &[&content]);
        let answer = site.acme.post(PUBLISH, &body).await;
        if chars > CONTENT_CHARS_MAX {
            assert_eq!(answer.status, 422);
            assert!(answer.body["detail"][0]["loc"].to_string().contains("content"));
        } else {
            assert_eq!(answer.status, 200, "{chars}");
            assert_session_read_back(&site, &body).await;
        }
    }
}

#[tokio::test]
async fn a_large_interaction_stands_in_s3_and_a_small_one_does_not() {
    for (bytes, objects) in [(INLINE_BYTES / 2, 0), (INLINE_BYTES + 2, 1), (500_000, 1)] {
        let site = Site::offline().await;
        let before = site.cost();
        let body = turns(1, bytes);
        site.acme.publish(&body).await;
        assert_eq!(site.cost_since(&before).calls("s3", "PutObject"), objects, "{bytes}");
        assert_read_back(&site, &body).await;
    }
}

#[tokio::test]
async fn a_thousand_interactions_of_a_kilobyte_are_read_back_as_written() {
    let site = Site::offline().await;
    let body = turns(INTERACTIONS_MAX, 1_024);
    let before = site.cost();
    site.acme.publish(&body).await;
    assert_eq!(site.cost_since(&before).calls("s3", "PutObject"), 1);
    assert_read_back(&site, &body).await;
    let query = json!({ "user_id": "ana", "query": "777", "top_k": 3, "search_mode": "fts" });
    let found = site.acme.ok("/api/search_interactions", &query).await;
    let first = found["interactions"][0]["content"].as_str().unwrap();
    assert!(first.starts_with("777 "), "{}", &first[..20]);
}

#[tokio::test]
async fn a_large_conversation_is_learned_as_any_other() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let filler = "x".repeat(INLINE_BYTES);
    let said = ["fact: Ana writes at length".to_owned(), filler, "fact: Ana pastes logs".to_owned()];
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let body = with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana pastes logs", "Ana writes at length"]);
}

/// The images that the model was shown for profiles.
fn images(model: &ModelServer) -> Vec<String> {
    let requests = model.requests().into_iter().filter(|request| purpose(request) == Purpose::Profiles);
    let shown = requests.flat_map(|request| {
        let text = request.body["messages"].to_string();
        text.match_indices("data:image/")
            .map(|(at, _)| text[at..].split('"').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    });
    shown.collect()
}

#[tokio::test]
async fn an_image_stands_in_s3_and_is_shown_to_the_model_as_it_was_sent() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let image = "aGVsbG8gd29ybGQ=".repeat(20_000);
    let before = site.cost();
    let body = json!({
        "request_id": "r1", "user_id": "ana", "session_id": "s1", "session_finished": true,
        "interaction_data_list": [{ "role": "User", "content": "fact: look", "image_encoding": image }],
    });
    site.acme.publish(&body).await;
    assert_eq!(site.cost_since(&before).calls("s3", "PutObject"), 1);
    site.learn().await;
    let shown = images(&model);
    assert_eq!(shown.len(), 1);
    assert!(shown[0].ends_with(&image), "the image was shown otherwise than it was sent");
}
