//! What JSON can say and [`Value`] cannot hold: NaN, the infinities, and lone surrogates.
//!
//! The JSON reader writes them as texts that hold U+0000. No rule accepts a text with U+0000, so the marks
//! can neither be stored nor be confused with a caller's text that would have been accepted.

use serde_json::{Map, Value};

/// Stands for the token `NaN`.
pub(super) const NAN: &str = "\u{0}NaN";
/// Stands for the token `Infinity`, or a number beyond the range of a float.
pub(super) const INFINITY: &str = "\u{0}Infinity";
/// Stands for the token `-Infinity`.
pub(super) const NEGATIVE_INFINITY: &str = "\u{0}-Infinity";
/// Stands inside a text for a surrogate without its other half.
pub(super) const LONE_SURROGATE: &str = "\u{0}\u{FFFD}";

/// The number that a text stands for, if it is a mark.
pub(super) fn non_finite(text: &str) -> Option<f64> {
    match text {
        NAN => Some(f64::NAN),
        INFINITY => Some(f64::INFINITY),
        NEGATIVE_INFINITY => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Why a text cannot be kept, in words for the caller.
pub(super) fn text_fault(text: &str) -> Option<&'static str> {
    if !text.contains('\0') {
        None
    } else if text.contains(LONE_SURROGATE) {
        Some("String must not contain unpaired surrogates")
    } else {
        Some("String must not contain U+0000")
    }
}

/// Why some text or number inside a value cannot be kept; object keys count as text.
pub(super) fn deep_fault(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(text) if non_finite(text).is_some() => Some("Numbers must be finite"),
        Value::String(text) => text_fault(text),
        Value::Array(items) => items.iter().find_map(deep_fault),
        Value::Object(map) => map.iter().find_map(|(key, item)| text_fault(key).or_else(|| deep_fault(item))),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Whether a value holds NaN or an infinity.
pub(super) fn holds_non_finite(value: &Value) -> bool {
    match value {
        Value::String(text) => non_finite(text).is_some(),
        Value::Array(items) => items.iter().any(holds_non_finite),
        Value::Object(map) => map.values().any(holds_non_finite),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A copy to show to the caller: lone surrogates become U+FFFD.
pub(super) fn shown(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(LONE_SURROGATE, "\u{FFFD}")),
        Value::Array(items) => Value::Array(items.iter().map(shown).collect()),
        Value::Object(map) => {
            let pair =
                |(key, item): (&String, &Value)| (key.replace(LONE_SURROGATE, "\u{FFFD}"), shown(item));
            Value::Object(map.iter().map(pair).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// About how many bytes a value takes as JSON; `None` once it is more than `budget`.
pub(super) fn size_within(value: &Value, budget: usize) -> Option<usize> {
    let size = match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 20,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => sum_within(items.iter(), budget, 1)?,
        Value::Object(map) => {
            let mut size = 2;
            for (key, item) in map {
                size += key.len() + 4;
                size += size_within(item, budget.checked_sub(size)?)?;
            }
            size
        }
    };
    (size <= budget).then_some(size)
}

fn sum_within<'v>(items: impl Iterator<Item = &'v Value>, budget: usize, gap: usize) -> Option<usize> {
    let mut size = 2;
    for item in items {
        size += gap;
        size += size_within(item, budget.checked_sub(size)?)?;
    }
    Some(size)
}
