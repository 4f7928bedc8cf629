//! What a comparison of new with stored profiles does to both.
//!
//! Every new row is handled exactly once: merged, stored as it is, or dropped because it is a wish to forget. A stored
//! row is touched only when the answer names it, and by one decision at most.

use std::collections::HashSet;

use domain::entities::{ProfileTimeToLive, UserProfile};
use domain::ids::{ProfileId, RequestId};
use domain::time::EpochSeconds;
use serde_json::{Map, Value};

use super::is_removal;
use super::rows::PROFILE_CONTENT_CHARS_MAX;
use super::schema::{DedupAnswer, Deletion, DuplicateGroup, Relation, parse_time_to_live};
use crate::candidates::{RowId, names_rows};
use crate::provenance::{merge_lines, merge_spans, merge_words, union_ids};

/// What becomes of a stored row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retirement {
    /// It says the same as others; kept as a tombstone that points to what took it in.
    MergedInto(ProfileId),
    /// It is no longer true; kept as a tombstone that points to what replaced it.
    SupersededBy(ProfileId),
    /// The user asked to forget it: erased with its vectors, and the tombstones that point to it.
    Deleted,
}

/// The run that deduplicates.
#[derive(Debug, Clone)]
pub struct DedupRun {
    /// The request that triggered it.
    pub request_id: RequestId,
    /// When it takes place.
    pub now: EpochSeconds,
}

/// What is to be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DedupOutcome {
    /// Rows to insert.
    pub insert: Vec<UserProfile>,
    /// Stored rows to retire, each once.
    pub retire: Vec<(ProfileId, Retirement)>,
    /// What happened, for logs and metrics.
    pub counters: DedupCounters,
}

/// How often each thing happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DedupCounters {
    /// Groups that became one row.
    pub merged_groups: usize,
    /// Groups that could not be applied; their members stay.
    pub skipped_groups: usize,
    /// New rows that the answer calls unique.
    pub unique: usize,
    /// New rows that the answer forgot and the safety net kept.
    pub unmentioned: usize,
    /// Wishes to forget that were carried out.
    pub removals: usize,
    /// Wishes to forget that the answer did not treat as such: nothing was forgotten.
    pub removals_unresolved: usize,
}

/// Applies an answer; `None` stands for an unusable one: every new row is kept, and no wish to forget is stored.
pub fn apply_deduplication(
    new: Vec<UserProfile>,
    existing: &[UserProfile],
    answer: Option<&DedupAnswer>,
    run: &DedupRun,
    ids: impl FnMut() -> ProfileId,
) -> DedupOutcome {
    let mut application = Application {
        handled: vec![false; new.len()],
        retired: vec![false; existing.len()],
        new: &new,
        existing,
        run,
        ids,
        outcome: DedupOutcome::default(),
    };
    if let Some(answer) = answer {
        // What is to be forgotten comes first: no merge may bring it back.
        answer.deletions.iter().for_each(|deletion| application.forget(deletion));
        answer.duplicate_groups.iter().for_each(|group| application.merge(group));
        answer.unique_ids.iter().for_each(|id| application.keep(id));
    }
    application.keep_the_rest()
}

struct Application<'a, Ids> {
    new: &'a [UserProfile],
    existing: &'a [UserProfile],
    handled: Vec<bool>,
    retired: Vec<bool>,
    run: &'a DedupRun,
    ids: Ids,
    outcome: DedupOutcome,
}

