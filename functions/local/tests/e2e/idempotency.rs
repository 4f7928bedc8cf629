//! The same call twice, and many calls at once.

use futures::future::{join, join_all};
use serde_json::json;

use crate::script::{attentive_model, provider};
use crate::support::{Site, request, with};

#[tokio::test]
async fn a_repeated_call_gets_the_first_receipt_and_stores_nothing() {
    let site = Site::offline().await;
    let body = request("ana", "s1", "r1", &["hello", "again"]);
    let first = site.acme.publish(&body).await;
    let items = site.stored().await;
    site.advance(3_600);
    let second = site.acme.publish(&body).await;
    assert_eq!(second["request_id"], first["request_id"]);
    assert_eq!(second["message"], first["message"]);
    assert_eq!(site.stored().await, items);
    assert_eq!(site.acme.interactions("ana").await.len(), 2);
}

#[tokio::test]
async fn a_repeated_call_is_told_how_far_the_learning_is_by_now() {
    let site = Site::offline().await;
    let body =
        with(request("ana", "s1", "r1", &["I'm allergic to nuts."]), json!({ "session_finished": true }));
    assert_eq!(site.acme.publish(&body).await["learning_status"], "deferred");
    site.learn().await;
    let repeated = site.acme.publish(&body).await;
    assert_eq!(
        (&repeated["learning_status"], &repeated["learning_reason"]),
        (&json!("done"), &json!("covered"))
    );
    assert_eq!(repeated["profiles_added"], 1);
}

#[tokio::test]
async fn another_payload_under_the_same_id_is_refused_in_words() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let items = site.stored().await;
    let others = [
        request("ana", "s1", "r1", &["goodbye"]),
        request("ana", "s2", "r1", &["hello"]),
        request("bo", "s1", "r1", &["hello"]),
        with(request("ana", "s1", "r1", &["hello"]), json!({ "source": "web" })),
    ];
    for other in others {
        let answer = site.acme.ok("/api/publish_interaction", &other).await;
        assert_eq!(answer["success"], false, "{answer}");
        assert_eq!(answer["message"], "request_id 'r1' already exists");
        assert_eq!(site.stored().await, items);
    }
}

#[tokio::test]
async fn of_sixteen_identical_calls_at_once_one_is_stored() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let body = with(request("ana", "s1", "r1", &["fact: once"]), json!({ "session_finished": true }));
    let answers = join_all((0..16).map(|_| site.acme.publish(&body))).await;
    assert!(answers.iter().all(|answer| answer["request_id"] == "r1"), "{answers:?}");
    site.learn().await;
    assert_eq!(site.acme.interactions("ana").await.len(), 1);
    assert_eq!(site.acme.profiles("ana").await, ["once"]);
}

#[tokio::test]
async fn calls_of_one_user_at_once_are_all_stored_and_each_is_learned_once() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let bodies: Vec<_> = (0..24)
        .map(|n| {
            let said = [format!("fact: number {n}"), format!("rule: obey {n}")];
            let id = format!("r{n}");
            request("ana", &format!("s{}", n % 3), &id, &[&said[0], &said[1]])
        })
        .collect();
    join_all(bodies.iter().map(|body| site.acme.publish(body))).await;
    let turns = site.acme.interactions("ana").await;
    let ids: Vec<i64> = turns.iter().map(|turn| turn["interaction_id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), 48);
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "positions have gaps: {ids:?}");
    for pair in turns.chunks(2) {
        assert_eq!(pair[0]["request_id"], pair[1]["request_id"], "a request was torn apart");
    }
    site.learn().await;
    let sorted = |words: &str| {
        let mut all: Vec<String> = (0..24).map(|n| format!("{words} {n}")).collect();
        all.sort();
        all
    };
    assert_eq!(site.acme.profiles("ana").await, sorted("number"));
    assert_eq!(site.acme.playbooks("ana").await, sorted("obey"));
}

#[tokio::test]
async fn calls_of_many_users_at_once_get_ids_of_their_own() {
    let site = Site::offline().await;
    let bodies: Vec<_> = (0..32)
        .map(|n| request(&format!("user-{n}"), "shared-session", &format!("r{n}"), &["hello"]))
        .collect();
    join_all(bodies.iter().map(|body| site.acme.publish(body))).await;
    let answer = site.acme.get("/api/get_all_interactions?limit=100").await;
    let mut ids: Vec<i64> = answer["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["interaction_id"].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 32);
}

#[tokio::test]
async fn sixty_four_connections_at_once_are_all_served_and_so_is_the_health_check() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let running = site.start();
    let bodies: Vec<_> = (0..64)
        .map(|n| {
            let said = format!("fact: number {n}");
            let body = request(&format!("user-{}", n % 16), &format!("s{n}"), &format!("r{n}"), &[&said]);
            with(body, json!({ "session_finished": true }))
        })
        .collect();
    let health = async { join_all((0..64).map(|_| site.acme.get("/health"))).await };
    let (_, health) = join(join_all(bodies.iter().map(|body| site.acme.publish(body))), health).await;
    assert!(health.iter().all(|answer| answer["status"] == "healthy"));
    for n in 0..64 {
        site.acme.learned(&format!("r{n}")).await;
    }
    for user in 0..16 {
        assert_eq!(site.acme.profiles(&format!("user-{user}")).await.len(), 4, "user-{user}");
    }
    drop(running);
}

#[tokio::test]
async fn calls_without_an_id_are_calls_of_their_own() {
    let site = Site::offline().await;
    let mut body = request("ana", "s1", "r1", &["hello"]);
    body.as_object_mut().unwrap().remove("request_id");
    let (first, second) = (site.acme.publish(&body).await, site.acme.publish(&body).await);
    assert_ne!(first["request_id"], second["request_id"]);
    assert_eq!(site.acme.interactions("ana").await.len(), 2);
}
