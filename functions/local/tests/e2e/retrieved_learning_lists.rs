//! Lists of verdicts on learnings.

use domain::judging::RetrievedLearningStatus as Status;
use serde_json::{Value, json};

use crate::retrieved_learning::{
    ROUTE, add_profiles, judge, judge_through, judged_site, learning_ids, request, results,
};
use crate::support::{Site, with};

#[tokio::test]
async fn verdicts_are_filtered_by_user_session_and_time_in_the_order_of_each() {
    let (site, _server, _) = judged_site().await;
    let beta = site.caller("beta").await;
    for user in ["ana", "bob"] {
        add_profiles(&site.acme, user, &[&format!("{user}-1"), &format!("{user}-2")]).await;
    }
    add_profiles(&beta, "ana", &["ana-1"]).await;
    // The session that begins first holds the latest interaction.
    let said_at = |mut body: Value, at: i64| {
        for turn in body["interaction_data_list"].as_array_mut().unwrap() {
            turn["created_at"] = json!(at);
        }
        body
    };
    let calls = [
        ("ana", "s1", "r1", "ana-1", 5_000),
        ("bob", "s1", "r2", "bob-1", 3_000),
        ("ana", "s2", "r3", "ana-2", 4_000),
        ("bob", "s3", "r4", "bob-2", 4_000),
    ];
    for (user, session, id, learning, at) in calls {
        let body = request(user, session, id, &[("profile", learning)]);
        site.acme.publish(&said_at(body, 1_700_000_000 + at)).await;
        site.advance(10);
    }
    let body = said_at(request("ana", "s1", "r1", &[("profile", "ana-1")]), 1_700_005_000);
    beta.publish(&body).await;
    for (user, session) in [("ana", "s2"), ("bob", "s3"), ("ana", "s1"), ("bob", "s1")] {
        assert_eq!(judge(&site, user, session).await.status, Status::Complete);
    }
    assert_eq!(judge_through(&site, "beta", "ana", "s1", None).await.status, Status::Complete);
    let at = |seconds: i64| 1_700_000_000 + seconds;
    let cases = [
        // By the beginning of the session.
        (json!({}), vec!["bob-2", "ana-2", "bob-1", "ana-1"]),
        (
            json!({ "user_id": null, "session_id": null, "start_time": null, "end_time": null }),
            vec!["bob-2", "ana-2", "bob-1", "ana-1"],
        ),
        (json!({ "limit": 1 }), vec!["bob-2"]),
        (json!({ "limit": 3 }), vec!["bob-2", "ana-2", "bob-1"]),
        (json!({ "user_id": "ana" }), vec!["ana-2", "ana-1"]),
        (json!({ "user_id": "ana", "limit": 1 }), vec!["ana-2"]),
        (json!({ "session_id": "s1" }), vec!["bob-1", "ana-1"]),
        (json!({ "user_id": "bob", "session_id": "s1" }), vec!["bob-1"]),
        (json!({ "user_id": "bob", "session_id": "s2" }), vec![]),
        (json!({ "user_id": "nobody" }), vec![]),
        // By the interaction.
        (json!({ "start_time": 0 }), vec!["ana-1", "bob-2", "ana-2", "bob-1"]),
        (json!({ "start_time": 0, "limit": 2 }), vec!["ana-1", "bob-2"]),
        (json!({ "start_time": at(4_000) }), vec!["ana-1", "bob-2", "ana-2"]),
        (json!({ "start_time": at(4_001) }), vec!["ana-1"]),
        (json!({ "end_time": at(4_000) }), vec!["bob-2", "ana-2", "bob-1"]),
        (json!({ "end_time": at(3_999) }), vec!["bob-1"]),
        (json!({ "start_time": at(3_000), "end_time": at(4_000), "user_id": "ana" }), vec!["ana-2"]),
        (
            json!({ "start_time": at(3_000), "end_time": at(5_000), "session_id": "s1" }),
            vec!["ana-1", "bob-1"],
        ),
        (json!({ "start_time": at(3_000), "user_id": "bob", "session_id": "s1" }), vec!["bob-1"]),
    ];
    for (body, expected) in cases {
        assert_eq!(learning_ids(&results(&site.acme, &body).await), expected, "{body}");
    }
    let own = results(&beta, &json!({})).await;
    assert_eq!((learning_ids(&own), &own[0]["result_id"]), (vec!["ana-1"], &json!(1)));
}

#[tokio::test]
async fn a_limit_out_of_bounds_and_times_in_the_wrong_order_are_refused() {
    let site = Site::offline().await;
    let fine = with(json!({ "limit": 1_000 }), json!({ "unknown": 1 }));
    assert_eq!(results(&site.acme, &fine).await, Vec::<Value>::new());
    for body in [
        json!({ "limit": 0 }),
        json!({ "limit": 1_001 }),
        json!({ "limit": null }),
        json!({ "limit": "many" }),
        json!({ "user_id": 7 }),
        json!({ "start_time": 10, "end_time": 10 }),
        json!({ "start_time": "yesterday" }),
    ] {
        let answer =
            site.acme.send("POST", ROUTE, Some(("application/json", body.to_string().into_bytes()))).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.body);
    }
}
