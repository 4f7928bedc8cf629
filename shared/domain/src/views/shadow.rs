//! Verdicts on the answers of shadow agents; nulls are sent.

use serde::Serialize;

use crate::entities::ShadowVerdict;
use crate::time::utc_timestamp;

/// `GET /api/evaluations/shadow_comparisons/recent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecentShadowComparisons {
    /// The latest first.
    pub verdicts: Vec<ShadowVerdictView>,
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShadowVerdictView {
    /// Unique in the organisation.
    pub verdict_id: i64,
    /// The turn; a text, as recorded.
    pub interaction_id: String,
    /// Its session.
    pub session_id: String,
    /// The agent version that answered.
    pub agent_version: String,
    /// Whether the answer that the user got was shown to the judge first.
    pub reflexio_is_request_1: bool,
    /// What the judge said.
    pub output: ShadowOutputView,
    /// The version of the prompt that the judge was shown.
    pub judge_prompt_version: String,
    /// When it was judged, in ISO 8601.
    pub created_at: String,
}

/// What a judge said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShadowOutputView {
    /// `1`, `2` or `tie`.
    pub better_request: &'static str,
    /// Whether by much.
    pub is_significantly_better: bool,
    /// Why.
    pub comparison_reason: Option<String>,
}

impl From<ShadowVerdict> for ShadowVerdictView {
    fn from(verdict: ShadowVerdict) -> Self {
        Self {
            verdict_id: verdict.verdict_id,
            interaction_id: verdict.interaction_id.to_string(),
            session_id: verdict.session_id.to_string(),
            agent_version: verdict.agent_version,
            reflexio_is_request_1: verdict.regular_is_first,
            output: ShadowOutputView {
                better_request: verdict.better_request.as_str(),
                is_significantly_better: verdict.is_significantly_better,
                comparison_reason: verdict.comparison_reason,
            },
            judge_prompt_version: verdict.judge_prompt_version,
            created_at: utc_timestamp(verdict.created_at.saturating_mul(1000)).unwrap_or_default(),
        }
    }
}
