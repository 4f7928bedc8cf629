//! JSON out of what a model wrote around it.
//!
//! Nothing here judges what the JSON says; `structured` does. Candidates come in the order in which they are to
//! be tried. A text that looks cut off is never repaired: a repair would make it whole and wrong.

use std::cmp::Reverse;

use serde_json::Value;

use crate::json_repair::repair;

/// How many opening brackets of one text are tried as the start of a value: each try may read to the end.
const STARTS_MAX: usize = 256;

/// Every JSON value that can be read from `text`, best first.
pub(crate) fn candidates(text: &str) -> Vec<Value> {
    let text = without_thoughts(text);
    if let Ok(value) = serde_json::from_str(text) {
        return vec![value];
    }
    let mut found: Vec<(usize, Value)> = Vec::new();
    let mut rest = text;
    for _ in 0..STARTS_MAX {
        let Some(start) = rest.find(['{', '[']) else { break };
        let candidate = &rest[start..];
        let next = match balanced_length(candidate) {
            Some(length) => {
                let span = &candidate[..length];
                let value = serde_json::from_str(span).ok().or_else(|| repair(span));
                let next = if value.is_some() || looks_like_json(span) { length } else { 1 };
                found.extend(value.map(|value| (length, value)));
                next
            }
            // Everything that follows is inside this value: a part of it must not pass for the whole.
            None if looks_like_json(candidate) => {
                found.extend(repair(candidate).map(|value| (0, value)));
                break;
            }
            // Prose with a bracket in it.
            None => 1,
        };
        rest = &candidate[next..];
    }
    // The answer is longer than the placeholders and examples in the prose around it.
    found.sort_by_key(|(length, value)| (!value.is_object(), Reverse(*length)));
    found.into_iter().map(|(_, value)| value).collect()
}

/// Whether an opening bracket is followed by what follows one in JSON.
fn looks_like_json(text: &str) -> bool {
    let mut chars = text.chars();
    let open = chars.next();
    let rest = chars.as_str().trim_start();
    let next = rest.chars().next().unwrap_or(' ');
    match open {
        Some('{') if matches!(next, '"' | '\'' | '}') => true,
        Some('{') => {
            rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').trim_start().starts_with(':')
        }
        _ => matches!(next, '{' | '[' | '"' | '\'' | ']') || next.is_ascii_digit(),
    }
}

/// The text without a `<think>` block in front; everything after the block, if it was closed.
pub(crate) fn without_thoughts(text: &str) -> &str {
    let mut text = text.trim_start_matches('\u{feff}').trim();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        while text.starts_with(open) {
            let Some(end) = text.find(close) else { return "" };
            text = text[end + close.len()..].trim();
        }
        // Some chat templates swallow the opening tag. Inside JSON the tag is content.
        if !text.starts_with(['{', '[', '`'])
            && let Some(end) = text.find(close)
        {
            text = text[end + close.len()..].trim();
        }
    }
    text
}

/// Length of the JSON value at the start of `text`, told by its brackets; strings are skipped, so that neither
/// brackets nor code fences inside them count. `None` when it does not end.
fn balanced_length(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => open.push(byte),
            b'}' | b']' => {
                let expected = if byte == b'}' { b'{' } else { b'[' };
                if open.pop() != Some(expected) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether the text ends inside a string or a container.
pub(crate) fn looks_cut(text: &str) -> bool {
    let Some(start) = text.find(['{', '[']) else { return false };
    let mut depth = 0_i64;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text[start..].bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    depth > 0 || in_string
}

#[cfg(test)]
mod tests;
