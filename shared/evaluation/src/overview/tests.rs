//! Worked numbers.

use domain::entities::{EvaluationResult, FailureType, RetrievalExperimentArm, ShadowOutcome};
use domain::requests::overview::{OverviewBucket, SourceSet};
use domain::time::EpochSeconds;
use domain::views::{BehaviorSuccess, HeroState, OverviewAnswer};
use serde_json::{Value, json};

use super::testing::{span, success};
use super::*;

const DAY: EpochSeconds = 86_400;
const TO: EpochSeconds = 1_750_000_000;
const STANDING: Standing<'static> = Standing {
    now: TO,
    earliest: Some(TO - 30 * DAY),
    is_shadow_enabled: false,
    judge_prompt_version: "v1.1.0",
};

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// Four sessions, 1, 2, 3 and 9 days before the end.
fn worked() -> Vec<EvaluationResult> {
    let a = EvaluationResult { user_turns_to_resolution: Some(2), ..success(1, TO - DAY) };
    let b = EvaluationResult {
        is_success: false,
        failure_type: Some(FailureType::WrongAnswer),
        number_of_correction_per_session: 3,
        is_escalated: true,
        ..success(2, TO - 2 * DAY)
    };
    let c = EvaluationResult {
        is_success: false,
        failure_type: Some(FailureType::SystemError),
        number_of_correction_per_session: 6,
        ..success(3, TO - 3 * DAY)
    };
    let d = EvaluationResult {
        number_of_correction_per_session: 1,
        user_turns_to_resolution: Some(4),
        ..success(4, TO - 9 * DAY)
    };
    vec![a, b, c, d]
}

fn of(results: &[EvaluationResult], slices: &Slices) -> OverviewAnswer {
    overview(&span(TO - 56 * DAY, TO), &STANDING, results, slices, &[])
}

fn rule(kind: &str, id: &str) -> Rule {
    Rule { kind: kind.to_owned(), id: id.to_owned() }
}

fn slice(source: &str, cited: &[(&str, &str)]) -> Slice {
    let cited = cited.iter().map(|(kind, id)| rule(kind, id)).collect();
    Slice { source: source.to_owned(), arm: None, cited }
}

/// Slices of the sessions of [`worked`], in that order.
fn slices(known: impl IntoIterator<Item = Slice>) -> Slices {
    let known = worked().iter().map(slice_of).zip(known).collect();
    Slices { known, titles: HashMap::new() }
}

#[test]
fn an_organisation_without_verdicts_has_an_empty_overview() {
    let standing = Standing { earliest: None, ..STANDING };
    let answer = overview(&span(0, 604_800), &standing, &[], &Slices::default(), &[]);
    let expected = json!({
        "hero": { "state": "empty", "regular_success_rate_pp": 0.0, "buckets": [] },
        "context_tiles": {
            "success": { "current": 0.0, "delta_pp": 0.0 },
            "behavior_success": { "eligible_sessions": 0, "excluded_system_errors": 0 },
            "corrections": { "current": 0.0, "delta": 0.0 },
            "turns": { "current": 0.0, "delta": 0.0 },
            "escalation": { "current": 0.0, "delta_pp": 0.0 },
        },
        "rule_attribution": [],
        "score_distribution": {
            "current_bins": [0, 0, 0, 0, 0, 0], "baseline_bins": [0, 0, 0, 0, 0, 0],
            "labels": ["0", "1", "2", "3", "4", "5+"],
        },
        "braintrust_tiles": [],
        "shadow_win_rate_trend": {
            "daily": [],
            "window_total": { "n": 0, "wins": 0, "losses": 0, "ties": 0, "win_rate": 0.0, "net_win": 0.0 },
            "judge_prompt_version": "v1.1.0",
        },
        "recent_results": [],
        "source_set_comparison": {
            "available_sources": [], "source_sessions": [], "sets": [], "unmatched_session_count": 0,
        },
        "success_rate_trend_by_group": { "treatment": [], "control": [], "untagged": [] },
    });
    assert_eq!(serde_json::to_value(answer).unwrap(), expected);
}

