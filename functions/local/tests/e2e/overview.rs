//! The overview of verdicts: whatever it says follows from what was published and judged.

use domain::entities::{AGENT_SUCCESS, EvaluationResult, FailureType};
use domain::ids::{RequestId, SessionId, UserHash, UserId};
use retrospect::cloud::counters::Snapshot;
use serde_json::{Value, json};
use store::{EvaluationCommit, UserKeys};

use crate::overview_reference::{Judged, assert_overview, expected};
use crate::support::{Site, request, with};

const PATH: &str = "/api/get_evaluation_overview";

impl Judged {
    fn new(id: i64, at: i64) -> Self {
        let is_success = id % 3 != 1;
        let mut cited = vec![("user_playbook", (id % 2).to_string())];
        if id % 3 == 0 {
            cited.push(("profile", "p".to_owned()));
        }
        if id > 7 {
            cited.push(("agent_playbook", (id % 4).to_string()));
        }
        Self {
            id,
            user: format!("u{}", id % 5),
            // The last two are of different users in the same session.
            session: format!("s{}", id.min(11)),
            agent_version: "agent-v0",
            source: if id % 2 == 0 { "web" } else { "app" },
            cited,
            at,
            is_success,
            failure: (!is_success).then_some(if id == 10 {
                FailureType::SystemError
            } else {
                FailureType::WrongTool
            }),
            failure_reason: "",
            corrections: id * 5 % 7,
            turns: is_success.then_some(id % 4 + 1),
            is_escalated: id % 4 == 0,
        }
    }

    async fn publish(&self, site: &Site) {
        let body = |number: i64, source: &str, cited: &Value| {
            let request_id = format!("r{}-{number}", self.id);
            let mut body = request(&self.user, &self.session, &request_id, &["hello"]);
            let answer = json!({ "role": "Assistant", "content": "hi", "citations": cited });
            body["interaction_data_list"].as_array_mut().unwrap().push(answer);
            with(body, json!({ "source": source }))
        };
        let citation = |title: &str| {
            let cited = self.cited.iter().map(
                |(kind, real_id)| json!({ "kind": kind, "real_id": real_id, "title": format!("{title}{kind}") }),
            );
            cited.collect::<Value>()
        };
        site.acme.publish(&body(1, self.source, &citation("old "))).await;
        site.advance(60);
        // Neither another session nor a later request says where a session came from or what it cites.
        let elsewhere = json!([{ "kind": "profile", "real_id": "elsewhere" }]);
        let other = request(&self.user, "other", &format!("o{}", self.id), &["hello"]);
        let mut other = with(other, json!({ "source": "other" }));
        other["interaction_data_list"][0]["citations"] = elsewhere;
        site.acme.publish(&other).await;
        site.advance(60);
        site.acme.publish(&body(2, "later", &citation("new "))).await;
    }

    async fn judge(&self, site: &Site) {
        let (org, hash) = ("acme".parse().unwrap(), UserHash::of(&UserId::new(&self.user).unwrap()));
        let result = EvaluationResult {
            result_id: self.id,
            user_id: UserId::new(&self.user).unwrap(),
            session_id: SessionId::new(&self.session).unwrap(),
            agent_version: "agent-v0".to_owned(),
            evaluation_name: AGENT_SUCCESS.to_owned(),
            is_success: self.is_success,
            failure_type: self.failure,
            failure_reason: String::new(),
            created_at: self.at,
            number_of_correction_per_session: self.corrections,
            user_turns_to_resolution: self.turns,
            is_escalated: self.is_escalated,
            tags: None,
            trajectory_through_request_id: RequestId::new(&format!("r{}-2", self.id)).unwrap(),
            trajectory_interaction_count: 4,
            judged_at: self.at,
            is_windowed: false,
        };
        let commit = EvaluationCommit { result: &result, replaced: None, purge_epoch: 0 };
        let keys = UserKeys { org: &org, user: &hash };
        site.deployment.app.services.store.save_evaluation(&keys, &commit).await.unwrap();
    }
}

