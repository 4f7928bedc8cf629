//! How well agents did over a span of time: numbers made of verdicts, and of what was published in the sessions
//! that they are on.

mod attribution;
mod curve;
mod load;
mod numbers;
#[cfg(test)]
mod properties;
mod shadow;
mod sources;
mod stretches;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tiles;
mod windows;

use std::collections::{BTreeSet, HashMap};

use domain::entities::{EvaluationResult, RetrievalExperimentArm};
use domain::requests::overview::GetEvaluationOverview;
use domain::time::EpochSeconds;
use domain::views::{EvaluationResultView, HeroBlock, OverviewAnswer, SessionSlice};

use attribution::rule_attribution;
use curve::{buckets, group_trends, state};
pub use load::evaluation_overview;
pub use shadow::ShadowVerdict;
use shadow::{in_window, shadow_trend};
use sources::source_set_comparison;
use tiles::{context_tiles, score_distribution};
use windows::{Rows, Windows};

/// Most verdicts that are shown one by one.
const RECENT_MAX: usize = 100;

/// A learning as agents cite it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    /// `playbook`, `profile`, `user_playbook` or `agent_playbook`.
    pub kind: String,
    /// Its id.
    pub id: String,
}

/// What is known of one user's part in a session, beside the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slice {
    /// The source of the earliest request; `""` when there is none.
    pub source: String,
    /// In which half of an experiment the earliest request was.
    pub arm: Option<RetrievalExperimentArm>,
    /// The learnings that agents said they used.
    pub cited: BTreeSet<Rule>,
}

/// The slices of judged sessions, and what agents call the learnings that they cite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slices {
    /// Slices; one that is not there is of no source and cites nothing.
    pub known: HashMap<SessionSlice, Slice>,
    /// Titles; a learning without one has none.
    pub titles: HashMap<Rule, String>,
}

impl Slices {
    fn of(&self, result: &EvaluationResult) -> Option<&Slice> {
        self.known.get(&slice_of(result))
    }

    fn source_of(&self, result: &EvaluationResult) -> &str {
        self.of(result).map_or("", |slice| slice.source.as_str())
    }
}

/// Whose part in which session a verdict is on.
fn slice_of(result: &EvaluationResult) -> SessionSlice {
    SessionSlice { user_id: result.user_id.clone(), session_id: result.session_id.clone() }
}

/// What the organisation is like at the time of the call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing<'a> {
    /// Now.
    pub now: EpochSeconds,
    /// When the earliest judged session began, whatever span is asked for.
    pub earliest: Option<EpochSeconds>,
    /// Whether answers are compared to those of the shadow.
    pub is_shadow_enabled: bool,
    /// By which wording of the judge.
    pub judge_prompt_version: &'a str,
}

/// The overview, made of everything that was read for it.
#[must_use]
pub fn overview(
    request: &GetEvaluationOverview,
    standing: &Standing<'_>,
    results: &[EvaluationResult],
    slices: &Slices,
    shadow: &[ShadowVerdict],
) -> OverviewAnswer {
    let windows = Windows::of(request.from_ts, request.to_ts);
    let rows = Rows::of(&windows, results);
    let compared = in_window(shadow, &windows);
    let shown: &[ShadowVerdict] = if request.include_shadow { &compared } else { &[] };
    OverviewAnswer {
        hero: HeroBlock {
            state: state(standing, rows.trend.len(), compared.len()),
            regular_success_rate_pp: 100.0 * numbers::success_rate(&rows.trend),
            buckets: buckets(&rows.trend, request.bucket),
        },
        context_tiles: context_tiles(&rows),
        rule_attribution: rule_attribution(&rows.trend, slices),
        score_distribution: score_distribution(&rows),
        // No scores can be imported yet.
        braintrust_tiles: Vec::new(),
        shadow_win_rate_trend: shadow_trend(shown, standing.judge_prompt_version),
        recent_results: recent_results(&rows.trend),
        source_set_comparison: source_set_comparison(request, &rows, slices),
        success_rate_trend_by_group: group_trends(&rows.trend, slices, request.bucket),
    }
}

fn recent_results(trend: &[&EvaluationResult]) -> Vec<EvaluationResultView> {
    let mut latest = trend.to_vec();
    latest.sort_by_key(|result| std::cmp::Reverse((result.created_at, result.result_id)));
    latest.into_iter().take(RECENT_MAX).cloned().map(EvaluationResultView::from).collect()
}
