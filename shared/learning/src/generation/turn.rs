//! One user's turn in a batch: under the user's lease, and over in one transaction.

use std::time::Duration;

use domain::config::Config;
use domain::entities::Status;
use domain::ids::{RequestId, SessionId, UserHash, hash_hex};
use domain::learning::LearningKind;
use domain::operations::GenerationMode;
use domain::time::{EpochMillis, EpochSeconds};
use futures::FutureExt;
use store::{
    Cursor, Effect, GenerationCommit, GenerationCommitError, Head, Lease, LeaseError, Operation,
    OperationUser, OutboxEntry, StoreError, UserKeys, UserStart, WindowReceipt,
};
use wake::WakeReason;

use super::Batch;
use super::bookmark::advanced;
use super::inputs::{BatchInputs, Matcher};
use crate::aggregation::{announcement, follow_up};
use crate::pipeline::{WindowOutput, run_window};
use crate::services::OrgServicesError;
use crate::windows::{Trigger, Window, WindowReason};
use crate::worker::inputs::WindowInputs;
use crate::worker::kind::EXTRACTION_MS_MAX;
use crate::worker::{FailureCode, WindowFailure, keep_lease};

/// Times that a turn is begun before it counts as failed: its workers died on the way.
pub const TURN_ATTEMPTS_MAX: i64 = 3;
/// Time that a turn may take, in milliseconds.
const TURN_MS_MAX: i64 = 600_000;
/// Time that is left for the commit when the worker's own time is shorter, in milliseconds.
const COMMIT_MS: i64 = 30_000;
/// Times that a turn is taken anew since rows changed while a model was asked.
const STALE_MAX: usize = 5;
/// How often an operation's worker gives a sign of life during a turn.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// Hex digits of the ids of requests that nobody made.
const REQUEST_ID_HEX: usize = 8;

/// How a turn ended.
pub(super) enum Turn {
    /// It is counted, by this or another worker.
    Over,
    /// The user is being learned from: later.
    Busy,
    /// The operation must be looked at before anybody else's turn.
    Stopped,
    /// The organisation's learning stands still: nobody's turn until, perhaps, then.
    Held { until: EpochSeconds },
}

/// What the work of a turn came to.
enum Work {
    Committed,
    /// In vain, for this reason.
    Failed(String),
    /// The organisation's learning stands still: the turn does not count.
    Held(EpochSeconds),
    /// Another worker took the user over.
    Superseded,
    /// This run is over, or the turn was counted by another worker.
    Stopped,
}

/// Gives a user a turn.
pub(super) async fn take_turn(
    batch: &Batch<'_>,
    operation: &Operation,
    waiting: &OperationUser,
) -> Result<Turn, StoreError> {
    let store = &batch.services.store;
    let keys = UserKeys { org: batch.org, user: &waiting.user };
    if waiting.attempts >= TURN_ATTEMPTS_MAX {
        return fail(batch, operation, &waiting.user, FailureCode::Interrupted.as_str()).await;
    }
    if let Some(until) = held_until(batch).await? {
        return Ok(Turn::Held { until });
    }
    let lease = match store.take_lease(&keys, &batch.services.ids.uuid()).await {
        Ok(lease) => lease,
        Err(LeaseError::Busy) => return Ok(Turn::Busy),
        Err(LeaseError::Barred) => return fail(batch, operation, &waiting.user, "user_being_erased").await,
        Err(LeaseError::Store(error)) => return Err(error),
    };
    let turn = turn_under_lease(batch, operation, waiting, &keys, &lease).await;
    if let Err(error) = store.release_lease(&keys, &lease).await {
        tracing::warn!(event = "lease_not_released", %error);
    }
    wake_for_arrivals(batch, &keys, &lease).await;
    turn
}

/// When turns may be taken again, if the organisation's learning stands still.
async fn held_until(batch: &Batch<'_>) -> Result<Option<EpochSeconds>, StoreError> {
    match batch.services.orgs.config(batch.org).await {
        Ok(config) => batch.services.held_until(batch.org, config.version).await,
        Err(OrgServicesError::Store(error)) => Err(error),
        // The turn itself says so.
        Err(OrgServicesError::Configuration(_)) => Ok(None),
    }
}

