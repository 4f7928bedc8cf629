//! Against a naive computation, for any verdicts.

use std::collections::BTreeSet;

use domain::entities::{EvaluationResult, FailureType};
use domain::ids::{SessionId, UserId};
use domain::requests::overview::{OverviewBucket, SourceSet};
use domain::time::EpochSeconds;
use proptest::prelude::*;

use super::testing::{span, success};
use super::*;

const DAY: EpochSeconds = 86_400;
const SOURCES: [&str; 4] = ["", "app", "mail", "web"];

fn verdict() -> impl Strategy<Value = EvaluationResult> {
    // Times on borders are frequent.
    let at =
        (0_i64..60, prop_oneof![Just(0_i64), Just(DAY - 1), 0..DAY]).prop_map(|(day, rest)| day * DAY + rest);
    let ended = (any::<bool>(), any::<bool>(), any::<bool>(), 0_i64..8, prop::option::of(1_i64..9));
    (at, 0_u8..3, 0_u8..4, ended).prop_map(
        |(at, user, session, (won, is_error, escalated, corrections, turns))| {
            let failure = if is_error { FailureType::SystemError } else { FailureType::WrongTool };
            EvaluationResult {
                user_id: UserId::new(&format!("u{user}")).unwrap(),
                session_id: SessionId::new(&format!("s{session}")).unwrap(),
                is_success: won,
                failure_type: (!won).then_some(failure),
                number_of_correction_per_session: corrections,
                user_turns_to_resolution: turns.filter(|_| won),
                is_escalated: escalated,
                ..success(0, at)
            }
        },
    )
}

fn verdicts() -> impl Strategy<Value = Vec<EvaluationResult>> {
    prop::collection::vec(verdict(), 0..30).prop_map(|mut verdicts| {
        for (id, verdict) in (1..).zip(&mut verdicts) {
            verdict.result_id = id;
        }
        verdicts
    })
}

/// What a session was like, by its ids: every user and session has another source and cites other learnings.
fn slices(verdicts: &[EvaluationResult]) -> Slices {
    let known = verdicts.iter().map(slice_of).map(|key| {
        let number = |text: &str| text[1..].parse::<usize>().unwrap();
        let (user, session) = (number(key.user_id.as_str()), number(key.session_id.as_str()));
        let cited = (0..=user + session).map(|id| Rule { kind: "profile".to_owned(), id: id.to_string() });
        let slice =
            Slice { source: SOURCES[(user + session) % 4].to_owned(), arm: None, cited: cited.collect() };
        (key, slice)
    });
    Slices { known: known.collect(), titles: HashMap::new() }
}

/// The mean of some numbers, 0 of none.
#[expect(clippy::cast_precision_loss, reason = "few and small")]
fn mean(values: &[i64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<i64>() as f64 / values.len() as f64 }
}

fn between(
    verdicts: &[EvaluationResult],
    from: EpochSeconds,
    before: EpochSeconds,
) -> Vec<&EvaluationResult> {
    verdicts.iter().filter(|one| one.created_at >= from && one.created_at < before).collect()
}

