//! Free-form data of an outcome, kept as the one text by which it is measured and compared.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::float_text::float_text;
use crate::validation::read_json;

/// Longest encoding, in bytes.
pub const METADATA_BYTES_MAX: usize = 16_384;

/// A JSON object in its canonical encoding: keys in the order of their code points, no white space, everything beyond
/// ASCII escaped. `1` and `1.0` are two encodings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(String);

impl Metadata {
    /// Encodes an object; `None` when the encoding is longer than [`METADATA_BYTES_MAX`].
    #[must_use]
    pub fn encode(object: &Map<String, Value>) -> Option<Self> {
        let mut text = String::new();
        write_object(object, &mut text);
        (text.len() <= METADATA_BYTES_MAX).then_some(Self(text))
    }

    /// The encoding.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The object that was encoded, with its keys in order.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // Reads floats exactly, and what it reads was written by `encode`.
        read_json(&self.0).unwrap_or(Value::Null)
    }
}

fn write_object(object: &Map<String, Value>, out: &mut String) {
    let mut members: Vec<_> = object.iter().collect();
    // The order of UTF-8 bytes is that of code points.
    members.sort_unstable_by_key(|(key, _)| key.as_str());
    out.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(key, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => write_object(object, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => out.push_str(&float_text(float)),
            _ => out.push_str(&number.to_string()),
        },
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
    }
}

/// A text in quotes, everything but printable ASCII escaped.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing into a text cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str) -> String {
        let value = read_json(text).unwrap();
        Metadata::encode(value.as_object().unwrap()).unwrap().0
    }

    #[test]
    fn the_encoding_sorts_keys_escapes_what_is_not_ascii_and_has_no_white_space() {
        let text = encoded(r#"{ "b": "é", "a": 1 }"#);
        assert_eq!(text, r#"{"a":1,"b":"\u00e9"}"#);
        assert_eq!(text.len(), 20);
        assert_eq!(
            encoded("{\"x\": [\"\u{1F600}\u{7f}\\u0000a\\n/\", {\"\u{E000}\": null, \"\u{1F600}\": false}]}"),
            "{\"x\":[\"\\ud83d\\ude00\\u007f\\u0000a\\n/\",{\"\\ue000\":null,\"\\ud83d\\ude00\":false}]}",
        );
    }

    #[test]
    fn integers_and_floats_are_told_apart_as_the_caller_wrote_them() {
        assert_eq!(
            encoded(r#"{"a": [1, 1.0, 1e16, 1E-5, 0.0001, -0.0, 18446744073709551615]}"#),
            r#"{"a":[1,1.0,1e+16,1e-05,0.0001,-0.0,18446744073709551615]}"#,
        );
    }

    #[test]
    fn what_was_encoded_reads_back_and_encodes_to_the_same_text() {
        let text = r#"{"a":[1,2.5,"\u00e9",null,true,0.30000000000000004],"b":{"c":1e+22}}"#;
        let first = encoded(text);
        assert_eq!(first, text);
        assert_eq!(encoded(&Metadata(first.clone()).to_json().to_string()), first);
    }

    #[test]
    fn an_encoding_is_taken_up_to_its_limit_and_not_beyond() {
        let of_length = |bytes: usize| {
            let mut object = Map::new();
            object.insert("k".to_owned(), "x".repeat(bytes - r#"{"k":""}"#.len()).into());
            Metadata::encode(&object)
        };
        for (bytes, fits) in
            [(METADATA_BYTES_MAX - 1, true), (METADATA_BYTES_MAX, true), (METADATA_BYTES_MAX + 1, false)]
        {
            assert_eq!(of_length(bytes).is_some_and(|metadata| metadata.as_str().len() == bytes), fits);
        }
    }
}