async fn turn_under_lease(
    batch: &Batch<'_>,
    operation: &Operation,
    waiting: &OperationUser,
    keys: &UserKeys<'_>,
    lease: &Lease,
) -> Result<Turn, StoreError> {
    let store = &batch.services.store;
    match store.begin_operation_user(batch.org, operation, waiting).await? {
        UserStart::Begun => {}
        UserStart::Stopped => return Ok(Turn::Stopped),
        UserStart::Taken => return Ok(Turn::Busy),
    }
    let work = tokio::select! {
        // Boxed, since the whole of learning is one deep future, more than the compiler follows in one type.
        work = work(batch, operation, keys, lease).boxed() => work,
        () = keep_lease(batch.services, keys, lease.clone()) => Ok(Work::Superseded),
        () = keep_operation(batch) => Ok(Work::Stopped),
    };
    match work {
        Ok(Work::Committed) => Ok(Turn::Over),
        Ok(Work::Failed(reason)) => fail(batch, operation, keys.user, &reason).await,
        Ok(Work::Held(until)) => {
            store.unbegin_operation_user(batch.org, batch.operation_id, waiting).await?;
            Ok(Turn::Held { until })
        }
        Ok(Work::Superseded) => Ok(Turn::Busy),
        Ok(Work::Stopped) => Ok(Turn::Stopped),
        Err(error) => {
            if let Err(error) = store.unbegin_operation_user(batch.org, batch.operation_id, waiting).await {
                tracing::warn!(event = "attempt_not_uncounted", %error);
            }
            Err(error)
        }
    }
}

/// Records that a turn was in vain; the batch goes on.
async fn fail(
    batch: &Batch<'_>,
    operation: &Operation,
    user: &UserHash,
    reason: &str,
) -> Result<Turn, StoreError> {
    tracing::warn!(event = "operation_user_failed", service = batch.service.as_str(), code = reason);
    let counted = batch.services.store.fail_operation_user(batch.org, operation, user, reason).await?;
    Ok(if counted { Turn::Over } else { Turn::Stopped })
}

/// Gives signs of life until this run is over.
async fn keep_operation(batch: &Batch<'_>) {
    loop {
        batch.services.clock.sleep(HEARTBEAT).await;
        let beat = batch.services.store.beat_operation(batch.org, batch.service, batch.operation_id).await;
        match beat {
            // A wish to stop lets this turn finish.
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(error) => tracing::warn!(event = "operation_heartbeat_failed", %error),
        }
    }
}

/// A wake that came while the lease was held found it taken, and was told that its work would be seen to.
async fn wake_for_arrivals(batch: &Batch<'_>, keys: &UserKeys<'_>, lease: &Lease) {
    let services = batch.services;
    let head = services.store.head(keys).await;
    let is_due = |head: &Head| head.due_at.is_some_and(|at| at <= services.clock.now());
    match head {
        Ok(Some(head)) if is_due(&head) => {
            let sent = services.wakes.learn(keys.org, keys.user, WakeReason::Continued, lease.epoch).await;
            if let Err(error) = sent {
                // The head is due: the sweep will find it.
                tracing::warn!(event = "wake_failed", reason = "after operation", %error);
            }
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(event = "wake_failed", reason = "after operation", %error),
    }
}

/// Reads, asks models, commits; anew when rows changed meanwhile.
async fn work(
    batch: &Batch<'_>,
    operation: &Operation,
    keys: &UserKeys<'_>,
    lease: &Lease,
) -> Result<Work, StoreError> {
    let clock = &batch.services.clock;
    let deadline_ms = (clock.now_ms() + TURN_MS_MAX).min(batch.deadline_ms - COMMIT_MS);
    for _ in 0..STALE_MAX {
        return match attempt(batch, operation, keys, lease, deadline_ms).await {
            Ok(()) => Ok(Work::Committed),
            Err(Refused::Window(WindowFailure::Stale)) => continue,
            Err(Refused::Window(WindowFailure::Superseded)) => Ok(Work::Superseded),
            Err(Refused::Window(WindowFailure::Store(error @ StoreError::Corrupt { .. }))) => {
                tracing::error!(event = "stored_data_damaged", %error);
                Ok(Work::Failed(FailureCode::StoredDataDamaged.as_str().to_owned()))
            }
            Err(Refused::Window(WindowFailure::Store(error))) => Err(error),
            Err(Refused::Window(WindowFailure::Window { code, detail })) => {
                if let Some(until) = batch.services.stalled_by(batch.org, code.as_str()).await? {
                    return Ok(Work::Held(until));
                }
                tracing::warn!(event = "operation_user_failed", code = code.as_str(), detail);
                Ok(Work::Failed(code.as_str().to_owned()))
            }
            Err(Refused::Stopped) => Ok(Work::Stopped),
        };
    }
    Ok(Work::Failed("rows_kept_changing".to_owned()))
}

/// Why an attempt at a turn was not committed.
enum Refused {
    Window(WindowFailure),
    /// This run is over, or the turn is.
    Stopped,
}

impl<E: Into<WindowFailure>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Window(error.into())
    }
}

