//! One aggregation: take the lease, run until nothing is due, leave word when to look again.
//!
//! Crashing between any two lines loses nothing. The state stays due until it is moved on the sequence number that
//! was seen; rows count only once the run that wrote them is named active, under the lease's epoch.

use std::time::Duration;

use domain::ids::OrgId;
use domain::time::EpochMillis;
use store::{AgentKeys, LeaseError};
use wake::WakeReason;

use super::round::{Round, RoundEnd, RoundError};
use super::triggers::wake;
use crate::services::Services;
use crate::worker::Interrupted;

/// How often a held lease is renewed.
const HEARTBEAT: Duration = Duration::from_secs(100);
/// A worker begins no further model call with less time than this left, in milliseconds: the call and the commit
/// must fit.
pub const AGGREGATION_RESERVE_MS: i64 = 330_000;
/// Runs of one worker, before it makes way for others.
const ROUNDS_MAX: usize = 10;

/// How a worker came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregated {
    /// Nothing is due any more; what comes next is in the index.
    Done,
    /// Another worker is at it, and will see whatever this one was woken for.
    Busy,
    /// Another worker took over on the way.
    Superseded,
    /// Time was nearly up; a wake was sent for the rest.
    Continued,
}

/// Aggregates what is due of one agent version, until `deadline_ms` comes near.
///
/// # Errors
/// [`Interrupted`] when the store failed; the aggregation stays due.
pub async fn aggregate(
    services: &Services,
    org: &OrgId,
    agent_version: &str,
    deadline_ms: EpochMillis,
) -> Result<Aggregated, Interrupted> {
    let keys = AgentKeys { org, agent_version };
    let owner = services.ids.uuid();
    match services.store.take_aggregation(&keys, &owner).await {
        Ok(_) => {}
        Err(LeaseError::Store(error)) => return Err(error.into()),
        Err(LeaseError::Busy | LeaseError::Barred) => return Ok(Aggregated::Busy),
    }
    let work = rounds(services, &keys, &owner, deadline_ms - AGGREGATION_RESERVE_MS);
    tokio::select! {
        outcome = work => {
            if let Err(error) = services.store.release_aggregation(&keys, &owner).await {
                tracing::warn!(event = "lease_not_released", %error);
            }
            let outcome = outcome?;
            if outcome == Aggregated::Continued {
                // It is still due: the sweep finds it if this does not arrive.
                wake(services, org, agent_version, WakeReason::Continued, services.clock.now_ms()).await;
            }
            Ok(outcome)
        }
        () = keep_lease(services, &keys, &owner) => Ok(Aggregated::Superseded),
    }
}

/// Renews the lease until it is lost.
async fn keep_lease(services: &Services, keys: &AgentKeys<'_>, owner: &str) {
    loop {
        services.clock.sleep(HEARTBEAT).await;
        match services.store.renew_aggregation(keys, owner).await {
            Ok(()) => {}
            Err(LeaseError::Store(error)) => {
                // A failed heartbeat is not a lost lease: it lasts until it ends, and commits check the epoch.
                tracing::warn!(event = "aggregation_heartbeat_failed", %error);
            }
            Err(LeaseError::Busy | LeaseError::Barred) => return,
        }
    }
}

async fn rounds(
    services: &Services,
    keys: &AgentKeys<'_>,
    owner: &str,
    stop_at_ms: EpochMillis,
) -> Result<Aggregated, Interrupted> {
    for _ in 0..ROUNDS_MAX {
        // Each run has a number of its own: the epoch.
        let lease = match services.store.take_aggregation(keys, owner).await {
            Ok(lease) => lease,
            Err(LeaseError::Store(error)) => return Err(error.into()),
            Err(LeaseError::Busy | LeaseError::Barred) => return Ok(Aggregated::Superseded),
        };
        match (Round { services, keys, lease: &lease, stop_at_ms }).run().await {
            Ok(RoundEnd::Settled) => return Ok(Aggregated::Done),
            Ok(RoundEnd::OutOfTime) => return Ok(Aggregated::Continued),
            // Something was saved, or looked at by people, since it was read: look again.
            Ok(RoundEnd::Changed) | Err(RoundError::Stale) => {}
            Err(RoundError::Superseded) => return Ok(Aggregated::Superseded),
            Err(RoundError::Store(error) | RoundError::AfterCommit(error)) => return Err(error.into()),
        }
    }
    Ok(Aggregated::Continued)
}
