//! Verdicts as callers see them.

use serde::Serialize;

use crate::entities::EvaluationResult;
use crate::time::EpochSeconds;

/// A verdict; members without a value are left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationResultView {
    /// Its id.
    pub result_id: i64,
    /// Whose part in the session.
    pub user_id: String,
    /// The session.
    pub session_id: String,
    /// The agent version that was judged.
    pub agent_version: String,
    /// Whether the agent did what was wanted, in the end.
    pub is_success: bool,
    /// Why not; `""` when it did.
    pub failure_type: &'static str,
    /// Why not, in words.
    pub failure_reason: String,
    /// The evaluation.
    pub evaluation_name: String,
    /// When the session began.
    pub created_at: EpochSeconds,
    /// How often the user rejected, corrected or redirected the agent.
    pub number_of_correction_per_session: i64,
    /// How many turns the user took, in a session that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_turns_to_resolution: Option<i64>,
    /// Whether a human took over or was demanded.
    pub is_escalated: bool,
    /// Tags, once the tagger was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl From<EvaluationResult> for EvaluationResultView {
    fn from(result: EvaluationResult) -> Self {
        Self {
            result_id: result.result_id,
            user_id: result.user_id.to_string(),
            session_id: result.session_id.to_string(),
            agent_version: result.agent_version,
            is_success: result.is_success,
            failure_type: result.failure_type.map_or("", |failure| failure.as_str()),
            failure_reason: result.failure_reason,
            evaluation_name: result.evaluation_name,
            created_at: result.created_at,
            number_of_correction_per_session: result.number_of_correction_per_session,
            user_turns_to_resolution: result.user_turns_to_resolution,
            is_escalated: result.is_escalated,
            tags: result.tags,
        }
    }
}

/// `POST /api/get_agent_success_evaluation_results`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationResultsAnswer {
    /// Always true.
    pub success: bool,
    /// The verdicts, those on the latest sessions first.
    pub agent_success_evaluation_results: Vec<EvaluationResultView>,
    /// In words.
    pub msg: String,
}

impl EvaluationResultsAnswer {
    /// The answer with these verdicts.
    #[must_use]
    pub fn new(results: Vec<EvaluationResult>) -> Self {
        let msg = format!("Found {} evaluation result(s)", results.len());
        let results = results.into_iter().map(EvaluationResultView::from).collect();
        Self { success: true, agent_success_evaluation_results: results, msg }
    }
}
