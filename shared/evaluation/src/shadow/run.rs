//! The judgement of one request: every turn of it that a shadow agent answered too.

use std::sync::Arc;

use domain::entities::ShadowVerdict;
use domain::time::{EpochMillis, EpochSeconds};
use futures::{StreamExt, TryStreamExt, stream};
use learning::services::{OrgServicesError, Services};
use llm::ChatModel;
use llm::error::RetryAfter;
use llm::providers::ModelRole;
use prompts::PromptError;
use store::{RequestDocument, ShadowCommit, ShadowCommitError, ShadowTurn, StoreError, UserKeys};
use wake::{EvaluateTask, EvaluateWake, ShadowTask, WakeReason};

use super::ask::{ask, render};
use super::context::regular_is_first;
use super::failure::{ATTEMPTS_MAX, Fault, PUT_OFF_SECONDS_FIRST, PUT_OFF_SECONDS_MAX, put_off_seconds};

/// Turns of one request that are judged at the same time.
const TURNS_AT_ONCE: usize = 4;
/// No turn is begun with less time than this left, in milliseconds.
const RESERVE_MS: i64 = 30_000;
/// How long a request stays taken after the end of the worker's time, in seconds. Less than the queue waits before it
/// delivers a message again, so that a worker that died holds up nobody.
const TAKEN_MARGIN_SECONDS: i64 = 10;

/// What became of the turns of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShadowReport {
    /// Verdicts that were reached.
    pub judged: usize,
    /// Attempts that failed, for whatever reason.
    pub failed: usize,
}

/// The infrastructure failed; the request is looked at again.
#[derive(Debug, thiserror::Error)]
pub enum ShadowError {
    /// The table or bucket failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How one turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEnd {
    /// There was nothing to do.
    Settled,
    Judged,
    GivenUp,
    /// It is tried again soon.
    Again,
    /// What it was judged by may be gone: the request is read again.
    Stale,
    /// The provider does not answer.
    Unavailable(Option<RetryAfter>),
    /// There was no time left to begin.
    Unbegun,
    /// The pinned version of the prompt is not there.
    NoPrompt,
}

/// Judges what of a request is not judged yet. The verdicts are in the table when this returns; so is when to look
/// again, if a turn has none.
///
/// # Errors
/// [`ShadowError`]; the request is then free for the next worker.
pub async fn judge_request(
    services: &Services,
    keys: &UserKeys<'_>,
    first_position: i64,
    deadline_ms: EpochMillis,
) -> Result<ShadowReport, ShadowError> {
    let until = deadline_ms.div_euclid(1000) + TAKEN_MARGIN_SECONDS;
    let store = &services.store;
    let Some(failures) = store.take_shadow_job(keys, first_position, until).await? else {
        return Ok(ShadowReport::default());
    };
    let run = Run { services, keys, first_position, deadline_ms, until, failures };
    let ended = run.judge().await;
    if ended.is_err() {
        // The sweep wakes the next worker sooner than the queue does. If this fails too, the time runs out by itself.
        let now = services.clock.now();
        if let Err(error) = store.put_off_shadow_job(keys, first_position, until, now, failures).await {
            tracing::warn!(event = "shadow_job_kept", org = keys.org.as_str(), %error);
        }
    }
    ended
}

struct Run<'a> {
    services: &'a Services,
    keys: &'a UserKeys<'a>,
    first_position: i64,
    deadline_ms: EpochMillis,
    /// Until when the request is ours.
    until: EpochSeconds,
    /// How often the provider failed it before, in a row.
    failures: u32,
}

/// What the turns of a request are judged by.
struct Judge {
    document: RequestDocument,
    purge_epoch: i64,
    version: String,
    model: Arc<dyn ChatModel>,
}

