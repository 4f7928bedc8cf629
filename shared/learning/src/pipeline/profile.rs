//! Profiles of one window: extraction, then comparison with what is stored.

use domain::entities::{Status, UserProfile};
use domain::ids::ProfileId;
use store::{ProfileChange, ProfileRow, ProfileRows, StoredVector};

use super::ask::render;
use super::{Run, WindowOutput};
use crate::changelog::ProfileChangeLog;
use crate::formatting::transcript;
use crate::profile::{
    DedupAnswer, DedupOutcome, DedupRun, ProfileAnswer, Retirement, RowContext, apply_deduplication,
    candidate_search, dedup_problems, format_existing, format_new, is_removal, known_profiles,
    needs_deduplication, profiles_from_answer, tombstones_of,
};
use crate::worker::WindowFailure;

/// Rows that one window merges or supersedes at most: with its new rows and their look-ups they must fit one
/// transaction.
pub(super) const RETIRED_ROWS_MAX: usize = 36;

/// What an extraction and its comparison propose. Nothing is written yet.
pub(super) struct ProposedProfiles {
    stored: Vec<ProfileRow>,
    candidates: Vec<UserProfile>,
    outcome: DedupOutcome,
    model: String,
}

impl ProposedProfiles {
    /// Rows that would be written or retired.
    pub(super) fn writes(&self) -> usize {
        self.outcome.insert.len() + self.outcome.retire.len()
    }
}

