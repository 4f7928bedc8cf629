//! What a model decides about new rules in the light of the stored ones.
//!
//! Models name rows in many ways; all that can only mean one thing are read. A decision that cannot be read is
//! counted, and does not cost the others.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::candidates::RowId;
use crate::lenient::{text_of, texts_of};

/// All decisions of one answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConsolidationAnswer {
    /// The decisions that could be read, in order.
    pub decisions: Vec<Decision>,
    /// How many could not.
    pub unreadable: usize,
}

/// One decision. Stored rows are named by number: their place in the list that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// New and stored rules teach the same: one rule takes their place.
    Unify {
        /// New rows, at least one.
        new: Vec<usize>,
        /// Stored rows that the result replaces.
        archive_existing: Vec<i64>,
        /// What to do.
        content: String,
        /// When; that of the first new row if `None`.
        trigger: Option<String>,
        /// Why; that of the first new row if `None`.
        rationale: Option<String>,
    },
    /// A stored rule says all of it already.
    RejectNew {
        /// New rows, at least one.
        new: Vec<usize>,
        /// The stored rule.
        superseded_by_existing: i64,
    },
    /// Both are right, each in its own situation.
    Differentiate {
        /// The new row.
        new: usize,
        /// The stored row.
        existing: i64,
        /// When the new rule applies.
        refined_new_trigger: String,
        /// When the stored rule applies.
        refined_existing_trigger: String,
    },
    /// It teaches something else.
    Independent {
        /// New rows, at least one.
        new: Vec<usize>,
    },
}

impl Decision {
    /// The new rows that it is about.
    #[must_use]
    pub fn new_rows(&self) -> &[usize] {
        match self {
            Self::Unify { new, .. } | Self::RejectNew { new, .. } | Self::Independent { new } => new,
            Self::Differentiate { new, .. } => std::slice::from_ref(new),
        }
    }

    /// The word of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unify { .. } => "unify",
            Self::RejectNew { .. } => "reject_new",
            Self::Differentiate { .. } => "differentiate",
            Self::Independent { .. } => "independent",
        }
    }

    fn parse(value: &Value) -> Option<Self> {
        let new = new_rows_of(value.get("new_id").or_else(|| value.get("new_ids"))?)?;
        let text = |name: &str| value.get(name).and_then(text_of);
        match kind_of(value.get("kind")?.as_str()?)? {
            Kind::Unify => Some(Self::Unify {
                new,
                archive_existing: existing_rows_of(value.get("archive_existing_ids")),
                content: text("content")?,
                trigger: text("trigger"),
                rationale: text("rationale"),
            }),
            Kind::RejectNew => Some(Self::RejectNew {
                new,
                superseded_by_existing: value.get("superseded_by_existing_id").and_then(existing_row_of)?,
            }),
            Kind::Differentiate => Some(Self::Differentiate {
                new: (new.len() == 1).then(|| new[0])?,
                existing: value.get("existing_id").and_then(existing_row_of)?,
                refined_new_trigger: text("refined_new_trigger")?,
                refined_existing_trigger: text("refined_existing_trigger")?,
            }),
            Kind::Independent => Some(Self::Independent { new }),
        }
    }
}

enum Kind {
    Unify,
    RejectNew,
    Differentiate,
    Independent,
}

fn kind_of(name: &str) -> Option<Kind> {
    match name.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "unify" | "merge" | "combine" => Some(Kind::Unify),
        "reject_new" | "reject" | "duplicate" => Some(Kind::RejectNew),
        "differentiate" | "distinguish" => Some(Kind::Differentiate),
        "independent" | "keep" | "add" | "unique" => Some(Kind::Independent),
        _ => None,
    }
}

/// Ids of new rows: `"NEW-0"`, a number, or a list of these; every one must be readable.
fn new_rows_of(value: &Value) -> Option<Vec<usize>> {
    let mut rows = Vec::new();
    for text in texts_of(value) {
        let row = match RowId::parse(&text) {
            Some(RowId::New(n)) => n,
            Some(RowId::Existing(_)) => return None,
            None => text.parse().ok()?,
        };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    (!rows.is_empty()).then_some(rows)
}

/// The number of a stored row: `5`, `"5"`, `"EXISTING-5"`, `"existing_5"`.
fn existing_row_of(value: &Value) -> Option<i64> {
    let text = text_of(value)?;
    let number = match RowId::parse(&text) {
        Some(RowId::Existing(n)) => i64::try_from(n).ok()?,
        Some(RowId::New(_)) => return None,
        None => text.parse().ok()?,
    };
    (number >= 0).then_some(number)
}

/// Numbers of stored rows, each once; those that cannot be read are left out.
fn existing_rows_of(value: Option<&Value>) -> Vec<i64> {
    let entries = match value {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(single) => std::slice::from_ref(single),
        None => &[],
    };
    let mut rows = Vec::new();
    for row in entries.iter().filter_map(existing_row_of) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

impl<'de> Deserialize<'de> for ConsolidationAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            decisions: Vec<Value>,
        }
        let raw = Raw::deserialize(deserializer)?;
        let decisions: Vec<Decision> = raw.decisions.iter().filter_map(Decision::parse).collect();
        Ok(Self { unreadable: raw.decisions.len() - decisions.len(), decisions })
    }
}

impl JsonSchema for ConsolidationAnswer {
    fn schema_name() -> Cow<'static, str> {
        "ConsolidationAnswer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json_schema!({ "type": "string" });
        let new_ids = json_schema!({ "type": "array", "items": { "type": "string" },
            "description": "NEW rows, such as [\"NEW-0\"]" });
        let existing = json_schema!({ "type": "integer", "description": "the number of an EXISTING row" });
        json_schema!({
            "type": "object",
            "properties": { "decisions": { "type": "array", "items": { "anyOf": [
                decision("unify", &[("reason", &text), ("new_id", &new_ids), ("archive_existing_ids",
                    &json_schema!({ "type": "array", "items": { "type": "integer" } })),
                    ("content", &text), ("trigger", &text), ("rationale", &text)]),
                decision("reject_new", &[("reason", &text), ("new_id", &text),
                    ("superseded_by_existing_id", &existing)]),
                decision("differentiate", &[("reason", &text), ("new_id", &text), ("existing_id", &existing),
                    ("refined_new_trigger", &text), ("refined_existing_trigger", &text)]),
                decision("independent", &[("reason", &text), ("new_id", &text)]),
            ] } } },
            "required": ["decisions"],
            "additionalProperties": false,
        })
    }
}

fn decision(kind: &str, fields: &[(&str, &Schema)]) -> Value {
    let mut properties = serde_json::Map::new();
    properties.insert("kind".into(), serde_json::json!({ "type": "string", "enum": [kind] }));
    properties.extend(fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.as_value().clone())));
    let required: Vec<String> = properties.keys().cloned().collect();
    serde_json::json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    })
}

#[cfg(test)]
#[path = "decisions_tests.rs"]
mod tests;
