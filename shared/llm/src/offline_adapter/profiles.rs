//! Facts about the user.

use offline::{ProfileDraft, REMOVAL_MARKER, extract_profiles, should_run};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::conversation::Conversation;
use crate::error::ChatError;

/// Whether a window may hold a fact. A correction of what is known can be of any form, so any words of the user
/// will do.
pub(super) fn is_worth_reading(prompt: &Prompt) -> Result<bool, ChatError> {
    let conversation = Conversation::read(prompt, "conversation")?;
    Ok(should_run(&conversation.new_turns()))
}

/// The facts that a window yields.
pub(super) fn extract(prompt: &Prompt) -> Result<Value, ChatError> {
    let conversation = Conversation::read(prompt, "conversation")?;
    let known = statements(prompt.block("existing_profiles")?);
    let drafts = extract_profiles(&conversation.turns, &known);
    let kept = drafts.iter().filter(|draft| {
        conversation.supports(&draft.evidence, &draft.source_span)
            && conversation.knows_the_dates_of(&draft.evidence, &draft.content)
    });
    Ok(json!({ "profiles": kept.map(profile).collect::<Vec<_>>() }))
}

fn profile(draft: &ProfileDraft) -> Value {
    let is_removal = draft.content.starts_with(REMOVAL_MARKER);
    let reasoning = if is_removal { "The user asks for this to be forgotten." } else { "The user says so." };
    json!({
        "reasoning": reasoning,
        "content": draft.content,
        "time_to_live": draft.time_to_live,
        "source_span": text_or_null(&draft.source_span),
        "evidence_refs": draft.evidence,
        "notes": text_or_null(&draft.notes),
    })
}

fn text_or_null(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}

/// The known facts, which a prompt joins by commas. A comma inside a fact is mostly followed by a small letter; where
/// it is not, two halves of a fact do no harm: they are compared with, and never stored.
fn statements(block: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, separator) in block.match_indices(", ") {
        let next = block[at + separator.len()..].chars().next();
        if next.is_some_and(|c| !c.is_lowercase() && !c.is_numeric()) {
            found.push(block[start..at].trim());
            start = at + separator.len();
        }
    }
    found.push(block[start..].trim());
    found.retain(|statement| !statement.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_facts_are_told_apart() {
        assert_eq!(
            statements("Likes tea, black or green, Lives in Oslo, 犬を飼っている"),
            ["Likes tea, black or green", "Lives in Oslo", "犬を飼っている"]
        );
        assert_eq!(statements(" \n"), Vec::<&str>::new());
    }
}