fn successes(rows: &[&EvaluationResult]) -> f64 {
    mean(&rows.iter().map(|row| i64::from(row.is_success)).collect::<Vec<_>>())
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

/// `(kind and id, successes, failures)` of the best five.
fn naive_rules(trend: &[&EvaluationResult], slices: &Slices) -> Vec<(String, usize, usize)> {
    let decides = |row: &EvaluationResult| {
        !trend.iter().any(|other| slice_of(other) == slice_of(row) && other.result_id > row.result_id)
    };
    let deciding: Vec<_> = trend.iter().filter(|row| decides(row)).collect();
    let cites = |row: &EvaluationResult, rule: &Rule| slices.known[&slice_of(row)].cited.contains(rule);
    let rules: BTreeSet<&Rule> =
        deciding.iter().flat_map(|row| &slices.known[&slice_of(row)].cited).collect();
    let counted = rules.into_iter().map(|rule| {
        let won = deciding.iter().filter(|row| row.is_success && cites(row, rule)).count();
        let lost = deciding.iter().filter(|row| !row.is_success && cites(row, rule)).count();
        (rule.id.clone(), won, lost)
    });
    let mut counted: Vec<_> = counted.collect();
    counted.sort_by_key(|(id, won, lost)| {
        (lost.wrapping_sub(*won).cast_signed(), usize::MAX - won - lost, id.clone())
    });
    counted.truncate(5);
    counted
}

proptest! {
    #[test]
    fn every_number_is_what_a_naive_count_gives(
        verdicts in verdicts(),
        from in 0_i64..60 * DAY,
        length in 0_i64..40 * DAY,
        daily in any::<bool>(),
    ) {
        let to = from + length;
        let slices = slices(&verdicts);
        let mut request = span(from, to);
        request.bucket = if daily { OverviewBucket::Day } else { OverviewBucket::Week };
        let set = |label: &str, sources: &[&str]| {
            SourceSet { label: label.to_owned(), sources: sources.iter().map(|&one| one.to_owned()).collect() }
        };
        request.source_sets = vec![set("a", &["web", ""]), set("b", &["app"])];
        let standing =
            Standing { now: to, earliest: Some(0), is_shadow_enabled: false, judge_prompt_version: "v1.1.0" };
        let answer = overview(&request, &standing, &verdicts, &slices, &[]);

        let trend = between(&verdicts, from, to + 1);
        let current_from = if to - from > 7 * DAY { to - 7 * DAY } else { from };
        let current = between(&verdicts, current_from, to + 1);
        let previous = between(&verdicts, 0.max(current_from - 7 * DAY), current_from);
        prop_assert!(close(answer.hero.regular_success_rate_pp, 100.0 * successes(&trend)));
        let tiles = &answer.context_tiles;
        prop_assert!(close(tiles.success.current, 100.0 * successes(&current)));
        prop_assert!(close(tiles.success.delta_pp, 100.0 * (successes(&current) - successes(&previous))));
        let corrections = |rows: &[&EvaluationResult]| {
            mean(&rows.iter().map(|row| row.number_of_correction_per_session).collect::<Vec<_>>())
        };
        prop_assert!(close(tiles.corrections.delta, corrections(&current) - corrections(&previous)));
        let turns = |rows: &[&EvaluationResult]| {
            mean(&rows.iter().filter_map(|row| row.user_turns_to_resolution).collect::<Vec<_>>())
        };
        prop_assert!(close(tiles.turns.delta, turns(&current) - turns(&previous)));
        let errors = |rows: &[&EvaluationResult]| {
            rows.iter().filter(|row| row.failure_type == Some(FailureType::SystemError)).count()
        };
        let (behavior, failed) = (&tiles.behavior_success, errors(&current));
        prop_assert_eq!((behavior.eligible_sessions, behavior.excluded_system_errors), (current.len() - failed, failed));
        let comparable = current.len() > failed && previous.len() > errors(&previous);
        prop_assert_eq!(behavior.delta_pp.is_some(), comparable);

        // Every verdict of the span is in exactly one point, and in the right one.
        let step = if daily { DAY } else { 7 * DAY };
        prop_assert!(answer.hero.buckets.is_sorted_by(|one, next| one.ts < next.ts));
        for bucket in &answer.hero.buckets {
            let rows: Vec<_> =
                trend.iter().copied().filter(|row| row.created_at / step == bucket.ts / step).collect();
            prop_assert_eq!((bucket.regular_n, bucket.ts % step), (rows.len(), 0));
            prop_assert!(!rows.is_empty() && close(bucket.regular_rate, successes(&rows)));
        }
        prop_assert_eq!(answer.hero.buckets.iter().map(|bucket| bucket.regular_n).sum::<usize>(), trend.len());
        for (count, bin) in answer.score_distribution.current_bins.iter().zip(0..) {
            let is_in = |row: &&&EvaluationResult| row.number_of_correction_per_session.min(5) == bin;
            prop_assert_eq!(*count, current.iter().filter(is_in).count());
        }
        let ranked: Vec<_> = answer.rule_attribution.iter().map(|row| {
            (row.rule_id.clone(), row.successes_with, row.failures_with)
        }).collect();
        prop_assert_eq!(ranked, naive_rules(&trend, &slices));

        // Sets and what is in none of them make up the whole.
        let comparison = &answer.source_set_comparison;
        let in_sets: usize = comparison.sets.iter().map(|set| set.session_count).sum();
        prop_assert_eq!(in_sets + comparison.unmatched_session_count, trend.len());
        for set in &comparison.sets {
            let of_set = |rows: &[&EvaluationResult]| -> Vec<EvaluationResult> {
                let is_in = |row: &&&EvaluationResult| set.sources.iter().any(|one| one == slices.source_of(row));
                rows.iter().filter(is_in).copied().cloned().collect()
            };
            let alone = overview(&span(from, to), &standing, &of_set(&verdicts.iter().collect::<Vec<_>>()), &slices, &[]);
            prop_assert_eq!(&set.context_tiles, &alone.context_tiles);
            prop_assert_eq!(&set.score_distribution, &alone.score_distribution);
            prop_assert_eq!(&set.rule_attribution, &alone.rule_attribution);
            prop_assert!(close(set.success_rate_pp, alone.hero.regular_success_rate_pp));
        }
    }
}
