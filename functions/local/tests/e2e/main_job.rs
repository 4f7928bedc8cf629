//! Publish, learn, search.

use futures::future::join;
use serde_json::json;

use crate::script::{Purpose, asked, attentive_model, provider};
use crate::support::{Site, contents, request, with};

const FACTS: [&str; 3] = ["fact: Ana drinks oolong tea", "rule: answer in short bullet points", "hello"];

#[tokio::test]
async fn what_is_published_is_learned_and_found() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let running = site.start();
    let body = with(request("ana", "s1", "r1", &FACTS), json!({ "session_finished": true }));
    let published = site.acme.publish(&body).await;
    assert_eq!(published["request_id"], "r1");
    assert_eq!(published["learning_status"], "deferred");
    assert_eq!(published["learning_reason"], "queued");
    site.acme.learned("r1").await;
    assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
    let query = json!({ "user_id": "ana", "query": "which tea does she drink" });
    let found = site.acme.ok("/api/search", &query).await;
    assert_eq!(contents(&found["profiles"]), ["Ana drinks oolong tea"]);
    let query = json!({ "user_id": "ana", "query": "bullet points" });
    let found = site.acme.ok("/api/search_user_playbooks", &query).await;
    assert_eq!(contents(&found["user_playbooks"]), ["answer in short bullet points"]);
    assert_eq!(asked(&model, Purpose::Profiles), 1);
    assert_eq!(asked(&model, Purpose::Playbooks), 1);
    drop(running);
}

#[tokio::test]
async fn what_was_learned_says_what_it_rests_on() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let more = json!({ "session_finished": true, "source": "web", "agent_version": "v7" });
    site.acme.publish(&with(request("ana", "s1", "r1", &FACTS), more)).await;
    site.learn().await;
    let turns = site.acme.interactions("ana").await;
    let profiles = site.acme.ok("/api/get_profiles", &json!({ "user_id": "ana" })).await;
    let profile = &profiles["user_profiles"][0];
    assert_eq!(profile["generated_from_request_id"], "r1");
    assert_eq!(profile["source_interaction_ids"], json!([turns[0]["interaction_id"]]));
    assert_eq!(profile["source"], "web");
    let playbooks = site.acme.ok("/api/get_user_playbooks", &json!({ "user_id": "ana" })).await;
    let playbook = &playbooks["user_playbooks"][0];
    assert_eq!(playbook["request_id"], "r1");
    assert_eq!(playbook["agent_version"], "v7");
    assert_eq!(playbook["source_interaction_ids"], json!([turns[1]["interaction_id"]]));
}

#[tokio::test]
async fn a_publish_is_read_back_at_once() {
    let site = Site::offline().await;
    for (id, said) in [("r1", "my parrot is called Kiwi"), ("r2", "the parrot ate a mango")] {
        site.acme.publish(&request("ana", "s1", id, &[said])).await;
        let query = json!({ "user_id": "ana", "query": "parrot", "top_k": 10 });
        let found = site.acme.ok("/api/search_interactions", &query).await;
        assert!(contents(&found["interactions"]).contains(&said.to_owned()), "{found}");
        let requests = site.acme.ok("/api/get_requests", &json!({ "user_id": "ana" })).await;
        let newest = &requests["sessions"][0]["requests"];
        assert!(
            newest.as_array().unwrap().iter().any(|row| row["request"]["request_id"] == id),
            "{requests}"
        );
        let read = site.acme.interactions("ana").await;
        assert_eq!(read.last().unwrap()["content"], said);
    }
}

#[tokio::test]
async fn a_warm_search_sees_what_was_learned_meanwhile() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    for (id, said, expected) in [("r1", "fact: Ana has a parrot", 1), ("r2", "fact: Ana has a cat", 2)] {
        let body = with(request("ana", id, id, &[said]), json!({ "session_finished": true }));
        site.acme.publish(&body).await;
        site.learn().await;
        let found = site.acme.ok("/api/search_profiles", &json!({ "user_id": "ana" })).await;
        assert_eq!(found["user_profiles"].as_array().unwrap().len(), expected, "{found}");
    }
}

#[tokio::test]
async fn a_publish_can_wait_for_its_learning() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let running = site.start();
    let body = with(request("ana", "s1", "r1", &FACTS), json!({ "session_finished": true }));
    let answer = site.acme.ok("/api/publish_interaction?wait_for_response=true", &body).await;
    assert_eq!((&answer["learning_status"], &answer["learning_reason"]), (&json!("done"), &json!("covered")));
    assert_eq!((&answer["profiles_added"], &answer["playbooks_added"]), (&json!(1), &json!(1)));
    drop(running);
}

#[tokio::test]
async fn a_publish_does_not_wait_for_a_window_that_only_more_turns_can_fill() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let before = site.clock.jumped().len();
    let body = request("ana", "s1", "r1", &FACTS);
    let answer = site.acme.ok("/api/publish_interaction?wait_for_response=true", &body).await;
    assert_eq!(answer["learning_status"], "deferred");
    assert_eq!(answer["learning_reason"], "waiting_for_window");
    assert_eq!(site.clock.jumped().len(), before);
}

#[tokio::test]
async fn a_waiting_publish_gives_up_in_time_and_says_so() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    // No function runs: nobody learns.
    let body = with(request("ana", "s1", "r1", &FACTS), json!({ "session_finished": true }));
    let waiting = site.acme.ok("/api/publish_interaction?wait_for_response=true", &body);
    let time = async {
        while site.clock.jumped().is_empty() {
            tokio::task::yield_now().await;
        }
        site.advance(site.deployment.app.settings.wait_seconds_max);
    };
    let (answer, ()) = join(waiting, time).await;
    assert_eq!(answer["success"], true);
    assert_eq!(answer["learning_status"], "deferred");
    assert_eq!(answer["learning_reason"], "wait_timeout");
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks oolong tea"]);
}

#[tokio::test]
async fn a_publish_that_finds_no_place_to_wait_says_so_at_once() {
    let site = Site::offline().await;
    let (acme, waiters) = ("acme".parse().unwrap(), &site.deployment.app.waiters);
    let places: Vec<_> = std::iter::from_fn(|| waiters.enter(&acme)).collect();
    let body = with(request("ana", "s1", "r1", &FACTS), json!({ "session_finished": true }));
    let answer = site.acme.ok("/api/publish_interaction?wait_for_response=true", &body).await;
    assert_eq!((&answer["success"], &answer["learning_reason"]), (&json!(true), &json!("waiter_capacity")));
    drop(places);
    assert_eq!(site.learn().await, 1);
}

#[tokio::test]
async fn the_status_of_an_unknown_request_is_not_found() {
    let site = Site::offline().await;
    let answer = site.acme.send("GET", "/api/learning_status?request_id=nobody", None).await;
    assert_eq!((answer.status, &answer.body), (404, &json!({ "detail": "request not found" })));
    let answer = site.acme.send("GET", "/api/learning_status", None).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
}

#[tokio::test]
async fn a_deployment_without_a_provider_learns_by_its_own_rules() {
    let site = Site::offline().await;
    let said = ["I'm allergic to peanuts.", "From now on always answer with short bullet points."];
    let body = with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    assert_eq!(site.acme.status("r1").await.0, "done");
    let profiles = site.acme.profiles("ana").await;
    assert!(profiles.iter().any(|content| content.contains("peanut")), "{profiles:?}");
    assert!(!site.acme.playbooks("ana").await.is_empty());
}
