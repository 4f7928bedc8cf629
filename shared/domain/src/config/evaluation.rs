//! The evaluation of sessions.

use serde_json::{Value, json};

use crate::validation::rules::{self, POSITIVE, UNIT_INTERVAL};
use crate::validation::{Faults, Path};

/// The versions of the prompt that compares with the shadow, oldest first.
pub const SHADOW_JUDGE_VERSIONS: [&str; 2] = ["v1.0.0", "v1.1.0"];
/// The one that is used where nobody chose.
pub const SHADOW_JUDGE_VERSION: &str = "v1.1.0";

/// A version of that prompt which exists: verdicts under any other one would never come.
pub(super) fn shadow_judge_version<'v>(
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<String> {
    let version = rules::non_blank(value, at, faults)?;
    if SHADOW_JUDGE_VERSIONS.contains(&version.as_str()) {
        return Some(version);
    }
    let expected = SHADOW_JUDGE_VERSIONS.map(|version| format!("'{version}'")).join(" or ");
    let ctx = Some(json!({ "expected": expected }));
    faults.add("enum", at, format!("Input should be {expected}"), value, ctx);
    None
}

const SUCCESS_PROMPT: &str = "Evaluate whether the AI agent successfully handled the user's session.

Mark the session successful when, by the end of the conversation, the agent:
1. Identified and addressed the user's main goal or question.
2. Provided a correct, useful, and actionable response or completed the requested action.
Mark the session unsuccessful when the agent failed to understand the request,
gave incorrect or unhelpful guidance, did not complete an available action,
ignored important constraints, or left the user unsatisfied.";

record! {
    /// Which sessions are judged, and by what.
    AgentSuccessConfig "AgentSuccessConfig" {
        /// Accepted; there is one evaluator.
        evaluation_name: Option<String> = nullable(rules::text),
        /// What counts as success.
        success_definition_prompt: String = required(rules::prompt),
        /// How results are tagged.
        tagging_definition_prompt: Option<String> = nullable(rules::sanitized),
        /// The sources that are judged; `None` or none: all.
        request_sources_enabled: Option<Vec<String>> = nullable(rules::texts),
        /// The part of sessions that is judged, 0 to 1.
        sampling_rate: f64 = optional(0.05, rules::number(UNIT_INTERVAL)),
        /// The same for requests that are stored for evaluation only.
        evaluation_only_sampling_rate: Option<f64> = nullable(rules::number(UNIT_INTERVAL)),
        /// The same for the judgement of retrieved learnings.
        retrieved_learning_sampling_rate: Option<f64> = nullable(rules::number(UNIT_INTERVAL)),
        /// Accepted; evaluation knows no windows.
        window_size_override: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Accepted; evaluation knows no windows.
        stride_size_override: Option<i64> = nullable(rules::integer(POSITIVE)),
    }
}

impl Default for AgentSuccessConfig {
    fn default() -> Self {
        Self {
            evaluation_name: Some("agent_success".to_owned()),
            success_definition_prompt: SUCCESS_PROMPT.to_owned(),
            tagging_definition_prompt: None,
            request_sources_enabled: None,
            sampling_rate: 0.05,
            evaluation_only_sampling_rate: None,
            retrieved_learning_sampling_rate: None,
            window_size_override: None,
            stride_size_override: None,
        }
    }
}
