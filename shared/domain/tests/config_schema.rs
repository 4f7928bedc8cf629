//! The configuration against the recorded schema: every member is known, with its default and its bounds.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

use domain::config::{Change, Config};
use serde_json::{Map, Value, json};

/// A member that the recorded schema does not have; it is shown once it is set.
const OWN: &str = "user_playbook_extractor_config.aggregation_config.min_distinct_users";
/// Members whose smallest value needs a small partner, so that the stride fits the window.
const PARTNERS: [(&str, &str); 2] =
    [("window_size", "stride_size"), ("window_size_override", "stride_size_override")];

fn schema() -> Value {
    serde_json::from_str(include_str!("fixtures/config.schema.json")).unwrap()
}

/// The schemas that a member may have, references resolved; `null` left out.
fn arms<'s>(schema: &'s Value, member: &'s Value) -> Vec<&'s Value> {
    let resolve = |arm: &'s Value| match arm["$ref"].as_str() {
        Some(path) => schema.pointer(path.trim_start_matches('#')).unwrap(),
        None => arm,
    };
    match member["anyOf"].as_array() {
        Some(all) => all.iter().map(resolve).filter(|arm| arm["type"] != "null").collect(),
        None => vec![resolve(member)],
    }
}

/// An object with no more than what must be there.
fn least(schema: &Value, object: &Value) -> Map<String, Value> {
    let required = object["required"].as_array().into_iter().flatten();
    let names = required.map(|name| name.as_str().unwrap());
    let value = |name: &str| {
        let arm = arms(schema, &object["properties"][name])[0];
        match arm["type"].as_str().unwrap() {
            "string" if arm["format"] == "uri" => json!("https://models.example.com/"),
            "string" => arm.get("const").cloned().unwrap_or_else(|| json!("text")),
            "integer" | "number" => json!(1),
            other => panic!("{name} is required and a {other}"),
        }
    };
    names.map(|name| (name.to_owned(), value(name))).collect()
}

/// A document whose member at `path` is `value`; objects on the way hold what they must, and nothing is missing.
fn document(schema: &Value, path: &[&str], value: Value) -> Value {
    fn put(schema: &Value, object: &Value, into: &mut Map<String, Value>, path: &[&str], value: Value) {
        let [name, rest @ ..] = path else { return };
        for (member, partner) in PARTNERS {
            if *name == member {
                into.insert(partner.to_owned(), json!(1));
            }
        }
        if rest.is_empty() {
            into.insert((*name).to_owned(), value);
            return;
        }
        let inner = arms(schema, &object["properties"][*name])[0];
        let mut map = least(schema, inner);
        if *name == "openai" {
            map.insert("api_key".to_owned(), json!("text"));
        }
        put(schema, inner, &mut map, rest, value);
        into.insert((*name).to_owned(), Value::Object(map));
    }
    let mut root = Map::new();
    root.insert("storage_config".to_owned(), json!({}));
    put(schema, schema, &mut root, path, value);
    Value::Object(root)
}

fn read(document: &Value) -> Result<Config, String> {
    match Config::default().replaced_by(document) {
        Ok(Change::Changed(config)) => Ok(*config),
        Ok(Change::Unchanged) => Ok(Config::default()),
        Err(fault) => Err(format!("{fault:?}")),
    }
}

/// Calls `visit` for every member of every object but those of storage and experiments, which have rules of their own.
fn members<'s>(
    schema: &'s Value,
    object: &'s Value,
    path: &mut Vec<&'s str>,
    visit: &mut dyn FnMut(&[&str], &'s Value),
) {
    for (name, member) in object["properties"].as_object().unwrap() {
        if name == "storage_config" || name.starts_with("retrieval_experiment") {
            continue;
        }
        path.push(name);
        visit(path, member);
        let arm = arms(schema, member)[0];
        if arm["properties"].is_object() {
            members(schema, arm, path, visit);
        }
        path.pop();
    }
}

/// The values next to the bounds of a number, each with whether it is allowed.
fn edges(arm: &Value) -> Vec<(Value, bool)> {
    let step = |value: &Value, by: i64| match value.as_i64() {
        Some(number) if arm["type"] == "integer" => json!(number + by),
        #[expect(clippy::cast_precision_loss, reason = "one up or down")]
        _ => json!(value.as_f64().unwrap() + by as f64 * 0.001),
    };
    let mut found = Vec::new();
    for (bound, outwards, inclusive) in [
        ("minimum", -1, true),
        ("maximum", 1, true),
        ("exclusiveMinimum", -1, false),
        ("exclusiveMaximum", 1, false),
    ] {
        if let Some(value) = arm.get(bound) {
            found.push((step(value, outwards), false));
            found.push((step(value, 0), inclusive));
            found.push((step(value, -outwards), true));
        }
    }
    found
}

