//! JSON schemas of Rust types in the strict form that providers enforce.
//!
//! Strict means: every property required, no others allowed, on every object and every branch. Optional values
//! are nullable instead. Keywords that some providers refuse are left out; what they said is checked by us.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Keywords left out: providers refuse some of them, and all are checked after parsing.
const DROPPED: [&str; 21] = [
    "$schema",
    "$comment",
    "title",
    "format",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "unevaluatedProperties",
];

/// The strict schema of `T`.
#[must_use]
pub fn strict_schema_for<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        // Few providers follow references.
        settings.inline_subschemas = true;
    });
    let mut schema: Value = settings.into_generator().into_root_schema_for::<T>().into();
    make_strict(&mut schema);
    schema
}

/// Brings a schema into strict form.
pub fn make_strict(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for keyword in DROPPED {
        object.shift_remove(keyword);
    }
    if let Some(value) = object.shift_remove("const") {
        if let (None, Some(name)) = (object.get("type"), type_name(&value)) {
            object.insert("type".into(), json!(name));
        }
        object.insert("enum".into(), json!([value]));
    }
    if let Some(branches) = object.shift_remove("oneOf") {
        object.insert("anyOf".into(), branches);
    }
    if object.contains_key("properties")
        || (is_object(object) && !object.contains_key("additionalProperties"))
    {
        close(object);
    }
    for keyword in ["properties", "$defs"] {
        if let Some(Value::Object(named)) = object.get_mut(keyword) {
            named.values_mut().for_each(make_strict);
        }
    }
    for keyword in ["anyOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(branches)) = object.get_mut(keyword) {
            branches.iter_mut().for_each(make_strict);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(keyword) {
            make_strict(inner);
        }
    }
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => false,
    }
}

fn close(object: &mut Map<String, Value>) {
    let names: Vec<String> = object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect();
    if !object.contains_key("properties") {
        object.insert("properties".into(), json!({}));
    }
    object.insert("required".into(), json!(names));
    object.insert("additionalProperties".into(), json!(false));
}

fn type_name(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some("integer"),
        Value::Number(_) => Some("number"),
        Value::Null => Some("null"),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a provider can enforce the schema: no open maps and no values of any shape in it.
#[must_use]
pub fn is_strict(schema: &Value) -> bool {
    let Value::Object(object) = schema else { return false };
    if is_object(object) && object.get("additionalProperties") != Some(&Value::Bool(false)) {
        return false;
    }
    let says_what = ["type", "enum", "anyOf", "$ref"].iter().any(|keyword| object.contains_key(*keyword));
    if !says_what || object.contains_key("allOf") {
        return false;
    }
    let named = ["properties", "$defs"].into_iter().filter_map(|keyword| object.get(keyword)?.as_object());
    let branches = ["anyOf", "prefixItems"].into_iter().filter_map(|keyword| object.get(keyword)?.as_array());
    named.flat_map(Map::values).all(is_strict)
        && branches.flatten().all(is_strict)
        && object.get("items").is_none_or(is_strict)
}

/// The schema as a sentence, for providers and repairs where it cannot travel otherwise.
#[must_use]
pub fn instruction(schema: &Value) -> String {
    format!("Answer with one JSON object and nothing else. It must match this JSON schema:\n{schema}")
}

#[cfg(test)]
mod tests;
