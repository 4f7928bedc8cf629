//! One kind of learning for one user: window after window until nothing is due.

use domain::learning::LearningKind;
use domain::operations::GenerationMode;
use domain::time::{EpochMillis, EpochSeconds};
use store::{CommitError, Cursor, Head, LearningCommit, Lease, StoreError, UserKeys, WindowReceipt};

use super::effects;
use super::failure::{FailureCode, WindowFailure, retry_at};
use super::inputs::{Next, WindowInputs, next_window, to_i64};
use crate::pipeline::{WindowOutput, run_window};
use crate::services::{OrgConfig, Services};

/// Time that one window may take over all its model calls, in milliseconds.
pub(crate) const EXTRACTION_MS_MAX: i64 = 300_000;
/// How often a window that was given up is tried again though nothing changed, in seconds.
pub(super) const PARKED_SECONDS: i64 = 3_600;

/// Where one kind stands when the worker leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KindOutcome {
    /// Nothing is due now.
    Settled {
        /// Eligible interactions learned from so far.
        learned: i64,
        /// When something will be due though nothing arrives.
        due_at: Option<EpochSeconds>,
    },
    /// A window is due, but the organisation's learning stands still.
    Held {
        /// See [`Self::Settled`].
        learned: i64,
    },
    /// There is more, but no time for it.
    OutOfTime,
    /// Another worker took over.
    Superseded,
}

/// Learns all due windows of one kind.
pub(crate) async fn learn_kind(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
    head: &Head,
    kind: LearningKind,
    stop_at_ms: EpochMillis,
) -> Result<KindOutcome, StoreError> {
    loop {
        let config = match services.orgs.config(keys.org).await {
            Ok(config) => config,
            Err(crate::services::OrgServicesError::Store(error)) => return Err(error),
            Err(error) => {
                tracing::error!(event = "extraction_turn_failed", kind = kind.as_str(), %error);
                return Ok(settled(
                    &services.store.cursor(keys, kind).await?,
                    Some(retry_at(services.clock.now(), 9)),
                ));
            }
        };
        let mut cursor = services.store.cursor(keys, kind).await?;
        let now = services.clock.now();
        // A change of the configuration may have removed the cause of a parked window: it is tried at once. So
        // is one whose time has come: the cause may lie where no version tells.
        let is_changed = cursor.parked && cursor.parked_under != config.version;
        if cursor.retry_at.is_some_and(|at| at > now) && !is_changed {
            return Ok(settled(&cursor, cursor.retry_at));
        }
        let next = match next_window(&services.store, keys, head, kind, &cursor, now).await {
            Ok(Ok(next)) => next,
            Err(error @ StoreError::Corrupt { .. }) => {
                let failure = WindowFailure::window(FailureCode::StoredDataDamaged, error.to_string());
                return give_up_or_retry(services, keys, kind, cursor, &config, failure).await;
            }
            Err(error) => return Err(error),
            Ok(Err(invalid)) => {
                let failure = WindowFailure::window(FailureCode::Configuration, invalid.to_string());
                return give_up_or_retry(services, keys, kind, cursor, &config, failure).await;
            }
        };
        let inputs = match next {
            Next::Window(inputs) => inputs,
            Next::Wait(due_at) => return Ok(settled(&cursor, due_at)),
            Next::Drained(end) => {
                if end > cursor.completed {
                    cursor.completed = end;
                    if !services.store.save_cursor(keys, kind, &mut cursor).await? {
                        return Ok(KindOutcome::Superseded);
                    }
                }
                return Ok(settled(&cursor, None));
            }
        };
        if services.clock.now_ms() >= stop_at_ms {
            return Ok(KindOutcome::OutOfTime);
        }
        let stall = services.stall(keys.org).await?;
        if stall.as_ref().is_some_and(|stall| stall.holds_user(keys.user, config.version))
            && !inputs.overrides_stall()
        {
            return Ok(KindOutcome::Held { learned: cursor.learned });
        }
        if !cursor.parked
            && cursor.attempts > 0
            && cursor.last_error.is_none()
            && FailureCode::Interrupted.parks(cursor.attempts)
        {
            let failure = WindowFailure::window(FailureCode::Interrupted, "the worker died repeatedly");
            return give_up_or_retry(services, keys, kind, cursor, &config, failure).await;
        }
        // The attempt is counted before it begins: a crash counts too. The error is cleared, so that what is
        // found later without one was interrupted.
        cursor.attempts += 1;
        cursor.last_error = None;
        cursor.parked = false;
        if !services.store.save_cursor(keys, kind, &mut cursor).await? {
            return Ok(KindOutcome::Superseded);
        }
        // The worker's own time must suffice for the commit too.
        let deadline_ms = services.clock.now_ms().min(stop_at_ms) + EXTRACTION_MS_MAX;
        match learn_window(services, keys, lease, kind, &cursor, &inputs, &config, deadline_ms).await {
            Ok(learned) => {
                if learned == Learned::ByModels && stall.is_some_and(|stall| stall.stalled) {
                    end_stall(services, keys).await;
                }
            }
            Err(WindowFailure::Stale) => uncount_attempt(services, keys, kind, &mut cursor).await,
            Err(WindowFailure::Superseded) => return Ok(KindOutcome::Superseded),
            Err(WindowFailure::Store(error)) => {
                uncount_attempt(services, keys, kind, &mut cursor).await;
                return Err(error);
            }
            Err(failure @ WindowFailure::Window { .. }) => {
                return give_up_or_retry(services, keys, kind, cursor, &config, failure).await;
            }
        }
    }
}

