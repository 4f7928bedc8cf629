//! What the judge answers. The comments on the fields are part of the schema that the model sees.

use domain::entities::FailureType;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Most corrections that are believed; more than any session can hold.
pub const CORRECTIONS_MAX: u64 = 1_000_000;

/// The verdict on one session. Members that nobody asked for are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct AgentSuccessEvaluationOutput {
    /// Whether the session as it ended meets the definition of success.
    pub is_success: bool,
    /// What decided the failure; null when the session succeeded or nothing fits.
    #[serde(default, deserialize_with = "failure_type")]
    #[schemars(schema_with = "failure_type_schema")]
    pub failure_type: Option<FailureType>,
    /// Why the session failed, in one or two sentences; null when it succeeded.
    #[serde(default)]
    pub failure_reason: Option<String>,
    /// Whether a human took over or was demanded.
    #[serde(default)]
    pub is_escalated: bool,
    /// How many turns of the user reject, correct or redirect the agent; a whole number, 0 or more.
    pub number_of_correction_per_session: u64,
    /// Not asked for. Where a model names a session all the same, it must be the one that it was shown.
    #[serde(default)]
    #[schemars(skip)]
    pub session_id: Option<Value>,
}

/// A failure type. Words with which models say "none" are none; any other unknown word is an error.
fn failure_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FailureType>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.is_null() || value.as_str().is_some_and(says_none) {
        return Ok(None);
    }
    FailureType::deserialize(value).map(Some).map_err(serde::de::Error::custom)
}

fn says_none(word: &str) -> bool {
    matches!(word.trim().to_ascii_lowercase().as_str(), "" | "none" | "null")
}

fn failure_type_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "null"],
        "enum": [
            "system_error", "missing_tool", "wrong_tool", "insufficient_info_from_tool", "wrong_answer", null,
        ],
    })
}

impl AgentSuccessEvaluationOutput {
    /// Whether the verdict is one, and on the session with one of these names.
    ///
    /// # Errors
    /// What is wrong with it, for the model.
    pub fn check(&self, session_names: &[&str]) -> Result<(), String> {
        if self.is_success && self.failure_type.is_some() {
            return Err("is_success is true, so failure_type must be null; or is_success is false".to_owned());
        }
        if self.number_of_correction_per_session > CORRECTIONS_MAX {
            return Err("number_of_correction_per_session is larger than the session".to_owned());
        }
        let names_another = match &self.session_id {
            None | Some(Value::Null) => false,
            Some(Value::String(name)) => !session_names.contains(&name.trim()),
            Some(_) => true,
        };
        if names_another {
            return Err("the verdict names another session than the one that was shown".to_owned());
        }
        Ok(())
    }
}