async fn attempt(
    batch: &Batch<'_>,
    operation: &Operation,
    keys: &UserKeys<'_>,
    lease: &Lease,
    deadline_ms: EpochMillis,
) -> Result<(), Refused> {
    let (services, kind) = (batch.services, batch.service.kind());
    let org = services.orgs.config(batch.org).await?;
    let config = &org.config;
    let count = services.store.head(keys).await?.map_or(0, |head| head.count);
    let limit = usize::try_from(config.batch_window(kind)).unwrap_or(usize::MAX);
    let matcher = Matcher::new(config, kind, &batch.plan.filter);
    let inputs = matcher.newest(&services.store, keys, limit).await?;
    let BatchInputs { turns, positions } = inputs;
    let read = turns.len();
    let output = if turns.is_empty() {
        WindowOutput::default()
    } else {
        let window = window(batch, keys, turns, config)?;
        let deadline_ms = deadline_ms.min(services.clock.now_ms() + EXTRACTION_MS_MAX);
        run_window(services, keys, kind, &window, &org, batch.plan.mode, deadline_ms).await?
    };
    let cursor = match batch.plan.mode {
        GenerationMode::Manual => {
            let cursor = services.store.cursor(keys, kind).await?;
            let next = advanced(&services.store, keys, kind, &cursor, count, &positions).await?;
            next.map(|next| (receipt(batch, &cursor, &next, &output), next))
        }
        GenerationMode::Rerun | GenerationMode::Regular => None,
    };
    let mut commit = GenerationCommit {
        kind,
        lease: lease.clone(),
        cursor: cursor.map(|(receipt, next)| (next, receipt)),
        profiles: output.profiles,
        playbooks: output.playbooks,
        effects: Vec::new(),
        interactions: i64::try_from(read).unwrap_or(i64::MAX),
        at: services.clock.now(),
    };
    if kind == LearningKind::Playbook && batch.plan.mode == GenerationMode::Rerun {
        commit.playbooks.delete = earlier_previews(batch, keys).await?;
    }
    commit.effects = effects(batch, config, &commit);
    match services.store.commit_generation(keys, operation, &commit).await {
        Ok(()) => {}
        Err(GenerationCommitError::Superseded) => return Err(WindowFailure::Superseded.into()),
        Err(GenerationCommitError::Stale) => return Err(WindowFailure::Stale.into()),
        Err(GenerationCommitError::Stopped) => return Err(Refused::Stopped),
        Err(GenerationCommitError::TooLarge) => {
            return Err(WindowFailure::window(FailureCode::TooLarge, "too many rows in one turn").into());
        }
        // Trying the same again cannot help.
        Err(GenerationCommitError::Store(error @ StoreError::Refused { .. })) => {
            return Err(WindowFailure::window(FailureCode::TooLarge, error.to_string()).into());
        }
        Err(GenerationCommitError::Store(error)) => return Err(error.into()),
    }
    for effect in &commit.effects {
        match services.store.carry_out(effect).await {
            Ok(next) => follow_up(services, batch.org, next).await,
            // It was committed with the turn: the sweep carries it out.
            Err(error) => tracing::warn!(event = "effect_left_over", %error),
        }
    }
    Ok(())
}

