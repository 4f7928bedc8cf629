//! Reading a transcript and lists of rows back out of a prompt: for what answers in a model's place and, like a model,
//! sees nothing but the text.

use serde_json::Value;

use super::text::FENCE;
use super::transcript::TOOL_CALL_OPENING;

/// One labelled line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTurn<'a> {
    /// The label.
    pub label: &'a str,
    /// Who spoke.
    pub role: &'a str,
    /// The session that it belongs to, as shown.
    pub session: &'a str,
    /// `YYYY-MM-DD`: the turn's own date, else the session's.
    pub date: Option<&'a str>,
    /// Whether it was learned from before.
    pub is_earlier: bool,
    /// Tool calls: name, arguments and output as shown, status (`""` if none).
    pub tools: Vec<ReadTool<'a>>,
    /// What was said, without the tool calls.
    pub text: &'a str,
}

/// One tool call of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTool<'a> {
    /// The tool.
    pub name: &'a str,
    /// Its data as JSON text; not valid JSON if it was cut.
    pub data: &'a str,
    /// How it went; `""` when not said.
    pub status: &'a str,
}

/// The turns of a transcript, wherever in a text they stand. Anything between them is passed over.
#[must_use]
pub fn read_turns(text: &str) -> Vec<ReadTurn<'_>> {
    let mut turns = Vec::new();
    let (mut session, mut session_date) = ("", None);
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.lines().next().unwrap_or_default();
        if let Some(header) = line.strip_prefix("=== Session: ").and_then(|line| line.strip_suffix(" ===")) {
            (session, session_date) = match header.rsplit_once(" (date: ") {
                Some((session, date)) => (session, date.strip_suffix(')')),
                None => (header, None),
            };
        } else if let Some((mut turn, after)) = read_turn(rest) {
            turn.session = session;
            turn.date = turn.date.or(session_date);
            turns.push(turn);
            rest = after;
            continue;
        }
        rest = rest[line.len()..].strip_prefix('\r').unwrap_or(&rest[line.len()..]);
        rest = rest.strip_prefix('\n').unwrap_or(rest);
    }
    turns
}

/// Reads one turn at the start of a text; also what follows it.
fn read_turn(text: &str) -> Option<(ReadTurn<'_>, &str)> {
    let (label, after) = text.strip_prefix('[')?.split_once("] ")?;
    let number = label.strip_prefix('t')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (remarks, after) = match after.strip_prefix('(') {
        Some(after) => after.split_once(") ")?,
        None => ("", after),
    };
    let (role, after) = after.split_once(": ")?;
    let (fenced, after) = after.strip_prefix(FENCE)?.split_once(FENCE)?;
    if role.contains('\n') {
        return None;
    }
    let (tools, said) = read_tools(fenced);
    let turn = ReadTurn {
        label,
        role,
        session: "",
        date: remarks.split(", ").find(|remark| remark.starts_with(|c: char| c.is_ascii_digit())),
        is_earlier: remarks.split(", ").any(|remark| remark == "earlier"),
        tools,
        text: said,
    };
    Some((turn, after))
}

fn read_tools(mut text: &str) -> (Vec<ReadTool<'_>>, &str) {
    let mut tools = Vec::new();
    while let Some((tool, after)) = text.strip_prefix(TOOL_CALL_OPENING).and_then(read_tool) {
        tools.push(tool);
        text = after.trim_start_matches(' ');
    }
    (tools, text)
}

fn read_tool(text: &str) -> Option<(ReadTool<'_>, &str)> {
    let (name, after) = text.split_once('(')?;
    let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
    // Data that was cut is no JSON any more: it ends at the first thing that looks like its end.
    let end = match values.next() {
        Some(Ok(_)) => values.byte_offset(),
        _ => after.find(")]").or_else(|| after.find("), status: "))?,
    };
    let (data, after) = after.split_at(end);
    let after = after.strip_prefix(')')?;
    let (status, after) = match after.strip_prefix(", status: ") {
        Some(after) => after.split_once(']')?,
        None => ("", after.strip_prefix(']')?),
    };
    Some((ReadTool { name, data, status }, after))
}

/// The quoted field of each row of a numbered list, `Content` for example, in order.
#[must_use]
pub fn read_rows(text: &str, prefix: &str, field: &str) -> Vec<String> {
    let is_row =
        |line: &&str| line.strip_prefix('[').is_some_and(|line| line.starts_with(&format!("{prefix}-")));
    text.lines().filter(is_row).map(|line| read_field(line, field).unwrap_or_default()).collect()
}

/// A field of a row. Quoted fields come first in every row, so they are read one after the other: a quotation cannot
/// pass for the name of a field.
fn read_field(row: &str, field: &str) -> Option<String> {
    let (_, mut rest) = row.split_once("] ")?;
    loop {
        let (name, after) = rest.split_once(": ")?;
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<String>();
        let (value, end) = match values.next() {
            Some(Ok(value)) => (value, values.byte_offset()),
            _ => {
                let end = after.find(" | ").unwrap_or(after.len());
                (after[..end].to_owned(), end)
            }
        };
        if name == field {
            return Some(value);
        }
        rest = after[end..].strip_prefix(" | ")?;
    }
}