impl<Ids: FnMut() -> ProfileId> Application<'_, Ids> {
    fn forget(&mut self, deletion: &Deletion) {
        let directive = deletion.new_id.as_deref().and_then(RowId::parse);
        let Some(RowId::New(n)) = directive.filter(|id| self.exists(*id)) else {
            return;
        };
        self.handled[n] = true;
        self.outcome.counters.removals += 1;
        for id in deletion.existing_ids.iter().filter_map(|text| RowId::parse(text)) {
            match id {
                // A new row that states what is to be forgotten is forgotten before it is stored.
                RowId::New(n) if n < self.new.len() => self.handled[n] = true,
                RowId::Existing(n) if n < self.existing.len() && !self.retired[n] => {
                    self.retire(n, Retirement::Deleted);
                }
                _ => {}
            }
        }
    }

    fn merge(&mut self, group: &DuplicateGroup) {
        let members = self.members(group);
        let Some(content) = self.mergeable(group, &members) else {
            self.outcome.counters.skipped_groups += 1;
            return;
        };
        let merged = self.merged_row(group, &members, content);
        for member in members {
            match member {
                RowId::New(n) => self.handled[n] = true,
                RowId::Existing(n) => {
                    let survivor = merged.profile_id.clone();
                    let retirement = match group.relation {
                        Relation::Duplicate => Retirement::MergedInto(survivor),
                        Relation::Contradiction => Retirement::SupersededBy(survivor),
                    };
                    self.retire(n, retirement);
                }
            }
        }
        self.outcome.insert.push(merged);
        self.outcome.counters.merged_groups += 1;
    }

    /// The members that were shown, each once, in the order of the answer.
    fn members(&self, group: &DuplicateGroup) -> Vec<RowId> {
        let mut seen = HashSet::new();
        let ids = group.item_ids.iter().filter_map(|text| RowId::parse(text));
        ids.filter(|id| self.exists(*id) && seen.insert(*id)).collect()
    }

    /// The content of a group's merged row, when the group can be applied.
    fn mergeable<'g>(&self, group: &'g DuplicateGroup, members: &[RowId]) -> Option<&'g str> {
        let is_free = |member: &RowId| match *member {
            RowId::New(n) => !self.handled[n] && !is_removal(&self.new[n].content),
            RowId::Existing(n) => !self.retired[n],
        };
        let content = group.merged_content.as_deref().map(str::trim).unwrap_or_default();
        let storable = !content.is_empty()
            && content.chars().count() <= PROFILE_CONTENT_CHARS_MAX
            && !is_removal(content)
            && !names_rows(content);
        (members.len() > 1 && members.iter().all(is_free) && storable).then_some(content)
    }

    fn merged_row(&mut self, group: &DuplicateGroup, members: &[RowId], content: &str) -> UserProfile {
        let new =
            members.iter().filter_map(|id| if let RowId::New(n) = id { self.new.get(*n) } else { None });
        let existing = members
            .iter()
            .filter_map(|id| if let RowId::Existing(n) = id { self.existing.get(*n) } else { None });
        // What is known beside a fact stays with it, unless the fact does not hold any more.
        let keeps_old = group.relation == Relation::Duplicate || new.clone().next().is_none();
        let feature_rows: Vec<&UserProfile> =
            existing.clone().filter(|_| keeps_old).chain(new.clone()).collect();
        let rows: Vec<&UserProfile> = new.chain(existing).collect();
        let template = rows[0];
        let time_to_live: ProfileTimeToLive =
            parse_time_to_live(group.merged_time_to_live.as_deref()).unwrap_or(template.profile_time_to_live);
        UserProfile {
            profile_id: (self.ids)(),
            content: content.to_owned(),
            last_modified_timestamp: self.run.now,
            generated_from_request_id: self.run.request_id.as_str().to_owned(),
            profile_time_to_live: time_to_live,
            expiration_timestamp: time_to_live.expiration(self.run.now),
            custom_features: merged_features(&feature_rows),
            extractor_names: merge_words(rows.iter().map(|row| row.extractor_names.as_deref())),
            source_interaction_ids: union_ids(rows.iter().map(|row| row.source_interaction_ids.as_slice())),
            source_span: merge_spans(rows.iter().map(|row| row.source_span.as_deref())),
            notes: merge_lines(rows.iter().map(|row| row.notes.as_deref())),
            // The words changed: they are expanded and tagged again.
            expanded_terms: None,
            tags: None,
            merged_into: None,
            superseded_by: None,
            created_at: self.run.now,
            ..template.clone()
        }
    }

    fn keep(&mut self, id: &str) {
        if let Some(RowId::New(n)) = RowId::parse(id).filter(|id| self.exists(*id))
            && !self.handled[n]
            && !is_removal(&self.new[n].content)
        {
            self.handled[n] = true;
            self.outcome.insert.push(self.new[n].clone());
            self.outcome.counters.unique += 1;
        }
    }

    fn keep_the_rest(mut self) -> DedupOutcome {
        for (row, handled) in self.new.iter().zip(&self.handled) {
            if *handled {
                continue;
            }
            if is_removal(&row.content) {
                self.outcome.counters.removals_unresolved += 1;
            } else {
                self.outcome.counters.unmentioned += 1;
                self.outcome.insert.push(row.clone());
            }
        }
        self.outcome
    }

    fn exists(&self, id: RowId) -> bool {
        match id {
            RowId::New(n) => n < self.new.len(),
            RowId::Existing(n) => n < self.existing.len(),
        }
    }

    fn retire(&mut self, n: usize, retirement: Retirement) {
        self.retired[n] = true;
        self.outcome.retire.push((self.existing[n].profile_id.clone(), retirement));
    }
}

fn merged_features(rows: &[&UserProfile]) -> Option<Map<String, Value>> {
    let features: Map<String, Value> =
        rows.iter().filter_map(|row| row.custom_features.clone()).flatten().collect();
    (!features.is_empty()).then_some(features)
}

#[cfg(test)]
#[path = "deduplicate_property_tests.rs"]
mod property_tests;
#[cfg(test)]
#[path = "deduplicate_tests.rs"]
pub(super) mod tests;
