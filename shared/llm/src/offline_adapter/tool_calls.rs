//! Tool calls as a transcript shows them: `[used tool: name({…}), status: error]`.

use std::borrow::Cow;

use offline::ToolCallView;
use serde_json::{Map, Value};

/// What a call begins with; it occurs in nothing that a user wrote.
const OPENING: &str = "[used tool: ";
/// What stands for the middle of data that was too long.
pub(super) const TRUNCATION_MARK: &str = "…[truncated]";
/// Where callers put what a tool was given, the most usual name first.
const INPUT_KEYS: [&str; 4] = ["input", "arguments", "args", "parameters"];
/// Where callers put what a tool gave back. An error tells most.
const OUTPUT_KEYS: [&str; 5] = ["error", "output", "result", "response", "content"];

/// One call.
#[derive(Debug, PartialEq)]
pub(super) struct ShownTool<'a> {
    name: &'a str,
    /// JSON text, unless it was cut.
    data: &'a str,
    status: &'a str,
}

impl<'a> ShownTool<'a> {
    /// The call as the rules want it: what the tool was given apart from what it gave back.
    pub(super) fn view(&self) -> ToolCallView<'a> {
        let (input, output) = match serde_json::from_str::<Map<String, Value>>(self.data) {
            Ok(data) => parted(data, self.data),
            Err(_) => (Cow::Borrowed(self.data), Cow::Borrowed(output_of_cut(self.data))),
        };
        ToolCallView { name: self.name, status: self.status, input, output }
    }
}

/// Reads the calls at the start of a turn, and what follows them; `None` when one cannot be read.
pub(super) fn read_tools(mut text: &str) -> Option<(Vec<ShownTool<'_>>, &str)> {
    let mut tools = Vec::new();
    while let Some(after) = text.strip_prefix(OPENING) {
        let (tool, after) = read_tool(after)?;
        tools.push(tool);
        text = after.strip_prefix(' ').unwrap_or(after);
    }
    if !tools.is_empty() {
        text = without_count(text);
    }
    Some((tools, text))
}

fn read_tool(text: &str) -> Option<(ShownTool<'_>, &str)> {
    let (name, after) = text.split_once('(')?;
    let mut values = serde_json::Deserializer::from_str(after).into_iter::<Map<String, Value>>();
    // Data that was cut is no JSON any more. What was cut away lies before its end.
    let from = match values.next() {
        Some(Ok(_)) => values.byte_offset(),
        _ => after.find(TRUNCATION_MARK)?,
    };
    after[from..].match_indices(')').find_map(|(at, _)| {
        let (data, end) = (&after[..from + at], &after[from + at + 1..]);
        let (status, rest) = match end.strip_prefix(", status: ") {
            Some(end) => {
                end.split_once(']').filter(|(status, _)| !status.contains(['(', ')', '[', '"', '\n']))?
            }
            None => ("", end.strip_prefix(']')?),
        };
        Some((ShownTool { name, data, status }, rest))
    })
}

/// The text without `[and 3 more tool calls]` at its start.
fn without_count(text: &str) -> &str {
    let counted = text.strip_prefix("[and ").and_then(|rest| rest.split_once(" more tool calls]"));
    let after = counted.filter(|(count, _)| count.bytes().all(|byte| byte.is_ascii_digit()));
    after.map_or(text, |(_, after)| after.strip_prefix(' ').unwrap_or(after))
}

fn parted<'a>(mut data: Map<String, Value>, shown: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    let given_back = OUTPUT_KEYS.into_iter().find(|key| data.get(*key).is_some_and(|value| !is_blank(value)));
    let output = match given_back.and_then(|key| data.shift_remove_entry(key)) {
        None => Cow::Borrowed(""),
        // The rules know an error by its name.
        Some((key, value)) if key == "error" => {
            Cow::Owned(Value::Object([(key, value)].into_iter().collect()).to_string())
        }
        Some((_, value)) => Cow::Owned(text_of(value)),
    };
    if let Some(key) = INPUT_KEYS.into_iter().find(|key| data.contains_key(*key))
        && let Some(value) = data.shift_remove(key)
    {
        return (Cow::Owned(text_of(value)), output);
    }
    if given_back.is_none() {
        return (Cow::Borrowed(shown), output);
    }
    (Cow::Owned(Value::Object(data).to_string()), output)
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// What stands behind the name of an output, in data that is no JSON any more.
fn output_of_cut(data: &str) -> &str {
    let found = OUTPUT_KEYS.into_iter().find_map(|key| data.split_once(&format!("\"{key}\":\"")));
    found.map_or("", |(_, output)| output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> (String, String, String, String) {
        let (tools, _) = read_tools(text).unwrap();
        let view = tools[0].view();
        (view.name.to_owned(), view.status.to_owned(), view.input.into_owned(), view.output.into_owned())
    }

    fn quad(name: &str, status: &str, input: &str, output: &str) -> (String, String, String, String) {
        (name.to_owned(), status.to_owned(), input.to_owned(), output.to_owned())
    }

    #[test]
    fn calls_are_read_and_the_words_after_them_kept() {
        let (tools, text) =
            read_tools(r#"[used tool: book({"a":"x)] y","n":[1]}), status: error] [used tool: ping({})] [and 3 more tool calls] Sorry [x]"#)
                .unwrap();
        let read: Vec<_> = tools.iter().map(|tool| (tool.name, tool.data, tool.status)).collect();
        assert_eq!(read, [("book", r#"{"a":"x)] y","n":[1]}"#, "error"), ("ping", "{}", "")]);
        assert_eq!(text, "Sorry [x]");
        assert_eq!(read_tools("[and 3 more tool calls] x").unwrap().1, "[and 3 more tool calls] x");
    }

    #[test]
    fn what_went_in_is_told_from_what_came_out() {
        for (data, input, output) in [
            (r#"{"seats":2}"#, r#"{"seats":2}"#, ""),
            (r#"{"input":{"seats":2},"output":"Error: full"}"#, r#"{"seats":2}"#, "Error: full"),
            (r#"{"input":"ls","output":{"ok":false}}"#, "ls", r#"{"ok":false}"#),
            (
                r#"{"seats":2,"error":"no table","result":"x"}"#,
                r#"{"seats":2,"result":"x"}"#,
                r#"{"error":"no table"}"#,
            ),
            (r#"{"args":{"a":1},"result":[1],"error":null}"#, r#"{"a":1}"#, "[1]"),
        ] {
            assert_eq!(only(&format!("[used tool: t({data})] x")), quad("t", "", input, output), "{data}");
        }
    }

    #[test]
    fn data_that_was_cut_ends_behind_the_cut() {
        let data = r#"{"input":{"q":"a)] b"},"output":"Error: permission denied for x …[truncated] y"}]"#;
        let (name, status, _, output) = only(&format!("[used tool: t({data}), status: failed] done"));
        assert_eq!((name.as_str(), status.as_str()), ("t", "failed"));
        assert!(output.starts_with("Error: permission denied"), "{output}");
        let cut = r#"{"a":"x …[truncated] z)"#;
        assert_eq!(read_tools(&format!("[used tool: t({cut})] done")).unwrap().1, "done");
    }

    #[test]
    fn a_call_that_cannot_be_read_is_not_taken_for_words() {
        for text in ["[used tool: t", "[used tool: t(x)]", "[used tool: t({}", "[used tool: t({}) x"] {
            assert_eq!(read_tools(text), None, "{text}");
        }
    }
}
