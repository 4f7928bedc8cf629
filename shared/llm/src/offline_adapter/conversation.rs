//! A conversation as the rules want it, and what of their drafts may be answered.

use jiff::tz::Offset;
use offline::Turn;

use super::blocks::Prompt;
use super::refused;
use super::tool_calls::TRUNCATION_MARK;
use super::transcript::{Shown, ShownTurn};
use crate::error::ChatError;

/// The window that stands in a block of a prompt.
pub(super) struct Conversation<'a> {
    pub(super) shown: Shown<'a>,
    /// All turns in order.
    pub(super) turns: Vec<Turn<'a>>,
}

impl<'a> Conversation<'a> {
    pub(super) fn read(prompt: &'a Prompt, block: &str) -> Result<Self, ChatError> {
        let unreadable = |line| refused(format!("line {line} of the block {block} cannot be read"));
        let shown = Shown::read(prompt.block(block)?).map_err(unreadable)?;
        let turns = shown.turns.iter().zip(1..).map(|(turn, number)| rules_turn(turn, number)).collect();
        Ok(Self { shown, turns })
    }

    /// The turns that were not learned from before.
    pub(super) fn new_turns(&self) -> Vec<Turn<'a>> {
        let pairs = self.shown.turns.iter().zip(&self.turns);
        pairs.filter(|(shown, _)| !shown.is_earlier).map(|(_, turn)| turn.clone()).collect()
    }

    /// Whether a draft rests on something new, and on words that were shown whole.
    pub(super) fn supports(&self, evidence: &[String], source_span: &str) -> bool {
        self.cited(evidence).any(|turn| !turn.is_earlier) && !source_span.contains(TRUNCATION_MARK)
    }

    /// Whether the dates in a text are right. Those of a turn without a day were counted from nowhere.
    pub(super) fn knows_the_dates_of(&self, evidence: &[String], text: &str) -> bool {
        self.cited(evidence).all(|turn| turn.date.is_some() || !names_a_date_beyond(text, turn.text))
    }

    fn cited<'s>(&'s self, evidence: &'s [String]) -> impl Iterator<Item = &'s ShownTurn<'a>> {
        self.shown.turns.iter().filter(|turn| evidence.iter().any(|label| label == turn.label))
    }
}

fn rules_turn<'a>(turn: &ShownTurn<'a>, number: i64) -> Turn<'a> {
    // The prompt tells the day only. From noon no zone's day is far, and whole days are all that is counted.
    let noon = turn.date.and_then(|date| Offset::UTC.to_timestamp(date.at(12, 0, 0, 0)).ok());
    Turn {
        id: number,
        label: turn.label,
        role: turn.role,
        content: turn.text,
        tools: turn.tools.iter().map(|tool| tool.view()).collect(),
        created_at: noon.map_or(0, |noon| noon.as_second()),
    }
}

/// Whether a text holds a `YYYY-MM` that what was said does not hold.
fn names_a_date_beyond(text: &str, said: &str) -> bool {
    let is_month = |window: &[u8]| {
        window
            .iter()
            .enumerate()
            .all(|(at, byte)| if at == 4 { *byte == b'-' } else { byte.is_ascii_digit() })
    };
    let said = said.as_bytes();
    text.as_bytes()
        .windows("YYYY-MM".len())
        .filter(|window| is_month(window))
        .any(|month| !said.windows(month.len()).any(|window| window == month))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ChatRequest, Message};

    #[test]
    fn a_turn_is_said_at_noon_of_its_day() {
        let block = "<c>\n=== Session: s (date: 2025-06-15) ===\n[t1] User: ```a```\n[t2] (2025-06-16) User: ```b```\n</c>";
        let prompt = Prompt::of(&ChatRequest::new("x", vec![Message::user(block)]));
        let conversation = Conversation::read(&prompt, "c").unwrap();
        let times: Vec<i64> = conversation.turns.iter().map(|turn| turn.created_at).collect();
        assert_eq!(times, [1_749_988_800, 1_749_988_800 + 86_400]);
    }

    #[test]
    fn a_date_that_nobody_said_is_noticed() {
        assert!(names_a_date_beyond("Flies on 1970-01-04", "I fly on Sunday"));
        assert!(!names_a_date_beyond("Flies on 2025-07-04", "I fly on 2025-07-04"));
        assert!(!names_a_date_beyond("Calls 555-0199 in 魚", "x"));
    }
}
