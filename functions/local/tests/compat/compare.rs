//! What differs between a recorded answer and ours.

use serde_json::Value;

use crate::replay::{Answer, Expected};

/// What a server says of its own store.
const OWN_WORDS: [&str; 2] = ["/storage_type", "/storage_label"];

/// What differs, in words; empty when nothing does.
pub(crate) fn differences(expected: &Expected, answer: &Answer) -> Vec<String> {
    if expected.status != answer.status {
        let body: String = answer.body.to_string().chars().take(160).collect();
        return vec![format!("status {} != {}: {body}", expected.status, answer.status)];
    }
    let mut found = Vec::new();
    if let Some(body) = &expected.body {
        compare(body, &answer.body, expected, String::new(), &mut found);
    }
    found
}

fn compare(want: &Value, got: &Value, expected: &Expected, path: String, found: &mut Vec<String>) {
    if expected.volatile.contains(&path) || OWN_WORDS.iter().any(|own| path.ends_with(own)) {
        return;
    }
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            // Members of rows may be absent where a model would have said something else.
            let is_row = expected.shape_only && path.rsplit('/').next().is_some_and(is_number);
            for (name, item) in want {
                let here = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                match got.get(name) {
                    Some(ours) => compare(item, ours, expected, here, found),
                    None if is_row || expected.volatile.contains(&here) => {}
                    None => found.push(format!("{here} missing")),
                }
            }
        }
        (Value::Array(want), Value::Array(got)) => {
            if want.len() != got.len() && !expected.shape_only {
                found.push(format!("{path}: {} items != {}", want.len(), got.len()));
                return;
            }
            for (index, (item, ours)) in want.iter().zip(got).enumerate() {
                compare(item, ours, expected, format!("{path}/{index}"), found);
            }
        }
        (Value::Number(want), Value::Number(got)) => {
            // Ids are numbers of the server's own.
            let is_id = path.split('/').any(|part| part.ends_with("_id") || part.ends_with("_ids"));
            if want.as_f64() != got.as_f64() && !expected.shape_only && !is_id {
                found.push(format!("{path}: {want} != {got}"));
            }
        }
        (want, got)
            if std::mem::discriminant(want) != std::mem::discriminant(got)
                && !(expected.shape_only && (want.is_null() || got.is_null())) =>
        {
            found.push(format!("{path}: {want} != {got}"));
        }
        (want, got) if want != got && !expected.shape_only => found.push(format!("{path}: {want} != {got}")),
        _ => {}
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
