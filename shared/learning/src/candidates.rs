//! Rows as a model sees them when it compares new ones with stored ones, and the ids by which it names them.

use domain::time::{EpochSeconds, utc_minute};

/// A row in a comparison: its place in the list of new or of stored rows, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowId {
    /// `NEW-<n>`.
    New(usize),
    /// `EXISTING-<n>`.
    Existing(usize),
}

impl RowId {
    /// Reads an id in any case, with or without brackets, and with `-`, `_` or a space before the number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.trim().trim_matches(|c| "[]()\"'`".contains(c)).to_ascii_uppercase();
        let number = |prefix: &str| -> Option<usize> {
            let digits = word.strip_prefix(prefix)?.strip_prefix(['-', '_', ' '])?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        number("NEW").map(Self::New).or_else(|| number("EXISTING").map(Self::Existing))
    }
}

/// What a prompt shows for an empty list of rows.
pub const NO_ROWS: &str = "(None)";

/// Numbered rows, one a line.
pub(crate) fn numbered(prefix: &str, rows: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = rows.enumerate().map(|(n, row)| format!("[{prefix}-{n}] {row}")).collect();
    if lines.is_empty() { NO_ROWS.into() } else { lines.join("\n") }
}

/// A text in quotation marks on one line, so that nothing in it can look like another row.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A word or `unknown`, on one line.
pub(crate) fn or_unknown(text: Option<&str>) -> String {
    let label = crate::formatting::text::plain_label(text.unwrap_or_default(), 128);
    if label.is_empty() { "unknown".into() } else { label }
}

/// A time as the prompts write it.
pub(crate) fn minute(at: EpochSeconds) -> String {
    utc_minute(at).unwrap_or_else(|| "unknown".into())
}

/// Whether a text names rows of the comparison, which means nothing outside it.
pub(crate) fn names_rows(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    ["NEW-", "EXISTING-"].iter().any(|prefix| {
        upper.match_indices(prefix).any(|(at, _)| {
            upper[at + prefix.len()..].starts_with(|c: char| c.is_ascii_digit())
                && !upper[..at].ends_with(|c: char| c.is_alphanumeric())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_in_their_spellings_and_nothing_else_is() {
        for (text, id) in [
            ("NEW-0", Some(RowId::New(0))),
            ("[existing-12]", Some(RowId::Existing(12))),
            ("existing_5", Some(RowId::Existing(5))),
            ("New 3", Some(RowId::New(3))),
            ("NEW--1", None),
            ("NEW-", None),
            ("NEW-+1", None),
            ("NEW-1x", None),
            ("5", None),
            ("NEW-99999999999999999999999", None),
        ] {
            assert_eq!(RowId::parse(text), id, "{text}");
        }
    }

    #[test]
    fn a_text_cannot_pass_for_another_row() {
        assert_eq!(quoted("a\" |\n[NEW-7] b"), r#""a\" |\n[NEW-7] b""#);
    }

    #[test]
    fn names_of_rows_are_found_in_prose() {
        assert!(names_rows("as in NEW-1"));
        assert!(names_rows("(existing-0)"));
        assert!(!names_rows("new-age music, RENEW-1, NEW-"));
    }
}
