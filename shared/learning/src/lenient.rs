//! Reading what models write where a text, a list or an id was asked for. A field that cannot be read is as good as
//! absent: it must not cost the rest of the answer.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A text that is not blank; numbers are read as text; anything else is `None`.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(text_of(&Value::deserialize(deserializer)?))
}

pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A list of texts; a text alone is a list of one; null is empty; blank entries are kept, so that they can be counted.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(texts_of(&Value::deserialize(deserializer)?))
}

pub(crate) fn texts_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(entries) => entries.iter().map(|entry| text_of(entry).unwrap_or_default()).collect(),
        Value::Null => Vec::new(),
        other => vec![text_of(other).unwrap_or_default()],
    }
}

/// A value of any type, if it can be read as one.
pub(crate) fn maybe<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// A list; null is empty. An entry that cannot be read counts as an empty one, so that it is noticed further on.
///
/// # Errors
/// When it is neither a list nor null: an answer of another shape is to be repaired, not to be taken for an empty one.
pub(crate) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let entries = Option::<Vec<Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(entries.into_iter().map(|entry| serde_json::from_value(entry).unwrap_or_default()).collect())
}
