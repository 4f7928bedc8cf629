//! The overview of verdicts as a test computes it, from what it knows of the sessions.

use std::collections::{BTreeMap, BTreeSet};

use domain::entities::FailureType;
use serde_json::{Value, json};

const DAY: i64 = 86_400;

/// A session as a test thinks of it.
pub(crate) struct Judged {
    pub(crate) id: i64,
    pub(crate) user: String,
    pub(crate) session: String,
    pub(crate) agent_version: &'static str,
    pub(crate) source: &'static str,
    pub(crate) cited: Vec<(&'static str, String)>,
    pub(crate) at: i64,
    pub(crate) is_success: bool,
    pub(crate) failure: Option<FailureType>,
    pub(crate) failure_reason: &'static str,
    pub(crate) corrections: i64,
    pub(crate) turns: Option<i64>,
    pub(crate) is_escalated: bool,
}

impl Judged {
    fn view(&self) -> Value {
        let mut view = json!({
            "result_id": self.id, "user_id": self.user, "session_id": self.session,
            "agent_version": self.agent_version, "is_success": self.is_success,
            "failure_type": self.failure.map_or("", |failure| failure.as_str()), "failure_reason": self.failure_reason,
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

/// Sessions of one span, of its last week, and of the week before.
struct Spans<'a> {
    trend: Vec<&'a Judged>,
    current: Vec<&'a Judged>,
    previous: Vec<&'a Judged>,
}

impl<'a> Spans<'a> {
    /// Those of some sources, or of all. The span is longer than a week.
    fn of(all: &'a [Judged], (from, to): (i64, i64), sources: Option<&[&str]>) -> Self {
        let border = to - 7 * DAY;
        assert!(from < border);
        let within = |from: i64, before: i64| {
            let is_of = |row: &&Judged| sources.is_none_or(|sources| sources.contains(&row.source));
            all.iter().filter(|row| row.at >= from && row.at < before).filter(is_of).collect()
        };
        Self {
            trend: within(from, to + 1),
            current: within(border, to + 1),
            previous: within(border - 7 * DAY, border),
        }
    }
}

fn session_ids(rows: &[&Judged]) -> BTreeSet<String> {
    rows.iter().map(|row| row.session.clone()).collect()
}

fn of_source(source: &str, trend: &[&Judged]) -> Value {
    let rows: Vec<&Judged> = trend.iter().copied().filter(|row| row.source == source).collect();
    let pairs: BTreeSet<_> = rows.iter().map(|row| (&row.user, &row.session)).collect();
    let pairs = pairs.into_iter().map(|(user, session)| json!({ "user_id": user, "session_id": session }));
    json!({ "source": source, "session_ids": session_ids(&rows), "sessions": pairs.collect::<Value>() })
}

fn set(label: &str, sources: &[&str], spans: &Spans<'_>) -> Value {
    let Spans { trend, current, previous } = spans;
    json!({
        "label": label, "sources": sources, "session_count": trend.len(), "session_ids": session_ids(trend),
        "success_rate_pp": 100.0 * rate(trend), "buckets": buckets(trend),
        "context_tiles": tiles(current, previous), "score_distribution": distribution(current, previous),
        "rule_attribution": attribution(trend), "braintrust_tiles": [],
    })
}

/// Every member of the overview by days of sessions in the order in which they began, outside experiments and without
/// shadows, with one set of sources; the first verdict is more than a week old.
pub(crate) fn expected(all: &[Judged], span: (i64, i64), (label, sources): (&str, &[&str])) -> Value {
    let Spans { trend, current, previous } = Spans::of(all, span, None);
    let of_set = Spans::of(all, span, Some(sources));
    let available: BTreeSet<&str> = trend.iter().map(|row| row.source).collect();
    let buckets = buckets(&trend);
    let points = buckets
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| json!({ "ts": bucket["ts"], "rate": bucket["regular_rate"], "n": bucket["regular_n"] }))
        .collect::<Value>();
    json!({
        "hero": {
            "state": "shadow_off", "regular_success_rate_pp": 100.0 * rate(&trend), "buckets": buckets,
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
            "available_sources": available,
            "source_sessions": available.iter().map(|source| of_source(source, &trend)).collect::<Value>(),
            "sets": [set(label, sources, &of_set)],
            "unmatched_session_count": trend.len() - of_set.trend.len(),
        },
        "success_rate_trend_by_group": { "treatment": [], "control": [], "untagged": points },
    })
}

/// Compares an overview with what is expected, member by member.
pub(crate) fn assert_overview(seen: &Value, expected: &Value) {
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(members(seen), members(expected));
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(seen[name], *value, "{name}");
    }
}
