use std::collections::HashMap;

use serde::Deserialize;

use super::*;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Life {
    OneDay,
    Infinity,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Decision {
    Keep { id: u32 },
    Drop { reason: Option<String> },
}

/// What is asked for.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct Everything {
    /// Why.
    reasoning: String,
    life: Life,
    decision: Option<Decision>,
    #[serde(default)]
    #[schemars(length(max = 5))]
    format: Vec<f64>,
    count: u32,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct Open {
    map: HashMap<String, String>,
}

#[test]
fn a_strict_schema_closes_every_object_and_requires_every_property() {
    let schema = strict_schema_for::<Everything>();
    assert_eq!(schema["required"], json!(["reasoning", "life", "decision", "format", "count"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    let branches = schema["properties"]["decision"]["anyOf"].as_array().unwrap();
    let text = schema.to_string();
    for unwanted in ["oneOf", "\"const\"", "$schema", "maxItems", "\"minimum\"", "\"default\"", "\"title\""] {
        assert!(!text.contains(unwanted), "{unwanted} in {text}");
    }
    assert!(branches.iter().any(|branch| branch["type"] == "null"), "{text}");
    assert!(text.contains(r#""enum":["keep"]"#), "{text}");
    assert!(is_strict(&schema), "{text}");
}

#[test]
fn a_property_may_be_called_like_a_keyword() {
    let schema = strict_schema_for::<Everything>();
    assert_eq!(schema["properties"]["format"]["type"], "array");
}

#[test]
fn the_order_of_fields_is_kept_so_that_reasoning_comes_first() {
    let schema = strict_schema_for::<Everything>();
    let first = schema["properties"].as_object().unwrap().keys().next();
    assert_eq!(first.map(String::as_str), Some("reasoning"));
}

#[test]
fn an_open_map_is_not_called_strict() {
    assert!(!is_strict(&strict_schema_for::<Open>()));
    assert!(!is_strict(&json!(true)));
    assert!(!is_strict(&json!({"type": "object", "properties": {"any": {}}, "additionalProperties": false})));
}