#[test]
fn every_number_is_bounded_as_recorded() {
    let schema = schema();
    let mut compared = 0;
    members(&schema, &schema, &mut Vec::new(), &mut |path, member| {
        let arm = arms(&schema, member)[0];
        if !matches!(arm["type"].as_str(), Some("integer" | "number")) {
            return;
        }
        for (value, allowed) in edges(arm) {
            let read = read(&document(&schema, path, value.clone()));
            assert_eq!(read.is_ok(), allowed, "{}: {value}: {read:?}", path.join("."));
            compared += 1;
        }
        let wrong = read(&document(&schema, path, json!("x")));
        assert!(wrong.is_err(), "{} takes a text", path.join("."));
    });
    assert!(compared > 100, "only {compared} values were tried");
}

/// A configuration in which the object at `place` is there, with no more than it must hold beside `name`.
fn with_object(schema: &Value, place: &[&str], name: &str) -> Config {
    let Some(last) = place.last() else { return Config::default() };
    let inner = place.iter().fold(schema, |at, name| arms(schema, &at["properties"][*name])[0]);
    let mut members = least(schema, inner);
    if *last == "openai" && name == "api_key" {
        let azure = json!({ "api_key": "text", "endpoint": "https://models.example.com/" });
        members.insert("azure_config".to_owned(), azure);
    } else if *last == "openai" {
        members.insert("api_key".to_owned(), json!("text"));
    }
    read(&document(schema, place, Value::Object(members))).unwrap()
}

#[test]
fn every_member_has_its_recorded_default() {
    let schema = schema();
    let mut compared = 0;
    members(&schema, &schema, &mut Vec::new(), &mut |path, member| {
        let Some(default) = member.get("default") else { return };
        let (name, place) = path.split_last().unwrap();
        let wire = with_object(&schema, place, name).to_wire();
        let found = wire.pointer(&format!("/{}", path.join("/")));
        let equal = match (found, default) {
            (Some(Value::Number(found)), Value::Number(default)) => found.as_f64() == default.as_f64(),
            (found, default) => found == Some(default),
        };
        assert!(equal, "{}: {found:?} is not {default}", path.join("."));
        compared += 1;
    });
    assert!(compared > 100, "only {compared} defaults were compared");
}

#[test]
fn every_word_of_a_choice_is_known_and_no_other() {
    let schema = schema();
    let mut compared = 0;
    members(&schema, &schema, &mut Vec::new(), &mut |path, member| {
        let arm = arms(&schema, member)[0];
        let Some(words) = arm["enum"].as_array() else { return };
        for word in words {
            let read = read(&document(&schema, path, word.clone()));
            assert!(read.is_ok(), "{}: {word}: {read:?}", path.join("."));
            compared += 1;
        }
        assert!(read(&document(&schema, path, json!("another"))).is_err(), "{}", path.join("."));
    });
    assert!(compared >= 10, "only {compared} words were tried");
}

#[test]
fn no_member_is_shown_that_is_not_recorded_unless_it_is_ours_and_set() {
    let schema = schema();
    let mut known = Vec::new();
    members(&schema, &schema, &mut Vec::new(), &mut |path, _| known.push(path.join(".")));
    fn names(value: &Value, path: &str, found: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            found.push(path.clone());
            names(value, &path, found);
        }
    }
    let strange = |config: &Config| {
        let mut found = Vec::new();
        names(&config.to_wire(), "", &mut found);
        let elsewhere = ["storage_config", "retrieval_experiment"];
        found.retain(|name| !known.contains(name) && !elsewhere.iter().any(|start| name.starts_with(start)));
        found
    };
    assert_eq!(strange(&Config::default()), Vec::<String>::new());
    let path: Vec<&str> = OWN.split('.').collect();
    for (value, allowed) in [(0, false), (1, true), (2, true)] {
        let config = read(&document(&schema, &path, json!(value)));
        assert_eq!(config.is_ok(), allowed, "{value}");
        let shown: &[&str] = if value > 1 { &[OWN] } else { &[] };
        assert_eq!(config.map(|config| strange(&config)).unwrap_or_default(), shown, "{value}");
    }
}
