//! What the judge is shown of a turn: the conversation before it, and the two answers in an order that chance decided
//! once.

use domain::entities::Interaction;
use domain::ids::OrgId;
use learning::formatting::text::first_chars;
use sha2::{Digest, Sha256};

/// Longest answer that is shown, in characters; of a longer one the beginning.
pub const ANSWER_CHARS_MAX: usize = 60_000;
/// Longest conversation that is shown, in characters; of a longer one the end, in whole turns.
pub const CONTEXT_CHARS_MAX: usize = 120_000;
/// Stands for what is not shown of an answer.
const CUT: &str = "\n[… cut here]";
/// Stands for turns that are not shown.
const EARLIER: &str = "[… earlier turns are left out]";

/// Whether the answer that the user got is shown first: the same however often the turn is judged.
#[must_use]
pub fn regular_is_first(org: &OrgId, interaction_id: i64) -> bool {
    let digest = Sha256::digest(format!("shadow:v1\0{org}\0{interaction_id}").as_bytes());
    digest[0] & 1 == 0
}

/// The turns before an answer that say something, oldest first.
#[must_use]
pub fn conversation(earlier: &[Interaction]) -> String {
    let (mut shown, mut chars) = (Vec::new(), 0);
    for turn in earlier.iter().rev().filter(|turn| !turn.content.is_empty()) {
        let text = format!("{}:\n{}", speaker(&turn.role), turn.content);
        chars += text.chars().count();
        if chars > CONTEXT_CHARS_MAX {
            shown.push(EARLIER.to_owned());
            break;
        }
        shown.push(text);
    }
    shown.reverse();
    shown.join("\n\n")
}

/// What the user said last.
#[must_use]
pub fn last_message(earlier: &[Interaction]) -> String {
    let last = earlier.iter().rev().find(|turn| turn.is_by_user() && !turn.content.is_empty());
    last.map_or_else(String::new, |turn| first_chars(&turn.content, CONTEXT_CHARS_MAX).to_owned())
}

/// An answer as it is shown.
#[must_use]
pub fn answer(text: &str) -> String {
    let shown = first_chars(text, ANSWER_CHARS_MAX);
    if shown.len() == text.len() { text.to_owned() } else { format!("{shown}{CUT}") }
}

fn speaker(role: &str) -> &str {
    match role.trim().to_lowercase().as_str() {
        "user" => "User",
        "agent" | "assistant" => "Assistant",
        _ => role,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(role: &str, content: &str) -> Interaction {
        Interaction { role: role.to_owned(), content: content.to_owned(), ..Interaction::default() }
    }

    #[test]
    fn the_coin_falls_the_same_way_for_a_turn_and_both_ways_for_many() {
        let org: OrgId = "acme".parse().unwrap();
        let falls: Vec<bool> = (0..1_000).map(|id| regular_is_first(&org, id)).collect();
        assert_eq!(falls, (0..1_000).map(|id| regular_is_first(&org, id)).collect::<Vec<_>>());
        let first = falls.iter().filter(|first| **first).count();
        assert!((400..600).contains(&first), "{first}");
        let other: OrgId = "other".parse().unwrap();
        assert_ne!(falls, (0..1_000).map(|id| regular_is_first(&other, id)).collect::<Vec<_>>());
    }

    #[test]
    fn the_coin_is_the_lowest_bit_of_the_digest() {
        let org: OrgId = "acme".parse().unwrap();
        // sha256("shadow:v1\0acme\04194305") begins with 0x7E, of 4194306 with 0x4D.
        assert_eq!([4_194_305, 4_194_306].map(|id| regular_is_first(&org, id)), [true, false]);
    }

    #[test]
    fn turns_are_named_by_who_spoke_and_silent_ones_left_out() {
        let turns = [turn(" USER ", "Hi"), turn("agent", "Hello"), turn("user", ""), turn("Tool", "42")];
        assert_eq!(conversation(&turns), "User:\nHi\n\nAssistant:\nHello\n\nTool:\n42");
        assert_eq!(conversation(&[]), "");
        assert_eq!(last_message(&turns), "Hi");
        assert_eq!(last_message(&turns[1..2]), "");
    }

    #[test]
    fn of_a_conversation_that_is_too_long_the_end_is_shown() {
        let label = "User:\n".chars().count();
        for (chars, whole) in
            [(CONTEXT_CHARS_MAX - 1, true), (CONTEXT_CHARS_MAX, true), (CONTEXT_CHARS_MAX + 1, false)]
        {
            let last = turn("user", "z");
            let first = turn("user", &"é".repeat(chars - 2 * label - 1));
            let shown = conversation(&[first, last]);
            assert_eq!(shown.contains('é'), whole, "{chars}");
            assert_eq!(shown.starts_with(EARLIER), !whole, "{chars}");
            assert!(shown.ends_with("User:\nz"));
        }
    }

    #[test]
    fn of_an_answer_that_is_too_long_the_beginning_is_shown() {
        for (chars, whole) in
            [(ANSWER_CHARS_MAX - 1, true), (ANSWER_CHARS_MAX, true), (ANSWER_CHARS_MAX + 1, false)]
        {
            let shown = answer(&"é".repeat(chars));
            assert_eq!(shown.ends_with(CUT), !whole, "{chars}");
            assert_eq!(shown.matches('é').count(), chars.min(ANSWER_CHARS_MAX));
        }
    }
}
