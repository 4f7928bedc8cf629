//! JSON with one spelling, after RFC 8785: keys in the order of their UTF-16 units, no white space, and only integers
//! that every reader holds exactly. Floats are written as Python writes them, where they are allowed at all.

use serde_json::Value;

use super::float_text::float_text;

/// The least integer that is too large; its negative is too small (2⁵³).
pub const CANONICAL_INTEGER_LIMIT: u64 = 1 << 53;
/// Deepest nesting: the outermost value is at depth 0.
pub const CANONICAL_DEPTH_MAX: usize = 100;

/// Why a value has no canonical spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalFault {
    /// It is nested deeper than [`CANONICAL_DEPTH_MAX`].
    #[error("a value is nested deeper than {CANONICAL_DEPTH_MAX}")]
    TooDeep,
    /// An integer of [`CANONICAL_INTEGER_LIMIT`] or more.
    #[error("an integer is not below 2^53")]
    IntegerTooLarge,
    /// A float where only integers are allowed.
    #[error("a float is not allowed here")]
    Float,
}

/// Whether floats have a spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floats {
    /// They have none.
    Refused,
    /// As [`float_text`] writes them.
    Written,
}

/// The one spelling of a value.
///
/// # Errors
/// [`CanonicalFault`].
pub fn canonical(value: &Value, floats: Floats) -> Result<String, CanonicalFault> {
    let mut out = String::new();
    write(value, 0, floats, &mut out)?;
    Ok(out)
}

/// Writes a value that stands at a depth of a larger one.
pub(super) fn write(
    value: &Value,
    depth: usize,
    floats: Floats,
    out: &mut String,
) -> Result<(), CanonicalFault> {
    if depth > CANONICAL_DEPTH_MAX {
        return Err(CanonicalFault::TooDeep);
    }
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, item)) in members.into_iter().enumerate() {
                separate(index, out);
                write_text(key, out);
                out.push(':');
                write(item, depth + 1, floats, out)?;
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, out);
                write(item, depth + 1, floats, out)?;
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        Value::Number(number) => write_number(number, floats, out)?,
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
    }
    Ok(())
}

pub(super) fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

/// A text in quotes; only quotes, backslashes and control characters are escaped.
pub(super) fn write_text(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

fn write_number(number: &serde_json::Number, floats: Floats, out: &mut String) -> Result<(), CanonicalFault> {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    match magnitude {
        Some(magnitude) if magnitude >= CANONICAL_INTEGER_LIMIT => Err(CanonicalFault::IntegerTooLarge),
        Some(_) => {
            out.push_str(&number.to_string());
            Ok(())
        }
        None if floats == Floats::Refused => Err(CanonicalFault::Float),
        None => {
            out.push_str(&float_text(number.as_f64().ok_or(CanonicalFault::Float)?));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(value: &Value) -> Result<String, CanonicalFault> {
        canonical(value, Floats::Written)
    }

    #[test]
    fn keys_are_in_the_order_of_their_utf_16_units() {
        // An astral character is a pair of surrogates, which are below U+E000.
        let value = json!({ "\u{E000}": 1, "\u{1F600}": 2, "b": 3, "a": 4, "": 5 });
        let expected = "{\"\":5,\"a\":4,\"b\":3,\"\u{1F600}\":2,\"\u{E000}\":1}";
        assert_eq!(written(&value).unwrap(), expected);
    }

    #[test]
    fn only_quotes_backslashes_and_control_characters_are_escaped() {
        let value = json!("é\u{1F600}/\u{7f}\"\\\u{8}\u{c}\n\r\t\u{1}\u{1f}");
        let expected = "\"é\u{1F600}/\u{7f}\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\"";
        assert_eq!(written(&value).unwrap(), expected);
    }

    #[test]
    fn integers_are_written_below_two_to_the_53_and_not_from_there_on() {
        let limit = i64::try_from(CANONICAL_INTEGER_LIMIT).unwrap();
        for (number, text) in [(limit - 1, Some("9007199254740991")), (limit, None), (limit + 1, None)] {
            assert_eq!(written(&json!(number)).ok().as_deref(), text, "{number}");
            let negative = text.map(|text| format!("-{text}"));
            assert_eq!(written(&json!(-number)).ok(), negative, "-{number}");
        }
        assert_eq!(written(&json!(u64::MAX)), Err(CanonicalFault::IntegerTooLarge));
    }

    #[test]
    fn floats_keep_their_point_where_they_are_allowed() {
        assert_eq!(written(&json!([1, 1.0, -0.0, 1e16])).unwrap(), "[1,1.0,-0.0,1e+16]");
        assert_eq!(canonical(&json!([1.0]), Floats::Refused), Err(CanonicalFault::Float));
        assert_eq!(canonical(&json!([1, null, true]), Floats::Refused).unwrap(), "[1,null,true]");
    }

    #[test]
    fn nesting_is_written_up_to_its_limit_and_not_beyond() {
        let nested = |depth: usize| (0..depth).fold(json!([]), |inner, _| json!([inner]));
        for (depth, fits) in
            [(CANONICAL_DEPTH_MAX - 1, true), (CANONICAL_DEPTH_MAX, true), (CANONICAL_DEPTH_MAX + 1, false)]
        {
            assert_eq!(written(&nested(depth)).is_ok(), fits, "{depth}");
        }
        assert_eq!(written(&nested(CANONICAL_DEPTH_MAX + 1)), Err(CanonicalFault::TooDeep));
    }
}
