//! The overview of verdicts: whatever it says follows from what was published and judged.

use std::collections::{BTreeMap, BTreeSet};

use domain::entities::{AGENT_SUCCESS, EvaluationResult, FailureType};
use domain::ids::{RequestId, SessionId, UserHash, UserId};
use retrospect::cloud::counters::Snapshot;
use serde_json::{Value, json};
use store::{EvaluationCommit, UserKeys};

use crate::support::{Site, request, with};

const PATH: &str = "/api/get_evaluation_overview";
const DAY: i64 = 86_400;

/// A session as the test thinks of it.
struct Judged {
    id: i64,
    user: String,
    session: String,
    source: &'static str,
    cited: Vec<(&'static str, String)>,
    at: i64,
    is_success: bool,
    failure: Option<FailureType>,
    corrections: i64,
    turns: Option<i64>,
    is_escalated: bool,
}

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
            source: if id % 2 == 0 { "web" } else { "app" },
            cited,
            at,
            is_success,
            failure: (!is_success).then_some(if id == 10 {
                FailureType::SystemError
            } else {
                FailureType::WrongTool
            }),
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

    fn view(&self) -> Value {
        let mut view = json!({
            "result_id": self.id, "user_id": self.user, "session_id": self.session,
            "agent_version": "agent-v0", "is_success": self.is_success,
            "failure_type": self.failure.map_or("", |failure| failure.as_str()), "failure_reason": "",
            "evaluation_name": "agent_success", "created_at": self.at,
            "number_of_correction_per_session": self.corrections, "is_escalated": self.is_escalated,
        });
        if let Some(turns) = self.turns {
            view["user_turns_to_resolution"] = turns.into();
        }
        view
    }
}

fn mean(values: impl Iterator<Item = i64>) -> f64 {
    let values: Vec<i64> = values.collect();
    let number = |value: i64| f64::from(i32::try_from(value).unwrap());
    let many = i64::try_from(values.len().max(1)).unwrap();
    number(values.iter().sum()) / number(many)
}

fn rate(rows: &[&Judged]) -> f64 {
    mean(rows.iter().map(|row| i64::from(row.is_success)))
}

fn buckets(rows: &[&Judged]) -> Value {
    let days: BTreeSet<i64> = rows.iter().map(|row| row.at / DAY).collect();
    let bucket = |day: i64| {
        let rows: Vec<&Judged> = rows.iter().copied().filter(|row| row.at / DAY == day).collect();
        json!({
            "ts": day * DAY, "regular_rate": rate(&rows), "regular_n": rows.len(), "shadow_n": 0,
            "avg_corrections": mean(rows.iter().map(|row| row.corrections)),
            "escalation_rate": mean(rows.iter().map(|row| i64::from(row.is_escalated))),
        })
    };
    days.into_iter().map(bucket).collect()
}

fn tiles(current: &[&Judged], previous: &[&Judged]) -> Value {
    let tile = |factor: f64, delta: &str, of: &dyn Fn(&[&Judged]) -> f64| {
        let (current, previous) = (factor * of(current), factor * of(previous));
        json!({ "current": current, delta: current - previous })
    };
    let is_eligible = |row: &&&Judged| row.failure != Some(FailureType::SystemError);
    let eligible =
        |rows: &[&Judged]| rows.iter().filter(is_eligible).map(|row| i64::from(row.is_success)).collect();
    let (now, before): (Vec<i64>, Vec<i64>) = (eligible(current), eligible(previous));
    let mut behavior = json!({
        "eligible_sessions": now.len(), "excluded_system_errors": current.len() - now.len(),
    });
    let percent = |rows: &[i64]| 100.0 * mean(rows.iter().copied());
    if !now.is_empty() {
        behavior["current"] = percent(&now).into();
        if !before.is_empty() {
            behavior["delta_pp"] = (percent(&now) - percent(&before)).into();
        }
    }
    json!({
        "success": tile(100.0, "delta_pp", &rate),
        "behavior_success": behavior,
        "corrections": tile(1.0, "delta", &|rows| mean(rows.iter().map(|row| row.corrections))),
        "turns": tile(1.0, "delta", &|rows| mean(rows.iter().filter_map(|row| row.turns))),
        "escalation": tile(100.0, "delta_pp", &|rows| mean(rows.iter().map(|row| i64::from(row.is_escalated)))),
    })
}