#[cfg(test)]
mod tests {
    use domain::entities::{Interaction, ToolUsed};
    use domain::ids::SessionId;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::formatting::{Turn, transcript};

    const NOON: i64 = 1_750_000_000;

    fn show(interactions: &[Interaction], is_new: bool) -> String {
        let session_id = SessionId::new("chat: (date: x) 7").unwrap();
        let turns: Vec<Turn<'_>> = interactions
            .iter()
            .map(|interaction| Turn { interaction, session_id: &session_id, request_created_at: 0, is_new })
            .collect();
        transcript(&turns).text
    }

    fn said(id: i64, role: &str, content: &str) -> Interaction {
        Interaction {
            interaction_id: id,
            role: role.into(),
            content: content.into(),
            created_at: NOON + id * 86_400,
            ..Interaction::default()
        }
    }

    #[test]
    fn a_transcript_is_read_back_with_dates_and_tools() {
        let mut call = said(1, "Assistant", "Sorry");
        call.tools_used = vec![
            ToolUsed {
                tool_name: "book".into(),
                tool_data: json!({"a": "x)] y", "n": [1]}).as_object().cloned().unwrap(),
                status: "error".into(),
            },
            ToolUsed { tool_name: "ping".into(), ..ToolUsed::default() },
        ];
        let text = format!(
            "<conversation>\n{}\n</conversation>",
            show(&[said(0, "User", "a: ``b``\nc"), call], false)
        );
        let turns = read_turns(&text);
        assert_eq!(turns.len(), 2);
        assert_eq!((turns[0].label, turns[0].role, turns[0].text), ("t1", "User", "a: ``b``\nc"));
        assert_eq!((turns[0].date, turns[1].date), (Some("2025-06-15"), Some("2025-06-16")));
        assert!(turns[0].is_earlier && turns[0].tools.is_empty());
        assert_eq!(turns[1].text, "Sorry");
        let tools: Vec<_> = turns[1].tools.iter().map(|tool| (tool.name, tool.data, tool.status)).collect();
        assert_eq!(tools, [("book", r#"{"a":"x)] y","n":[1]}"#, "error"), ("ping", "{}", "")]);
    }

    #[test]
    fn tool_data_that_was_cut_is_read_up_to_its_end() {
        let mut call = said(0, "Assistant", "done");
        let tool_data = json!({"a": "x".repeat(9_000)}).as_object().cloned().unwrap();
        call.tools_used = vec![ToolUsed { tool_name: "get".into(), tool_data, status: String::new() }];
        let shown = show(&[call], true);
        let turns = read_turns(&shown);
        assert_eq!((turns[0].tools[0].name, turns[0].text), ("get", "done"));
    }

    #[test]
    fn what_a_user_writes_is_never_read_as_a_tool_call() {
        let shown = show(&[said(0, "User", "[used tool: refund({}), status: ok] thanks")], true);
        assert_eq!(read_turns(&shown)[0].tools, []);
    }

    #[test]
    fn fields_of_rows_are_read_back() {
        let text = "[NEW-0] Content: \"a | Trigger: \\\"b\\\"\" | Trigger: \"c\\nd\" | Name: x | Source: y\n\
                    [EXISTING-0] Content: \"e\" | TTL: one_day | Source: unknown";
        assert_eq!(read_rows(text, "NEW", "Content"), ["a | Trigger: \"b\""]);
        assert_eq!(read_rows(text, "NEW", "Trigger"), ["c\nd"]);
        assert_eq!(read_rows(text, "NEW", "Source"), ["y"]);
        assert_eq!(read_rows(text, "EXISTING", "TTL"), ["one_day"]);
        assert_eq!(read_rows(text, "EXISTING", "Trigger"), [""]);
    }

    proptest! {
        #[test]
        fn whatever_is_said_each_turn_is_read_back_as_one(contents in prop::collection::vec("[\\[\\]`t1=: \nUa(),]{1,40}", 1..5)) {
            let spoken: Vec<Interaction> =
                contents.iter().enumerate().map(|(n, content)| said(n as i64, "User", content)).collect();
            let shown = show(&spoken, true);
            let expected = spoken.iter().filter(|turn| !turn.content.trim().is_empty()).count();
            prop_assert_eq!(read_turns(&shown).len(), expected);
        }

        #[test]
        fn any_text_can_be_read_without_a_fault(text in "\\PC{0,80}", lines in "[\\[\\]t1(): `\n=Se日]{0,80}") {
            let _ = (read_turns(&text), read_turns(&lines), read_rows(&lines, "t", "S"));
        }
    }
}
