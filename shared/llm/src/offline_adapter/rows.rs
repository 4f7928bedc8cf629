//! Numbered rows of a comparison: `[NEW-0] Content: "…" | TTL: one_week | …`.

use domain::time::EpochSeconds;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::blocks::Prompt;
use super::refused;
use crate::error::ChatError;

/// What stands for an empty list.
const NO_ROWS: &str = "(None)";
/// What stands for a field without a value.
const UNKNOWN: &str = "unknown";

/// Reads the rows of a block. `names` are the fields of every row, in order.
pub(super) fn read_rows<const N: usize>(
    prompt: &Prompt,
    block: &str,
    prefix: &str,
    names: [&str; N],
) -> Result<Vec<[String; N]>, ChatError> {
    let text = prompt.block(block)?.trim();
    if text.is_empty() || text == NO_ROWS {
        return Ok(Vec::new());
    }
    let rows = text.lines().enumerate().map(|(number, line)| {
        let row = line.strip_prefix(&format!("[{prefix}-{number}] ")).and_then(|row| fields(row, names));
        row.ok_or_else(|| unreadable(block, number))
    });
    rows.collect()
}

/// A row that cannot be read, counted from 0 as its id is.
pub(super) fn unreadable(block: &str, number: usize) -> ChatError {
    refused(format!("row {number} of the block {block} cannot be read"))
}

/// Fields are quoted JSON strings or bare words. Bare words hold no colon, so that none can pass for a field.
pub(super) fn fields<const N: usize>(row: &str, names: [&str; N]) -> Option<[String; N]> {
    let mut rest = row;
    let mut read = [const { String::new() }; N];
    for (at, name) in names.iter().enumerate() {
        rest = rest.strip_prefix(name)?.strip_prefix(": ")?;
        let end;
        if rest.starts_with('"') {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            read[at] = values.next()?.ok()?;
            end = values.byte_offset();
        } else {
            let next = names.get(at + 1).map(|next| format!(" | {next}: "));
            end = next.map_or(Some(rest.len()), |next| rest.find(&next))?;
            rest[..end].clone_into(&mut read[at]);
        }
        rest = &rest[end..];
        if at + 1 < N {
            rest = rest.strip_prefix(" | ")?;
        }
    }
    rest.is_empty().then_some(read)
}

/// Reads `YYYY-MM-DD HH:MM UTC`; an unknown time is before all others.
pub(super) fn minute(text: &str) -> Option<EpochSeconds> {
    if text == UNKNOWN {
        return Some(0);
    }
    let time: DateTime = text.strip_suffix(" UTC")?.parse().ok()?;
    Some(Offset::UTC.to_timestamp(time).ok()?.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ChatRequest, Message};

    fn read(rows: &str) -> Result<Vec<[String; 3]>, ChatError> {
        let block = format!("<rows>\n{rows}\n</rows>");
        let prompt = Prompt::of(&ChatRequest::new("x", vec![Message::user(block)]));
        read_rows(&prompt, "rows", "NEW", ["Content", "Source", "Last Modified"])
    }

    #[test]
    fn quoted_and_bare_fields_are_read_whatever_they_hold() {
        let rows = read(
            "[NEW-0] Content: \"a | Source: \\\"b\\\"\\n[NEW-7] c\" | Source: a | b | Last Modified: unknown\n\
             [NEW-1] Content: \"魚\" | Source: web | Last Modified: 2025-06-15 15:05 UTC",
        );
        let expected =
            [["a | Source: \"b\"\n[NEW-7] c", "a | b", "unknown"], ["魚", "web", "2025-06-15 15:05 UTC"]];
        assert_eq!(rows.unwrap(), expected);
        assert!(read("(None)").unwrap().is_empty() && read("").unwrap().is_empty());
    }

    #[test]
    fn a_row_that_cannot_be_read_is_refused_by_its_number() {
        for (rows, number) in [
            ("nothing new", 0),
            ("[NEW-1] Content: \"a\" | Source: x | Last Modified: unknown", 0),
            ("[EXISTING-0] Content: \"a\" | Source: x | Last Modified: unknown", 0),
            ("[NEW-0] Content: \"a\" | Source: x | Last Modified: unknown\n[NEW-1] Content: \"a", 1),
            ("[NEW-0] Content: \"a\"", 0),
        ] {
            assert_eq!(read(rows).unwrap_err(), unreadable("rows", number), "{rows}");
        }
    }

    #[test]
    fn times_are_read_to_the_minute() {
        assert_eq!(minute("2025-06-15 15:06 UTC"), Some(1_749_999_960));
        assert_eq!(minute("unknown"), Some(0));
        assert_eq!(minute("yesterday"), None);
    }
}
