//! Retrieval experiments as callers see them; members without a value are left out.

use serde::Serialize;

use crate::config::{Config, RetrievalExperimentRecord};
use crate::entities::RetrievalExperimentArm;
use crate::time::EpochSeconds;

/// An experiment that runs or ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentView {
    /// Its name.
    pub experiment_id: String,
    /// The part of users for whom searches withhold, in percent.
    pub holdout_percentage: f64,
    /// Since when.
    pub started_at: EpochSeconds,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<EpochSeconds>,
}

impl From<&RetrievalExperimentRecord> for ExperimentView {
    fn from(record: &RetrievalExperimentRecord) -> Self {
        Self {
            experiment_id: record.experiment_id.clone(),
            holdout_percentage: record.holdout_percentage,
            started_at: record.started_at,
            ended_at: record.ended_at,
        }
    }
}

/// All experiments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentsAnswer {
    /// The one that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_experiment: Option<ExperimentView>,
    /// Those that run or ran, in the order in which they were started.
    pub experiments: Vec<ExperimentView>,
}

impl From<&Config> for ExperimentsAnswer {
    fn from(config: &Config) -> Self {
        Self {
            active_experiment: config.active_experiment().map(ExperimentView::from),
            experiments: config.retrieval_experiment_history.iter().map(ExperimentView::from).collect(),
        }
    }
}

/// What is known of one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmMetrics {
    /// Which.
    pub arm: RetrievalExperimentArm,
    /// Users of whom there are sessions.
    pub assigned_user_count: usize,
    /// Their sessions.
    pub published_session_count: usize,
    /// Users of whom there are verdicts.
    pub evaluated_user_count: usize,
    /// Sessions of which there are verdicts.
    pub evaluated_session_count: usize,
    /// The part of them that succeeded, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<f64>,
    /// Corrections per session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_corrections: Option<f64>,
    /// User turns of sessions that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_turns_to_resolution: Option<f64>,
    /// The part of sessions that was escalated, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation_rate: Option<f64>,
    /// Tokens that others than the user wrote, per session of which all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_output_tokens: Option<f64>,
    /// How many sessions those are.
    pub output_token_session_count: usize,
}

/// What came of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentResultsAnswer {
    /// Which.
    pub experiment: ExperimentView,
    /// Where searches answered.
    pub treatment: ArmMetrics,
    /// Where searches withheld.
    pub holdout: ArmMetrics,
    /// By how many percentage points more sessions succeeded where searches answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate_lift_percentage_points: Option<f64>,
    /// The same over the rate where searches withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_success_lift: Option<f64>,
    /// Where the lift lies with 95 % confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_interval_95_percentage_points: Option<[f64; 2]>,
    /// The part of verdicts in the time of the experiment that are on its sessions, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluated_session_coverage: Option<f64>,
    /// How many are on other sessions.
    pub unattributed_evaluated_session_count: usize,
}
