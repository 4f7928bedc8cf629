//! What the decisions do to new and stored rules.
//!
//! Decisions are applied in order; one that contradicts an earlier one or names what was not shown is passed over
//! alone. A new row that no decision handled is kept; one that was rejected is not, even if nothing else is left.

use domain::entities::UserPlaybook;
use domain::time::EpochSeconds;

use super::decisions::{ConsolidationAnswer, Decision};
use super::partition::{given_up, resolve_existing};
use super::rows::{PLAYBOOK_CONTENT_CHARS_MAX, TRIGGER_CHARS_MAX};
use crate::candidates::names_rows;
use crate::provenance::{merge_lines, merge_spans, merge_words, union_ids};

/// Characters of a unified rule beyond which it is reported as too long, unless configured.
pub const UNIFIED_CONTENT_CHARS: usize = 1_200;

/// The run that consolidates.
#[derive(Debug, Clone, Copy)]
pub struct ConsolidationRun {
    /// When it takes place.
    pub now: EpochSeconds,
    /// Characters of a unified rule beyond which it is reported; it is applied all the same.
    pub max_unified_content_chars: usize,
}

/// How a stored row was given up; kept as a tombstone that points to `insert[index]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaybookRetirement {
    /// Taken in by that row.
    MergedInto(usize),
    /// Replaced by that row.
    SupersededBy(usize),
}

impl PlaybookRetirement {
    /// The index of the row that took its place.
    #[must_use]
    pub fn survivor(self) -> usize {
        match self {
            Self::MergedInto(index) | Self::SupersededBy(index) => index,
        }
    }
}

/// A stored row that is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetiredPlaybook {
    /// The row.
    pub user_playbook_id: i64,
    /// For which.
    pub retirement: PlaybookRetirement,
}

/// What is to be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConsolidationOutcome {
    /// Rows to insert; their ids are given by the store.
    pub insert: Vec<UserPlaybook>,
    /// Stored rows to retire, each once.
    pub retire: Vec<RetiredPlaybook>,
    /// What happened, for logs and metrics.
    pub counters: ConsolidationCounters,
}

/// How often each thing happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConsolidationCounters {
    /// Unified rules.
    pub unify: usize,
    /// New rows that a stored one makes superfluous.
    pub reject_new: usize,
    /// Pairs that were told apart.
    pub differentiate: usize,
    /// New rows that stand on their own.
    pub independent: usize,
    /// Decisions that could not be read or applied.
    pub failed: usize,
    /// Rejections that named no stored row; the new row is kept.
    pub reject_new_invalid: usize,
    /// Unified rules longer than the budget.
    pub over_budget: usize,
    /// New rows that no decision handled; they are kept.
    pub unhandled_new: usize,
}

/// Applies an answer; `None` stands for an unusable one: every new row is kept.
#[must_use]
pub fn apply_consolidation(
    new: &[UserPlaybook],
    existing: &[UserPlaybook],
    answer: Option<&ConsolidationAnswer>,
    run: ConsolidationRun,
) -> ConsolidationOutcome {
    let mut application = Application {
        handled: vec![false; new.len()],
        given_up: vec![false; existing.len()],
        new,
        existing,
        run,
        outcome: ConsolidationOutcome::default(),
    };
    if let Some(answer) = answer {
        application.outcome.counters.failed = answer.unreadable;
        for decision in &answer.decisions {
            if application.apply(decision).is_none() {
                application.outcome.counters.failed += 1;
                tracing::warn!(event = "consolidation_apply_failed", kind = decision.kind());
            }
        }
    }
    application.keep_the_rest(answer.is_some())
}

struct Application<'a> {
    new: &'a [UserPlaybook],
    existing: &'a [UserPlaybook],
    handled: Vec<bool>,
    given_up: Vec<bool>,
    run: ConsolidationRun,
    outcome: ConsolidationOutcome,
}

