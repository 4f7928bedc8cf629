//! One user's learning: take the lease, learn every window that is due, leave word when to look again.
//!
//! Crashing between any two lines loses nothing. The head stays due until [`store::Store::finish_head`] moves
//! it, which fails when something was published meanwhile; outputs are written only by a commit that checks the
//! lease's epoch, together with the cursor that says that they were.

mod effects;
pub(crate) mod failure;
pub(crate) mod inputs;
pub(crate) mod kind;
mod reflect;
mod tags;
mod turn_vectors;

use domain::ids::{OrgId, ProfileId, UserHash};
use domain::learning::LearningKind;
use domain::time::{EpochMillis, EpochSeconds};
use std::time::Duration;
use store::{FinishHead, Head, Lease, LeaseError, StoreError, UserKeys};
use wake::WakeReason;

pub use failure::{FailureCode, WindowFailure};

use crate::services::Services;
pub(crate) use kind::EXTRACTION_MS_MAX;
use kind::{KindOutcome, learn_kind};
use reflect::{Reflected, reflect};
use tags::{Tagged, tag_rows};

/// How often a held lease is renewed.
const HEARTBEAT: Duration = Duration::from_secs(100);
/// A worker begins no further window with less time than this left, in milliseconds: one extraction and its
/// commit must fit.
pub const WINDOW_RESERVE_MS: i64 = 330_000;

/// Times that a worker looks again since something was published meanwhile, before it makes way for others.
const ROUNDS_MAX: usize = 20;

/// How a worker came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    /// Nothing is due any more; what comes next is in the index.
    Done,
    /// Another worker is at it, and will see whatever this one was woken for.
    Busy,
    /// The user is being erased.
    Barred,
    /// Another worker took over on the way; it will see the rest.
    Superseded,
    /// Time was nearly up; a wake was sent for the rest.
    Continued,
}

