//! Rules of many users as one.

use offline::{PlaybookRow, aggregate_playbooks};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::refused;
use super::rows::fields;
use crate::error::ChatError;

/// What stands for an empty list.
const NO_ROWS: &str = "(None)";

type Row = [String; 3];

/// The rule that the rows have in common, unless it is there or was rejected.
pub(super) fn aggregate(prompt: &Prompt) -> Result<Value, ChatError> {
    let rows = rows(prompt)?;
    let mut known = quoted(prompt, "existing_playbooks")?;
    known.extend(quoted(prompt, "rejected_playbooks")?);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let views: Vec<PlaybookRow<'_>> = rows
        .iter()
        .map(|[content, trigger, rationale]| PlaybookRow { trigger, content, rationale })
        .collect();
    let rule = aggregate_playbooks(&views, &known).map(|rule| {
        json!({
            "rationale": rule.rationale,
            "trigger": rule.trigger,
            "content": rule.content,
            "blocking_issue": null,
        })
    });
    Ok(json!({ "playbook": rule }))
}

/// Rows stand in groups, under headings; their numbers are no matter.
fn rows(prompt: &Prompt) -> Result<Vec<Row>, ChatError> {
    let lines = prompt.block("user_playbooks")?.lines().filter_map(|line| line.strip_prefix("[ROW-"));
    let rows = lines.map(|line| {
        let row = line.split_once("] ").and_then(|(_, row)| fields(row, ["Content", "Trigger", "Rationale"]));
        row.ok_or_else(|| refused("a row of the block user_playbooks cannot be read".to_owned()))
    });
    rows.collect()
}

/// The texts of a list of `- "…"`.
fn quoted(prompt: &Prompt, block: &str) -> Result<Vec<String>, ChatError> {
    let text = prompt.block(block)?.trim();
    if text.is_empty() || text == NO_ROWS {
        return Ok(Vec::new());
    }
    let texts = text.lines().map(|line| {
        let text = line.strip_prefix("- ").and_then(|text| serde_json::from_str(text).ok());
        text.ok_or_else(|| refused(format!("a line of the block {block} cannot be read")))
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ChatRequest, Message};

    fn ask(rows: &str, existing: &str, rejected: &str) -> Result<Value, ChatError> {
        let text = format!(
            "<user_playbooks>\n{rows}\n</user_playbooks>\n<existing_playbooks>\n{existing}\n\
             </existing_playbooks>\n<rejected_playbooks>\n{rejected}\n</rejected_playbooks>"
        );
        aggregate(&Prompt::of(&ChatRequest::new("playbook_aggregation", vec![Message::user(text)])))
    }

    const ROWS: &str = "These rules point in 2 directions.\n\nGroup 1 (2 playbooks):\n\
        [ROW-0] Content: \"Quote prices in euros.\" | Trigger: \"When asked\" | Rationale: \"\"\n\
        [ROW-2] Content: \"Quote all prices in euros.\" | Trigger: \"\" | Rationale: \"\"\n\n\
        Group 2 (1 playbook):\n[ROW-1] Content: \"Use emojis.\" | Trigger: \"\" | Rationale: \"\"";

    #[test]
    fn rows_become_one_rule_unless_it_is_known_or_rejected() {
        let said = ask(ROWS, "(None)", "(None)").unwrap();
        assert_eq!(said["playbook"]["content"], "Quote prices in euros.");
        assert_eq!(said["playbook"]["trigger"], "When asked");
        for (existing, rejected) in
            [("- \"Quote prices in euros\"", "(None)"), ("(None)", "- \"Quote prices in euros\"")]
        {
            assert_eq!(ask(ROWS, existing, rejected).unwrap(), json!({ "playbook": null }));
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert!(ask("[ROW-0] Content: \"a", "(None)", "(None)").is_err());
        assert!(ask(ROWS, "quote prices", "(None)").is_err());
    }
}
