//! The last week against the one before.

use domain::entities::EvaluationResult;
use domain::views::{BehaviorSuccess, ContextTiles, NumberWithDelta, PercentWithDelta, ScoreDistribution};

use super::numbers::{average_corrections, average_turns, escalation_rate, success_rate};
use super::windows::Rows;

/// A number of one week.
type Measure = fn(&[&EvaluationResult]) -> f64;

pub(super) fn context_tiles(rows: &Rows<'_>) -> ContextTiles {
    ContextTiles {
        success: percent(rows, success_rate),
        behavior_success: behavior_success(rows),
        corrections: number(rows, average_corrections),
        turns: number(rows, average_turns),
        escalation: percent(rows, escalation_rate),
    }
}

fn percent(rows: &Rows<'_>, rate: Measure) -> PercentWithDelta {
    let (current, previous) = (100.0 * rate(&rows.current), 100.0 * rate(&rows.previous));
    PercentWithDelta { current, delta_pp: current - previous }
}

fn number(rows: &Rows<'_>, mean: Measure) -> NumberWithDelta {
    let (current, previous) = (mean(&rows.current), mean(&rows.previous));
    NumberWithDelta { current, delta: current - previous }
}

fn behavior_success(rows: &Rows<'_>) -> BehaviorSuccess {
    let (now, before) = (eligible(&rows.current), eligible(&rows.previous));
    let rate = |rows: &[&EvaluationResult]| (!rows.is_empty()).then(|| 100.0 * success_rate(rows));
    let current = rate(&now);
    BehaviorSuccess {
        current,
        delta_pp: current.zip(rate(&before)).map(|(current, previous)| current - previous),
        eligible_sessions: now.len(),
        excluded_system_errors: rows.current.len() - now.len(),
    }
}

fn eligible<'a>(rows: &[&'a EvaluationResult]) -> Vec<&'a EvaluationResult> {
    rows.iter().copied().filter(|row| !row.is_system_error()).collect()
}

pub(super) fn score_distribution(rows: &Rows<'_>) -> ScoreDistribution {
    ScoreDistribution {
        current_bins: bins(&rows.current),
        baseline_bins: bins(&rows.previous),
        labels: ["0", "1", "2", "3", "4", "5+"],
    }
}

fn bins(rows: &[&EvaluationResult]) -> [usize; 6] {
    let mut bins = [0; 6];
    for row in rows {
        let corrections = row.number_of_correction_per_session.max(0);
        bins[usize::try_from(corrections).unwrap_or(usize::MAX).min(5)] += 1;
    }
    bins
}
