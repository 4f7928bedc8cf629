//! JSON with one spelling, for digests: keys in the order of their code points, no white space.

use serde_json::Value;

/// Writes a value so that equal values give equal text.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, item)) in members.into_iter().enumerate() {
                separate(index, out);
                write_scalar(&Value::String(key.clone()), out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, out);
                write(item, out);
            }
            out.push(']');
        }
        scalar => write_scalar(scalar, out),
    }
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    out.push_str(&value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_spelling() {
        let a = serde_json::json!({"b": [1, {"é": null, "a": true}], "a": "x\n"});
        let b = serde_json::json!({"a": "x\n", "b": [1, {"a": true, "é": null}]});
        assert_eq!(to_string(&a), r#"{"a":"x\n","b":[1,{"a":true,"é":null}]}"#);
        assert_eq!(to_string(&a), to_string(&b));
    }
}
