//! Means and rates; of nothing they are 0.

use domain::entities::EvaluationResult;

/// The mean, or nothing of nothing.
pub(super) fn mean(values: impl Iterator<Item = i64>) -> Option<f64> {
    let (mut sum, mut many) = (0.0, 0);
    for value in values {
        #[expect(clippy::cast_precision_loss, reason = "turns and corrections are far below 2^53")]
        let value = value as f64;
        sum += value;
        many += 1;
    }
    (many > 0).then(|| sum / count(many))
}

/// How many, to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts of sessions are far below 2^53")]
pub(super) fn count(many: usize) -> f64 {
    many as f64
}

/// The part of a whole, 0 to 1.
pub(super) fn part(some: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { count(some) / count(all) }
}

pub(super) fn success_rate(rows: &[&EvaluationResult]) -> f64 {
    part(rows.iter().filter(|row| row.is_success).count(), rows.len())
}

pub(super) fn escalation_rate(rows: &[&EvaluationResult]) -> f64 {
    part(rows.iter().filter(|row| row.is_escalated).count(), rows.len())
}

pub(super) fn average_corrections(rows: &[&EvaluationResult]) -> f64 {
    mean(rows.iter().map(|row| row.number_of_correction_per_session)).unwrap_or(0.0)
}

pub(super) fn average_turns(rows: &[&EvaluationResult]) -> f64 {
    mean(rows.iter().filter_map(|row| row.user_turns_to_resolution)).unwrap_or(0.0)
}
