//! Tags and search terms, by the words that stand there.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::blocks::Prompt;
use crate::error::ChatError;

/// Tags that one memory gets.
const TAGS_MAX: usize = 5;
/// What stands before the organisation's definition in the prompt.
const DEFINITION_HEADING: &str = "How to tag, as the organisation defines it:\n";
/// Letters of a word that must agree, so that `invoices` is tagged as `invoice`.
const STEM_CHARS_MIN: usize = 4;

/// Words by which the same is searched for. Each group in alphabetical order.
const SYNONYMS: [&[&str]; 12] = [
    &["bill", "invoice"],
    &["bike", "bicycle", "cycling"],
    &["car", "automobile", "vehicle"],
    &["couch", "settee", "sofa"],
    &["doctor", "physician"],
    &["email", "e-mail", "mail"],
    &["film", "movie"],
    &["flat", "apartment"],
    &["holiday", "vacation", "trip"],
    &["meeting", "appointment", "call"],
    &["phone", "telephone", "mobile"],
    &["job", "work", "occupation"],
];

/// The tags of the definition that occur in the memory: those in quotation marks, else the items of its lists.
pub(super) fn tag(prompt: &Prompt) -> Result<Value, ChatError> {
    let memory = words(prompt.block("memory_to_tag")?);
    let definition = prompt.before_block("memory_to_tag", DEFINITION_HEADING)?;
    let mut tags: Vec<String> = Vec::new();
    for candidate in candidates(definition) {
        let is_named = words(&candidate).iter().all(|word| memory.iter().any(|other| are_alike(word, other)));
        if is_named && !tags.contains(&candidate) && tags.len() < TAGS_MAX {
            tags.push(candidate);
        }
    }
    Ok(json!({ "tags": tags }))
}

/// Terms of the text that have synonyms.
pub(super) fn expand(prompt: &Prompt) -> Result<Value, ChatError> {
    let said = words(prompt.block("text_to_expand")?);
    let mut terms = Map::new();
    for word in said.iter().collect::<BTreeSet<_>>() {
        let singular = word.strip_suffix('s').unwrap_or(word);
        let is_it = |other: &&str| *other == word || *other == singular;
        let Some(group) = SYNONYMS.iter().find(|group| group.iter().any(&is_it)) else { continue };
        let others: Vec<&str> =
            group.iter().copied().filter(|other| !said.iter().any(|word| word == other)).collect();
        if !others.is_empty() {
            terms.insert(word.clone(), json!(others));
        }
    }
    Ok(Value::Object(terms))
}

/// What a definition offers as tags.
fn candidates(definition: &str) -> Vec<String> {
    let quoted: Vec<&str> = definition.split(['"', '“', '”']).skip(1).step_by(2).collect();
    let offered = if quoted.is_empty() {
        definition
            .split([',', ';', ':', '\n', '.'])
            .map(|item| item.trim_start_matches(['-', '*', ' ']))
            .collect()
    } else {
        quoted
    };
    let tags = offered.into_iter().map(str::trim).filter(|tag| (1..=3).contains(&words(tag).len()));
    tags.map(str::to_owned).collect()
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Whether two words are the same but for their endings.
fn are_alike(left: &str, right: &str) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    short == long || (short.chars().count() >= STEM_CHARS_MIN && long.starts_with(short))
}