/// What follows a commit. What is made manually is current, so it is here that an aggregation becomes due; a preview
/// is never aggregated.
fn effects(batch: &Batch<'_>, config: &Config, commit: &GenerationCommit) -> Vec<OutboxEntry> {
    let rows = &commit.playbooks;
    if rows.insert.is_empty() && rows.replace.is_empty() && rows.delete.is_empty() {
        return Vec::new();
    }
    let id = batch.services.ids.uuid();
    let mut effects = vec![OutboxEntry { org: batch.org.clone(), id, effect: Effect::OrgPlaybooksChanged }];
    if batch.plan.mode == GenerationMode::Manual {
        let versions = rows.insert.iter().map(|row| row.playbook.agent_version.as_str());
        effects.extend(announcement(batch.services, batch.org, config, versions));
    }
    effects
}

/// Playbooks of the agent version that an earlier rerun left pending: this one takes their place.
async fn earlier_previews(batch: &Batch<'_>, keys: &UserKeys<'_>) -> Result<Vec<i64>, StoreError> {
    let version = batch.plan.filter.agent_version.as_deref();
    let rows = batch.services.store.user_playbooks(keys).await?.into_iter().map(|row| row.playbook);
    let earlier = rows.filter(|playbook| {
        playbook.status == Some(Status::Pending)
            && version.is_none_or(|version| playbook.agent_version == version)
    });
    Ok(earlier.map(|playbook| playbook.user_playbook_id).collect())
}

/// The turn's interactions as a window. All of them are new to it, since it learns from all.
fn window(
    batch: &Batch<'_>,
    keys: &UserKeys<'_>,
    turns: Vec<crate::worker::inputs::InputTurn>,
    config: &Config,
) -> Result<WindowInputs, WindowFailure> {
    let kind = batch.service.kind();
    let impossible = |error: domain::ids::InvalidId| {
        WindowFailure::window(FailureCode::StoredDataDamaged, error.to_string())
    };
    let filter = &batch.plan.filter;
    let last = turns.last().map(|turn| &turn.request);
    let agent_version = match &filter.agent_version {
        Some(version) => version.clone(),
        None => last.map(|request| request.agent_version.clone()).unwrap_or_default(),
    };
    let session = last.map(|request| request.session_id.as_str().to_owned()).unwrap_or_default();
    let window = Window {
        new: Vec::new(),
        context: Vec::new(),
        end_exclusive: 0,
        reason: WindowReason::Batch,
        skip_aggregation: false,
        overrides_stall: true,
        policy: domain::learning::KindPolicy {
            eligible: true,
            window: config.batch_window(kind),
            stride: config.effective_stride(kind),
        },
        trigger: Trigger {
            request_id: RequestId::new(&request_id(batch, keys)).map_err(impossible)?,
            session_id: SessionId::new(&session).map_err(impossible)?,
            source: filter.source.clone().unwrap_or_default(),
            agent_version,
        },
    };
    Ok(WindowInputs { window, turns })
}

/// Stands where rows name the request on whose account they were made: the same whenever the turn is taken.
fn request_id(batch: &Batch<'_>, keys: &UserKeys<'_>) -> String {
    let prefix = match (batch.plan.mode, batch.service.kind()) {
        (GenerationMode::Rerun, LearningKind::Profile) => "rerun",
        (GenerationMode::Rerun, LearningKind::Playbook) => "rerun_playbook",
        (GenerationMode::Manual | GenerationMode::Regular, _) => "manual",
    };
    let hash = hash_hex(&format!("{} {}", batch.operation_id, keys.user.as_str()));
    format!("{prefix}_{}", &hash[..REQUEST_ID_HEX])
}

fn receipt(batch: &Batch<'_>, cursor: &Cursor, next: &Cursor, output: &WindowOutput) -> WindowReceipt {
    let added = output.profiles.insert.len() + output.playbooks.insert.len();
    let retired =
        output.profiles.replace.len() + output.profiles.delete.len() + output.playbooks.replace.len();
    WindowReceipt {
        start: cursor.completed,
        end: next.completed,
        new_interactions: next.learned - cursor.learned,
        gate: true,
        added: u32::try_from(added).unwrap_or(u32::MAX),
        retired: u32::try_from(retired).unwrap_or(u32::MAX),
        reason: batch.plan.mode.as_str().to_owned(),
        model: output.model.clone(),
        at: batch.services.clock.now(),
    }
}
