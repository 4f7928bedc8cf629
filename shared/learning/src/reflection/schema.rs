//! What models answer about cited memories. The comments on the fields are part of the schema that the model sees.

use domain::entities::ProfileTimeToLive;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::lenient;

/// One decision for each cited memory.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct ReflectionAnswer {
    /// One entry for each memory that was shown.
    #[serde(deserialize_with = "lenient::list")]
    pub decisions: Vec<ReflectionDecision>,
}

/// What becomes of one cited memory. All new fields null: it stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReflectionDecision {
    /// One sentence on what the turns after the citation show.
    #[serde(deserialize_with = "lenient::text")]
    pub reason: Option<String>,
    /// The kind of the memory.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(schema_with = "target_kind")]
    pub target_kind: Option<String>,
    /// Its id, as it was shown.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub target_id: Option<String>,
    /// The whole new statement or rule, or null to keep it.
    #[serde(deserialize_with = "lenient::text")]
    pub new_content: Option<String>,
    /// Playbooks only: when the rule applies, or null to keep it.
    #[serde(deserialize_with = "lenient::text")]
    pub new_trigger: Option<String>,
    /// Playbooks only: why; must be given with new content.
    #[serde(deserialize_with = "lenient::text")]
    pub new_rationale: Option<String>,
    /// Profiles only: how long the fact will stay true from now on, or null to keep it.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(schema_with = "time_to_live")]
    pub new_profile_time_to_live: Option<String>,
}

fn target_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["profile", "playbook"] })
}

fn time_to_live(_: &mut SchemaGenerator) -> Schema {
    let mut values: Vec<Option<&str>> =
        ProfileTimeToLive::ALL.into_iter().map(|ttl| Some(ttl.as_str())).collect();
    values.push(None);
    json_schema!({ "type": ["string", "null"], "enum": values })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_decision_that_cannot_be_read_does_not_cost_the_others() {
        let answer: ReflectionAnswer = serde_json::from_value(json!({ "decisions": [
            "prose",
            { "target_kind": "playbook", "target_id": 7, "new_content": "  ", "new_trigger": "When asked" },
        ] }))
        .unwrap();
        assert_eq!(answer.decisions[0], ReflectionDecision::default());
        assert_eq!(answer.decisions[1].target_id.as_deref(), Some("7"));
        assert_eq!(answer.decisions[1].new_content, None, "blank is nothing");
        assert!(serde_json::from_value::<ReflectionAnswer>(json!({ "decisions": "none" })).is_err());
    }

    #[test]
    fn the_schema_puts_the_reason_first_and_names_the_kinds() {
        let schema = Value::from(schemars::schema_for!(ReflectionAnswer));
        let decision = &schema["$defs"]["ReflectionDecision"]["properties"];
        assert_eq!(decision.as_object().unwrap().keys().next().unwrap(), "reason");
        assert_eq!(decision["target_kind"]["enum"], json!(["profile", "playbook"]));
    }
}
