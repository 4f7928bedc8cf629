//! What a search finds, and what it must not.

use std::collections::BTreeMap;

use llm::testing::{HttpReply, ModelServer};
use serde_json::{Value, json};

use crate::clock::START_MS;
use crate::script::{attentive_model, provider};
use crate::support::{Site, contents, request, with};

const NOW: i64 = START_MS / 1_000;
const DAY_SECONDS: i64 = 86_400;

async fn remember(site: &Site, id: &str, content: &str, more: Value) {
    let profile = json!({
        "profile_id": id, "user_id": "ana", "content": content,
        "last_modified_timestamp": NOW, "generated_from_request_id": "r1",
    });
    let body = json!({ "user_profiles": [with(profile, more)] });
    site.acme.ok("/api/add_user_profile", &body).await;
}

async fn search(site: &Site, more: Value) -> Value {
    site.acme.ok("/api/search", &with(json!({ "user_id": "ana" }), more)).await
}

/// Contents in the order of the answer.
fn ranked(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_japanese_query_finds_japanese_memory() {
    let site = Site::offline().await;
    remember(&site, "p1", "ミカさんは京都に住んでいます", json!({})).await;
    remember(&site, "p2", "静かな部屋が好きです", json!({})).await;
    for (query, expected) in
        [("京都", "ミカさんは京都に住んでいます"), ("どんな部屋が良いですか", "静かな部屋が好きです")]
    {
        let found = search(&site, json!({ "query": query, "top_k": 1 })).await;
        assert_eq!(ranked(&found["profiles"]), [expected], "{query}");
    }
}

/// Learns each of these in a session of its own.
async fn learn_each(site: &Site, said: &[String]) {
    for (n, said) in said.iter().enumerate() {
        let id = format!("r{n}");
        let body = with(request("ana", &id, &id, &[said]), json!({ "session_finished": true }));
        site.acme.publish(&body).await;
        site.learn().await;
    }
}

#[tokio::test]
async fn what_a_user_asks_to_forget_is_in_no_memory_and_in_no_log_of_it() {
    // Few rows are forgotten with the commit, many ahead of it.
    for rows in [1, 2, 3, 12] {
        let model = attentive_model().await;
        let site = Site::with(provider(&model)).await;
        let mut said: Vec<String> =
            (0..rows).map(|n| format!("fact: Ana likes jazz of {}", 1950 + n)).collect();
        said.extend(["fact: Ana has a cat".to_owned(), "forget: jazz".to_owned()]);
        learn_each(&site, &said).await;
        assert_eq!(site.acme.profiles("ana").await, ["Ana has a cat"], "{rows}");
        let all = site.acme.get("/api/get_all_profiles?query=jazz").await;
        assert!(contents(&all["user_profiles"]).is_empty(), "{all}");
        let found = search(&site, json!({ "query": "what music does she like" })).await;
        assert!(!found["profiles"].to_string().contains("jazz"), "{found}");
        // The conversation itself stays; only what was made of it goes.
        for item in site.items().await {
            let (key, shown) = (item["SK"].as_s().unwrap(), format!("{item:?}"));
            assert!(key.starts_with("R#") || !shown.contains("jazz"), "{key} speaks of it, {rows}");
            assert!(!key.starts_with("PCL#") || shown.contains("cat"), "{key} is left empty, {rows}");
        }
    }
}

#[tokio::test]
async fn what_is_no_longer_true_is_not_found() {
    let site = Site::offline().await;
    let expires = json!({ "profile_time_to_live": "one_day", "expiration_timestamp": NOW + DAY_SECONDS });
    remember(&site, "p1", "Ana is in Rome today", expires).await;
    let count = |answer: &Value, list: &str| answer[list].as_array().unwrap().len();
    for (seconds, expected) in [(DAY_SECONDS, 1), (1, 0)] {
        site.advance(u64::try_from(seconds).unwrap());
        let by_query = search(&site, json!({ "query": "Rome" })).await;
        assert_eq!(count(&by_query, "profiles"), expected);
        let newest = site.acme.ok("/api/search_profiles", &json!({ "user_id": "ana" })).await;
        assert_eq!(count(&newest, "user_profiles"), expected);
        assert_eq!(site.acme.profiles("ana").await.len(), expected);
        let all = site.acme.get("/api/get_all_profiles").await;
        assert_eq!(count(&all, "user_profiles"), 1, "the operator sees it still");
    }
}

#[tokio::test]
async fn a_threshold_a_limit_and_tags_narrow_what_is_found() {
    let site = Site::offline().await;
    remember(&site, "p1", "Ana drinks oolong tea", json!({ "tags": ["drink"] })).await;
    remember(&site, "p2", "Ana drinks green tea in the morning", json!({ "tags": ["drink", "morning"] }))
        .await;
    remember(&site, "p3", "Ana's car is red", json!({})).await;
    let found = search(&site, json!({ "query": "tea", "top_k": 10 })).await;
    assert_eq!(contents(&found["profiles"]).len(), 2, "{found}");
    let found = search(&site, json!({ "query": "tea", "top_k": 1 })).await;
    assert_eq!(contents(&found["profiles"]).len(), 1, "{found}");
    let found = search(&site, json!({ "query": "tea", "tags": ["morning", "evening"] })).await;
    assert_eq!(contents(&found["profiles"]), ["Ana drinks green tea in the morning"]);
    let strict = json!({ "query": "tea", "threshold": 0.99, "search_mode": "vector" });
    assert!(contents(&search(&site, strict).await["profiles"]).is_empty());
    let same = json!({ "query": "Ana drinks oolong tea", "threshold": 0.99, "search_mode": "vector" });
    assert_eq!(contents(&search(&site, same).await["profiles"]), ["Ana drinks oolong tea"]);
}

#[tokio::test]
async fn without_a_query_the_newest_come_first() {
    let site = Site::offline().await;
    for (n, at) in [(1, NOW - 30), (2, NOW - 10), (3, NOW - 20)] {
        remember(&site, &format!("p{n}"), &format!("fact {n}"), json!({ "last_modified_timestamp": at }))
            .await;
    }
    let found = site.acme.ok("/api/search_profiles", &json!({ "user_id": "ana", "top_k": 2 })).await;
    assert_eq!(ranked(&found["user_profiles"]), ["fact 2", "fact 3"]);
}

#[tokio::test]
async fn who_asks_to_be_answered_as_a_stranger_is() {
    let site = Site::offline().await;
    remember(&site, "p1", "Ana's preferences: window seats", json!({})).await;
    for query in ["please ignore my preferences", "我的偏好不要考虑", "私の好みは無視してください"]
    {
        let found = search(&site, json!({ "query": query })).await;
        assert_eq!(found["success"], true);
        assert!(contents(&found["profiles"]).is_empty(), "{query}: {found}");
        let found = site.acme.ok("/api/search_profiles", &json!({ "user_id": "ana", "query": query })).await;
        assert!(contents(&found["user_profiles"]).is_empty(), "{query}: {found}");
    }
    let found = search(&site, json!({ "query": "what are my preferences" })).await;
    assert_eq!(contents(&found["profiles"]).len(), 1);
}

#[tokio::test]
async fn a_session_is_told_each_thing_once() {
    let site = Site::offline().await;
    remember(&site, "p1", "Ana drinks tea", json!({})).await;
    let found = |session: &'static str| {
        let site = &site;
        async move {
            contents(&search(site, json!({ "query": "tea", "session_id": session })).await["profiles"]).len()
        }
    };
    assert_eq!(found("s1").await, 1);
    assert_eq!(found("s1").await, 0);
    assert_eq!(found("s2").await, 1);
    assert_eq!(contents(&search(&site, json!({ "query": "tea" })).await["profiles"]).len(), 1);
}

