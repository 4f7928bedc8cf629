//! Tags for rows that have none yet, once a user's windows are learned and the user has been silent for a moment.
//!
//! Nothing waits in memory for that moment: while rows may lack tags, the user is due when it comes. It is best
//! effort. What fails is logged and tried again later.

use domain::time::{EpochMillis, EpochSeconds};
use llm::providers::ModelRole;
use llm::structured::chat_structured;
use llm::{ChatModel, ChatRequest, Message};
use store::{
    CommitError, Head, Lease, ProfileRow, StoreError, TaggedRows, TaggingProgress, UserKeys, UserPlaybookRow,
};

use super::effects;
use super::failure::{WindowFailure, retry_at};
use super::kind::PARKED_SECONDS;
use crate::pipeline::ask::render;
use crate::services::{OrgServicesError, Services};
use crate::tagging::{TaggingAnswer, TaggingDefinitions, clean_tags, playbook_text, profile_text};

/// The prompt.
const PURPOSE: &str = "tagging";
/// How long nothing must have been published, in seconds.
const SILENCE_SECONDS: i64 = 15;
/// Current playbooks of a user that are looked at, the newest ones.
const PLAYBOOKS_SCANNED_MAX: usize = 1_000;
/// Rows that one worker tags before it makes way for others.
const ROWS_PER_WAKE_MAX: usize = 50;
/// Rows that are tagged and written together.
const ROWS_PER_COMMIT: usize = 10;
/// Time that one answer may take, in milliseconds.
const ANSWER_MS_MAX: i64 = 60_000;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tagged {
    /// For now.
    Settled {
        /// When to look again though nothing arrives.
        due_at: Option<EpochSeconds>,
    },
    /// There is more than one worker should do at once.
    More,
    /// Another worker took over.
    Superseded,
}

const SETTLED: Tagged = Tagged::Settled { due_at: None };

/// Tags the rows that lack tags.
pub(super) async fn tag_rows(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
    head: &Head,
    stop_at_ms: EpochMillis,
) -> Result<Tagged, StoreError> {
    let config = match services.orgs.config(keys.org).await {
        Ok(config) => config,
        Err(OrgServicesError::Store(error)) => return Err(error),
        Err(error) => {
            tracing::warn!(event = "tagging_failed", %error);
            return Ok(SETTLED);
        }
    };
    let definitions = TaggingDefinitions::of(&config.config);
    if definitions.is_empty() {
        return Ok(SETTLED);
    }
    let progress = services.store.tagging_progress(keys).await?;
    let is_same_config = progress.is_some_and(|progress| progress.config_version == config.version);
    let now = services.clock.now();
    if let Some(at) = progress.and_then(|p| p.retry_at).filter(|at| *at > now && is_same_config) {
        return Ok(Tagged::Settled { due_at: Some(at) });
    }
    let memory_version = services.store.memory_version(keys).await?.version;
    if is_same_config && progress.is_some_and(|p| p.attempts == 0 && p.memory_version == memory_version) {
        return Ok(SETTLED);
    }
    let newest = services.store.documents_before(keys, head.count, 1, |_| true).await?;
    let silent_at = newest.last().map_or(0, |document| document.request.created_at) + SILENCE_SECONDS;
    if silent_at > now {
        return Ok(Tagged::Settled { due_at: Some(silent_at) });
    }
    let progress = TaggingProgress { config_version: config.version, ..progress.unwrap_or_default() };
    let pass = Pass { services, keys, lease, definitions, progress, stop_at_ms };
    pass.run().await
}

struct Pass<'a> {
    services: &'a Services,
    keys: &'a UserKeys<'a>,
    lease: &'a Lease,
    definitions: TaggingDefinitions,
    progress: TaggingProgress,
    stop_at_ms: EpochMillis,
}

/// A row without tags.
enum Untagged {
    Profile(ProfileRow),
    Playbook(UserPlaybookRow),
}