/// The window itself was not at fault: rows changed meanwhile, or the store failed. If this write fails too, the
/// attempt counts as interrupted.
async fn uncount_attempt(services: &Services, keys: &UserKeys<'_>, kind: LearningKind, cursor: &mut Cursor) {
    cursor.attempts = cursor.attempts.saturating_sub(1);
    if let Err(error) = services.store.save_cursor(keys, kind, cursor).await {
        tracing::warn!(event = "attempt_not_uncounted", kind = kind.as_str(), %error);
    }
}

fn settled(cursor: &Cursor, due_at: Option<EpochSeconds>) -> KindOutcome {
    KindOutcome::Settled { learned: cursor.learned, due_at }
}

/// Records a failure: the window is tried again later, or parked with its reason.
async fn give_up_or_retry(
    services: &Services,
    keys: &UserKeys<'_>,
    kind: LearningKind,
    mut cursor: Cursor,
    config: &OrgConfig,
    failure: WindowFailure,
) -> Result<KindOutcome, StoreError> {
    let WindowFailure::Window { code, detail } = failure else { return Ok(KindOutcome::Superseded) };
    cursor.last_error = Some(code.as_str().to_owned());
    cursor.parked = code.parks(cursor.attempts);
    cursor.parked_under = config.version;
    let now = services.clock.now();
    let retry_at = if cursor.parked { now + PARKED_SECONDS } else { retry_at(now, cursor.attempts) };
    cursor.retry_at = Some(retry_at);
    tracing::warn!(
        event = "extraction_turn_failed",
        kind = kind.as_str(),
        code = code.as_str(),
        attempts = cursor.attempts,
        parked = cursor.parked,
        detail,
    );
    if !services.store.save_cursor(keys, kind, &mut cursor).await? {
        return Ok(KindOutcome::Superseded);
    }
    Ok(settled(&cursor, Some(retry_at)))
}

/// Who saw to a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Learned {
    /// The gate alone.
    ByGate,
    /// All models that it takes, and they answered.
    ByModels,
}

/// Every model answered: what held learning up is over. Should this fail, the next window says so again.
async fn end_stall(services: &Services, keys: &UserKeys<'_>) {
    match services.store.end_stall(keys.org).await {
        Ok(_) => tracing::info!(event = "stall_ended", org = keys.org.as_str()),
        Err(error) => tracing::warn!(event = "stall_not_ended", org = keys.org.as_str(), %error),
    }
}

/// One window: model calls, then one commit.
#[expect(clippy::too_many_arguments, reason = "what a window depends on, each of another kind")]
async fn learn_window(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
    kind: LearningKind,
    cursor: &Cursor,
    inputs: &WindowInputs,
    config: &OrgConfig,
    deadline_ms: EpochMillis,
) -> Result<Learned, WindowFailure> {
    let mode = GenerationMode::Regular;
    let output = run_window(services, keys, kind, inputs, config, mode, deadline_ms).await?;
    let mut commit = commit_of(services.clock.now(), lease, kind, cursor, inputs, output);
    effects::add(services, keys, config, inputs.window.skip_aggregation, &mut commit);
    match services.store.commit_window(keys, &commit).await {
        Ok(()) => {}
        Err(CommitError::Superseded) => return Err(WindowFailure::Superseded),
        Err(CommitError::Stale) => return Err(WindowFailure::Stale),
        Err(CommitError::TooLarge) => {
            return Err(WindowFailure::window(FailureCode::TooLarge, "too many rows in one window"));
        }
        // Trying the same again cannot help.
        Err(CommitError::Store(error @ StoreError::Refused { .. })) => {
            return Err(WindowFailure::window(FailureCode::TooLarge, error.to_string()));
        }
        Err(CommitError::Store(error)) => return Err(error.into()),
    }
    tracing::info!(
        event = "window_learned",
        kind = kind.as_str(),
        reason = commit.receipt.reason,
        new_interactions = commit.receipt.new_interactions,
        added = commit.receipt.added,
        retired = commit.receipt.retired,
    );
    effects::carry_out(services, &commit).await;
    Ok(if commit.receipt.gate { Learned::ByModels } else { Learned::ByGate })
}

fn commit_of(
    now: EpochSeconds,
    lease: &Lease,
    kind: LearningKind,
    cursor: &Cursor,
    inputs: &WindowInputs,
    output: WindowOutput,
) -> LearningCommit {
    let window = &inputs.window;
    let new_interactions = i64::try_from(window.new.len()).unwrap_or(i64::MAX);
    let added = output.profiles.insert.len() + output.playbooks.insert.len();
    let retired =
        output.profiles.replace.len() + output.profiles.delete.len() + output.playbooks.replace.len();
    let receipt = WindowReceipt {
        start: cursor.completed,
        end: to_i64(window.end_exclusive),
        new_interactions,
        gate: output.gate,
        added: u32::try_from(added).unwrap_or(u32::MAX),
        retired: u32::try_from(retired).unwrap_or(u32::MAX),
        reason: window.reason.as_str().to_owned(),
        model: output.model,
        at: now,
    };
    let next = Cursor {
        completed: to_i64(window.end_exclusive),
        learned: cursor.learned + new_interactions,
        started: true,
        version: cursor.version,
        ..Cursor::default()
    };
    LearningCommit {
        name: kind.into(),
        lease: lease.clone(),
        cursor: next,
        receipt,
        profiles: output.profiles,
        playbooks: output.playbooks,
        effects: Vec::new(),
    }
}
