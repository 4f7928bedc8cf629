//! New facts against stored ones.

use domain::entities::ProfileTimeToLive::{self, Infinity, OneDay};
use domain::time::EpochSeconds;
use offline::{Deletion, DuplicateGroup, ProfileRow, REMOVAL_MARKER, dedupe_profiles};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::rows::{minute, read_rows, unreadable};
use crate::error::ChatError;

struct Row {
    content: String,
    time_to_live: ProfileTimeToLive,
    modified: EpochSeconds,
}

/// What becomes of the new facts.
pub(super) fn deduplicate(prompt: &Prompt) -> Result<Value, ChatError> {
    let new = rows(prompt, "new_profiles", "NEW")?;
    let existing = rows(prompt, "existing_profiles", "EXISTING")?;
    let (new, existing) = (views(&new), views(&existing));
    let answer = dedupe_profiles(&new, &existing);
    let groups: Vec<Value> =
        answer.duplicate_groups.iter().map(|group| group_answer(group, &new, &existing)).collect();
    Ok(json!({
        "duplicate_groups": groups,
        "unique_ids": answer.unique_ids,
        "deletions": deletions(answer.deletions, &new),
    }))
}

fn rows(prompt: &Prompt, block: &str, prefix: &str) -> Result<Vec<Row>, ChatError> {
    let fields = read_rows(prompt, block, prefix, ["Content", "TTL", "Source", "Last Modified"])?;
    let rows = fields.into_iter().enumerate().map(|(number, [content, time_to_live, _, modified])| {
        let time_to_live = ProfileTimeToLive::parse(&time_to_live);
        let (time_to_live, modified) =
            time_to_live.zip(minute(&modified)).ok_or_else(|| unreadable(block, number))?;
        Ok(Row { content, time_to_live, modified })
    });
    rows.collect()
}

fn views(rows: &[Row]) -> Vec<ProfileRow<'_>> {
    let view = |row| {
        let Row { content, time_to_live, modified }: &Row = row;
        ProfileRow { content, time_to_live: *time_to_live, modified: *modified }
    };
    rows.iter().map(view).collect()
}

fn group_answer(group: &DuplicateGroup, new: &[ProfileRow<'_>], existing: &[ProfileRow<'_>]) -> Value {
    let relation = if contradicts(group, new, existing) { "contradiction" } else { "duplicate" };
    json!({
        "item_ids": group.item_ids,
        "relation": relation,
        "merged_content": group.merged_content,
        "merged_time_to_live": group.merged_time_to_live,
    })
}

/// Whether the latest member of a group replaces the others. The rules do not say so, but they show it: then its time
/// to live holds, and else the longest. So they are asked about the group once more, its latest member short-lived.
pub(super) fn contradicts(
    group: &DuplicateGroup,
    new: &[ProfileRow<'_>],
    existing: &[ProfileRow<'_>],
) -> bool {
    let mut new = members(group, "NEW-", new);
    let mut existing = members(group, "EXISTING-", existing);
    // Of equal times the last one counts, and what is new was said after what is stored.
    let latest = existing.iter_mut().chain(&mut new).max_by_key(|row| row.modified);
    if let Some(latest) = latest {
        latest.time_to_live = OneDay;
    }
    dedupe_profiles(&new, &existing).duplicate_groups.iter().any(|group| group.merged_time_to_live == OneDay)
}

fn members<'a>(group: &DuplicateGroup, prefix: &str, rows: &[ProfileRow<'a>]) -> Vec<ProfileRow<'a>> {
    let numbers = group.item_ids.iter().filter_map(|id| id.strip_prefix(prefix)?.parse::<usize>().ok());
    numbers.filter_map(|number| Some(ProfileRow { time_to_live: Infinity, ..*rows.get(number)? })).collect()
}

/// Wishes to forget. A new fact that one of them covers is named with the stored ones, since it is no wish itself.
fn deletions(found: Vec<Deletion>, new: &[ProfileRow<'_>]) -> Vec<Value> {
    let is_wish = |id: &str| {
        let number = id.strip_prefix("NEW-").and_then(|number| number.parse::<usize>().ok());
        let row = number.and_then(|number| new.get(number));
        row.is_some_and(|row| row.content.trim_start().starts_with(REMOVAL_MARKER))
    };
    let mut wishes: Vec<Deletion> = Vec::new();
    for deletion in found {
        match wishes.last_mut() {
            Some(wish) if !is_wish(&deletion.new_id) => wish.existing_ids.push(deletion.new_id),
            _ => wishes.push(deletion),
        }
    }
    let shaped = wishes.into_iter().map(|wish| {
        json!({ "reasoning": wish.reasoning, "new_id": wish.new_id, "existing_ids": wish.existing_ids })
    });
    shaped.collect()
}