fn embedder(base_url: &str) -> BTreeMap<String, String> {
    let variables = [
        ("RETROSPECT_EMBEDDING_BASE_URL", base_url),
        ("RETROSPECT_EMBEDDING_API_KEY", "sk-operator"),
        ("RETROSPECT_EMBEDDING_MODEL", "scripted-embedding"),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[tokio::test]
async fn without_its_embedder_a_search_goes_by_words_and_says_so() {
    let server = ModelServer::start().await;
    let base_url = server.base_url();
    drop(server);
    let site = Site::with(embedder(&base_url)).await;
    remember(&site, "p1", "Ana drinks oolong tea", json!({})).await;
    let found = search(&site, json!({ "query": "tea" })).await;
    assert_eq!(contents(&found["profiles"]), ["Ana drinks oolong tea"]);
    assert_eq!((&found["degraded"], &found["search_mode_effective"]), (&json!(true), &json!("fts")));
}

#[tokio::test]
async fn a_search_is_whole_again_when_its_embedder_is() {
    let server = ModelServer::start().await;
    let site = Site::with(embedder(&server.base_url())).await;
    remember(&site, "p1", "Ana drinks oolong tea", json!({})).await;
    for _ in 0..4 {
        server.push_embedding(HttpReply::json(500, &json!({ "error": { "message": "down" } })));
    }
    let found = search(&site, json!({ "query": "tea" })).await;
    assert_eq!((&found["degraded"], contents(&found["profiles"]).len()), (&json!(true), 1));
    let found = search(&site, json!({ "query": "tea" })).await;
    assert_eq!((&found["degraded"], contents(&found["profiles"]).len()), (&json!(false), 1));
    assert!(found.get("search_mode_effective").is_none(), "{found}");
}
