//! How well agents did over a span of time; numbers that do not exist are left out.

use serde::Serialize;

use super::EvaluationResultView;
use crate::ids::{SessionId, UserId};
use crate::time::EpochSeconds;

/// How much of the overview there is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeroState {
    /// Enough of everything.
    Full,
    /// The shadow is on, but has not seen enough.
    Early,
    /// The shadow is off.
    ShadowOff,
    /// There is nothing, or too little since too short a time.
    Empty,
}

/// One point of the curve of success.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeroBucket {
    /// When its time begins.
    pub ts: EpochSeconds,
    /// The part of verdicts that are successes, 0 to 1.
    pub regular_rate: f64,
    /// Verdicts.
    pub regular_n: usize,
    /// Always 0: shadow answers are compared, not judged.
    pub shadow_n: usize,
    /// Corrections per session.
    pub avg_corrections: f64,
    /// The part of verdicts on escalated sessions, 0 to 1.
    pub escalation_rate: f64,
}

/// How many sessions succeeded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeroBlock {
    /// How much there is to show.
    pub state: HeroState,
    /// Successes in percent.
    pub regular_success_rate_pp: f64,
    /// The same over time; spans without verdicts are left out.
    pub buckets: Vec<HeroBucket>,
}

/// Percent now, and how many percentage points more than in the week before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PercentWithDelta {
    /// Now.
    pub current: f64,
    /// The difference.
    pub delta_pp: f64,
}

/// A mean now, and how much more than in the week before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NumberWithDelta {
    /// Now.
    pub current: f64,
    /// The difference.
    pub delta: f64,
}

/// Successes among the sessions that the infrastructure did not fail.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BehaviorSuccess {
    /// In percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<f64>,
    /// Percentage points more than in the week before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta_pp: Option<f64>,
    /// How many sessions those are.
    pub eligible_sessions: usize,
    /// How many the infrastructure failed.
    pub excluded_system_errors: usize,
}

/// The last week against the one before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextTiles {
    /// Successes.
    pub success: PercentWithDelta,
    /// Successes, but for failures of the infrastructure.
    pub behavior_success: BehaviorSuccess,
    /// Corrections per session.
    pub corrections: NumberWithDelta,
    /// User turns of sessions that succeeded.
    pub turns: NumberWithDelta,
    /// Escalations.
    pub escalation: PercentWithDelta,
}

/// A learning that agents said they used, and how those sessions ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleAttribution {
    /// The learning's id.
    pub rule_id: String,
    /// `playbook`, `profile`, `user_playbook` or `agent_playbook`.
    pub kind: String,
    /// What agents call it; `""` when they do not say.
    pub title: String,
    /// Sessions that succeeded.
    pub successes_with: usize,
    /// Sessions that failed.
    pub failures_with: usize,
    /// The difference.
    pub net_sessions: i64,
    /// The sessions, sorted.
    pub cited_session_ids: Vec<SessionId>,
}

/// How many sessions took how many corrections, in the last week and in the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScoreDistribution {
    /// Of the last week.
    pub current_bins: [usize; 6],
    /// Of the week before.
    pub baseline_bins: [usize; 6],
    /// What the bins stand for.
    pub labels: [&'static str; 6],
}

/// Scores that were imported under one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BraintrustTile {
    /// Which.
    pub scorer_name: String,
    /// The mean of the last week.
    pub current: f64,
    /// Of how many.
    pub n: usize,
    /// How much more than in the week before.
    pub delta: f64,
}

/// How answers compared to those of the shadow on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShadowDay {
    /// The day in UTC.
    pub date: String,
    /// Comparisons.
    pub n: usize,
    /// Where the regular answer was better.
    pub wins: usize,
    /// Where the shadow's was.
    pub losses: usize,
    /// Where neither was.
    pub ties: usize,
}

/// The same over the whole time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShadowTotal {
    /// Comparisons.
    pub n: usize,
    /// Where the regular answer was better.
    pub wins: usize,
    /// Where the shadow's was.
    pub losses: usize,
    /// Where neither was.
    pub ties: usize,
    /// Wins to comparisons.
    pub win_rate: f64,
    /// Wins less losses to comparisons.
    pub net_win: f64,
}

/// How answers compared to those of the shadow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShadowTrend {
    /// By day; days without a comparison are left out.
    pub daily: Vec<ShadowDay>,
    /// In all.
    pub window_total: ShadowTotal,
    /// By which wording of the judge.
    pub judge_prompt_version: String,
}

/// One user's part in a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SessionSlice {
    /// Whose.
    pub user_id: UserId,
    /// Which session.
    pub session_id: SessionId,
}

/// The judged sessions of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceSessions {
    /// Which.
    pub source: String,
    /// Their ids, sorted.
    pub session_ids: Vec<SessionId>,
    /// The same with their users.
    pub sessions: Vec<SessionSlice>,
}

/// The numbers of the sessions of some sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceSetMetrics {
    /// What the caller calls them.
    pub label: String,
    /// Which sources.
    pub sources: Vec<String>,
    /// Verdicts.
    pub session_count: usize,
    /// The sessions, sorted.
    pub session_ids: Vec<SessionId>,
    /// Successes in percent.
    pub success_rate_pp: f64,
    /// The same over time.
    pub buckets: Vec<HeroBucket>,
    /// The last week against the one before.
    pub context_tiles: ContextTiles,
    /// Corrections.
    pub score_distribution: ScoreDistribution,
    /// Learnings that were used.
    pub rule_attribution: Vec<RuleAttribution>,
    /// Imported scores.
    pub braintrust_tiles: Vec<BraintrustTile>,
}

/// Sources against each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceSetComparison {
    /// Sources of judged sessions, sorted.
    pub available_sources: Vec<String>,
    /// Their sessions.
    pub source_sessions: Vec<SourceSessions>,
    /// The sets that were asked for.
    pub sets: Vec<SourceSetMetrics>,
    /// Verdicts on sessions of sources that are in none of them.
    pub unmatched_session_count: usize,
}

/// One point of the curve of success of some sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupPoint {
    /// When its time begins.
    pub ts: EpochSeconds,
    /// The part of verdicts that are successes, 0 to 1.
    pub rate: f64,
    /// Verdicts.
    pub n: usize,
}

/// The curves of success by whether searches answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GroupTrends {
    /// Where they answered.
    pub treatment: Vec<GroupPoint>,
    /// Where they withheld.
    pub control: Vec<GroupPoint>,
    /// Sessions outside experiments.
    pub untagged: Vec<GroupPoint>,
}

/// `POST /api/get_evaluation_overview`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverviewAnswer {
    /// How many sessions succeeded.
    pub hero: HeroBlock,
    /// The last week against the one before.
    pub context_tiles: ContextTiles,
    /// Learnings that were used, those that helped most first.
    pub rule_attribution: Vec<RuleAttribution>,
    /// Corrections.
    pub score_distribution: ScoreDistribution,
    /// Imported scores.
    pub braintrust_tiles: Vec<BraintrustTile>,
    /// How answers compared to those of the shadow.
    pub shadow_win_rate_trend: ShadowTrend,
    /// Verdicts on the latest sessions.
    pub recent_results: Vec<EvaluationResultView>,
    /// Sources against each other.
    pub source_set_comparison: SourceSetComparison,
    /// Success by whether searches answered.
    pub success_rate_trend_by_group: GroupTrends,
}
