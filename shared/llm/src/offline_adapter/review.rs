//! Rules under review: the turns are read again, and a rule that they do not teach any more is not kept.

use offline::{Decision, PlaybookRow, consolidate_playbooks, extract_playbooks};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::conversation::Conversation;
use super::rows::read_rows;
use crate::error::ChatError;

/// One decision for each rule.
pub(super) fn review(prompt: &Prompt) -> Result<Value, ChatError> {
    let conversation = Conversation::read(prompt, "conversation")?;
    let names = ["Content", "Trigger", "Rationale", "Name", "Source", "Last Modified"];
    let candidates = read_rows(prompt, "candidates", "CANDIDATE", names)?;
    let taught = extract_playbooks(&conversation.turns);
    let decisions = candidates.iter().enumerate().map(|(number, [content, trigger, rationale, ..])| {
        let candidate = [PlaybookRow { trigger, content, rationale }];
        let support = taught.iter().find(|draft| {
            let draft = [PlaybookRow {
                trigger: &draft.trigger,
                content: &draft.content,
                rationale: &draft.rationale,
            }];
            let relation = consolidate_playbooks(&draft, &candidate);
            matches!(relation.first(), Some(Decision::RejectNew { .. } | Decision::Unify { .. }))
        });
        let (word, code, reason) = match support {
            Some(_) => ("accept", "grounded_useful", "The turns teach it."),
            None => ("reject", "unsupported_evidence", "The turns do not teach it."),
        };
        json!({
            "reason": reason,
            "candidate_id": format!("CANDIDATE-{number}"),
            "decision": word,
            "reason_code": code,
            "evidence_refs": support.map_or(&[][..], |draft| &draft.evidence),
            "content": null,
            "trigger": null,
            "rationale": null,
        })
    });
    Ok(json!({ "decisions": decisions.collect::<Vec<_>>() }))
}
