//! One of a few words.

use serde_json::{Value, json};

use super::super::fault::{Faults, Path};
use super::text::{bounded, pattern_mismatch};

/// The words of an enumeration of the wire, in the order of the contract.
pub trait Choice: Copy + 'static {
    /// Each word with its value.
    const WORDS: &'static [(&'static str, Self)];
}

fn expected(words: impl ExactSizeIterator<Item = &'static str>) -> String {
    let last = words.len().saturating_sub(1);
    let mut out = String::new();
    for (index, word) in words.enumerate() {
        out.push_str(match index {
            0 => "",
            _ if index == last => " or ",
            _ => ", ",
        });
        out.push('\'');
        out.push_str(word);
        out.push('\'');
    }
    out
}

fn read<'v, T: Copy + 'static>(
    kind: &'static str,
    words: &'static [(&'static str, T)],
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<T> {
    let text = value.as_str().unwrap_or("\0");
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let expected = expected(words.iter().map(|(word, _)| *word));
        let msg = format!("Input should be {expected}");
        faults.add(kind, at, msg, value, Some(json!({ "expected": expected })));
    }
    found.map(|(_, value)| *value)
}

/// A member of an enumeration.
pub fn choice<'v, T: Choice>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<T> {
    read("enum", T::WORDS, value, at, faults)
}

/// A member of an enumeration that upstream declares as a literal; only the error's type differs.
pub fn literal<'v, T: Choice>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<T> {
    read("literal_error", T::WORDS, value, at, faults)
}

/// Longest source label, in characters.
const SOURCE_CHARS_MAX: usize = 128;
const SOURCE_PATTERN: &str = "^[a-z0-9][a-z0-9._:-]{0,127}$";

/// Where traffic comes from: empty, or a short label in lower case.
///
/// It is a union of two arms, and so each arm reports why it does not fit.
pub fn source_label<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let label = value.as_str();
    if label.is_some_and(|label| label.is_empty() || is_source_label(label)) {
        return label.map(str::to_owned);
    }
    let arm = at.name("literal['']");
    faults.add("literal_error", arm, "Input should be ''", value, Some(json!({ "expected": "''" })));
    let arm = at.name("constrained-str");
    if bounded(SOURCE_CHARS_MAX)(value, arm, faults).is_some() {
        pattern_mismatch(SOURCE_PATTERN, value, arm, faults);
    }
    None
}

fn is_source_label(label: &str) -> bool {
    let start = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let inner = |byte: u8| start(&byte) || matches!(byte, b'.' | b'_' | b':' | b'-');
    label.len() <= SOURCE_CHARS_MAX && label.as_bytes().first().is_some_and(start) && label.bytes().all(inner)
}
