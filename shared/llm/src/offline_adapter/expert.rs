//! What an expert's answer says and the agent's does not.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::tool_calls::TRUNCATION_MARK;
use super::transcript::{Comparison, Shown};

/// Sentences of an expert that become part of a rule.
const SENTENCES_MAX: usize = 3;
/// Characters of a sentence, or of a question, that may stand in a rule; longer ones are retellings.
const SENTENCE_CHARS_MAX: usize = 240;
/// Words that a sentence must have to say something.
const WORDS_MIN: usize = 3;
/// Letters of a word that counts.
const WORD_CHARS_MIN: usize = 3;
/// Digits in a row from which a number may belong to somebody: an account, a card, a telephone.
const DIGITS_MAX: usize = 4;

/// One rule for each comparison whose expert said something of substance that the agent did not.
pub(super) fn rules(shown: &Shown<'_>) -> Vec<Value> {
    shown
        .comparisons
        .iter()
        .zip(1..)
        .filter_map(|(comparison, number)| rule(shown, comparison, number))
        .collect()
}

fn rule(shown: &Shown<'_>, comparison: &Comparison<'_>, number: usize) -> Option<Value> {
    // A comparison bears no mark of its own: whether it was learned from before shows where its answer stands again.
    let is_answer = |text: &str| !text.is_empty() && text == comparison.agent.trim();
    if shown.turns.iter().any(|turn| turn.is_earlier && is_answer(turn.text)) {
        return None;
    }
    let question = sentences(comparison.question).find(|text| can_be_kept(text))?;
    let agent = words(comparison.agent);
    let missing: Vec<&str> = sentences(comparison.expert)
        .filter(|text| can_be_kept(text) && adds_to(&agent, text))
        .take(SENTENCES_MAX)
        .collect();
    if missing.is_empty() {
        return None;
    }
    let is_japanese = question.chars().any(|c| ('\u{3041}'..='\u{30ff}').contains(&c));
    let (trigger, content, rationale) = if is_japanese {
        (
            format!("「{question}」のような質問を受けたとき"),
            format!("次の点も答えに含める：{}", missing.concat()),
            "専門家の回答にあり、エージェントの回答になかったため。",
        )
    } else {
        (
            format!("When the user asks: {question}"),
            format!("Include in the answer: {}", missing.join(" ")),
            "The expert's answer says this and the agent's does not.",
        )
    };
    Some(json!({
        "rationale": rationale,
        "evidence_kind": "expert-gap",
        "trigger": trigger,
        "content": content,
        "evidence_refs": [format!("c{number}")],
        "blocking_issue": null,
        "notes": null,
    }))
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let pieces = std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(sentence_end(rest)?);
        rest = after;
        Some(piece.trim())
    });
    pieces.filter(|piece| !piece.is_empty())
}

fn sentence_end(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_is_blank = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(c, '\n' | '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && next_is_blank) {
            return Some(at + c.len_utf8());
        }
    }
    (!text.is_empty()).then_some(text.len())
}

/// Short enough, shown whole, and without anything that may be a secret or somebody's number.
fn can_be_kept(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let digits = sentence.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    let is_private = ["password", "passcode", "token", "secret", "api key", "パスワード", "暗証番号", "@"];
    sentence.chars().count() <= SENTENCE_CHARS_MAX
        && !sentence.contains(TRUNCATION_MARK)
        && digits <= DIGITS_MAX
        && !is_private.iter().any(|word| lower.contains(word))
}

/// Whether most words of a sentence are new.
fn adds_to(agent: &HashSet<String>, sentence: &str) -> bool {
    let words = words(sentence);
    let new = words.difference(agent).count();
    words.len() >= WORDS_MIN && 2 * new > words.len()
}

/// Words in small letters. Where a script parts no words, pairs of characters take their place.
fn words(text: &str) -> HashSet<String> {
    let lower = text.to_lowercase();
    let mut found = HashSet::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let chars: Vec<char> = word.chars().collect();
        if chars.iter().any(|c| ('\u{2e80}'..='\u{d7ff}').contains(c)) {
            found.extend(chars.windows(2).map(|pair| pair.iter().collect()));
        } else if chars.len() >= WORD_CHARS_MIN || word.bytes().all(|byte| byte.is_ascii_digit()) {
            found.insert(word.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(question: &str, agent: &str, expert: &str) -> Vec<Value> {
        let block = format!(
            "=== Comparison 1 ===\nUser Question: ```{question}```\nAgent Response: ```{agent}```\nExpert Response: ```{expert}```"
        );
        rules(&Shown::read(&block).unwrap())
    }

    #[test]
    fn what_the_agent_left_out_becomes_a_rule() {
        let found = compare(
            "Can I return opened software?",
            "Yes, you can return it within 30 days.",
            "You can return it within 30 days. A restocking fee of 15 percent applies to opened boxes.",
        );
        assert_eq!(found[0]["trigger"], "When the user asks: Can I return opened software?");
        assert_eq!(
            found[0]["content"],
            "Include in the answer: A restocking fee of 15 percent applies to opened boxes."
        );
        assert_eq!(
            (&found[0]["evidence_kind"], &found[0]["evidence_refs"]),
            (&json!("expert-gap"), &json!(["c1"]))
        );
    }

    #[test]
    fn japanese_answers_are_compared_too() {
        let found = compare(
            "返品できますか？",
            "はい、できます。",
            "はい、できます。開封済みの場合は手数料がかかります。",
        );
        assert_eq!(found[0]["content"], "次の点も答えに含める：開封済みの場合は手数料がかかります。");
    }

    #[test]
    fn other_words_for_the_same_and_private_numbers_teach_nothing() {
        for (question, agent, expert) in [
            (
                "When is it due?",
                "It is due on the first of the month.",
                "On the first of the month it is due!",
            ),
            ("What is due?", "Nothing.", "Call our colleague Jane Roe at 0123456 please."),
            ("What is due?", "Nothing.", "5 euros."),
            ("", "Nothing.", "A restocking fee applies to opened boxes."),
        ] {
            assert!(compare(question, agent, expert).is_empty(), "{expert}");
        }
    }

    #[test]
    fn an_answer_that_was_learned_from_before_teaches_nothing_new() {
        let block = "=== Comparison 1 ===\nUser Question: ```Returns?```\nAgent Response: ```No.```\n\
                     Expert Response: ```A restocking fee applies to opened boxes.```\n\n=== Session: s ===\n";
        for (mark, count) in [("", 1), ("(earlier) ", 0)] {
            let block = format!("{block}[t1] {mark}Assistant: ```No.```");
            assert_eq!(rules(&Shown::read(&block).unwrap()).len(), count);
        }
    }
}