impl Pass<'_> {
    async fn run(&self) -> Result<Tagged, StoreError> {
        // The version first: a row that comes later is found by the next look.
        let memory_version = self.services.store.memory_version(self.keys).await?.version;
        let mut waiting = self.untagged().await?;
        let is_more = waiting.len() > ROWS_PER_WAKE_MAX;
        waiting.truncate(ROWS_PER_WAKE_MAX);
        if waiting.is_empty() {
            let done = TaggingProgress { memory_version, attempts: 0, retry_at: None, ..self.progress };
            self.services.store.save_tagging_progress(self.keys, &done).await?;
            return Ok(SETTLED);
        }
        let mut failure = None;
        while !waiting.is_empty() {
            if self.services.clock.now_ms() >= self.stop_at_ms {
                return Ok(Tagged::More);
            }
            let batch: Vec<_> = waiting.drain(..waiting.len().min(ROWS_PER_COMMIT)).collect();
            let (rows, failed) = self.tag(batch).await?;
            if !self.write(rows).await? {
                return Ok(Tagged::Superseded);
            }
            failure = failed.or(failure);
            if let Some(WindowFailure::Window { code, .. }) = &failure
                && code.is_outside()
            {
                break;
            }
        }
        match failure {
            Some(failure) => self.put_off(failure).await,
            None if is_more => Ok(Tagged::More),
            // Looked at once more, with the versions as they are now.
            None => self.finish().await,
        }
    }

    /// Nothing should wait any more; says so, if it is true.
    async fn finish(&self) -> Result<Tagged, StoreError> {
        let memory_version = self.services.store.memory_version(self.keys).await?.version;
        if !self.untagged().await?.is_empty() {
            return Ok(Tagged::More);
        }
        let done = TaggingProgress { memory_version, attempts: 0, retry_at: None, ..self.progress };
        self.services.store.save_tagging_progress(self.keys, &done).await?;
        Ok(SETTLED)
    }

    /// Current rows without tags, of the kinds that are tagged.
    async fn untagged(&self) -> Result<Vec<Untagged>, StoreError> {
        let now = self.services.clock.now();
        let mut found = Vec::new();
        if self.definitions.profiles.is_some() {
            let rows = self.services.store.profiles(self.keys).await?.into_iter().filter(|row| {
                let profile = &row.profile;
                profile.status.is_none() && profile.tags.is_none() && profile.expiration_timestamp >= now
            });
            found.extend(rows.map(Untagged::Profile));
        }
        if self.definitions.playbooks.is_some() {
            let mut rows = self.services.store.user_playbooks(self.keys).await?;
            rows.retain(|row| row.playbook.status.is_none());
            rows.sort_by_key(|row| {
                std::cmp::Reverse((row.playbook.created_at, row.playbook.user_playbook_id))
            });
            rows.truncate(PLAYBOOKS_SCANNED_MAX);
            found.extend(rows.into_iter().filter(|row| row.playbook.tags.is_none()).map(Untagged::Playbook));
        }
        Ok(found)
    }

    /// Asks for the tags of some rows. Those that have them now, and what kept others from it.
    async fn tag(&self, batch: Vec<Untagged>) -> Result<(TaggedRows, Option<WindowFailure>), StoreError> {
        let mut tagged = TaggedRows::default();
        let mut failure = None;
        let model = match self.services.orgs.chat(self.keys.org, ModelRole::Generation).await {
            Ok(model) => model,
            Err(OrgServicesError::Store(error)) => return Err(error),
            Err(error) => return Ok((tagged, Some(error.into()))),
        };
        for row in batch {
            if self.services.clock.now_ms() >= self.stop_at_ms {
                break;
            }
            let (definition, content) = match &row {
                Untagged::Profile(row) => (self.definitions.profiles.as_deref(), profile_text(&row.profile)),
                Untagged::Playbook(row) => {
                    (self.definitions.playbooks.as_deref(), playbook_text(&row.playbook))
                }
            };
            match self.ask(model.as_ref(), definition.unwrap_or_default(), &content).await {
                Ok(tags) => add(&mut tagged, row, tags),
                Err(WindowFailure::Window { code, detail }) => {
                    let stops = code.is_outside();
                    failure = Some(WindowFailure::Window { code, detail });
                    if stops {
                        break;
                    }
                }
                Err(WindowFailure::Store(error)) => return Err(error),
                Err(other) => failure = Some(other),
            }
        }
        if !tagged.playbooks.is_empty() {
            tagged.effect = Some(effects::org_playbooks_changed(self.services, self.keys));
        }
        Ok((tagged, failure))
    }

    /// The tags of one row; none when the model says nothing that can be read.
    async fn ask(
        &self,
        model: &dyn ChatModel,
        definition: &str,
        content: &str,
    ) -> Result<Vec<String>, WindowFailure> {
        let prompt = render("tagging", &[("tagging_definition_prompt", definition), ("content", content)])?;
        let mut request = ChatRequest::new(PURPOSE, vec![Message::user(prompt)]);
        request.deadline = Some(self.services.clock.now_ms() + ANSWER_MS_MAX);
        let answer = chat_structured::<TaggingAnswer>(model, &request, PURPOSE).await;
        match answer.map_err(WindowFailure::from) {
            Ok(answer) => Ok(clean_tags(&answer.tags)),
            Err(failure) if failure.is_unusable_answer() => {
                tracing::warn!(event = "tagging_answer_unusable", %failure);
                Ok(Vec::new())
            }
            Err(failure) => Err(failure),
        }
    }

    /// `false` when another worker took over.
    async fn write(&self, rows: TaggedRows) -> Result<bool, StoreError> {
        let effect = rows.effect.clone();
        let tagged = rows.profiles.len() + rows.playbooks.len();
        match self.services.store.commit_tags(self.keys, self.lease, rows, self.services.clock.now()).await {
            Ok(()) => {}
            Err(CommitError::Superseded | CommitError::Stale) => return Ok(false),
            Err(CommitError::TooLarge) => {
                let detail = "too many tags at once".to_owned();
                return Err(StoreError::Refused { operation: "tag rows", detail });
            }
            Err(CommitError::Store(error)) => return Err(error),
        }
        tracing::info!(event = "rows_tagged", rows = tagged);
        if let Some(effect) = effect {
            effects::carry_out_one(self.services, &effect).await;
        }
        Ok(true)
    }

    /// Records a failure: rows stay untagged until it is tried again.
    async fn put_off(&self, failure: WindowFailure) -> Result<Tagged, StoreError> {
        let WindowFailure::Window { code, detail } = failure else { return Ok(Tagged::More) };
        let now = self.services.clock.now();
        let attempts = self.progress.attempts.saturating_add(1);
        let at = if code.parks(attempts) { now + PARKED_SECONDS } else { retry_at(now, attempts) };
        let progress = TaggingProgress { attempts, retry_at: Some(at), ..self.progress };
        tracing::warn!(event = "tagging_failed", code = code.as_str(), attempts, detail);
        self.services.store.save_tagging_progress(self.keys, &progress).await?;
        Ok(Tagged::Settled { due_at: Some(at) })
    }
}

fn add(tagged: &mut TaggedRows, row: Untagged, tags: Vec<String>) {
    match row {
        Untagged::Profile(mut row) => {
            row.profile.tags = Some(tags);
            tagged.profiles.push(row);
        }
        Untagged::Playbook(mut row) => {
            row.playbook.tags = Some(tags);
            tagged.playbooks.push(row);
        }
    }
}