#[test]
fn the_last_week_is_compared_with_the_one_before() {
    let answer = of(&worked(), &Slices::default());
    assert!(close(answer.hero.regular_success_rate_pp, 50.0));
    let tiles = &answer.context_tiles;
    assert!(close(tiles.success.current, 100.0 / 3.0) && close(tiles.success.delta_pp, -200.0 / 3.0));
    let behavior = BehaviorSuccess {
        current: Some(50.0),
        delta_pp: Some(-50.0),
        eligible_sessions: 2,
        excluded_system_errors: 1,
    };
    assert_eq!(tiles.behavior_success, behavior);
    assert!(close(tiles.corrections.current, 3.0) && close(tiles.corrections.delta, 2.0));
    assert!(close(tiles.turns.current, 2.0) && close(tiles.turns.delta, -2.0));
    assert!(close(tiles.escalation.current, 100.0 / 3.0) && close(tiles.escalation.delta_pp, 100.0 / 3.0));
    assert_eq!(answer.score_distribution.current_bins, [1, 0, 0, 1, 0, 1]);
    assert_eq!(answer.score_distribution.baseline_bins, [0, 1, 0, 0, 0, 0]);
    let recent: Vec<i64> = answer.recent_results.iter().map(|result| result.result_id).collect();
    assert_eq!(recent, [1, 2, 3, 4]);
}

#[test]
fn a_verdict_on_the_border_of_two_weeks_is_in_the_later_one_only() {
    let results = [success(1, TO - 7 * DAY), success(2, TO - 14 * DAY), success(3, TO - 14 * DAY - 1)];
    let answer = of(&results, &Slices::default());
    assert_eq!(answer.score_distribution.current_bins[0], 1);
    assert_eq!(answer.score_distribution.baseline_bins[0], 1);
    assert_eq!(answer.recent_results.len(), 3);
}

#[test]
fn a_span_shorter_than_a_week_is_compared_with_the_week_before_it() {
    let results = worked();
    let answer = overview(&span(TO - 2 * DAY, TO), &STANDING, &results, &Slices::default(), &[]);
    assert_eq!(answer.score_distribution.current_bins, [1, 0, 0, 1, 0, 0]);
    assert_eq!(answer.score_distribution.baseline_bins, [0, 1, 0, 0, 0, 1]);
    assert!(close(answer.hero.regular_success_rate_pp, 50.0));
}

#[test]
fn points_of_the_curve_begin_with_their_day_or_their_epoch_week() {
    let mut request = span(TO - 56 * DAY, TO);
    request.bucket = OverviewBucket::Day;
    let answer = overview(&request, &STANDING, &worked(), &Slices::default(), &[]);
    let midnight = TO / DAY * DAY;
    let starts: Vec<_> = answer.hero.buckets.iter().map(|bucket| bucket.ts).collect();
    assert_eq!(starts, [9, 3, 2, 1].map(|days| midnight - days * DAY));
    let weekly = of(&worked(), &Slices::default()).hero.buckets;
    // 2025-06-15 is a Sunday: the days before it up to Thursday are one week, those of D the one before.
    let sizes: Vec<_> = weekly.iter().map(|bucket| bucket.regular_n).collect();
    assert_eq!(sizes, [1, 3]);
    assert!(weekly.iter().all(|bucket| bucket.ts % 604_800 == 0));
    assert!(close(weekly[1].avg_corrections, 3.0) && close(weekly[1].escalation_rate, 1.0 / 3.0));
}

#[test]
fn the_state_follows_the_time_since_the_first_verdict_and_the_comparisons() {
    let after = |days: i64, is_shadow_enabled, comparisons| {
        let earliest = Some(TO - days * DAY);
        state(&Standing { earliest, is_shadow_enabled, ..STANDING }, 1, comparisons)
    };
    assert_eq!(after(6, false, 0), HeroState::Empty);
    assert_eq!(after(7, false, 0), HeroState::ShadowOff);
    assert_eq!(after(13, true, 500), HeroState::Early);
    assert_eq!(after(14, true, 499), HeroState::Early);
    assert_eq!(after(14, true, 500), HeroState::Full);
}

#[test]
fn a_span_without_verdicts_is_empty_however_old_the_organisation_is() {
    let results = [success(1, TO - 30 * DAY)];
    let state = |from, is_shadow_enabled| {
        let standing = Standing { is_shadow_enabled, ..STANDING };
        overview(&span(from, TO), &standing, &results, &Slices::default(), &[]).hero.state
    };
    assert_eq!(state(TO - 30 * DAY, false), HeroState::ShadowOff);
    assert_eq!(state(TO - 30 * DAY + 1, false), HeroState::Empty);
    assert_eq!(state(TO - 30 * DAY + 1, true), HeroState::Empty);
}

