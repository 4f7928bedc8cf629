//! The spans of time that verdicts are counted in.

use domain::entities::EvaluationResult;
use domain::time::EpochSeconds;

const WEEK: EpochSeconds = 604_800;

/// The whole span, its last week at most, and the week before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Windows {
    from: EpochSeconds,
    to: EpochSeconds,
    current_from: EpochSeconds,
    previous_from: EpochSeconds,
}

impl Windows {
    pub(super) fn of(from: EpochSeconds, to: EpochSeconds) -> Self {
        let current_from = from.max(to - WEEK);
        Self { from, to, current_from, previous_from: (current_from - WEEK).max(0) }
    }

    /// The times between which all verdicts that count lie, both included.
    pub(super) fn span(&self) -> (EpochSeconds, EpochSeconds) {
        (self.from.min(self.previous_from), self.to)
    }

    pub(super) fn is_in_trend(&self, at: EpochSeconds) -> bool {
        (self.from..=self.to).contains(&at)
    }

    fn is_current(&self, at: EpochSeconds) -> bool {
        (self.current_from..=self.to).contains(&at)
    }

    fn is_previous(&self, at: EpochSeconds) -> bool {
        (self.previous_from..self.current_from).contains(&at)
    }
}

/// Verdicts by the spans that they lie in; one may lie in several.
#[derive(Debug, Default)]
pub(super) struct Rows<'a> {
    pub(super) trend: Vec<&'a EvaluationResult>,
    pub(super) current: Vec<&'a EvaluationResult>,
    pub(super) previous: Vec<&'a EvaluationResult>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(windows: &Windows, results: &'a [EvaluationResult]) -> Self {
        let within = |is_in: &dyn Fn(EpochSeconds) -> bool| {
            results.iter().filter(|result| is_in(result.created_at)).collect()
        };
        Self {
            trend: within(&|at| windows.is_in_trend(at)),
            current: within(&|at| windows.is_current(at)),
            previous: within(&|at| windows.is_previous(at)),
        }
    }
}
