//! The revision of memories that the agent cited, before a user's windows are learned. It is best effort: what fails
//! here is logged and tried again later, and learning goes on.

mod commit;
mod expand;
mod inputs;

use std::time::Duration;

use domain::config::Config;
use domain::entities::{UserPlaybook, UserProfile};
use domain::time::{EpochMillis, EpochSeconds};
use llm::providers::ModelRole;
use llm::structured::chat_structured;
use llm::{ChatRequest, Message};
use store::{Cursor, CursorName, Head, Lease, StoreError, UserKeys};

use self::commit::{Commit, commit};
use self::inputs::{Inputs, read_inputs};
use super::failure::{FailureCode, WindowFailure, retry_at};
use super::kind::{EXTRACTION_MS_MAX, PARKED_SECONDS};

use crate::pipeline::ask::render;
use crate::reflection::{
    Counters, Outcome, ReflectionAnswer, ReflectionRun, apply_reflection, reflection_variables,
};
use crate::services::{OrgConfig, OrgServicesError, Services};

/// The prompt.
const PURPOSE: &str = "memory_reflection";
/// How long the call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Tries of the call after the first.
const CALL_RETRIES_MAX: u32 = 1;
/// Revisions that one commit holds, whatever is configured: each takes up to six of a transaction's 100 items (a new
/// playbook with look-up and mark, the old one with its mark, and what follows for its agent version).
const REVISIONS_PER_COMMIT_MAX: usize = 15;
/// Bytes of rows that one commit holds: a transaction has 4 MB, and the log takes its part.
const REVISED_BYTES_MAX: usize = 3_000_000;
/// Passes that are begun anew, since a row changed meanwhile, before the user's windows have their turn.
const ROUNDS_MAX: usize = 2;

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reflected {
    /// Learning may go on.
    Settled {
        /// When it is to be tried again though nothing arrives.
        due_at: Option<EpochSeconds>,
    },
    /// Another worker took over.
    Superseded,
}

const SETTLED: Reflected = Reflected::Settled { due_at: None };

/// Looks whether cited memories are to be revised, and revises them.
pub(super) async fn reflect(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
    head: &Head,
    stop_at_ms: EpochMillis,
) -> Result<Reflected, StoreError> {
    let config = match services.orgs.config(keys.org).await {
        Ok(config) => config,
        Err(OrgServicesError::Store(error)) => return Err(error),
        Err(error) => {
            tracing::error!(event = "reflection_extractor_failed", %error);
            return Ok(SETTLED);
        }
    };
    if !config.config.reflection_config.enabled {
        return Ok(SETTLED);
    }
    let pass = Pass { services, keys, lease, head, config: &config, stop_at_ms };
    for _ in 0..ROUNDS_MAX {
        if let Some(reflected) = pass.run().await? {
            return Ok(reflected);
        }
    }
    // Somebody keeps changing these rows: later.
    Ok(Reflected::Settled { due_at: Some(services.clock.now() + 1) })
}

/// One pass over one user's latest turns.
struct Pass<'a> {
    services: &'a Services,
    keys: &'a UserKeys<'a>,
    lease: &'a Lease,
    head: &'a Head,
    config: &'a OrgConfig,
    stop_at_ms: EpochMillis,
}