#[test]
fn learnings_are_ranked_by_how_the_sessions_that_cite_them_ended() {
    let all = [("profile", "p"), ("user_playbook", "1")];
    let mut slices = slices([
        slice("", &[("profile", "p"), ("user_playbook", "1"), ("agent_playbook", "9")]),
        slice("", &all),
        slice("", &[("profile", "p")]),
        slice("", &[("agent_playbook", "8"), ("agent_playbook", "9")]),
    ]);
    slices.titles.insert(rule("user_playbook", "1"), "Brief".to_owned());
    let mut results = worked();
    // The same session with another agent version, judged later, failed.
    results.push(EvaluationResult { result_id: 9, is_success: false, ..results[3].clone() });
    let answer = of(&results, &slices);
    let rows = answer.rule_attribution.iter().map(|row| {
        (row.kind.as_str(), row.rule_id.as_str(), row.successes_with, row.failures_with, row.net_sessions)
    });
    let expected = [
        ("agent_playbook", "9", 1, 1, 0),
        ("user_playbook", "1", 1, 1, 0),
        ("profile", "p", 1, 2, -1),
        ("agent_playbook", "8", 0, 1, -1),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!(answer.rule_attribution[1].title, "Brief");
    assert_eq!(answer.rule_attribution[0].title, "");
    let sessions = serde_json::to_value(&answer.rule_attribution[2].cited_session_ids).unwrap();
    assert_eq!(sessions, json!(["s1", "s2", "s3"]));
}

#[test]
fn sets_of_sources_have_numbers_of_their_own() {
    let slices = slices([slice("web", &[]), slice("app", &[]), slice("mail", &[]), slice("web", &[])]);
    let set = |label: &str, sources: &[&str]| SourceSet {
        label: label.to_owned(),
        sources: sources.iter().map(|&source| source.to_owned()).collect(),
    };
    let mut request = span(TO - 56 * DAY, TO);
    request.source_sets = vec![set("sites", &["web", "none"]), set("apps", &["app"])];
    let comparison = overview(&request, &STANDING, &worked(), &slices, &[]).source_set_comparison;
    let seen: Value = serde_json::to_value(&comparison).unwrap();
    assert_eq!(seen["available_sources"], json!(["app", "mail", "web"]));
    assert_eq!(seen["source_sessions"][2]["session_ids"], json!(["s1", "s4"]));
    assert_eq!(seen["source_sessions"][0]["sessions"], json!([{ "user_id": "ana", "session_id": "s2" }]));
    assert_eq!(seen["unmatched_session_count"], 1);
    let sites = &comparison.sets[0];
    assert_eq!((sites.label.as_str(), sites.session_count), ("sites", 2));
    assert!(close(sites.success_rate_pp, 100.0) && close(sites.context_tiles.turns.delta, -2.0));
    assert_eq!(sites.score_distribution.baseline_bins, [0, 1, 0, 0, 0, 0]);
    assert_eq!(comparison.sets[1].score_distribution.current_bins, [0, 0, 0, 1, 0, 0]);
}

#[test]
fn groups_follow_the_arm_of_the_earliest_request() {
    let arm = |arm| Slice { arm, ..Slice::default() };
    let (treatment, holdout) = (RetrievalExperimentArm::Treatment, RetrievalExperimentArm::Holdout);
    let slices = slices([arm(Some(treatment)), arm(Some(holdout)), arm(None)]);
    let groups = of(&worked(), &slices).success_rate_trend_by_group;
    let sizes = |points: &[domain::views::GroupPoint]| points.iter().map(|point| point.n).collect::<Vec<_>>();
    assert_eq!(sizes(&groups.treatment), [1]);
    assert_eq!(sizes(&groups.control), [1]);
    assert_eq!(sizes(&groups.untagged), [1, 1]);
    assert!(close(groups.treatment[0].rate, 1.0) && close(groups.control[0].rate, 0.0));
}

#[test]
fn comparisons_to_the_shadow_are_counted_by_day_within_the_span() {
    let verdict = |days: i64, outcome| ShadowVerdict { at: TO - days * DAY, outcome };
    let (win, loss, tie) = (ShadowOutcome::Win, ShadowOutcome::Loss, ShadowOutcome::Tie);
    let verdicts = [verdict(1, win), verdict(1, loss), verdict(1, win), verdict(2, tie), verdict(57, loss)];
    let mut request = span(TO - 56 * DAY, TO);
    let trend = overview(&request, &STANDING, &[], &Slices::default(), &verdicts).shadow_win_rate_trend;
    let days = json!([
        { "date": "2025-06-13", "n": 1, "wins": 0, "losses": 0, "ties": 1 },
        { "date": "2025-06-14", "n": 3, "wins": 2, "losses": 1, "ties": 0 },
    ]);
    assert_eq!(serde_json::to_value(&trend.daily).unwrap(), days);
    let total = &trend.window_total;
    assert_eq!((total.n, total.wins, total.losses, total.ties), (4, 2, 1, 1));
    assert!(close(total.win_rate, 0.5) && close(total.net_win, 0.25));
    request.include_shadow = false;
    let hidden = overview(&request, &STANDING, &[], &Slices::default(), &verdicts).shadow_win_rate_trend;
    assert_eq!((hidden.daily.len(), hidden.window_total.n), (0, 0));
    assert_eq!(hidden.judge_prompt_version, "v1.1.0");
}
