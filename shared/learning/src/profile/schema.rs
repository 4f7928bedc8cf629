//! What models answer about profiles. The comments on the fields are part of the schema that the model sees.

use domain::entities::ProfileTimeToLive;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::lenient;

/// The profiles that a conversation yields; an empty list when it yields none.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct ProfileAnswer {
    /// One entry for each fact about the user; empty when there is nothing worth remembering.
    #[serde(deserialize_with = "lenient::list")]
    pub profiles: Vec<ProfileDraft>,
}

/// One fact about the user.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProfileDraft {
    /// One sentence on why the cited turns support the fact and how long it will stay true.
    #[serde(deserialize_with = "lenient::text")]
    pub reasoning: Option<String>,
    /// The fact, understandable without the conversation, in the user's language.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub content: Option<String>,
    /// How long the fact will stay true.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(schema_with = "time_to_live")]
    pub time_to_live: Option<String>,
    /// The passage of a cited turn that carries the fact, word for word, or null.
    #[serde(deserialize_with = "lenient::text")]
    pub source_span: Option<String>,
    /// Labels of the turns that say it, such as "t3".
    #[serde(deserialize_with = "lenient::texts")]
    pub evidence_refs: Vec<String>,
    /// Confidence or caveats in a few words, or null.
    #[serde(deserialize_with = "lenient::text")]
    pub notes: Option<String>,
}

/// What is to become of new facts in the light of the stored ones.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DedupAnswer {
    /// Rows that state the same fact, or of which one replaces the other.
    #[serde(deserialize_with = "lenient::list")]
    pub duplicate_groups: Vec<DuplicateGroup>,
    /// NEW rows that stay as they are.
    #[serde(deserialize_with = "lenient::texts")]
    pub unique_ids: Vec<String>,
    /// Wishes to forget.
    #[serde(deserialize_with = "lenient::list")]
    pub deletions: Vec<Deletion>,
}

/// Rows that become one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DuplicateGroup {
    /// The members, such as "NEW-0" and "EXISTING-1"; at least two.
    #[serde(deserialize_with = "lenient::texts")]
    pub item_ids: Vec<String>,
    /// Whether the members say the same or contradict each other.
    #[serde(deserialize_with = "relation")]
    pub relation: Relation,
    /// The one statement that remains.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub merged_content: Option<String>,
    /// How long it will stay true.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(schema_with = "time_to_live")]
    pub merged_time_to_live: Option<String>,
}

/// How the members of a group relate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// They say the same.
    #[default]
    Duplicate,
    /// They cannot all be true; the latest one holds.
    Contradiction,
}

/// A wish to forget and what it concerns.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Deletion {
    /// One sentence on why these rows state what is to be forgotten.
    #[serde(deserialize_with = "lenient::text")]
    pub reasoning: Option<String>,
    /// The NEW row that holds the wish.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub new_id: Option<String>,
    /// The EXISTING rows that state what is to be forgotten; may be empty.
    #[serde(deserialize_with = "lenient::texts")]
    pub existing_ids: Vec<String>,
}

fn time_to_live(_: &mut SchemaGenerator) -> Schema {
    let values: Vec<&str> = ProfileTimeToLive::ALL.into_iter().map(ProfileTimeToLive::as_str).collect();
    json_schema!({ "type": "string", "enum": values })
}

fn relation<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Relation, D::Error> {
    Ok(lenient::maybe(deserializer)?.unwrap_or_default())
}

/// Reads a time to live in any case.
pub(crate) fn parse_time_to_live(text: Option<&str>) -> Option<ProfileTimeToLive> {
    ProfileTimeToLive::parse(&text?.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_schema_offers_the_times_to_live_and_puts_the_reasoning_first() {
        let schema = Value::from(schemars::schema_for!(ProfileAnswer));
        let draft = &schema["$defs"]["ProfileDraft"]["properties"];
        let names: Vec<&str> = draft.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["reasoning", "content", "time_to_live", "source_span", "evidence_refs", "notes"]);
        assert_eq!(
            draft["time_to_live"]["enum"],
            json!(["one_day", "one_week", "one_month", "one_quarter", "one_year", "infinity"])
        );
    }

    #[test]
    fn null_is_nothing_learned_but_another_shape_is_not() {
        assert_eq!(serde_json::from_value::<ProfileAnswer>(json!({"profiles": null})).unwrap().profiles, []);
        for wrong in
            [json!({}), json!([]), json!({"profiles": "none"}), json!({"profiles": {"content": "x"}})]
        {
            assert!(serde_json::from_value::<ProfileAnswer>(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_field_that_cannot_be_read_does_not_cost_the_other_entries() {
        let answer: ProfileAnswer = serde_json::from_value(json!({"extra": 1, "profiles": [
            {"content": 7, "time_to_live": {"a": 1}, "evidence_refs": "t1", "unknown": true},
            "prose",
            {"content": null, "evidence_refs": ["t1", null]},
        ]}))
        .unwrap();
        assert_eq!(answer.profiles.len(), 3);
        assert_eq!(answer.profiles[0].content.as_deref(), Some("7"));
        assert_eq!(answer.profiles[0].evidence_refs, ["t1"]);
        assert_eq!(answer.profiles[1], ProfileDraft::default());
        assert_eq!(answer.profiles[2].evidence_refs, ["t1", ""]);
    }

    #[test]
    fn an_unknown_relation_counts_as_a_duplicate() {
        let group: DuplicateGroup = serde_json::from_value(json!({"relation": "Same!"})).unwrap();
        assert_eq!(group.relation, Relation::Duplicate);
    }
}