fn distribution(current: &[&Judged], previous: &[&Judged]) -> Value {
    let bins = |rows: &[&Judged]| {
        let bin = |bin: i64| rows.iter().filter(|row| row.corrections.min(5) == bin).count();
        (0..6).map(bin).collect::<Vec<_>>()
    };
    json!({
        "current_bins": bins(current), "baseline_bins": bins(previous), "labels": ["0", "1", "2", "3", "4", "5+"],
    })
}

fn attribution(rows: &[&Judged]) -> Value {
    let mut citing: BTreeMap<(&str, &str), Vec<&Judged>> = BTreeMap::new();
    for row in rows {
        for (kind, id) in &row.cited {
            citing.entry((kind, id)).or_default().push(row);
        }
    }
    let count = |rows: &[&Judged], is_success: bool| {
        i64::try_from(rows.iter().filter(|row| row.is_success == is_success).count()).unwrap()
    };
    let mut ranked: Vec<_> = citing.into_iter().collect();
    ranked.sort_by_key(|(_, rows)| {
        let (won, lost) = (count(rows, true), count(rows, false));
        (lost - won, -won - lost)
    });
    ranked.truncate(5);
    let row = |((kind, id), rows): ((&str, &str), Vec<&Judged>)| {
        let (won, lost) = (count(&rows, true), count(&rows, false));
        let sessions: BTreeSet<&str> = rows.iter().map(|row| row.session.as_str()).collect();
        json!({
            "rule_id": id, "kind": kind, "title": format!("new {kind}"), "successes_with": won,
            "failures_with": lost, "net_sessions": won - lost, "cited_session_ids": sessions,
        })
    };
    ranked.into_iter().map(row).collect()
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
    let within = |from: i64, before: i64, source: Option<&str>| -> Vec<&Judged> {
        let is_of = |row: &&Judged| source.is_none_or(|source| row.source == source);
        all.iter().filter(|row| row.at >= from && row.at < before).filter(is_of).collect()
    };
    let border = to - 7 * DAY;
    let spans = |source| {
        (
            within(from, to + 1, source),
            within(border, to + 1, source),
            within(border - 7 * DAY, border, source),
        )
    };
    let (trend, current, previous) = spans(None);
    let (web, web_current, web_previous) = spans(Some("web"));
    let (app, ..) = spans(Some("app"));
    let ids = |rows: &[&Judged]| rows.iter().map(|row| row.session.clone()).collect::<BTreeSet<_>>();
    let of_source = |source: &str, rows: &[&Judged]| {
        let pairs: BTreeSet<_> = rows.iter().map(|row| (&row.user, &row.session)).collect();
        let pairs =
            pairs.into_iter().map(|(user, session)| json!({ "user_id": user, "session_id": session }));
        json!({ "source": source, "session_ids": ids(rows), "sessions": pairs.collect::<Value>() })
    };
    let points = buckets(&trend)
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| json!({ "ts": bucket["ts"], "rate": bucket["regular_rate"], "n": bucket["regular_n"] }))
        .collect::<Value>();
    let expected = json!({
        "hero": {
            "state": "shadow_off", "regular_success_rate_pp": 100.0 * rate(&trend), "buckets": buckets(&trend),
        },
        "context_tiles": tiles(&current, &previous),
        "rule_attribution": attribution(&trend),
        "score_distribution": distribution(&current, &previous),
        "braintrust_tiles": [],
        "shadow_win_rate_trend": {
            "daily": [], "judge_prompt_version": "v1.1.0",
            "window_total": { "n": 0, "wins": 0, "losses": 0, "ties": 0, "win_rate": 0.0, "net_win": 0.0 },
        },
        "recent_results": trend.iter().rev().map(|row| row.view()).collect::<Value>(),
        "source_set_comparison": {
            "available_sources": ["app", "web"],
            "source_sessions": [of_source("app", &app), of_source("web", &web)],
            "sets": [{
                "label": "sites", "sources": ["web", "later"], "session_count": web.len(),
                "session_ids": ids(&web), "success_rate_pp": 100.0 * rate(&web), "buckets": buckets(&web),
                "context_tiles": tiles(&web_current, &web_previous),
                "score_distribution": distribution(&web_current, &web_previous),
                "rule_attribution": attribution(&web), "braintrust_tiles": [],
            }],
            "unmatched_session_count": app.len(),
        },
        "success_rate_trend_by_group": { "treatment": [], "control": [], "untagged": points },
    });
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(members(&seen), members(&expected));
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(seen[name], *value, "{name}");
    }
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