impl Run<'_> {
    async fn judge(&self) -> Result<ShadowReport, ShadowError> {
        let store = &self.services.store;
        // Before the request: what is deleted later raises the epoch.
        let head = store.head(self.keys).await?;
        let Some(head) = head.filter(|head| !head.barred) else {
            self.put_off(PUT_OFF_SECONDS_MAX, self.failures).await?;
            return Ok(ShadowReport::default());
        };
        let first = self.first_position;
        let documents = store.documents(self.keys, first, first + 1).await?;
        let Some(document) = documents.into_iter().find(|document| document.first_position == first) else {
            store.finish_shadow_job(self.keys, first).await?;
            return Ok(ShadowReport::default());
        };
        let (version, model) = match self.settings().await {
            Ok(settings) => settings,
            Err(OrgServicesError::Store(error)) => return Err(error.into()),
            Err(OrgServicesError::Configuration(detail)) => {
                let org = self.keys.org.as_str();
                tracing::error!(event = "shadow_judge_unconfigured", org, detail);
                self.put_off(PUT_OFF_SECONDS_MAX, self.failures).await?;
                return Ok(ShadowReport { failed: 1, ..ShadowReport::default() });
            }
        };
        let judge = Judge { document, purge_epoch: head.purge_epoch, version, model };
        let ends = self.judge_turns(&judge).await?;
        self.conclude(&ends).await?;
        let judged = ends.iter().filter(|end| **end == TurnEnd::Judged).count();
        let is_failure = |end: &&TurnEnd| {
            matches!(end, TurnEnd::GivenUp | TurnEnd::Again | TurnEnd::Unavailable(_) | TurnEnd::NoPrompt)
        };
        Ok(ShadowReport { judged, failed: ends.iter().filter(is_failure).count() })
    }

    async fn settings(&self) -> Result<(String, Arc<dyn ChatModel>), OrgServicesError> {
        let org = self.keys.org;
        let config = self.services.orgs.config(org).await?;
        let model = self.services.orgs.chat(org, ModelRole::Evaluation).await?;
        Ok((config.config.shadow_comparison_judge_prompt_version.clone(), model))
    }

    async fn judge_turns(&self, judge: &Judge) -> Result<Vec<TurnEnd>, ShadowError> {
        let turns = judge.document.interactions.iter().enumerate();
        let (places, ids): (Vec<usize>, Vec<i64>) = turns
            .filter(|(_, turn)| turn.is_shadowed_answer())
            .map(|(place, turn)| (place, turn.interaction_id))
            .unzip();
        let seen = self.services.store.shadow_turns(self.keys, &ids, &judge.version).await?;
        let open = places.into_iter().zip(seen).filter(|(_, seen)| !seen.is_settled);
        let judged = open.map(|(place, seen)| self.judge_turn(judge, place, seen));
        Ok(stream::iter(judged).buffer_unordered(TURNS_AT_ONCE).try_collect().await?)
    }

    async fn judge_turn(&self, judge: &Judge, place: usize, seen: ShadowTurn) -> Result<TurnEnd, StoreError> {
        let (store, turn) = (&self.services.store, &judge.document.interactions[place]);
        let id = turn.interaction_id;
        if seen.attempts >= ATTEMPTS_MAX {
            // Each of them died on the way.
            return self.give_up(judge, id, "interrupted").await;
        }
        if self.services.clock.now_ms() > self.deadline_ms - RESERVE_MS {
            return Ok(TurnEnd::Unbegun);
        }
        let prompt = match render(&judge.version, self.keys.org, &judge.document.interactions[..place], turn)
        {
            Ok(prompt) => prompt,
            Err(error) => return Ok(self.no_prompt(&judge.version, &error)),
        };
        if !store.begin_shadow_turn(self.keys, id, &judge.version, seen).await? {
            return Ok(TurnEnd::Stale);
        }
        match ask(judge.model.as_ref(), prompt, self.deadline_ms).await {
            Ok(output) => {
                let verdict = ShadowVerdict {
                    verdict_id: store.new_shadow_verdict_id(self.keys.org).await?,
                    interaction_id: id,
                    session_id: judge.document.request.session_id.clone(),
                    agent_version: judge.document.request.agent_version.clone(),
                    regular_is_first: regular_is_first(self.keys.org, id),
                    better_request: output.better_request,
                    is_significantly_better: output.is_significantly_better,
                    comparison_reason: output.comparison_reason,
                    judge_prompt_version: judge.version.clone(),
                    created_at: self.services.clock.now(),
                };
                self.save(judge, &verdict).await
            }
            Err(error) => {
                let org = self.keys.org.as_str();
                tracing::warn!(
                    event = "shadow_comparison_failed",
                    org,
                    interaction = id,
                    class = error.class()
                );
                match Fault::of(&error) {
                    Fault::Provider(retry_after) => {
                        store.uncount_shadow_turn(self.keys, id, &judge.version, seen).await?;
                        Ok(TurnEnd::Unavailable(retry_after))
                    }
                    Fault::Answer if seen.attempts + 1 < ATTEMPTS_MAX => Ok(TurnEnd::Again),
                    Fault::Answer | Fault::Turn => self.give_up(judge, id, error.class()).await,
                }
            }
        }
    }

    fn no_prompt(&self, version: &str, error: &PromptError) -> TurnEnd {
        tracing::error!(event = "shadow_prompt_missing", org = self.keys.org.as_str(), version, %error);
        TurnEnd::NoPrompt
    }

    async fn save(&self, judge: &Judge, verdict: &ShadowVerdict) -> Result<TurnEnd, StoreError> {
        let (first_position, purge_epoch) = (self.first_position, judge.purge_epoch);
        let commit = ShadowCommit { verdict, first_position, purge_epoch };
        match self.services.store.save_shadow_verdict(self.keys, &commit).await {
            Ok(true) => Ok(TurnEnd::Judged),
            // Another worker's verdict stays.
            Ok(false) => Ok(TurnEnd::Settled),
            Err(ShadowCommitError::Erased) => Ok(TurnEnd::Stale),
            Err(ShadowCommitError::Store(error)) => Err(error),
        }
    }

    async fn give_up(&self, judge: &Judge, interaction: i64, why: &str) -> Result<TurnEnd, StoreError> {
        self.services.store.fail_shadow_turn(self.keys, interaction, &judge.version, why).await?;
        tracing::error!(event = "shadow_turn_given_up", org = self.keys.org.as_str(), interaction, why);
        Ok(TurnEnd::GivenUp)
    }

    /// Removes the request, or says when to look again.
    async fn conclude(&self, ends: &[TurnEnd]) -> Result<(), ShadowError> {
        let failures = self.failures.saturating_add(1);
        let waits = ends.iter().filter_map(|end| match end {
            TurnEnd::Settled | TurnEnd::Judged | TurnEnd::GivenUp => None,
            TurnEnd::Unbegun => Some((0, 0)),
            TurnEnd::Again | TurnEnd::Stale => Some((PUT_OFF_SECONDS_FIRST, 0)),
            TurnEnd::NoPrompt => Some((PUT_OFF_SECONDS_MAX, 0)),
            TurnEnd::Unavailable(retry_after) => {
                let asked = retry_after.map_or(0, |after| seconds_of(after, self.services.clock.now_ms()));
                Some((put_off_seconds(failures).max(asked), failures))
            }
        });
        match waits.max() {
            None => Ok(self.services.store.finish_shadow_job(self.keys, self.first_position).await?),
            Some((0, _)) => self.go_on().await,
            Some((seconds, failures)) => self.put_off(seconds, failures).await,
        }
    }

    async fn put_off(&self, seconds: i64, failures: u32) -> Result<(), ShadowError> {
        let next = self.services.clock.now() + seconds;
        let store = &self.services.store;
        Ok(store.put_off_shadow_job(self.keys, self.first_position, self.until, next, failures).await?)
    }

    /// Wakes the next worker for what is left.
    async fn go_on(&self) -> Result<(), ShadowError> {
        self.put_off(0, 0).await?;
        let task = ShadowTask { user: self.keys.user.clone(), first_position: self.first_position };
        let wake =
            EvaluateWake::new(self.keys.org.clone(), EvaluateTask::Shadow(task), WakeReason::Continued);
        let changing = self.services.clock.now_ms().to_string();
        if let Err(error) = self.services.wakes.evaluate(&wake, &changing).await {
            // The sweep finds it.
            tracing::warn!(event = "wake_failed", org = self.keys.org.as_str(), %error);
        }
        Ok(())
    }
}

/// What a provider asked for, in whole seconds, at most [`PUT_OFF_SECONDS_MAX`].
fn seconds_of(after: RetryAfter, now_ms: EpochMillis) -> i64 {
    let wait = after.from_now(now_ms).as_millis().div_ceil(1000);
    i64::try_from(wait).unwrap_or(i64::MAX).min(PUT_OFF_SECONDS_MAX)
}
