//! Lists of outcomes: every filter, the order, and pages of it.

use serde_json::{Value, json};

use crate::outcomes::{report, send};
use crate::support::{Caller, Site, request, with};

const LIST: &str = "/api/get_session_outcomes";

/// The sessions that a query lists, in its order.
async fn listed(caller: &Caller, query: Value) -> Vec<String> {
    let answer = caller.ok(LIST, &query).await;
    assert_eq!((&answer["success"], &answer["message"]), (&json!(true), &json!("")), "{answer}");
    let rows = answer["session_outcomes"].as_array().unwrap().iter();
    rows.map(|row| row["session_id"].as_str().unwrap().to_owned()).collect()
}

/// Five outcomes of three users; the first three of the same second.
async fn populated(site: &Site) -> i64 {
    let began = site.deployment.app.services.clock.now();
    for (user, session, source, outcome, later, label) in [
        ("bo", "s3", "", "success", 0, Some("done")),
        ("ana", "s2", "api", "failure", 0, Some("Done")),
        ("ana", "s1", "api", "success", 0, None),
        ("ana", "s4", "web", "unknown", 10, Some("done")),
        ("an", "s5", "web", "success", 20, None),
    ] {
        let body =
            with(request(user, session, &format!("r-{session}"), &["hello"]), json!({ "source": source }));
        site.acme.publish(&body).await;
        let body = with(report(session, outcome, began + later), json!({ "label": label }));
        assert_eq!(send(&site.acme, &body).await["recorded"], true);
    }
    began
}

#[tokio::test]
async fn the_last_outcomes_come_first_and_those_of_a_second_by_user_and_session() {
    let site = Site::offline().await;
    populated(&site).await;
    assert_eq!(listed(&site.acme, json!({})).await, ["s5", "s4", "s1", "s2", "s3"]);
    for top_k in 1..=5 {
        let mut pages = Vec::new();
        for offset in (0..6).step_by(top_k) {
            let page = listed(&site.acme, json!({ "top_k": top_k, "offset": offset })).await;
            assert!(page.len() <= top_k);
            pages.extend(page);
        }
        assert_eq!(pages, ["s5", "s4", "s1", "s2", "s3"], "{top_k}");
    }
    assert!(listed(&site.acme, json!({ "offset": 5 })).await.is_empty());
    assert!(listed(&site.acme, json!({ "offset": i64::MAX })).await.is_empty());
}

#[tokio::test]
async fn each_filter_lets_through_what_it_names_exactly() {
    let site = Site::offline().await;
    let began = populated(&site).await;
    for (query, expected) in [
        (json!({ "user_id": "ana" }), &["s4", "s1", "s2"][..]),
        (json!({ "user_id": "an" }), &["s5"]),
        (json!({ "user_id": "Ana" }), &[]),
        (json!({ "source": "api" }), &["s1", "s2"]),
        (json!({ "source": "" }), &["s3"]),
        (json!({ "outcome": "success" }), &["s5", "s1", "s3"]),
        (json!({ "label": "done" }), &["s4", "s3"]),
        (json!({ "label": "" }), &[]),
        (json!({ "start_time": began + 10 }), &["s5", "s4"]),
        (json!({ "start_time": began + 11 }), &["s5"]),
        (json!({ "end_time": began + 10 }), &["s4", "s1", "s2", "s3"]),
        (json!({ "end_time": began + 9 }), &["s1", "s2", "s3"]),
        (json!({ "start_time": began + 10, "end_time": began + 10 }), &["s4"]),
        (json!({ "end_time": i64::MAX }), &["s5", "s4", "s1", "s2", "s3"]),
        (json!({ "user_id": "ana", "source": "api", "outcome": "success" }), &["s1"]),
        (json!({ "session_ids": ["s3", "s5", "s3", " s1 ", "nope"] }), &["s5", "s1", "s3"]),
        (json!({ "session_ids": ["s3", "s4"], "user_id": "ana" }), &["s4"]),
        (json!({ "session_ids": ["s3", "s4", "s5"], "top_k": 1, "offset": 1 }), &["s4"]),
        (json!({ "session_ids": [] }), &["s5", "s4", "s1", "s2", "s3"]),
        (json!({ "session_ids": null, "top_k": 2 }), &["s5", "s4"]),
    ] {
        assert_eq!(listed(&site.acme, query.clone()).await, expected, "{query}");
    }
}