/// Why a worker must be woken again: the infrastructure failed. What a model does wrong never comes to this.
#[derive(Debug, thiserror::Error)]
#[error("learning was interrupted: {0}")]
pub struct Interrupted(#[from] pub StoreError);

/// Learns all that is due for a user, until `deadline_ms` comes near.
///
/// # Errors
/// [`Interrupted`] when the store failed; the user stays due.
pub async fn learn_user(
    services: &Services,
    org: &OrgId,
    user: &UserHash,
    deadline_ms: EpochMillis,
) -> Result<Learned, Interrupted> {
    let keys = UserKeys { org, user };
    let owner = services.ids.uuid();
    let lease = match services.store.take_lease(&keys, &owner).await {
        Ok(lease) => lease,
        Err(LeaseError::Busy) => return Ok(Learned::Busy),
        Err(LeaseError::Barred) => return Ok(Learned::Barred),
        Err(LeaseError::Store(error)) => return Err(error.into()),
    };
    let work = learn_under_lease(services, &keys, &lease, deadline_ms);
    tokio::select! {
        outcome = work => {
            // Given back however it ended, so that the next worker need not wait for its end; if another one has
            // it, it stays there.
            if let Err(error) = services.store.release_lease(&keys, &lease).await {
                tracing::warn!(event = "lease_not_released", %error);
            }
            let outcome = outcome?;
            if outcome == Learned::Continued {
                continue_later(services, &keys, &lease).await;
            }
            Ok(outcome)
        }
        () = keep_lease(services, &keys, lease.clone()) => Ok(Learned::Superseded),
    }
}

/// A new id; a UUID is never blank.
fn new_profile_id(services: &Services) -> ProfileId {
    ProfileId::new(&services.ids.uuid()).unwrap_or_else(|_| unreachable!("a UUID is not blank"))
}

/// Renews the lease until it is lost.
pub(crate) async fn keep_lease(services: &Services, keys: &UserKeys<'_>, mut lease: Lease) {
    loop {
        services.clock.sleep(HEARTBEAT).await;
        match services.store.renew_lease(keys, &mut lease).await {
            Ok(()) => {}
            Err(LeaseError::Store(error)) => {
                // A failed heartbeat is not a lost lease: it lasts until it ends, and commits check the epoch.
                tracing::warn!(event = "extraction_heartbeat_failed", %error);
            }
            Err(LeaseError::Busy | LeaseError::Barred) => return,
        }
    }
}

async fn continue_later(services: &Services, keys: &UserKeys<'_>, lease: &Lease) {
    let sent = services.wakes.learn(keys.org, keys.user, WakeReason::Continued, lease.epoch).await;
    if let Err(error) = sent {
        // The head is still due: the sweep will find it.
        tracing::warn!(event = "wake_failed", reason = "continued", %error);
    }
}

async fn learn_under_lease(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
    deadline_ms: EpochMillis,
) -> Result<Learned, StoreError> {
    let stop_at_ms = deadline_ms - WINDOW_RESERVE_MS;
    for _ in 0..ROUNDS_MAX {
        let Some(head) = services.store.head(keys).await? else { return Ok(Learned::Done) };
        if head.barred {
            return Ok(Learned::Barred);
        }
        // Before the windows, so that they are compared with memories as they are after it.
        let Reflected::Settled { due_at: reflection_due_at } =
            reflect(services, keys, lease, &head, stop_at_ms).await?
        else {
            return Ok(Learned::Superseded);
        };
        // Each kind has its own cursor and transaction: the failure of one does not delay the other.
        let (profile, playbook) = tokio::join!(
            learn_kind(services, keys, lease, &head, LearningKind::Profile, stop_at_ms),
            learn_kind(services, keys, lease, &head, LearningKind::Playbook, stop_at_ms),
        );
        let (profile, playbook) = (profile?, playbook?);
        if profile == KindOutcome::Superseded || playbook == KindOutcome::Superseded {
            return Ok(Learned::Superseded);
        }
        let mut is_unfinished = [profile, playbook].contains(&KindOutcome::OutOfTime);
        let tagged = if is_unfinished {
            Tagged::More
        } else {
            tag_rows(services, keys, lease, &head, stop_at_ms).await?
        };
        let tags_due_at = match tagged {
            Tagged::Settled { due_at } => due_at,
            Tagged::More => {
                is_unfinished = true;
                Some(services.clock.now())
            }
            Tagged::Superseded => return Ok(Learned::Superseded),
        };
        let otherwise_due_at = [reflection_due_at, tags_due_at].into_iter().flatten().min();
        if finish(services, keys, &head, profile, playbook, otherwise_due_at).await? {
            turn_vectors::embed_turns(services, keys, lease, &head, stop_at_ms).await;
            return Ok(if is_unfinished { Learned::Continued } else { Learned::Done });
        }
        // Something was published since the head was read: look again.
    }
    // It publishes faster than we can look: others must have their turn, and the head is still due.
    Ok(Learned::Continued)
}

/// Moves or clears the head's due time, if nothing was published since.
async fn finish(
    services: &Services,
    keys: &UserKeys<'_>,
    head: &Head,
    profile: KindOutcome,
    playbook: KindOutcome,
    otherwise_due_at: Option<EpochSeconds>,
) -> Result<bool, StoreError> {
    let now = services.clock.now();
    let due = |outcome: KindOutcome| match outcome {
        KindOutcome::OutOfTime | KindOutcome::Superseded => Some(now),
        // It stays as overdue as it is: the sweep finds it a place to wait.
        KindOutcome::Held { .. } => Some(head.due_at.map_or(now, |at| at.min(now))),
        KindOutcome::Settled { due_at, .. } => due_at,
    };
    let learned = |outcome: KindOutcome, kind| match outcome {
        KindOutcome::Settled { learned, .. } | KindOutcome::Held { learned } => learned,
        KindOutcome::OutOfTime | KindOutcome::Superseded => head.learned(kind),
    };
    let due_at: Option<EpochSeconds> =
        [due(profile), due(playbook), otherwise_due_at].into_iter().flatten().min();
    let finish = FinishHead {
        seen_count: head.count,
        seen_revision: head.due_revision,
        learned_profile: learned(profile, LearningKind::Profile),
        learned_playbook: learned(playbook, LearningKind::Playbook),
        due_at,
    };
    services.store.finish_head(keys, finish).await
}
