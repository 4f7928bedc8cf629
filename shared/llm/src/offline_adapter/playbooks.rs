//! Rules for the agent, with and without an expert's answers.

use offline::{PlaybookDraft, extract_playbooks};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::conversation::Conversation;
use super::expert;
use crate::error::ChatError;

/// Whether a window holds a rule. Nothing but the window decides that, so it is simply read.
pub(super) fn is_worth_reading(prompt: &Prompt, block: &str) -> Result<bool, ChatError> {
    Ok(!rules(prompt, block)?.is_empty())
}

/// The rules that a window yields.
pub(super) fn extract(prompt: &Prompt, block: &str) -> Result<Value, ChatError> {
    Ok(json!({ "playbooks": rules(prompt, block)? }))
}

fn rules(prompt: &Prompt, block: &str) -> Result<Vec<Value>, ChatError> {
    let conversation = Conversation::read(prompt, block)?;
    let mut found = expert::rules(&conversation.shown);
    let drafts = extract_playbooks(&conversation.turns);
    let kept = drafts.iter().filter(|draft| conversation.supports(&draft.evidence, &draft.source_span));
    found.extend(kept.map(playbook));
    Ok(found)
}

fn playbook(draft: &PlaybookDraft) -> Value {
    let blocking_issue =
        draft.blocking_issue.as_ref().map(|(kind, details)| json!({ "kind": kind, "details": details }));
    json!({
        "rationale": draft.rationale,
        "evidence_kind": draft.evidence_kind.as_str(),
        "trigger": draft.trigger,
        "content": draft.content,
        "evidence_refs": draft.evidence,
        "blocking_issue": blocking_issue,
        "notes": null,
    })
}