#[tokio::test]
async fn every_member_follows_from_what_was_published_and_judged() {
    let site = Site::offline().await;
    let mut all = Vec::new();
    for id in 1..=12 {
        let judged = Judged::new(id, site.deployment.app.services.clock.now());
        judged.publish(&site).await;
        judged.judge(&site).await;
        all.push(judged);
        site.advance(100_000);
    }
    // The first two sessions are before the span, yet in the week that its last one is compared with.
    let (from, to) = (all[2].at, all[11].at);
    let body = json!({
        "from_ts": from, "to_ts": to, "bucket": "day",
        "source_sets": [{ "label": "sites", "sources": ["web", "later"] }],
    });
    let seen = site.acme.ok(PATH, &body).await;
    assert_overview(&seen, &expected(&all, (from, to), ("sites", &["web", "later"])));
}

/// What the overview of sessions of one user costs that go on side by side.
async fn cost_of_sessions_side_by_side(sessions: i64) -> Snapshot {
    let site = Site::offline().await;
    let name = |id: i64| format!("side-{id}");
    for round in 1..=2 {
        for id in 1..=sessions {
            site.acme.publish(&request("ana", &name(id), &format!("r{id}-{round}"), &["hello"])).await;
        }
    }
    let at = site.deployment.app.services.clock.now();
    for id in 1..=sessions {
        let judged = Judged { user: "ana".to_owned(), session: name(id), ..Judged::new(id, at) };
        judged.judge(&site).await;
    }
    let body = json!({ "from_ts": at, "to_ts": at });
    site.acme.ok(PATH, &body).await;
    let before = site.cost();
    let seen = site.acme.ok(PATH, &body).await;
    let cost = site.cost_since(&before);
    assert_eq!(seen["hero"]["buckets"][0]["regular_n"], sessions);
    cost
}

#[tokio::test]
async fn sessions_of_a_user_that_go_on_side_by_side_are_read_once_however_many_they_are() {
    let (few, many) = (cost_of_sessions_side_by_side(3).await, cost_of_sessions_side_by_side(40).await);
    assert_eq!(few.calls("dynamodb", "Query"), 4, "verdicts, the first one, comparisons, requests: {few:?}");
    assert_eq!(few.calls("dynamodb", "BatchGetItem"), 2, "verdicts, sessions: {few:?}");
    assert_eq!(many.all_calls(), few.all_calls(), "{many:?}");
}

#[tokio::test]
async fn verdicts_and_sessions_of_another_organisation_are_not_in_it() {
    let site = Site::offline().await;
    let beta = site.caller("beta").await;
    let judged = Judged::new(1, site.deployment.app.services.clock.now());
    // The same user and session, earlier, of another source and citing something else.
    let theirs = request(&judged.user, &judged.session, "r0", &["hello"]);
    let mut theirs = with(theirs, json!({ "source": "beta" }));
    theirs["interaction_data_list"][0]["citations"] = json!([{ "kind": "profile", "real_id": "of beta" }]);
    beta.publish(&theirs).await;
    judged.publish(&site).await;
    judged.judge(&site).await;

    let body = json!({ "from_ts": 0, "to_ts": 4_102_444_800_i64 });
    let ours = site.acme.ok(PATH, &body).await;
    assert_eq!(ours["recent_results"].as_array().unwrap().len(), 1);
    assert_eq!(ours["source_set_comparison"]["available_sources"], json!([judged.source]));
    assert_eq!(ours["rule_attribution"].as_array().unwrap().len(), judged.cited.len());
    let seen = beta.ok(PATH, &body).await;
    assert_eq!(seen["hero"], json!({ "state": "empty", "regular_success_rate_pp": 0.0, "buckets": [] }));
    assert_eq!((&seen["recent_results"], &seen["rule_attribution"]), (&json!([]), &json!([])));
    assert_eq!(seen["source_set_comparison"]["source_sessions"], json!([]));
}
