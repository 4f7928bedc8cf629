//! Reading a conversation as the prompts show it. The format is fixed, so a line that does not fit is an error.
//!
//! ```text
//! === Comparison 1 ===
//! User Question: ```When is it due?```
//! Agent Response: ```Soon.```
//! Expert Response: ```On the first of the month.```
//!
//! === Session: chat-7 (date: 2025-06-15) ===
//! [t1] (earlier) User: ```Book me a table```
//! [t2] Assistant: ```[used tool: book({"seats":2}), status: error] Sorry, that failed```
//! [t3] (earlier, 2025-06-16) User: ```No, for four```
//! [t3] (earlier, 2025-06-16) User: ```click the Save button```
//! ```

use jiff::civil::Date;

use super::tool_calls::{ShownTool, read_tools};

/// What opens and closes the text of a turn; it occurs in no such text.
const FENCE: &str = "```";
/// What stands for an image before a turn's words.
const IMAGE_MARK: &str = "[image]";

/// A window as it was shown.
#[derive(Debug, Default)]
pub(super) struct Shown<'a> {
    /// The agent's answers beside an expert's.
    pub(super) comparisons: Vec<Comparison<'a>>,
    /// The turns, each once.
    pub(super) turns: Vec<ShownTurn<'a>>,
}

/// One answer of the agent and the expert's.
#[derive(Debug, Default)]
pub(super) struct Comparison<'a> {
    /// What was asked; `""` when nothing was.
    pub(super) question: &'a str,
    /// What the agent said.
    pub(super) agent: &'a str,
    /// What it should have said.
    pub(super) expert: &'a str,
}

/// One turn.
#[derive(Debug)]
pub(super) struct ShownTurn<'a> {
    /// The label, for example `t3`.
    pub(super) label: &'a str,
    /// Who spoke.
    pub(super) role: &'a str,
    /// What was said, without tool calls and images.
    pub(super) text: &'a str,
    /// The tools called.
    pub(super) tools: Vec<ShownTool<'a>>,
    /// The turn's own day, else the session's.
    pub(super) date: Option<Date>,
    /// Whether it was learned from before.
    pub(super) is_earlier: bool,
}

impl<'a> Shown<'a> {
    /// Reads a block.
    ///
    /// # Errors
    /// The number, counted from 1, of the line that cannot be read.
    pub(super) fn read(block: &'a str) -> Result<Self, usize> {
        let mut shown = Self::default();
        let mut session_date = None;
        let mut rest = block;
        while !rest.is_empty() {
            let line_number = || block[..block.len() - rest.len()].matches('\n').count() + 1;
            rest = match rest.strip_prefix('\n') {
                Some(after) => after,
                None => shown.read_line(rest, &mut session_date).ok_or_else(line_number)?,
            };
        }
        Ok(shown)
    }