impl Run<'_> {
    /// Extracts, compares, and says what is to be written.
    pub(super) async fn learn_profiles(&self) -> Result<WindowOutput, WindowFailure> {
        let ProposedProfiles { stored, candidates, outcome, model } = self.propose_profiles().await?;
        let profiles = self.profile_rows(&stored, &candidates, outcome).await?;
        Ok(WindowOutput { gate: true, model, profiles, ..WindowOutput::default() })
    }

    /// Extracts and compares.
    pub(super) async fn propose_profiles(&self) -> Result<ProposedProfiles, WindowFailure> {
        let now = self.services.clock.now();
        let stored = self.services.store.profiles(self.keys).await?;
        let (live, vectors): (Vec<UserProfile>, Vec<Option<&StoredVector>>) = stored
            .iter()
            .filter(|row| row.profile.status == self.status() && row.profile.expiration_timestamp >= now)
            .map(|row| (row.profile.clone(), row.vector.as_ref()))
            .unzip();
        let (new, model) = self.extract_profiles(&live).await?;
        // Where the comparison is switched off every new fact is kept. A wish to forget is carried out all the same:
        // that is a promise to the user, and no deduplication.
        let (compared, kept): (Vec<_>, Vec<_>) =
            new.into_iter().partition(|row| self.flags.deduplicator || is_removal(&row.content));
        let candidates = self.profile_candidates(&compared, &live, &vectors).await?;
        let answer = if needs_deduplication(&compared, &candidates) {
            self.compare_profiles(&compared, &candidates).await?
        } else {
            None
        };
        let trigger = &self.inputs.window.trigger;
        let run = DedupRun { request_id: trigger.request_id.clone(), now };
        // One new row and nothing to compare it with: it is kept, unless it is a wish to forget.
        let mut outcome =
            apply_deduplication(compared, &candidates, answer.as_ref(), &run, || self.new_profile_id());
        outcome.insert.extend(kept);
        Ok(ProposedProfiles { stored, candidates, outcome, model })
    }

    async fn extract_profiles(
        &self,
        live: &[UserProfile],
    ) -> Result<(Vec<UserProfile>, String), WindowFailure> {
        let extractor = self.config.profile_extractor_config.clone().unwrap_or_default();
        let shown = transcript(&self.turns());
        let system = render(
            "profile_update_instruction_start",
            &[
                ("agent_context_prompt", self.agent_context()),
                ("context_prompt", extractor.context_prompt.as_deref().unwrap_or("").trim()),
                ("extraction_definition_prompt", extractor.extraction_definition_prompt.trim()),
            ],
        )?;
        let user = render(
            "profile_update_main",
            &[("existing_profiles", &known_profiles(live)), ("interactions", &shown.text)],
        )?;
        let interactions = self.inputs.turns.len();
        tracing::info!(event = "profile_extract_llm_start", interactions);
        let started = self.services.clock.now_ms();
        let extracted = self.extract::<ProfileAnswer>("profile_update_main", system, user).await;
        let elapsed_seconds = self.seconds_since(started);
        let (answer, model) = match extracted {
            Ok(extracted) => extracted,
            Err(failure) => {
                let error_type = failure.code();
                tracing::warn!(event = "profile_extract_failed", interactions, elapsed_seconds, error_type);
                return Err(failure);
            }
        };
        let proposed = answer.profiles.len();
        tracing::info!(event = "profile_extract_llm_end", model, interactions, elapsed_seconds, proposed);
        let trigger = &self.inputs.window.trigger;
        let Some(last) = self.inputs.turns.last() else { return Ok((Vec::new(), model)) };
        let context = RowContext {
            user_id: last.request.user_id.clone(),
            request_id: trigger.request_id.clone(),
            source: self.source(),
            status: self.status(),
            now: self.services.clock.now(),
        };
        let rows = profiles_from_answer(&answer, &shown.evidence, &context, || self.new_profile_id());
        for (reason, count) in &rows.rejected {
            tracing::info!(event = "profile_candidate_rejected", reason = reason.as_str(), count);
        }
        Ok((rows.rows, model))
    }

    fn new_profile_id(&self) -> ProfileId {
        // A UUID is never blank.
        ProfileId::new(&self.services.ids.uuid()).unwrap_or_else(|_| unreachable!("a UUID is not blank"))
    }

    /// The stored rows that the new ones may concern, each once, in the order in which they were found.
    async fn profile_candidates(
        &self,
        new: &[UserProfile],
        live: &[UserProfile],
        vectors: &[Option<&StoredVector>],
    ) -> Result<Vec<UserProfile>, WindowFailure> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<_> = live.iter().map(UserProfile::embedding_text).collect();
        let index = self.candidate_index(&texts, vectors).await?;
        let mut found: Vec<usize> = Vec::new();
        for search in new.iter().filter_map(candidate_search) {
            #[expect(clippy::cast_possible_truncation, reason = "0 to 1")]
            let threshold = search.threshold as f32;
            for place in self.candidate_places(&index, &search.query, search.top_k, threshold).await? {
                if !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        Ok(found.into_iter().map(|place| live[place].clone()).collect())
    }

    /// Asks a model how new and stored rows relate. An answer that cannot be used changes nothing that is
    /// stored; a provider that does not answer fails the window, so that nothing is forgotten half.
    async fn compare_profiles(
        &self,
        new: &[UserProfile],
        existing: &[UserProfile],
    ) -> Result<Option<DedupAnswer>, WindowFailure> {
        let (new_count, existing_count) = (new.len().to_string(), existing.len().to_string());
        let prompt = render(
            "profile_deduplication",
            &[
                ("new_profile_count", &new_count),
                ("new_profiles", &format_new(new)),
                ("existing_profile_count", &existing_count),
                ("existing_profiles", &format_existing(existing)),
            ],
        )?;
        let check = |answer: &DedupAnswer| problems(dedup_problems(answer, new.len(), existing.len()));
        match self.ask("profile_deduplication", prompt, check).await {
            Ok(answer) => Ok(Some(answer)),
            Err(failure) if failure.is_unusable_answer() => {
                tracing::warn!(event = "profile_deduplication_unusable", %failure);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The outcome as rows of the store.
    async fn profile_rows(
        &self,
        stored: &[ProfileRow],
        candidates: &[UserProfile],
        mut outcome: DedupOutcome,
    ) -> Result<ProfileRows, WindowFailure> {
        if outcome.insert.is_empty() && outcome.retire.is_empty() {
            return Ok(ProfileRows::default());
        }
        let now = self.services.clock.now();
        let trigger = &self.inputs.window.trigger;
        let Some(last) = self.inputs.turns.last() else { return Ok(ProfileRows::default()) };
        let user = &last.request.user_id;
        self.expand(&mut outcome.insert, |row| row.content.clone(), |row| &mut row.expanded_terms).await;
        let change = ProfileChangeLog::of(&outcome, candidates, user, &trigger.request_id, now);
        let texts: Vec<_> = outcome.insert.iter().map(UserProfile::embedding_text).collect();
        let vectors = self.services.orgs.stored_vectors(self.keys.org, &texts).await?;
        let mut rows = ProfileRows {
            insert: outcome
                .insert
                .into_iter()
                .zip(vectors)
                .map(|(row, vector)| ProfileRow::new(row, vector))
                .collect(),
            ..ProfileRows::default()
        };
        for (id, retirement) in outcome.retire {
            let Some(row) = stored.iter().find(|row| row.profile.profile_id == id) else { continue };
            let mut row = row.clone();
            match retirement {
                Retirement::Deleted => {
                    rows.delete.push(id);
                    continue;
                }
                Retirement::MergedInto(survivor) => {
                    row.profile.status = Some(Status::Merged);
                    row.profile.merged_into = Some(survivor.as_str().to_owned());
                }
                Retirement::SupersededBy(survivor) => {
                    row.profile.status = Some(Status::Superseded);
                    row.profile.superseded_by = Some(survivor.as_str().to_owned());
                }
            }
            // What does not fit the commit stays: a double does less harm than a lost fact.
            if rows.replace.len() < RETIRED_ROWS_MAX {
                rows.replace.push(row);
            }
        }
        // Earlier wordings of what was forgotten go with it.
        let tombstones: Vec<_> = stored
            .iter()
            .map(|row| &row.profile)
            .filter(|profile| profile.status.is_some_and(Status::is_tombstone))
            .cloned()
            .collect();
        let mut forgotten = tombstones_of(&rows.delete, &tombstones);
        rows.delete.append(&mut forgotten);
        rows.change = change.map(|change| ProfileChange {
            user_id: change.user_id,
            request_id: change.request_id.as_str().to_owned(),
            created_at: change.created_at,
            added_profiles: change.added_profiles,
            removed_profiles: change.removed_profiles,
        });
        Ok(rows)
    }
}

/// What is wrong with an answer, as one text for the model.
pub(super) fn problems(found: Vec<String>) -> Result<(), String> {
    if found.is_empty() { Ok(()) } else { Err(found.join("; ")) }
}
