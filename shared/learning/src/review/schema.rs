//! What a reviewing model answers. The comments on the fields are part of the schema that the model sees.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::judge::ReasonCode;
use crate::lenient;

/// One decision for each rule under review.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct ReviewAnswer {
    /// One entry for each rule.
    #[serde(deserialize_with = "lenient::list")]
    pub decisions: Vec<ReviewDecision>,
}

/// What is to become of one rule.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviewDecision {
    /// What the turns show, in one or two sentences.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
    /// The rule, such as "CANDIDATE-0".
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub candidate_id: Option<String>,
    /// What is to become of it.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(schema_with = "decision")]
    pub decision: Option<String>,
    /// Why, as a code.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(schema_with = "reason_code")]
    pub reason_code: Option<String>,
    /// Labels of the turns that the decision rests on, such as "t3".
    #[serde(deserialize_with = "lenient::texts")]
    pub evidence_refs: Vec<String>,
    /// For a revision: the corrected rule; otherwise null.
    #[serde(deserialize_with = "lenient::text")]
    pub content: Option<String>,
    /// For a revision: when it applies; otherwise null.
    #[serde(deserialize_with = "lenient::text")]
    pub trigger: Option<String>,
    /// For a revision: why; otherwise null.
    #[serde(deserialize_with = "lenient::text")]
    pub rationale: Option<String>,
}

fn decision(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["accept", "revise", "reject"] })
}

fn reason_code(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ReasonCode::ALL.map(ReasonCode::as_str) })
}