impl Pass<'_> {
    /// `None` when a row changed meanwhile.
    async fn run(&self) -> Result<Option<Reflected>, StoreError> {
        let mut cursor = self.services.store.cursor(self.keys, CursorName::Reflection).await?;
        let now = self.services.clock.now();
        let is_changed = cursor.parked && cursor.parked_under != self.config.version;
        if let Some(at) = cursor.retry_at.filter(|at| *at > now && !is_changed) {
            return Ok(Some(Reflected::Settled { due_at: (!cursor.parked).then_some(at) }));
        }
        if cursor.attempts > 0 && cursor.last_error.is_none() {
            // The worker died at it. Learning is not to wait for the next time that it does.
            let failure = WindowFailure::window(FailureCode::Interrupted, "the worker died");
            return self.put_off(cursor, failure).await.map(Some);
        }
        let inputs =
            match read_inputs(self.services, self.keys, self.head, &self.config.config, &cursor).await {
                Ok(inputs) => inputs,
                Err(error @ StoreError::Corrupt { .. }) => {
                    let failure = WindowFailure::window(FailureCode::StoredDataDamaged, error.to_string());
                    return self.put_off(cursor, failure).await.map(Some);
                }
                Err(error) => return Err(error),
            };
        if !inputs.counters.gate_open {
            log_done(inputs.counters);
            return Ok(Some(SETTLED));
        }
        if inputs.context.is_empty() {
            return self.advance(cursor, inputs.counters).await.map(Some);
        }
        if self.services.clock.now_ms() >= self.stop_at_ms {
            return Ok(Some(SETTLED));
        }
        // The attempt is counted before it begins: a crash counts too.
        cursor.attempts += 1;
        (cursor.last_error, cursor.parked, cursor.retry_at) = (None, false, None);
        if !self.save(&mut cursor).await? {
            return Ok(Some(Reflected::Superseded));
        }
        match self.revise(&cursor, inputs).await {
            Ok(Commit::Done) => Ok(Some(SETTLED)),
            Ok(Commit::Advance(counters)) => self.advance(cursor, counters).await.map(Some),
            Err(WindowFailure::Superseded) => Ok(Some(Reflected::Superseded)),
            Err(WindowFailure::Stale) => {
                self.uncount(&mut cursor).await;
                Ok(None)
            }
            Err(WindowFailure::Store(error)) => {
                self.uncount(&mut cursor).await;
                Err(error)
            }
            Err(failure @ WindowFailure::Window { .. }) => self.put_off(cursor, failure).await.map(Some),
        }
    }

    /// Asks the model and writes what follows.
    async fn revise(&self, cursor: &Cursor, inputs: Inputs) -> Result<Commit, WindowFailure> {
        let (answer, model) = self.ask(&inputs).await?;
        let mut outcome = self.outcome(&answer, &inputs);
        for rejection in &outcome.rejected {
            tracing::warn!(event = "reflection_apply_failed", reason = rejection.as_str());
        }
        let counters = Counters { ran: true, ..outcome.counters.with(inputs.counters) };
        if outcome.profiles.is_empty() && outcome.playbooks.is_empty() {
            return Ok(Commit::Advance(counters));
        }
        if self.config.config.enable_document_expansion {
            let deadline_ms = self.services.clock.now_ms().min(self.stop_at_ms) + EXTRACTION_MS_MAX;
            expand::expand(self.services, self.keys, &mut outcome, deadline_ms).await;
        }
        let done =
            commit(self.services, self.keys, self.lease, self.head, cursor, &inputs, outcome, model).await?;
        log_done(counters);
        Ok(done)
    }

    /// The model's decisions; none when it cannot say any that can be read.
    async fn ask(&self, inputs: &Inputs) -> Result<(ReflectionAnswer, String), WindowFailure> {
        let config = &self.config.config;
        let (profiles, playbooks) = (inputs.shown_profiles(), inputs.shown_playbooks());
        let shown = reflection_variables(&inputs.seen(), &profiles, &playbooks, &inputs.context);
        let prompt = render(
            "memory_reflection",
            &[
                ("agent_context", config.agent_context_prompt.as_deref().unwrap_or("").trim()),
                ("window_interactions_json", &shown.window_interactions_json),
                ("cited_profiles_json", &shown.cited_profiles_json),
                ("cited_user_playbooks_json", &shown.cited_user_playbooks_json),
                ("per_citation_context_json", &shown.per_citation_context_json),
            ],
        )?;
        let model = match named_model(config) {
            Some(name) => self.services.orgs.chat_named(self.keys.org, ModelRole::Generation, name).await?,
            None => self.services.orgs.chat(self.keys.org, ModelRole::Generation).await?,
        };
        tracing::info!(
            event = "reflection_llm_start",
            model = model.model_name(),
            profiles = profiles.len(),
            playbooks = playbooks.len(),
            interactions = inputs.turns.len(),
        );
        let mut request = ChatRequest::new(PURPOSE, vec![Message::user(prompt)]);
        request.timeout = CALL_TIMEOUT;
        request.retries_max = Some(CALL_RETRIES_MAX);
        request.deadline = Some(self.services.clock.now_ms().min(self.stop_at_ms) + EXTRACTION_MS_MAX);
        match chat_structured(model.as_ref(), &request, PURPOSE).await.map_err(WindowFailure::from) {
            Ok(answer) => Ok((answer, model.model_name().to_owned())),
            Err(failure) if failure.is_unusable_answer() => {
                tracing::warn!(event = "reflection_llm_unparsed", %failure);
                Ok((ReflectionAnswer::default(), model.model_name().to_owned()))
            }
            Err(failure) => Err(failure),
        }
    }

    fn outcome(&self, answer: &ReflectionAnswer, inputs: &Inputs) -> Outcome {
        let most = self.config.config.reflection_config.max_revisions_per_pass;
        let run = ReflectionRun {
            now: self.services.clock.now(),
            revisions_max: usize::try_from(most).unwrap_or(0).min(REVISIONS_PER_COMMIT_MAX),
            bytes_max: REVISED_BYTES_MAX,
        };
        let (profiles, playbooks): (Vec<UserProfile>, Vec<UserPlaybook>) =
            (inputs.shown_profiles(), inputs.shown_playbooks());
        apply_reflection(answer, &profiles, &playbooks, run, || super::new_profile_id(self.services))
    }

    /// Moves the cursor behind everything that there is, without a change of memory.
    async fn advance(&self, cursor: Cursor, counters: Counters) -> Result<Reflected, StoreError> {
        let mut next = inputs::behind(self.head, &cursor);
        if !self.save(&mut next).await? {
            return Ok(Reflected::Superseded);
        }
        log_done(counters);
        Ok(SETTLED)
    }

    /// Records a failure: it is tried again later, and learning goes on.
    async fn put_off(&self, mut cursor: Cursor, failure: WindowFailure) -> Result<Reflected, StoreError> {
        let WindowFailure::Window { code, detail } = failure else { return Ok(SETTLED) };
        let now = self.services.clock.now();
        cursor.attempts = cursor.attempts.max(1);
        cursor.last_error = Some(code.as_str().to_owned());
        cursor.parked = code.parks(cursor.attempts);
        cursor.parked_under = self.config.version;
        let at = if cursor.parked { now + PARKED_SECONDS } else { retry_at(now, cursor.attempts) };
        cursor.retry_at = Some(at);
        tracing::warn!(
            event = "reflection_extractor_failed",
            code = code.as_str(),
            attempts = cursor.attempts,
            parked = cursor.parked,
            detail,
        );
        if !self.save(&mut cursor).await? {
            return Ok(Reflected::Superseded);
        }
        // What was given up is looked at again when there is something new to look at.
        Ok(Reflected::Settled { due_at: (!cursor.parked).then_some(at) })
    }

    /// The attempt was not at fault. If this write fails too, it counts as interrupted.
    async fn uncount(&self, cursor: &mut Cursor) {
        cursor.attempts = cursor.attempts.saturating_sub(1);
        if let Err(error) = self.save(cursor).await {
            tracing::warn!(event = "attempt_not_uncounted", kind = "reflection", %error);
        }
    }

    async fn save(&self, cursor: &mut Cursor) -> Result<bool, StoreError> {
        self.services.store.save_cursor(self.keys, CursorName::Reflection, cursor).await
    }
}

/// The model that the configuration names for revisions.
fn named_model(config: &Config) -> Option<&str> {
    config.reflection_config.model.as_deref().map(str::trim).filter(|name| !name.is_empty())
}

fn log_done(counters: Counters) {
    let Counters {
        gate_open,
        ran,
        cited,
        considered,
        no_change,
        revised,
        trigger_revised,
        content_revised,
        ttl_changed,
        capped,
        skipped,
        failed,
    } = counters;
    tracing::info!(
        event = "reflection_done",
        gate_open,
        ran,
        cited,
        considered,
        no_change,
        revised,
        trigger_revised,
        content_revised,
        ttl_changed,
        capped,
        skipped,
        failed,
    );
}
