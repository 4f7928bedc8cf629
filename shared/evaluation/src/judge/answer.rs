//! What a judge answers. The comments on the fields are part of the schema that the model sees.

use domain::entities::FailureType;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A verdict as a model writes it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct AgentSuccessEvaluationOutput {
    /// Whether the agent had done what was wanted when the session ended.
    is_success: bool,
    /// Why not; null when it had.
    #[serde(default)]
    #[schemars(schema_with = "failure_type")]
    failure_type: Option<FailureType>,
    /// Why not, in words; null when it had.
    #[serde(default)]
    failure_reason: Option<String>,
    /// Whether a human took over, or was demanded.
    #[serde(default)]
    is_escalated: bool,
    /// How often the user rejected, corrected or redirected the agent.
    number_of_correction_per_session: u32,
}

fn failure_type(_: &mut SchemaGenerator) -> Schema {
    let types = [
        FailureType::SystemError,
        FailureType::MissingTool,
        FailureType::WrongTool,
        FailureType::InsufficientInfoFromTool,
        FailureType::WrongAnswer,
    ];
    json_schema!({ "type": ["string", "null"], "enum": [
        types[0].as_str(), types[1].as_str(), types[2].as_str(), types[3].as_str(), types[4].as_str(), null,
    ] })
}

/// A verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the agent had done what was wanted when the session ended.
    pub is_success: bool,
    /// Why not.
    pub failure_type: Option<FailureType>,
    /// Why not, in words; `""` when nothing was said.
    pub failure_reason: String,
    /// Whether a human took over, or was demanded.
    pub is_escalated: bool,
    /// How often the user rejected, corrected or redirected the agent.
    pub number_of_correction_per_session: i64,
    /// Whether the judge saw the session's beginning and end only.
    pub is_windowed: bool,
}

impl Judgement {
    /// What an answer means. A session that succeeded did not fail for any reason, whatever else was written.
    pub(super) fn of(answer: AgentSuccessEvaluationOutput, is_windowed: bool) -> Self {
        let has_failed = !answer.is_success;
        let reason = answer.failure_reason.filter(|_| has_failed).unwrap_or_default();
        Self {
            is_success: answer.is_success,
            failure_type: answer.failure_type.filter(|_| has_failed),
            failure_reason: reason.trim().to_owned(),
            is_escalated: answer.is_escalated,
            number_of_correction_per_session: i64::from(answer.number_of_correction_per_session),
            is_windowed,
        }
    }
}

#[cfg(test)]
mod tests {
    use llm::schema::strict_schema_for;
    use llm::structured::read_text;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Judgement, String> {
        let schema = strict_schema_for::<AgentSuccessEvaluationOutput>();
        let read = read_text::<AgentSuccessEvaluationOutput>(text, &schema);
        read.map(|answer| Judgement::of(answer, false)).map_err(|problem| problem.for_model)
    }

    #[test]
    fn verdicts_are_read_out_of_what_models_write_around_them() {
        let verdict = r#"{"is_success": true, "number_of_correction_per_session": 2}"#;
        let wrapped = [
            verdict.to_owned(),
            format!("```json\n{verdict}\n```"),
            format!("<think>it went {{well}}</think>Here it is: {verdict} I hope that helps."),
            r#"{"is_success": true, "number_of_correction_per_session": 2, "confidence": 0.9}"#.to_owned(),
        ];
        for text in wrapped {
            let judgement = read(&text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!(judgement.is_success && !judgement.is_escalated, "{text}");
            assert_eq!(judgement.number_of_correction_per_session, 2, "{text}");
        }
    }

    #[test]
    fn no_verdict_is_made_out_of_an_answer_that_is_none() {
        for text in [
            "",
            "The agent did well.",
            "null",
            "[]",
            "{}",
            r#"{"is_success": true}"#,
            r#"{"is_success": "yes", "number_of_correction_per_session": 0}"#,
            r#"{"is_success": null, "number_of_correction_per_session": 0}"#,
            r#"{"is_success": true, "number_of_correction_per_session": 1.5}"#,
            r#"{"is_success": true, "number_of_correction_per_session": "1"}"#,
            r#"{"is_success": true, "number_of_correction_per_session": -1}"#,
            r#"{"is_success": false, "failure_type": "lazy", "number_of_correction_per_session": 0}"#,
            r#"{"is_success": true, "number_of_correc"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_success_has_no_reason_for_failing() {
        let judgement = read(
            r#"{"is_success": true, "failure_type": "wrong_answer", "failure_reason": "none", "is_escalated": true,
                "number_of_correction_per_session": 0}"#,
        )
        .unwrap();
        assert_eq!((judgement.failure_type, judgement.failure_reason.as_str()), (None, ""));
        assert!(judgement.is_escalated);
    }

    #[test]
    fn the_schema_allows_no_other_members() {
        let schema = strict_schema_for::<AgentSuccessEvaluationOutput>();
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["failure_type"]["enum"][4], "wrong_answer");
    }
}
