//! What a model's decisions on cited memories are allowed to do: each is checked alone, and one that does not hold
//! leaves its memory as it is.

use domain::entities::{ProfileTimeToLive, UserPlaybook, UserProfile};
use domain::ids::ProfileId;
use domain::time::EpochSeconds;

use super::schema::{ReflectionAnswer, ReflectionDecision};
use crate::playbook::rows::{PLAYBOOK_CONTENT_CHARS_MAX, TRIGGER_CHARS_MAX};
use crate::profile::is_removal;
use crate::profile::rows::PROFILE_CONTENT_CHARS_MAX;
use crate::profile::schema::parse_time_to_live;

/// The bounds of one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReflectionRun {
    /// When it takes place.
    pub now: EpochSeconds,
    /// Revisions that are applied; what comes after is counted as capped.
    pub revisions_max: usize,
    /// Bytes that the revised rows may have together, as JSON, their predecessors included.
    pub bytes_max: usize,
}

/// What a pass came to; logged as `reflection_done`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Whether enough was new.
    pub gate_open: bool,
    /// Whether a model was asked.
    pub ran: bool,
    /// Memories that the window cites.
    pub cited: usize,
    /// Of these, what the model was shown.
    pub considered: usize,
    /// What it left as it was.
    pub no_change: usize,
    /// What was revised.
    pub revised: usize,
    /// Of these, with another trigger.
    pub trigger_revised: usize,
    /// Of these, with another content.
    pub content_revised: usize,
    /// Of these, with another time to live.
    pub ttl_changed: usize,
    /// Revisions beyond the bounds.
    pub capped: usize,
    /// Cited memories that were not shown: put off, gone, or not the user's own.
    pub skipped: usize,
    /// Decisions that do not hold.
    pub failed: usize,
}

impl Counters {
    /// These, with what was known before the answer.
    #[must_use]
    pub fn with(self, before: Self) -> Self {
        Self {
            gate_open: before.gate_open,
            cited: before.cited,
            considered: before.considered,
            skipped: before.skipped,
            ..self
        }
    }
}

/// A memory and what takes its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Revised<T> {
    /// Its place among the memories that were shown.
    pub place: usize,
    /// The new row. A playbook has no id yet.
    pub row: T,
}

/// What follows from an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Revised facts.
    pub profiles: Vec<Revised<UserProfile>>,
    /// Revised rules.
    pub playbooks: Vec<Revised<UserPlaybook>>,
    /// Why decisions do not hold.
    pub rejected: Vec<ReflectionRejection>,
    /// The part of the counters that the answer decides.
    pub counters: Counters,
}

/// Why a decision does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflectionRejection {
    /// It names no memory that was shown.
    UnknownTarget,
    /// An earlier decision was about the same memory.
    RepeatedTarget,
    /// A rule without its reason.
    MissingRationale,
    /// A text is longer than a learned one may be.
    TooLong,
    /// The time to live is none of the six.
    UnknownTimeToLive,
    /// It would turn a fact into a wish to forget.
    RemovalMarker,
}

impl ReflectionRejection {
    /// The code in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTarget => "unknown_target",
            Self::RepeatedTarget => "repeated_target",
            Self::MissingRationale => "missing_rationale",
            Self::TooLong => "too_long",
            Self::UnknownTimeToLive => "unknown_time_to_live",
            Self::RemovalMarker => "removal_marker",
        }
    }
}

/// Whether a fact can be shown whole, and so be revised: a caller may have written one of any length.
#[must_use]
pub fn is_revisable_profile(profile: &UserProfile) -> bool {
    profile.content.chars().count() <= PROFILE_CONTENT_CHARS_MAX
}

/// Whether a rule can be shown whole, and so be revised.
#[must_use]
pub fn is_revisable_playbook(playbook: &UserPlaybook) -> bool {
    let short = |text: &Option<String>| text.iter().all(|text| text.chars().count() <= TRIGGER_CHARS_MAX);
    playbook.content.chars().count() <= PLAYBOOK_CONTENT_CHARS_MAX
        && short(&playbook.trigger)
        && short(&playbook.rationale)
}

/// Applies an answer to the memories that the model was shown. `ids` yields ids for new profiles.
#[must_use]
pub fn apply_reflection(
    answer: &ReflectionAnswer,
    profiles: &[UserProfile],
    playbooks: &[UserPlaybook],
    run: ReflectionRun,
    ids: impl FnMut() -> ProfileId,
) -> Outcome {
    let mut pass = Pass {
        profiles,
        playbooks,
        run,
        ids,
        decided: vec![false; profiles.len() + playbooks.len()],
        bytes: 0,
        outcome: Outcome::default(),
    };
    for decision in &answer.decisions {
        if let Err(rejection) = pass.apply(decision) {
            pass.outcome.counters.failed += 1;
            pass.outcome.rejected.push(rejection);
        }
    }
    let undecided = pass.decided.iter().filter(|decided| !**decided).count();
    pass.outcome.counters.no_change += undecided;
    pass.outcome.counters.considered = pass.decided.len();
    pass.outcome
}

struct Pass<'a, I> {
    profiles: &'a [UserProfile],
    playbooks: &'a [UserPlaybook],
    run: ReflectionRun,
    ids: I,
    /// Facts first, then rules.
    decided: Vec<bool>,
    bytes: usize,
    outcome: Outcome,
}

enum Found {
    Profile(usize),
    Playbook(usize),
}

