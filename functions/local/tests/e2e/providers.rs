//! A provider that fails costs time, not memory: nothing is lost, nothing is learned as empty, and what was
//! published is learned once when the provider is back.

use llm::testing::{HttpReply, ModelServer, Scripted};
use serde_json::json;

use crate::script::{Purpose, asked, attentive, attentive_model, provider};
use crate::support::{Site, request, with};

/// Minutes after which a window that failed a few times is surely tried again.
const MINUTES: usize = 7;

fn refusal(status: u16, message: &str) -> Scripted {
    Scripted::status(status, &json!({ "error": { "message": message } }))
}

fn recover(model: &ModelServer) {
    model.otherwise(Scripted::with(attentive));
}

async fn publish(site: &Site) {
    let said = ["fact: Ana drinks oolong tea", "rule: answer briefly"];
    let body = with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
}

/// Both kinds are learned, once, and nobody is asked again.
async fn assert_learned_once(site: &Site, model: &ModelServer) {
    assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks oolong tea"]);
    assert_eq!(site.acme.playbooks("ana").await, ["answer briefly"]);
    let requests = model.requests().len();
    site.pass_minutes(MINUTES).await;
    assert_eq!(model.requests().len(), requests);
    assert_eq!(site.acme.profiles("ana").await, ["Ana drinks oolong tea"]);
}

#[tokio::test]
async fn what_a_failing_provider_holds_up_is_learned_once_when_it_recovers() {
    let failures = [
        (500, "the server is on fire", "provider_unavailable"),
        (503, "overloaded", "provider_unavailable"),
        (401, "Incorrect API key provided", "auth_error"),
        (402, "out of credits", "billing_error"),
        (429, "slow down", "rate_limited"),
    ];
    for (status, message, code) in failures {
        let model = ModelServer::start().await;
        model.otherwise(refusal(status, message));
        let site = Site::with(provider(&model)).await;
        publish(&site).await;
        site.learn().await;
        let expected = ("pending".to_owned(), "retrying".to_owned(), Some(code.to_owned()));
        assert_eq!(site.acme.status("r1").await, expected, "{status}");
        site.pass_minutes(2).await;
        assert_eq!(site.acme.status("r1").await, expected, "{status}");
        assert!(site.acme.profiles("ana").await.is_empty(), "{status}");
        recover(&model);
        site.pass_minutes(MINUTES).await;
        assert_learned_once(&site, &model).await;
    }
}

#[tokio::test]
async fn a_provider_that_is_down_for_a_day_parks_nothing() {
    let model = ModelServer::start().await;
    model.otherwise(refusal(500, "down"));
    let site = Site::with(provider(&model)).await;
    publish(&site).await;
    site.learn().await;
    for _ in 0..24 {
        site.advance(3_600);
        site.sweep().await;
    }
    assert_eq!(site.acme.status("r1").await.0, "pending");
    recover(&model);
    site.pass_minutes(MINUTES).await;
    assert_learned_once(&site, &model).await;
}

#[tokio::test]
async fn a_provider_is_asked_again_when_it_wants_to_be() {
    let model = attentive_model().await;
    let busy = HttpReply::json(429, &json!({ "error": { "message": "slow down" } }));
    model.push(Scripted::Raw(busy.with_header("retry-after", "2")));
    let site = Site::with(provider(&model)).await;
    publish(&site).await;
    site.learn().await;
    let waits = site.clock.jumped();
    assert!(waits.iter().any(|wait| wait.as_secs() == 2), "{waits:?}");
    assert_learned_once(&site, &model).await;
}

#[tokio::test]
async fn a_provider_that_wants_a_long_pause_holds_up_no_worker() {
    let model = attentive_model().await;
    for _ in 0..2 {
        let busy = HttpReply::json(429, &json!({ "error": { "message": "slow down" } }));
        model.push(Scripted::Raw(busy.with_header("retry-after", "3600")));
    }
    let site = Site::with(provider(&model)).await;
    publish(&site).await;
    site.learn().await;
    assert_eq!(site.acme.status("r1").await.2.as_deref(), Some("rate_limited"));
    assert_eq!(model.requests().len(), 2, "one for each kind, and no second try");
    site.pass_minutes(MINUTES).await;
    assert_learned_once(&site, &model).await;
}

#[tokio::test]
async fn a_provider_that_hangs_is_given_up_and_asked_later() {
    let model = ModelServer::start().await;
    model.otherwise(Scripted::Hang);
    let site = Site::with(provider(&model)).await;
    publish(&site).await;
    let learning = site.learn();
    let time = async {
        // The workers hang until their time-outs strike, second by second of this clock.
        loop {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            site.advance(5);
        }
    };
    tokio::select! {
        _ = learning => {}
        () = time => {}
    }
    let expected = ("pending".to_owned(), "retrying".to_owned(), Some("timeout".to_owned()));
    assert_eq!(site.acme.status("r1").await, expected);
    assert!(site.acme.profiles("ana").await.is_empty());
    recover(&model);
    site.pass_minutes(MINUTES).await;
    assert_learned_once(&site, &model).await;
}

#[tokio::test]
async fn a_request_that_is_being_learned_says_so() {
    let model = ModelServer::start().await;
    model.otherwise(Scripted::Hang);
    let site = Site::with(provider(&model)).await;
    publish(&site).await;
    let look = async {
        while model.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        site.acme.status("r1").await
    };
    tokio::select! {
        _ = site.learn() => panic!("the model hangs"),
        status = look => assert_eq!(status, ("processing".into(), "extracting".into(), None)),
    }
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_waited_for() {
    let model = ModelServer::start().await;
    let variables = provider(&model);
    drop(model);
    let site = Site::with(variables).await;
    publish(&site).await;
    site.learn().await;
    let expected = ("pending".to_owned(), "retrying".to_owned(), Some("provider_unavailable".to_owned()));
    assert_eq!(site.acme.status("r1").await, expected);
}

#[tokio::test]
async fn one_kind_that_fails_does_not_hold_up_the_other() {
    let model = attentive_model().await;
    model.otherwise(Scripted::with(|asked| match crate::script::purpose(asked) {
        Purpose::Profiles => refusal(500, "down"),
        _ => attentive(asked),
    }));
    let site = Site::with(provider(&model)).await;
    publish(&site).await;
    site.learn().await;
    assert_eq!(site.acme.playbooks("ana").await, ["answer briefly"]);
    assert_eq!(site.acme.status("r1").await.0, "pending");
    recover(&model);
    site.pass_minutes(MINUTES).await;
    assert_learned_once(&site, &model).await;
    assert_eq!(asked(&model, Purpose::Playbooks), 1);
}