impl Application<'_> {
    /// Applies one decision as a whole, or `None` and nothing.
    fn apply(&mut self, decision: &Decision) -> Option<()> {
        let is_free = |n: &usize| self.handled.get(*n) == Some(&false);
        let claims = given_up(decision, self.existing);
        if !decision.new_rows().iter().all(is_free) || claims.iter().any(|place| self.given_up[*place]) {
            return None;
        }
        let mut named_existing = claims.clone();
        match decision {
            Decision::Unify { new, content, trigger, rationale, .. } => {
                self.unify(new, &claims, content, trigger.as_deref(), rationale.as_deref())?;
            }
            Decision::RejectNew { superseded_by_existing, .. } => {
                let Some(place) = resolve_existing(*superseded_by_existing, self.existing) else {
                    self.outcome.counters.reject_new_invalid += 1;
                    tracing::warn!(event = "consolidation_reject_new_invalid", new_id = named(decision));
                    return None;
                };
                self.outcome.counters.reject_new += decision.new_rows().len();
                let existing_id = self.existing[place].user_playbook_id;
                tracing::info!(event = "consolidation_reject_new", new_id = named(decision), existing_id);
                named_existing = vec![place];
            }
            Decision::Differentiate { new, refined_new_trigger, refined_existing_trigger, .. } => {
                self.differentiate(*new, *claims.first()?, refined_new_trigger, refined_existing_trigger)?;
            }
            Decision::Independent { new } => {
                self.outcome.insert.extend(new.iter().map(|n| self.new[*n].clone()));
                self.outcome.counters.independent += new.len();
            }
        }
        for n in decision.new_rows() {
            self.handled[*n] = true;
        }
        self.log(decision, &named_existing);
        Some(())
    }

    /// What was decided, without the words of the rules.
    fn log(&self, decision: &Decision, existing: &[usize]) {
        let rows: Vec<&UserPlaybook> = existing.iter().map(|place| &self.existing[*place]).collect();
        let existing_id = match rows.as_slice() {
            [] => "none".to_owned(),
            [row] => row.user_playbook_id.to_string(),
            _ => "multi".to_owned(),
        };
        let trigger = |row: &UserPlaybook| row.trigger.as_deref().map(|text| text.trim().to_lowercase());
        let new = decision.new_rows().iter().map(|n| &self.new[*n]);
        let trigger_match = !rows.is_empty()
            && new.into_iter().all(|new| rows.iter().all(|row| trigger(row) == trigger(new)));
        tracing::info!(
            event = "playbook_consolidation.decision",
            kind = decision.kind(),
            new_id = named(decision),
            existing_id,
            trigger_match,
        );
    }

    fn unify(
        &mut self,
        new: &[usize],
        archived: &[usize],
        content: &str,
        trigger: Option<&str>,
        rationale: Option<&str>,
    ) -> Option<()> {
        let chars = content.chars().count();
        let storable = chars <= PLAYBOOK_CONTENT_CHARS_MAX && !names_rows(content);
        if !storable || ![trigger, rationale].into_iter().flatten().all(is_storable_trigger) {
            return None;
        }
        let template = &self.new[*new.first()?];
        let mut old: Vec<&UserPlaybook> = archived.iter().map(|place| &self.existing[*place]).collect();
        let rows: Vec<&UserPlaybook> = new.iter().map(|n| &self.new[*n]).chain(old.iter().copied()).collect();
        // Of what stood in the way, the newest word counts.
        old.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.user_playbook_id)));
        let newest_first = new.iter().map(|n| &self.new[*n]).chain(old);
        let blocking_issue = newest_first.filter_map(|row| row.blocking_issue.clone()).next();
        let unified = UserPlaybook {
            user_playbook_id: 0,
            created_at: self.run.now,
            content: content.to_owned(),
            trigger: trigger.map(str::to_owned).or_else(|| template.trigger.clone()),
            rationale: rationale.map(str::to_owned).or_else(|| template.rationale.clone()),
            blocking_issue,
            source_interaction_ids: union_ids(rows.iter().map(|row| row.source_interaction_ids.as_slice())),
            source_span: merge_spans(rows.iter().map(|row| row.source_span.as_deref())),
            notes: merge_lines(rows.iter().map(|row| row.notes.as_deref())),
            tags: merge_words(rows.iter().map(|row| row.tags.as_deref())),
            expanded_terms: None,
            ..template.clone()
        };
        let survivor = self.outcome.insert.len();
        self.outcome.insert.push(unified);
        for place in archived {
            self.retire(*place, PlaybookRetirement::MergedInto(survivor));
        }
        self.outcome.counters.unify += 1;
        let budget = self.run.max_unified_content_chars;
        if chars > budget {
            self.outcome.counters.over_budget += 1;
            tracing::warn!(event = "consolidation_over_budget", chars, budget);
        }
        Some(())
    }

    fn differentiate(&mut self, new: usize, old: usize, new_trigger: &str, old_trigger: &str) -> Option<()> {
        let are_distinct = new_trigger.to_lowercase() != old_trigger.to_lowercase();
        if !are_distinct || ![new_trigger, old_trigger].into_iter().all(is_storable_trigger) {
            return None;
        }
        let refined = |row: &UserPlaybook, trigger: &str| UserPlaybook {
            user_playbook_id: 0,
            created_at: self.run.now,
            trigger: Some(trigger.to_owned()),
            expanded_terms: None,
            merged_into: None,
            superseded_by: None,
            ..row.clone()
        };
        let rows = [refined(&self.new[new], new_trigger), refined(&self.existing[old], old_trigger)];
        self.outcome.insert.extend(rows);
        let survivor = self.outcome.insert.len() - 1;
        self.retire(old, PlaybookRetirement::SupersededBy(survivor));
        self.outcome.counters.differentiate += 1;
        Some(())
    }

    fn retire(&mut self, place: usize, retirement: PlaybookRetirement) {
        self.given_up[place] = true;
        let user_playbook_id = self.existing[place].user_playbook_id;
        self.outcome.retire.push(RetiredPlaybook { user_playbook_id, retirement });
    }

    fn keep_the_rest(mut self, was_answered: bool) -> ConsolidationOutcome {
        let unhandled = self.new.iter().zip(&self.handled).enumerate().filter(|(_, (_, handled))| !**handled);
        for (place, (row, _)) in unhandled {
            self.outcome.insert.push(row.clone());
            self.outcome.counters.unhandled_new += 1;
            if was_answered {
                tracing::info!(event = "consolidation_unhandled_new", new_id = format!("NEW-{place}"));
            }
        }
        self.outcome
    }
}

/// The new rows of a decision as the prompt names them.
fn named(decision: &Decision) -> String {
    match decision.new_rows() {
        [n] => format!("NEW-{n}"),
        _ => "multi".to_owned(),
    }
}

fn is_storable_trigger(text: &str) -> bool {
    text.chars().count() <= TRIGGER_CHARS_MAX && !names_rows(text)
}

#[cfg(test)]
#[path = "consolidate_property_tests.rs"]
mod property_tests;
#[cfg(test)]
#[path = "consolidate_tests.rs"]
mod tests;
