//! More words to find a row by, asked for before the row is written. Whatever goes wrong, the row is written without.

use std::time::Duration;

use domain::ids::OrgId;
use domain::time::EpochMillis;
use futures::future::join_all;
use llm::providers::ModelRole;
use llm::structured::read_text;
use llm::{ChatModel, ChatRequest, Message};
use serde_json::{Map, Value, json};

use crate::formatting::text::first_chars;
use crate::pipeline::ask::render;
use crate::services::Services;

/// The prompt.
const PURPOSE: &str = "document_expansion";
/// Longest text that is expanded, in characters; of a longer one the beginning.
const TEXT_CHARS_MAX: usize = 4_000;
/// How long one call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(25);
/// Tries of a call after the first.
const CALL_RETRIES_MAX: u32 = 1;
/// How long the writing of rows waits for all their words, in milliseconds.
const WAIT_MS_MAX: i64 = 15_000;
/// Time that must be left for the commit, in milliseconds.
const RESERVE_MS: i64 = 10_000;
/// Terms of one row.
pub const TERMS_MAX: usize = 16;
/// Other words of one term.
pub const WORDS_PER_TERM_MAX: usize = 8;
/// Longest term or word, in characters; a longer one is dropped.
pub const WORD_CHARS_MAX: usize = 60;

/// The words for each text, as they are stored: `term, word, word; term, word`. `None` where there are none to add,
/// or where they were not to be had in time.
pub(crate) async fn expanded_terms(
    services: &Services,
    org: &OrgId,
    texts: &[String],
    deadline_ms: EpochMillis,
) -> Vec<Option<String>> {
    let none = || vec![None; texts.len()];
    let now = services.clock.now_ms();
    let deadline = (now + WAIT_MS_MAX).min(deadline_ms - RESERVE_MS);
    if texts.is_empty() || deadline <= now {
        return none();
    }
    let model = match services.orgs.chat(org, ModelRole::PreRetrieval).await {
        Ok(model) => model,
        Err(error) => {
            tracing::warn!(event = "document_expansion_failed", rows = texts.len(), %error);
            return none();
        }
    };
    join_all(texts.iter().map(|text| expand(model.as_ref(), text, deadline))).await
}

async fn expand(model: &dyn ChatModel, text: &str, deadline: EpochMillis) -> Option<String> {
    let prompt = match render("document_expansion", &[("content", first_chars(text, TEXT_CHARS_MAX))]) {
        Ok(prompt) => prompt,
        Err(error) => {
            tracing::warn!(event = "document_expansion_failed", %error);
            return None;
        }
    };
    let mut request = ChatRequest::new(PURPOSE, vec![Message::user(prompt)]);
    request.timeout = CALL_TIMEOUT;
    request.retries_max = Some(CALL_RETRIES_MAX);
    request.deadline = Some(deadline);
    let answer = match model.chat(&request).await {
        Ok(answer) => answer.text.unwrap_or_default(),
        Err(error) => {
            tracing::warn!(event = "document_expansion_failed", class = error.class());
            return None;
        }
    };
    match read_text::<Map<String, Value>>(&answer, &json!({})) {
        Ok(terms) => stored_form(&terms),
        Err(problem) => {
            tracing::warn!(event = "document_expansion_failed", problem = problem.for_log);
            None
        }
    }
}

/// The words as they are stored; `None` when there are none.
#[must_use]
pub fn stored_form(terms: &Map<String, Value>) -> Option<String> {
    let group = |(term, words): (&String, &Value)| {
        let term = plain(term)?;
        let words: Vec<&Value> = match words {
            Value::Array(words) => words.iter().collect(),
            other => vec![other],
        };
        let mut group = vec![term];
        for word in words.into_iter().filter_map(Value::as_str).filter_map(plain) {
            if group.len() <= WORDS_PER_TERM_MAX && !group.contains(&word) {
                group.push(word);
            }
        }
        (group.len() > 1).then(|| group.join(", "))
    };
    let groups: Vec<String> = terms.iter().filter_map(group).take(TERMS_MAX).collect();
    (!groups.is_empty()).then(|| groups.join("; "))
}

/// A word or two without what separates words and groups; `None` when nothing is left or it is no word any more.
fn plain(word: &str) -> Option<String> {
    let spaced = word.replace(|c: char| c.is_control() || matches!(c, ',' | ';'), " ");
    let joined = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    (!joined.is_empty() && joined.chars().count() <= WORD_CHARS_MAX).then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(terms: Value) -> Option<String> {
        stored_form(terms.as_object().unwrap())
    }

    #[test]
    fn terms_are_stored_in_groups() {
        let terms = json!({ "sofa": ["couch", " settee "], "AWS": "Amazon Web Services" });
        assert_eq!(stored(terms).unwrap(), "sofa, couch, settee; AWS, Amazon Web Services");
    }

    #[test]
    fn nothing_in_a_word_can_pass_for_a_separator() {
        assert_eq!(stored(json!({ "a;b": ["c,d\n"] })).unwrap(), "a b, c d");
    }

    #[test]
    fn terms_without_other_words_are_left_out() {
        for nothing in
            [json!({}), json!({ "tea": [] }), json!({ "tea": ["tea", " "] }), json!({ "tea": [7, null] })]
        {
            assert_eq!(stored(nothing.clone()), None, "{nothing}");
        }
    }

    #[test]
    fn what_is_stored_is_bounded() {
        for many in [TERMS_MAX - 1, TERMS_MAX, TERMS_MAX + 1] {
            let terms = (0..many).map(|n| (format!("t{n}"), json!(["x"]))).collect();
            assert_eq!(stored_form(&terms).unwrap().split(';').count(), many.min(TERMS_MAX));
        }
        for many in [WORDS_PER_TERM_MAX - 1, WORDS_PER_TERM_MAX, WORDS_PER_TERM_MAX + 1] {
            let words: Vec<String> = (0..many).map(|n| n.to_string()).collect();
            let stored = stored(json!({ "t": words })).unwrap();
            assert_eq!(stored.split(',').count(), 1 + many.min(WORDS_PER_TERM_MAX));
        }
        for (chars, kept) in [(WORD_CHARS_MAX - 1, true), (WORD_CHARS_MAX, true), (WORD_CHARS_MAX + 1, false)]
        {
            assert_eq!(stored(json!({ "t": ["é".repeat(chars)] })).is_some(), kept, "{chars}");
        }
    }
}
