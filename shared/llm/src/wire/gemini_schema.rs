//! The part of JSON schema that Gemini understands.

use serde_json::{Map, Value, json};

/// Keywords that are passed on as they are.
const KEPT: [&str; 4] = ["description", "required", "format", "enum"];

/// Rewrites a strict JSON schema: types in capitals, `null` as `nullable`, order of properties spelled out.
pub(crate) fn subset(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else { return json!({}) };
    let mut out = Map::new();
    for key in KEPT {
        if let Some(value) = schema.get(key) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    types(schema, &mut out);
    if let Some(Value::Array(values)) = out.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let names: Vec<&String> = properties.keys().collect();
        out.insert("propertyOrdering".into(), json!(names));
        let properties: Map<String, Value> =
            properties.iter().map(|(name, property)| (name.clone(), subset(property))).collect();
        out.insert("properties".into(), Value::Object(properties));
    }
    if let Some(items) = schema.get("items") {
        out.insert("items".into(), subset(items));
    }
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        any_of(branches, &mut out);
    }
    Value::Object(out)
}

fn types(schema: &Map<String, Value>, out: &mut Map<String, Value>) {
    let mut names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let all = names.len();
    names.retain(|name| *name != "null");
    if names.len() < all {
        out.insert("nullable".into(), json!(true));
    }
    match names.as_slice() {
        [] => {}
        [name] => {
            out.insert("type".into(), json!(name.to_uppercase()));
        }
        several => {
            let branches = several.iter().map(|name| json!({"type": name.to_uppercase()}));
            out.insert("anyOf".into(), branches.collect());
        }
    }
}

/// One branch beside `null` becomes a nullable schema of its own.
fn any_of(branches: &[Value], out: &mut Map<String, Value>) {
    let real: Vec<Value> = branches.iter().filter(|branch| branch["type"] != "null").map(subset).collect();
    if real.len() < branches.len() {
        out.insert("nullable".into(), json!(true));
    }
    match real.as_slice() {
        [Value::Object(only)] => out.extend(only.iter().map(|(key, value)| (key.clone(), value.clone()))),
        _ => {
            out.insert("anyOf".into(), Value::Array(real));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_becomes_nullable_and_the_order_of_properties_is_spelled_out() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["reasoning", "kind", "inner"],
            "properties": {
                "reasoning": {"type": ["string", "null"]},
                "kind": {"type": ["string", "null"], "enum": ["a", null]},
                "inner": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
            },
        });
        let expected = json!({
            "required": ["reasoning", "kind", "inner"],
            "type": "OBJECT",
            "propertyOrdering": ["reasoning", "kind", "inner"],
            "properties": {
                "reasoning": {"nullable": true, "type": "STRING"},
                "kind": {"enum": ["a"], "nullable": true, "type": "STRING"},
                "inner": {"nullable": true, "type": "ARRAY", "items": {"type": "INTEGER"}},
            },
        });
        assert_eq!(subset(&schema), expected);
    }
}
