//! Playbooks of one window: extraction, then consolidation with what is stored.

use domain::config::Deduplication;
use domain::entities::{Status, UserPlaybook};
use domain::operations::GenerationMode;
use store::{PlaybookRows, StoredVector, UserPlaybookRow};

use super::ask::render;
use super::profile::{RETIRED_ROWS_MAX, problems};
use super::{Run, WindowOutput};
use crate::formatting::transcript;
use crate::playbook::{
    ConsolidationAnswer, ConsolidationOutcome, ConsolidationRun, PlaybookAnswer, PlaybookContext,
    PlaybookRetirement, apply_consolidation, candidate_query, comparisons, consolidation_problems,
    format_existing, format_new, needs_consolidation, playbooks_from_answer,
};
use crate::worker::WindowFailure;

/// What an extraction and its consolidation propose. Nothing is written yet.
pub(super) struct ProposedPlaybooks {
    stored: Vec<UserPlaybookRow>,
    outcome: ConsolidationOutcome,
    model: String,
}

impl ProposedPlaybooks {
    /// Rows that would be written or retired.
    pub(super) fn writes(&self) -> usize {
        self.outcome.insert.len() + self.outcome.retire.len()
    }
}

impl Run<'_> {
    /// Extracts, consolidates, and says what is to be written.
    pub(super) async fn learn_playbooks(&self) -> Result<WindowOutput, WindowFailure> {
        let ProposedPlaybooks { stored, outcome, model } = self.propose_playbooks().await?;
        let playbooks = self.playbook_rows(&stored, outcome).await?;
        Ok(WindowOutput { gate: true, model, playbooks, ..WindowOutput::default() })
    }

    /// Extracts and consolidates.
    pub(super) async fn propose_playbooks(&self) -> Result<ProposedPlaybooks, WindowFailure> {
        let (new, model) = self.extract_playbooks().await?;
        if new.is_empty() || !self.flags.deduplicator {
            // Where the comparison is switched off every new rule is kept beside the stored ones.
            let outcome = ConsolidationOutcome { insert: new, ..ConsolidationOutcome::default() };
            return Ok(ProposedPlaybooks { stored: Vec::new(), outcome, model });
        }
        let settings = self.consolidation_settings();
        let stored = self.services.store.user_playbooks(self.keys).await?;
        let agent_version = &self.inputs.window.trigger.agent_version;
        // A rerun replaces the earlier previews of the agent version: none of them is there to be compared with.
        let is_compared = |row: &UserPlaybook| {
            self.mode != GenerationMode::Rerun && row.status.is_none() && row.agent_version == *agent_version
        };
        let (current, vectors): (Vec<UserPlaybook>, Vec<Option<&StoredVector>>) = stored
            .iter()
            .filter(|row| is_compared(&row.playbook))
            .map(|row| (row.playbook.clone(), row.vector.as_ref()))
            .unzip();
        let candidates = self.playbook_candidates(&new, &current, &vectors, &settings).await?;
        let answer = if needs_consolidation(&new, &candidates) {
            self.consolidate(&new, &candidates).await?
        } else {
            None
        };
        let run = ConsolidationRun {
            now: self.services.clock.now(),
            max_unified_content_chars: usize::try_from(settings.max_unified_content_chars)
                .unwrap_or(usize::MAX),
        };
        let outcome = apply_consolidation(&new, &candidates, answer.as_ref(), run);
        let done = outcome.counters;
        tracing::info!(
            event = "playbook_consolidation_done",
            unify = done.unify,
            reject_new = done.reject_new,
            differentiate = done.differentiate,
            independent = done.independent,
            failed = done.failed,
        );
        Ok(ProposedPlaybooks { stored, outcome, model })
    }

    fn consolidation_settings(&self) -> Deduplication {
        let extractor = self.config.user_playbook_extractor_config.as_ref();
        extractor.and_then(|extractor| extractor.deduplication_config.clone()).unwrap_or_default()
    }

    async fn extract_playbooks(&self) -> Result<(Vec<UserPlaybook>, String), WindowFailure> {
        let extractor = self.config.user_playbook_extractor_config.clone().unwrap_or_default();
        let definition = extractor.extraction_definition_prompt.trim();
        let context = self.agent_context();
        let turns = self.turns();
        let (shown, purpose, system, user) = if self.is_expert() {
            let shown = comparisons(&turns);
            let variables = [("agent_context_prompt", context), ("extraction_definition_prompt", definition)];
            let system = render("playbook_extraction_context_expert", &variables)?;
            let user = render("playbook_extraction_main_expert", &[("comparison_pairs", &shown.text)])?;
            (shown, "playbook_extraction_main_expert", system, user)
        } else {
            let shown = transcript(&turns);
            let tools = self.tools();
            let variables = [
                ("agent_context_prompt", context),
                ("extraction_definition_prompt", definition),
                ("tool_can_use", &tools),
            ];
            let system = render("playbook_extraction_context", &variables)?;
            let user = render("playbook_extraction_main", &[("interactions", &shown.text)])?;
            (shown, "playbook_extraction_main", system, user)
        };
        let (answer, model) = self.extract::<PlaybookAnswer>(purpose, system, user).await?;
        let trigger = &self.inputs.window.trigger;
        let Some(last) = self.inputs.turns.last() else { return Ok((Vec::new(), model)) };
        let context = PlaybookContext {
            user_id: last.request.user_id.clone(),
            agent_version: trigger.agent_version.clone(),
            request_id: trigger.request_id.clone(),
            source: self.source(),
            status: self.status(),
            now: self.services.clock.now(),
        };
        let rows = playbooks_from_answer(&answer, &shown.evidence, &context);
        for (reason, count) in &rows.rejected {
            tracing::info!(event = "playbook_candidate_rejected", reason = reason.as_str(), count);
        }
        Ok((self.review(rows.rows, &shown).await?, model))
    }

    async fn playbook_candidates(
        &self,
        new: &[UserPlaybook],
        current: &[UserPlaybook],
        vectors: &[Option<&StoredVector>],
        settings: &Deduplication,
    ) -> Result<Vec<UserPlaybook>, WindowFailure> {
        let texts: Vec<_> = current.iter().map(|row| row.embedding_text().to_owned()).collect();
        let index = self.candidate_index(&texts, vectors).await?;
        let top_k = usize::try_from(settings.search_top_k).unwrap_or(usize::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "0 to 1")]
        let threshold = settings.search_threshold as f32;
        let mut found: Vec<usize> = Vec::new();
        for query in new.iter().filter_map(candidate_query) {
            for place in self.candidate_places(&index, query, top_k, threshold).await? {
                if !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        Ok(found.into_iter().map(|place| current[place].clone()).collect())
    }

    /// Asks a model how new and stored rules relate. An answer that cannot be used changes nothing that is
    /// stored.
    async fn consolidate(
        &self,
        new: &[UserPlaybook],
        existing: &[UserPlaybook],
    ) -> Result<Option<ConsolidationAnswer>, WindowFailure> {
        let count = new.len().to_string();
        let prompt = render(
            "playbook_consolidation",
            &[
                ("new_playbook_count", &count),
                ("new_playbooks", &format_new(new)),
                ("existing_playbooks", &format_existing(existing)),
            ],
        )?;
        let check =
            |answer: &ConsolidationAnswer| problems(consolidation_problems(answer, new.len(), existing));
        match self.ask("playbook_consolidation", prompt, check).await {
            Ok(answer) => Ok(Some(answer)),
            Err(failure) if failure.is_unusable_answer() => {
                tracing::warn!(event = "playbook_consolidation_unusable", %failure);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The outcome as rows of the store, with ids.
    async fn playbook_rows(
        &self,
        stored: &[UserPlaybookRow],
        mut outcome: ConsolidationOutcome,
    ) -> Result<PlaybookRows, WindowFailure> {
        if outcome.insert.is_empty() {
            return Ok(PlaybookRows::default());
        }
        let text = |row: &UserPlaybook| row.embedding_text().to_owned();
        self.expand(&mut outcome.insert, text, |row| &mut row.expanded_terms).await;
        let first = self.services.store.take_user_playbook_ids(self.keys.org, outcome.insert.len()).await?;
        let texts: Vec<_> = outcome.insert.iter().map(|row| row.embedding_text().to_owned()).collect();
        let vectors = self.services.orgs.stored_vectors(self.keys.org, &texts).await?;
        let mut rows = PlaybookRows::default();
        for (id, (mut playbook, vector)) in (first..).zip(outcome.insert.into_iter().zip(vectors)) {
            playbook.user_playbook_id = id;
            rows.insert.push(UserPlaybookRow::new(playbook, vector));
        }
        for retired in outcome.retire {
            let is_it = |row: &&UserPlaybookRow| row.playbook.user_playbook_id == retired.user_playbook_id;
            let Some(row) = stored.iter().find(is_it) else { continue };
            let survivor = i64::try_from(retired.retirement.survivor()).ok().map(|index| first + index);
            let mut row = row.clone();
            match retired.retirement {
                PlaybookRetirement::MergedInto(_) => {
                    row.playbook.status = Some(Status::Merged);
                    row.playbook.merged_into = survivor;
                }
                PlaybookRetirement::SupersededBy(_) => {
                    row.playbook.status = Some(Status::Superseded);
                    row.playbook.superseded_by = survivor;
                }
            }
            // What does not fit the commit stays: a double does less harm than a lost rule.
            if rows.replace.len() < RETIRED_ROWS_MAX / 2 {
                rows.replace.push(row);
            }
        }
        Ok(rows)
    }
}