    /// Reads what stands at the start of a text; yields what follows.
    fn read_line(&mut self, text: &'a str, session_date: &mut Option<Date>) -> Option<&'a str> {
        if text.starts_with('[') {
            let (mut turn, after) = read_turn(text)?;
            turn.date = turn.date.or(*session_date);
            // What the user did stands on a second line under the same label. It is nothing that was said.
            if self.turns.last().is_none_or(|last| last.label != turn.label) {
                self.turns.push(turn);
            }
            return Some(after);
        }
        let line = text.lines().next()?;
        if let Some(header) = line.strip_prefix("=== ").and_then(|line| line.strip_suffix(" ===")) {
            if header.starts_with("Comparison ") {
                self.comparisons.push(Comparison::default());
            } else {
                *session_date = read_session(header)?;
            }
            return Some(&text[line.len()..]);
        }
        let (name, after) = text.split_once(": ")?;
        let (fenced, after) = read_fenced(after)?;
        let comparison = self.comparisons.last_mut()?;
        match name {
            "User Question" => comparison.question = fenced,
            "Agent Response" => comparison.agent = fenced,
            "Expert Response" => comparison.expert = fenced,
            _ => return None,
        }
        Some(after)
    }
}

/// The date in a session's header: `Some(None)` when it names none, `None` when it cannot be read.
#[expect(clippy::option_option, reason = "no date and no header are different outcomes")]
fn read_session(header: &str) -> Option<Option<Date>> {
    let session = header.strip_prefix("Session: ")?;
    match session.rsplit_once(" (date: ") {
        Some((_, date)) => date.strip_suffix(')')?.parse().ok().map(Some),
        None => Some(None),
    }
}

fn read_turn(text: &str) -> Option<(ShownTurn<'_>, &str)> {
    let (label, after) = text.strip_prefix('[')?.split_once("] ")?;
    let number = label.strip_prefix('t')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (remarks, after) = match after.strip_prefix('(') {
        Some(after) => after.split_once(") ")?,
        None => ("", after),
    };
    let (mut date, mut is_earlier) = (None, false);
    for remark in remarks.split(", ").filter(|remark| !remark.is_empty()) {
        match remark {
            "earlier" => is_earlier = true,
            day => date = Some(day.parse().ok()?),
        }
    }
    let (role, after) = after.split_once(": ")?;
    if role.contains('\n') {
        return None;
    }
    let (fenced, after) = read_fenced(after)?;
    let (tools, said) = read_tools(fenced)?;
    let text = said.strip_prefix(IMAGE_MARK).unwrap_or(said).trim();
    Some((ShownTurn { label, role, text, tools, date, is_earlier }, after))
}

/// A text between fences that ends its line.
fn read_fenced(text: &str) -> Option<(&str, &str)> {
    let (fenced, after) = text.strip_prefix(FENCE)?.split_once(FENCE)?;
    (after.is_empty() || after.starts_with('\n')).then_some((fenced, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn turns_are_read_with_their_days_and_in_all_their_lines() {
        let block = "=== Session: chat-7 (date: 2025-06-15) ===\n[t1] (earlier) User: ```a: ``b``\n[t9] User: c\n\nd```\n\
                     [t2] (earlier, 2025-06-16) Assistant: ```[image] e```\n\n=== Session: undated ===\n[t3] User: ```f```";
        let shown = Shown::read(block).unwrap();
        let turns: Vec<_> =
            shown.turns.iter().map(|turn| (turn.label, turn.role, turn.text, turn.is_earlier)).collect();
        assert_eq!(
            turns,
            [
                ("t1", "User", "a: ``b``\n[t9] User: c\n\nd", true),
                ("t2", "Assistant", "e", true),
                ("t3", "User", "f", false),
            ]
        );
        let dates: Vec<_> = shown.turns.iter().map(|turn| turn.date.map(|date| date.to_string())).collect();
        assert_eq!(dates, [Some("2025-06-15".to_owned()), Some("2025-06-16".to_owned()), None]);
    }

    #[test]
    fn what_the_user_did_is_not_what_they_said() {
        let shown = Shown::read("[t1] User: ```this one```\n[t1] User: ```click the Buy button```").unwrap();
        assert_eq!(shown.turns.len(), 1);
        assert_eq!(shown.turns[0].text, "this one");
    }

    #[test]
    fn comparisons_are_read_before_the_conversation() {
        let block = "=== Comparison 1 ===\nAgent Response: ```hello```\nExpert Response: ```good day```\n\n\
                     === Comparison 2 ===\nUser Question: ```what\nis due?```\nAgent Response: ```nothing```\n\
                     Expert Response: ```5 '''euros'''```\n\n=== Session: s ===\n[t1] Assistant: ```hello```";
        let shown = Shown::read(block).unwrap();
        let read: Vec<_> = shown.comparisons.iter().map(|c| (c.question, c.agent, c.expert)).collect();
        assert_eq!(read, [("", "hello", "good day"), ("what\nis due?", "nothing", "5 '''euros'''")]);
        assert_eq!(shown.turns.len(), 1);
    }

    #[test]
    fn a_line_of_another_kind_is_named_and_not_passed_over() {
        for (block, line) in [
            ("hello", 1),
            ("=== Session: s ===\n[t1] User: hello", 2),
            ("=== Session: s ===\n[t1] User: ```a\nb```\n\n[x] User: ```c```", 5),
            ("=== Session: s (date: 2025-13-01) ===", 1),
            ("[t1] (tomorrow) User: ```a```", 1),
            ("[t1] User: ```a``` and more", 1),
            ("[t1] User: ```a", 1),
            ("Expert Response: ```a```", 1),
            ("[t1] Assistant: ```[used tool: book(```", 1),
        ] {
            assert_eq!(Shown::read(block).unwrap_err(), line, "{block}");
        }
        assert!(Shown::read("").unwrap().turns.is_empty());
    }

    proptest! {
        #[test]
        fn whatever_is_said_each_turn_is_read_back_as_one(said in prop::collection::vec("[a-z\\[\\]t1=: \n魚(),]{1,40}", 1..5)) {
            let lines: Vec<String> =
                said.iter().enumerate().map(|(n, text)| format!("[t{}] User: ```{text}```", n + 1)).collect();
            let block = format!("=== Session: s ===\n{}", lines.join("\n"));
            let texts: Vec<&str> = Shown::read(&block).unwrap().turns.iter().map(|turn| turn.text).collect();
            prop_assert_eq!(texts, said.iter().map(|text| text.trim()).collect::<Vec<_>>());
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_fault(text in "\\PC{0,80}", lines in "[\\[\\]t1(){}\": `\n=Seusdol,日]{0,80}") {
            let _ = (Shown::read(&text), Shown::read(&lines), read_tools(&format!("[used tool: {lines}")));
        }
    }
}
