//! Texts.

use serde_json::{Value, json};

use super::super::fault::{Faults, Path};
use super::super::fields::Rule;
use super::super::marks;
use crate::ids::InvalidId;

/// Longest id that a caller may choose, in characters. Ours: such ids become attributes of small items.
pub const IDENTIFIER_CHARS_MAX: usize = 1_000;

/// A text of any length without U+0000 and lone surrogates.
pub fn text<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    borrowed(value, at, faults).map(str::to_owned)
}

/// The same, without copying.
pub fn borrowed<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<&'v str> {
    match value {
        Value::String(text) if marks::non_finite(text).is_none() => match marks::text_fault(text) {
            None => Some(text),
            Some(reason) => {
                faults.add_value_error(at, reason, value);
                None
            }
        },
        _ => {
            faults.add("string_type", at, "Input should be a valid string", value, None);
            None
        }
    }
}

/// A text, or a number or boolean in words; `null` is the empty text. Objects and lists become JSON.
pub fn any_text<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    if let Some(reason) = marks::deep_fault(value) {
        faults.add_value_error(at, reason, value);
        return None;
    }
    Some(match value {
        Value::Null => String::new(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    })
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A text of `min..=max` characters.
pub fn sized<'v>(min: usize, max: usize) -> impl Rule<'v, String> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        let text = borrowed(value, at, faults)?;
        // A text of no more bytes than the limit has no more characters either.
        if text.len() > max && text.chars().nth(max).is_some() {
            let msg = format!("String should have at most {max} character{}", plural(max));
            faults.add("string_too_long", at, msg, value, Some(json!({ "max_length": max })));
            return None;
        }
        if min > 0 && text.chars().nth(min - 1).is_none() {
            let msg = format!("String should have at least {min} character{}", plural(min));
            faults.add("string_too_short", at, msg, value, Some(json!({ "min_length": min })));
            return None;
        }
        Some(text.to_owned())
    }
}

/// A text of at most `max` characters.
pub fn bounded<'v>(max: usize) -> impl Rule<'v, String> {
    sized(0, max)
}

/// A text that holds something, without the white space around it.
pub fn non_blank<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let text = borrowed(value, at, faults)?.trim();
    if text.is_empty() {
        faults.add_value_error(at, &InvalidId::Blank.to_string(), value);
        return None;
    }
    Some(text.to_owned())
}

/// The same of at most `max` characters, counted with the white space around it.
pub fn non_blank_bounded<'v>(max: usize) -> impl Rule<'v, String> {
    let within = bounded(max);
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        within(value, at, faults)?;
        non_blank(value, at, faults)
    }
}

/// An id of [`crate::ids`], such as `identifier(UserId::new)`.
pub fn identifier<'v, T>(new: fn(&str) -> Result<T, InvalidId>) -> impl Rule<'v, T> {
    let text = non_blank_bounded(IDENTIFIER_CHARS_MAX);
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        let text = text(value, at, faults)?;
        new(&text).map_err(|reason| faults.add_value_error(at, &reason.to_string(), value)).ok()
    }
}

/// A text without control characters other than tab and line ends.
pub fn sanitized<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let keep = |c: &char| matches!(c, '\t' | '\n' | '\r') || !c.is_ascii_control();
    Some(borrowed(value, at, faults)?.chars().filter(keep).collect())
}

/// The same, and it must hold something; white space around it is dropped.
pub fn prompt<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let text = sanitized(value, at, faults)?;
    let text = text.trim();
    if text.is_empty() {
        faults.add_value_error(at, &InvalidId::Blank.to_string(), value);
        return None;
    }
    Some(text.to_owned())
}

/// A SHA-256 in 64 lower-case hex digits.
pub fn digest<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let text = borrowed(value, at, faults)?;
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() == 64 && text.bytes().all(hex) {
        return Some(text.to_owned());
    }
    pattern_mismatch("^[0-9a-f]{64}$", value, at, faults);
    None
}

/// Reports a text that does not match a pattern.
pub fn pattern_mismatch<'v>(pattern: &'static str, value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) {
    let msg = format!("String should match pattern '{pattern}'");
    faults.add("string_pattern_mismatch", at, msg, value, Some(json!({ "pattern": pattern })));
}
