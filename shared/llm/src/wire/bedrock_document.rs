//! Between JSON and the documents of the AWS SDK.

use aws_smithy_types::{Document, Number};
use serde_json::Value;

pub(super) fn to_document(value: &Value) -> Document {
    match value {
        Value::Null => Document::Null,
        Value::Bool(flag) => Document::Bool(*flag),
        Value::Number(number) => Document::Number(match (number.as_u64(), number.as_i64()) {
            (Some(positive), _) => Number::PosInt(positive),
            (None, Some(negative)) => Number::NegInt(negative),
            (None, None) => Number::Float(number.as_f64().unwrap_or_default()),
        }),
        Value::String(text) => Document::String(text.clone()),
        Value::Array(items) => Document::Array(items.iter().map(to_document).collect()),
        Value::Object(object) => {
            Document::Object(object.iter().map(|(key, value)| (key.clone(), to_document(value))).collect())
        }
    }
}

pub(super) fn to_json(document: &Document) -> Value {
    match document {
        Document::Null => Value::Null,
        Document::Bool(flag) => Value::Bool(*flag),
        Document::Number(Number::PosInt(number)) => Value::from(*number),
        Document::Number(Number::NegInt(number)) => Value::from(*number),
        Document::Number(Number::Float(number)) => Value::from(*number),
        Document::String(text) => Value::String(text.clone()),
        Document::Array(items) => items.iter().map(to_json).collect(),
        Document::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), to_json(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_survives_the_way_there_and_back() {
        let value = json!({"a": [1, -2, 0.5, null, true, "x"], "b": {"c": u64::MAX}});
        assert_eq!(to_json(&to_document(&value)), value);
    }
}