#[tokio::test]
async fn pages_go_on_past_what_the_index_gives_at_a_time() {
    let site = Site::offline().await;
    let now = site.deployment.app.services.clock.now();
    let mut expected = Vec::new();
    for n in 0..205 {
        let session = format!("s{n:03}");
        site.acme.publish(&request("ana", &session, &format!("r{n}"), &["hello"])).await;
        let label = json!({ "label": if n % 100 == 3 { "rare" } else { "common" } });
        send(&site.acme, &with(report(&session, "success", now), label)).await;
        expected.push(session);
    }
    assert_eq!(listed(&site.acme, json!({ "top_k": 1_000 })).await, expected);
    assert_eq!(listed(&site.acme, json!({})).await, expected[..100]);
    assert_eq!(listed(&site.acme, json!({ "offset": 199, "top_k": 3 })).await, expected[199..202]);
    assert_eq!(listed(&site.acme, json!({ "label": "rare" })).await, ["s003", "s103", "s203"]);
}

#[tokio::test]
async fn an_outcome_is_shown_as_it_was_reported() {
    let site = Site::offline().await;
    let now = site.deployment.app.services.clock.now();
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    let more = json!({
        "label": " done ", "value": 3, "metadata": { "b": [1, 1.0, { "é": null }], "a": 0.300_000_000_000_000_04 },
    });
    let answer = send(&site.acme, &with(report("s1", "success", now), more)).await;
    let shown = site.acme.ok(LIST, &json!({ "session_ids": ["s1"] })).await["session_outcomes"].clone();
    let expected = json!([{
        "outcome_id": answer["outcome_id"], "outcome_revision": 1, "user_id": "ana", "session_id": "s1",
        "outcome": "success", "occurred_at": now, "source": "", "label": "done", "value": 3.0,
        "metadata": { "a": 0.300_000_000_000_000_04, "b": [1, 1.0, { "é": null }] },
        "outcome_contract_digest": answer["outcome_contract_digest"],
        "finalized_trajectory_digest": answer["finalized_trajectory_digest"],
        "created_at": now, "is_inferred": false,
    }]);
    assert_eq!(shown, expected);
    assert_eq!(shown.to_string().matches("[1,1.0,").count(), 1, "an integer stays one, and a float: {shown}");
}

#[tokio::test]
async fn outcomes_of_another_organisation_are_neither_seen_nor_in_the_way() {
    let site = Site::offline().await;
    populated(&site).await;
    let beta = site.caller("beta").await;
    assert!(listed(&beta, json!({})).await.is_empty());
    assert!(listed(&beta, json!({ "session_ids": ["s1"] })).await.is_empty());
    let now = site.deployment.app.services.clock.now();
    assert_eq!(send(&beta, &report("s1", "failure", now)).await["reason"], "unknown_session");
    beta.publish(&request("zoe", "s1", "r1", &["hello"])).await;
    let answer = send(&beta, &report("s1", "failure", now)).await;
    assert_eq!((&answer["recorded"], &answer["user_id"]), (&json!(true), &json!("zoe")));
    assert_eq!(listed(&site.acme, json!({ "user_id": "ana", "outcome": "success" })).await, ["s1"]);
}

#[tokio::test]
async fn every_broken_rule_is_named_as_recorded() {
    let site = Site::offline().await;
    let bad = json!({ "session_id": "", "outcome": "maybe", "occurred_at": -1, "label": "x".repeat(129) });
    let answer = site.acme.post("/api/session_outcome", &bad).await;
    assert_eq!(answer.status, 422);
    let faults = answer.body["detail"].as_array().unwrap();
    let named: Vec<&str> = faults.iter().map(|fault| fault["loc"][1].as_str().unwrap()).collect();
    assert_eq!(named, ["session_id", "outcome", "occurred_at", "label"]);
    let answer = site.acme.post(LIST, &json!({ "top_k": 1_001, "session_ids": vec!["s"; 101] })).await;
    assert_eq!(answer.status, 422);
    let faults = answer.body["detail"].as_array().unwrap();
    let types: Vec<&str> = faults.iter().map(|fault| fault["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["too_long", "less_than_equal"]);
    let nan = br#"{"session_id":"s1","outcome":"success","occurred_at":5,"value":NaN}"#.to_vec();
    let answer = site.acme.send("POST", "/api/session_outcome", Some(("application/json", nan))).await;
    assert_eq!((answer.status, &answer.body["detail"][0]["type"]), (422, &json!("finite_number")));
}