impl<I: FnMut() -> ProfileId> Pass<'_, I> {
    fn apply(&mut self, decision: &ReflectionDecision) -> Result<(), ReflectionRejection> {
        let found = self.find(decision).ok_or(ReflectionRejection::UnknownTarget)?;
        let place = match found {
            Found::Profile(place) => place,
            Found::Playbook(place) => self.profiles.len() + place,
        };
        if std::mem::replace(&mut self.decided[place], true) {
            return Err(ReflectionRejection::RepeatedTarget);
        }
        match found {
            Found::Profile(place) => self.revise_profile(place, decision),
            Found::Playbook(place) => self.revise_playbook(place, decision),
        }
    }

    fn find(&self, decision: &ReflectionDecision) -> Option<Found> {
        let id = decision.target_id.as_deref()?;
        match decision.target_kind.as_deref()?.to_ascii_lowercase().as_str() {
            "profile" => {
                let is_it = |profile: &UserProfile| profile.profile_id.as_str() == id;
                self.profiles.iter().position(is_it).map(Found::Profile)
            }
            "playbook" | "user_playbook" => {
                let id: i64 = id.parse().ok()?;
                let is_it = |playbook: &UserPlaybook| playbook.user_playbook_id == id;
                self.playbooks.iter().position(is_it).map(Found::Playbook)
            }
            _ => None,
        }
    }

    fn revise_profile(
        &mut self,
        place: usize,
        decision: &ReflectionDecision,
    ) -> Result<(), ReflectionRejection> {
        let old = &self.profiles[place];
        let content = decision.new_content.as_deref().unwrap_or(&old.content);
        let time_to_live = match decision.new_profile_time_to_live.as_deref() {
            Some(text) => parse_time_to_live(Some(text)).ok_or(ReflectionRejection::UnknownTimeToLive)?,
            None => old.profile_time_to_live,
        };
        let (content_changes, ttl_changes) =
            (content != old.content, time_to_live != old.profile_time_to_live);
        if !content_changes && !ttl_changes {
            self.outcome.counters.no_change += 1;
            return Ok(());
        }
        if content.chars().count() > PROFILE_CONTENT_CHARS_MAX {
            return Err(ReflectionRejection::TooLong);
        }
        if content_changes && is_removal(content) {
            return Err(ReflectionRejection::RemovalMarker);
        }
        let row = revised_profile(old, content, time_to_live, self.run.now);
        if !self.fits(json_bytes(old) + json_bytes(&row)) {
            return Ok(());
        }
        self.outcome.counters.content_revised += usize::from(content_changes);
        self.outcome.counters.ttl_changed += usize::from(ttl_changes);
        let row = UserProfile { profile_id: (self.ids)(), ..row };
        self.outcome.profiles.push(Revised { place, row });
        Ok(())
    }

    fn revise_playbook(
        &mut self,
        place: usize,
        decision: &ReflectionDecision,
    ) -> Result<(), ReflectionRejection> {
        let old = &self.playbooks[place];
        let content = decision.new_content.as_deref().unwrap_or(&old.content);
        let trigger = decision.new_trigger.as_deref().or(old.trigger.as_deref());
        let rationale = decision.new_rationale.as_deref().or(old.rationale.as_deref());
        if decision.new_content.is_some() && decision.new_rationale.is_none() {
            return Err(ReflectionRejection::MissingRationale);
        }
        let (content_changes, trigger_changes) = (content != old.content, trigger != old.trigger.as_deref());
        if !content_changes && !trigger_changes && rationale == old.rationale.as_deref() {
            self.outcome.counters.no_change += 1;
            return Ok(());
        }
        let row = UserPlaybook {
            user_playbook_id: 0,
            created_at: self.run.now,
            content: content.to_owned(),
            trigger: trigger.map(str::to_owned),
            rationale: rationale.map(str::to_owned),
            expanded_terms: if content_changes || trigger_changes {
                None
            } else {
                old.expanded_terms.clone()
            },
            merged_into: None,
            superseded_by: None,
            ..old.clone()
        };
        if !is_revisable_playbook(&row) {
            return Err(ReflectionRejection::TooLong);
        }
        if !self.fits(json_bytes(old) + json_bytes(&row)) {
            return Ok(());
        }
        self.outcome.counters.content_revised += usize::from(content_changes);
        self.outcome.counters.trigger_revised += usize::from(trigger_changes);
        self.outcome.playbooks.push(Revised { place, row });
        Ok(())
    }

    /// Counts a revision as one that is applied, or as capped.
    fn fits(&mut self, bytes: usize) -> bool {
        let counters = &mut self.outcome.counters;
        let fits = counters.revised < self.run.revisions_max && self.bytes + bytes <= self.run.bytes_max;
        if fits {
            counters.revised += 1;
            self.bytes += bytes;
        } else {
            counters.capped += 1;
        }
        fits
    }
}

/// The row with new words: everything that is known of the fact stays with it. Its time begins anew, since it was
/// just confirmed.
fn revised_profile(
    old: &UserProfile,
    content: &str,
    time_to_live: ProfileTimeToLive,
    now: EpochSeconds,
) -> UserProfile {
    UserProfile {
        content: content.to_owned(),
        last_modified_timestamp: now,
        profile_time_to_live: time_to_live,
        expiration_timestamp: time_to_live.expiration(now),
        expanded_terms: if content == old.content { old.expanded_terms.clone() } else { None },
        merged_into: None,
        superseded_by: None,
        created_at: now,
        ..old.clone()
    }
}

fn json_bytes(row: &impl serde::Serialize) -> usize {
    serde_json::to_string(row).map_or(usize::MAX / 4, |json| json.len())
}

#[cfg(test)]
#[path = "apply_property_tests.rs"]
mod property_tests;
#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
