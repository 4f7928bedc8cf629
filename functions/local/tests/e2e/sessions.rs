//! Sessions that are declared over after their last request.

use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive_model, provider};
use crate::support::{Caller, Site, request};

/// More than the default of `extraction_idle_timeout_seconds`, and what the sweep leaves to others.
const SILENCE_SECONDS: u64 = 21_600 + 31;

async fn finalize(caller: &Caller, user: &str, session: &str) -> Value {
    caller.ok("/api/finalize_session", &json!({ "user_id": user, "session_id": session })).await
}

fn accepted() -> Value {
    json!({ "success": true, "accepted": true, "message": "" })
}

fn unknown() -> Value {
    json!({ "success": true, "accepted": false, "message": "No saved session to finalize." })
}

#[tokio::test]
async fn a_session_that_is_declared_over_is_learned_however_short_it_is_and_asks_the_gate() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.acme.publish(&request("ana", "s1", "r1", &["fact: tea"])).await;
    site.acme.publish(&request("ana", "s1", "r2", &["fact: jazz"])).await;
    assert_eq!(site.learn().await, 0);
    assert_eq!(finalize(&site.acme, "ana", "s1").await, accepted());
    assert_eq!(site.acme.status("r1").await, ("pending".into(), "queued".into(), None));
    assert_eq!(site.learn().await, 1);
    assert_eq!(site.acme.profiles("ana").await, ["jazz", "tea"]);
    assert_eq!(asked(&model, Purpose::Gate), 2, "once for each kind");
    for id in ["r1", "r2"] {
        assert_eq!(site.acme.status(id).await, ("done".into(), "covered".into(), None));
    }
}

#[tokio::test]
async fn declaring_a_session_over_again_writes_nothing_and_learns_nothing_again() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.acme.publish(&request("ana", "s1", "r1", &["fact: tea"])).await;
    finalize(&site.acme, "ana", "s1").await;
    let items = site.stored().await;
    for _ in 0..10 {
        assert_eq!(finalize(&site.acme, "ana", "s1").await, accepted());
    }
    assert_eq!(site.stored().await, items);
    site.learn().await;
    let items = site.stored().await;
    assert_eq!(finalize(&site.acme, "ana", "s1").await, accepted());
    assert_eq!(site.stored().await, items);
    site.advance(SILENCE_SECONDS);
    assert_eq!(site.sweep().await, 0);
    assert_eq!(asked(&model, Purpose::Profiles), 1);
}

#[tokio::test]
async fn a_session_that_goes_on_can_be_declared_over_once_more() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    for (id, said) in [("r1", "fact: tea"), ("r2", "fact: jazz")] {
        site.acme.publish(&request("ana", "s1", id, &[said])).await;
        assert_eq!(finalize(&site.acme, "ana", "s1").await, accepted());
        assert_eq!(site.learn().await, 1, "{id}");
    }
    assert_eq!(site.acme.profiles("ana").await, ["jazz", "tea"]);
}

#[tokio::test]
async fn what_is_not_there_is_not_accepted_and_leaves_nothing() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let beta = site.caller("beta").await;
    beta.publish(&request("ana", "s2", "r1", &["hello"])).await;
    let items = site.stored().await;
    for (caller, user, session) in [
        (&site.acme, "ana", "nope"),
        (&site.acme, "bo", "s1"),
        (&site.acme, "ana", "s2"),
        (&beta, "ana", "s1"),
    ] {
        assert_eq!(finalize(caller, user, session).await, unknown(), "{user} {session}");
    }
    assert_eq!(site.stored().await, items);
    assert_eq!(site.learn().await, 0);
}

#[tokio::test]
async fn a_session_that_two_users_share_is_over_for_the_one_who_is_named() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.acme.publish(&request("ana", "s1", "r1", &["fact: tea"])).await;
    site.acme.publish(&request("bo", "s1", "r2", &["fact: rum"])).await;
    finalize(&site.acme, "ana", "s1").await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["tea"]);
    assert!(site.acme.profiles("bo").await.is_empty());
    assert_eq!(site.acme.status("r2").await, ("pending".into(), "waiting_for_window".into(), None));
}

#[tokio::test]
async fn of_two_sessions_of_a_user_what_came_up_to_the_end_of_the_one_is_learned() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    for (session, id, said) in [
        ("s1", "r1", "fact: tea"),
        ("s2", "r2", "fact: jazz"),
        ("s1", "r3", "fact: cats"),
        ("s2", "r4", "fact: rain"),
    ] {
        site.acme.publish(&request("ana", session, id, &[said])).await;
    }
    finalize(&site.acme, "ana", "s1").await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["cats", "jazz", "tea"]);
    assert_eq!(site.acme.status("r4").await.0, "pending");
}

#[tokio::test]
async fn what_is_for_evaluation_only_is_not_learned_when_its_session_is_over() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let body = request("ana", "s1", "r1", &["fact: tea"]);
    site.acme.publish(&crate::support::with(body, json!({ "evaluation_only": true }))).await;
    assert_eq!(finalize(&site.acme, "ana", "s1").await, accepted());
    assert_eq!(site.learn().await, 0, "nothing waits");
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn each_missing_or_blank_member_is_named() {
    let site = Site::offline().await;
    for (body, member, kind) in [
        (json!({ "user_id": "ana" }), "session_id", "missing"),
        (json!({ "session_id": "s1" }), "user_id", "missing"),
        (json!({ "user_id": 5, "session_id": "s1" }), "user_id", "string_type"),
    ] {
        let answer = site.acme.post("/api/finalize_session", &body).await;
        assert_eq!(answer.status, 422, "{}", answer.body);
        let fault = &answer.body["detail"][0];
        assert_eq!((&fault["loc"], &fault["type"]), (&json!(["body", member]), &json!(kind)), "{fault}");
    }
}
