//! The rules of single values, against what pydantic 2.14 and Python's `json` say.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

use domain::requests::SearchMode;
use domain::validation::rules::{self, Bounds};
use domain::validation::{Fields, read_body, read_json};
use serde_json::{Map, Value, json};

/// Reads a value by a rule, as the value that it becomes or the faults without input.
fn outcome(rule: &str, input: &Value) -> Result<Value, Value> {
    let body = json!({ "v": input });
    let read = |fields: &mut Fields<'_, '_>| -> Option<Value> {
        match rule {
            "integer" => fields.required("v", rules::integer(Bounds::NONE)).map(Value::from),
            "positive" => fields.required("v", rules::integer(rules::POSITIVE)).map(Value::from),
            "unit_interval" => fields.required("v", rules::number(rules::UNIT_INTERVAL)).map(Value::from),
            "boolean" => fields.required("v", rules::boolean).map(Value::from),
            "text" => fields.required("v", rules::text).map(Value::from),
            "bounded_3" => fields.required("v", rules::bounded(3)).map(Value::from),
            "sized_1_2" => fields.required("v", rules::sized(1, 2)).map(Value::from),
            "source_label" => fields.required("v", rules::source_label).map(Value::from),
            "search_mode" => {
                let mode = fields.required("v", rules::choice::<SearchMode>)?;
                serde_json::to_value(mode).ok()
            }
            "integers_1_2" => {
                fields.required("v", rules::list(1, 2, rules::integer(Bounds::NONE))).map(Value::from)
            }
            "object" => fields.required("v", rules::json_object).map(Value::from),
            "moment" => fields.required("v", domain::validation::moment).map(|at| at.microseconds().into()),
            other => panic!("no rule {other}"),
        }
    };
    read_body(&body, read, |_| Ok(())).map_err(|errors| errors.to_json()["detail"].clone())
}

fn without_input(faults: &Value) -> Value {
    let strip = |fault: &Value| {
        let mut fault = fault.as_object().unwrap().clone();
        fault.remove("input");
        let loc = fault["loc"].as_array().unwrap()[2..].to_vec();
        fault.insert("loc".into(), loc.into());
        Value::Object(fault)
    };
    faults.as_array().unwrap().iter().map(strip).collect()
}

fn same_number(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a.to_bits() == b.to_bits())
}

#[test]
fn each_rule_agrees_with_its_vectors() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("fixtures/rule_vectors.json")).unwrap();
    let mut wrong = Vec::new();
    for vector in &vectors {
        let rule = vector["rule"].as_str().unwrap();
        let input = read_json(vector["input"].as_str().unwrap()).unwrap();
        let expected = vector.get("faults").cloned();
        let agrees = match (outcome(rule, &input), &expected) {
            (Ok(value), None) => same_number(&value, &vector["value"]),
            (Err(faults), Some(expected)) => {
                let faults = without_input(&faults);
                // With NaN in the input the answer holds no context either.
                let mut plain = expected.clone();
                if vector["input"].as_str().unwrap().contains("NaN")
                    || vector["input"].as_str().unwrap().contains("Infinity")
                {
                    for fault in plain.as_array_mut().unwrap() {
                        fault.as_object_mut().map(|fault: &mut Map<String, Value>| fault.remove("ctx"));
                    }
                }
                faults == plain
            }
            _ => false,
        };
        if !agrees {
            wrong.push(format!("{vector}\n    -> {:?}", outcome(rule, &input)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}

#[test]
fn malformed_json_is_reported_at_the_same_place_in_the_same_words() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("fixtures/json_faults.json")).unwrap();
    for vector in vectors {
        let fault = read_json(vector["text"].as_str().unwrap()).unwrap_err();
        let found = json!({ "text": vector["text"], "reason": fault.reason, "position": fault.position });
        assert_eq!(found, vector);
    }
}
