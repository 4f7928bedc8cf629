//! Cited memories in the light of the turns that followed: what the user said afterwards is read by the same rules as
//! ever, and a memory that it contradicts or adds to is revised.

use domain::entities::ProfileTimeToLive;
use offline::{Decision, PlaybookRow, ProfileRow, Turn, consolidate_playbooks, dedupe_profiles};
use offline::{ProfileDraft, extract_playbooks, extract_profiles};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::deduplication::contradicts;
use super::refused;
use crate::error::ChatError;

/// The role of turns that cite.
const CITING_ROLE: &str = "Assistant";

#[derive(Deserialize)]
struct ShownTurn {
    role: String,
    content: String,
    created_at: i64,
    citations: Vec<ShownCitation>,
}

#[derive(Deserialize)]
struct ShownCitation {
    kind: String,
    real_id: String,
}

#[derive(Deserialize)]
struct ShownProfile {
    profile_id: String,
    content: String,
    profile_time_to_live: String,
    last_modified_timestamp: i64,
}

#[derive(Deserialize)]
struct ShownPlaybook {
    user_playbook_id: i64,
    content: String,
    trigger: Option<String>,
    rationale: Option<String>,
}

/// One decision for each cited memory.
pub(super) fn reflect(prompt: &Prompt) -> Result<Value, ChatError> {
    let window: Vec<ShownTurn> = read(prompt, "window_interactions")?;
    let profiles: Vec<ShownProfile> = read(prompt, "cited_profiles")?;
    let playbooks: Vec<ShownPlaybook> = read(prompt, "cited_playbooks")?;
    let labels: Vec<String> = (0..window.len()).map(|place| format!("t{place}")).collect();
    let mut decisions = Vec::new();
    for profile in &profiles {
        let from = first_citation(&window, &["profile"], &profile.profile_id);
        decisions.push(profile_decision(profile, &turns(&window, &labels, from)));
    }
    for playbook in &playbooks {
        let id = playbook.user_playbook_id.to_string();
        let from = first_citation(&window, &["playbook", "user_playbook"], &id);
        decisions.push(playbook_decision(playbook, &turns(&window, &labels, from)));
    }
    Ok(json!({ "decisions": decisions }))
}

fn read<T: DeserializeOwned>(prompt: &Prompt, block: &str) -> Result<T, ChatError> {
    let unreadable = |_| refused(format!("the block {block} cannot be read"));
    serde_json::from_str(prompt.block(block)?).map_err(unreadable)
}

/// The place of the first turn that cites a memory; the end when none does.
fn first_citation(window: &[ShownTurn], kinds: &[&str], id: &str) -> usize {
    let cites = |turn: &ShownTurn| {
        let is_it = |c: &ShownCitation| kinds.contains(&c.kind.as_str()) && c.real_id == id;
        turn.role == CITING_ROLE && turn.citations.iter().any(is_it)
    };
    window.iter().position(cites).unwrap_or(window.len())
}

/// The turns from a place on.
fn turns<'a>(window: &'a [ShownTurn], labels: &'a [String], from: usize) -> Vec<Turn<'a>> {
    let turn = |(turn, (label, id)): (&'a ShownTurn, (&'a String, i64))| Turn {
        id,
        label,
        role: &turn.role,
        content: &turn.content,
        tools: Vec::new(),
        created_at: turn.created_at,
    };
    window.iter().zip(labels.iter().zip(1..)).skip(from).map(turn).collect()
}

fn profile_decision(profile: &ShownProfile, later: &[Turn<'_>]) -> Value {
    let drafts = extract_profiles(later, &[]);
    let said_at = |draft: &ProfileDraft| {
        let turn = later.iter().rev().find(|turn| draft.evidence.iter().any(|label| label == turn.label));
        turn.map_or(0, |turn| turn.created_at)
    };
    let new: Vec<ProfileRow<'_>> = drafts
        .iter()
        .map(|draft| ProfileRow {
            content: &draft.content,
            time_to_live: draft.time_to_live,
            modified: said_at(draft),
        })
        .collect();
    let existing = [ProfileRow {
        content: &profile.content,
        time_to_live: ProfileTimeToLive::parse(&profile.profile_time_to_live).unwrap_or_default(),
        modified: profile.last_modified_timestamp,
    }];
    let groups = dedupe_profiles(&new, &existing).duplicate_groups;
    let revision = groups.iter().find(|group| {
        let is_about_it = group.item_ids.iter().any(|id| id == "EXISTING-0");
        is_about_it && group.merged_content != profile.content && contradicts(group, &new, &existing)
    });
    json!({
        "reason": if revision.is_some() { "The user said otherwise afterwards." } else { "Nothing speaks against it." },
        "target_kind": "profile",
        "target_id": profile.profile_id,
        "new_content": revision.map(|group| &group.merged_content),
        "new_trigger": null,
        "new_rationale": null,
        "new_profile_time_to_live": null,
    })
}

fn playbook_decision(playbook: &ShownPlaybook, later: &[Turn<'_>]) -> Value {
    let drafts = extract_playbooks(later);
    let new: Vec<PlaybookRow<'_>> = drafts
        .iter()
        .map(|draft| PlaybookRow {
            trigger: &draft.trigger,
            content: &draft.content,
            rationale: &draft.rationale,
        })
        .collect();
    let existing = [PlaybookRow {
        trigger: playbook.trigger.as_deref().unwrap_or_default(),
        content: &playbook.content,
        rationale: playbook.rationale.as_deref().unwrap_or_default(),
    }];
    let unified = consolidate_playbooks(&new, &existing).into_iter().find_map(|decision| match decision {
        Decision::Unify { archive_existing_ids, content, rationale, .. }
            if !archive_existing_ids.is_empty() && content != playbook.content =>
        {
            Some((content, rationale))
        }
        _ => None,
    });
    let (content, rationale) = unified.unzip();
    json!({
        "reason": if content.is_some() { "The user asked for more." } else { "Nothing speaks against it." },
        "target_kind": "playbook",
        "target_id": playbook.user_playbook_id.to_string(),
        "new_content": content,
        "new_trigger": null,
        "new_rationale": rationale,
        "new_profile_time_to_live": null,
    })
}
