//! Batches: reruns and manual generation, user after user.
//!
//! The operation's item says how far the batch is, and a row of each user whether its turn is still to come. A message
//! only wakes: whoever is woken reads both, does what is left for as long as there is time, and leaves word for the
//! rest. Each turn ends in one transaction that moves the user's row and counts it, so that a turn is taken once,
//! however often a worker dies, doubles or comes late.

mod bookmark;
mod inputs;
mod listing;
mod start;
mod turn;

use std::time::Duration;

use domain::ids::OrgId;
use domain::operations::{GenerationPlan, OperationService, OperationStatus};
use domain::time::{EpochMillis, EpochSeconds};
use store::{Operation, OperationEnd, OperationUser, StoreError};

pub use start::{NOTHING_FOUND, Started, start_generation};
pub use turn::TURN_ATTEMPTS_MAX;

use crate::services::{OrgServicesError, Services};
use crate::worker::WINDOW_RESERVE_MS;
use turn::{Turn, take_turn};

/// Users that are read at a time.
const PAGE_USERS: usize = 25;
/// Time between looks at users who were being learned from, and how often a worker looks before it makes way.
const BUSY_WAIT: Duration = Duration::from_secs(2);
const BUSY_LOOKS_MAX: usize = 15;
/// When an operation is taken up again all of whose remaining users were being learned from, in seconds.
const DEFER_SECONDS: i64 = 30;

/// How a worker left an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operated {
    /// This run is over.
    Over,
    /// Time was nearly up; whoever called should send a wake with this in its deduplication id.
    Continued(String),
    /// The rest must wait for others; what comes next is in the index.
    Deferred,
    /// The operation is none of learning.
    Foreign,
}

/// Why a worker must be woken again: the infrastructure failed. What a model does wrong never comes to this.
#[derive(Debug, thiserror::Error)]
#[error("the operation was interrupted: {0}")]
pub struct OperationInterrupted(#[from] pub StoreError);

/// One worker at an operation.
pub(crate) struct Batch<'a> {
    pub(crate) services: &'a Services,
    pub(crate) org: &'a OrgId,
    pub(crate) service: OperationService,
    pub(crate) operation_id: &'a str,
    pub(crate) plan: GenerationPlan,
    /// By when the worker itself must be done.
    pub(crate) deadline_ms: EpochMillis,
}

/// Goes on with an operation until it is over or `deadline_ms` comes near.
///
/// # Errors
/// [`OperationInterrupted`] when the store failed; the operation stays due.
pub async fn operate(
    services: &Services,
    org: &OrgId,
    service: OperationService,
    operation_id: &str,
    deadline_ms: EpochMillis,
) -> Result<Operated, OperationInterrupted> {
    let Some(operation) = services.store.beat_operation(org, service, operation_id).await? else {
        return Ok(Operated::Over);
    };
    let Ok(plan) = serde_json::from_value::<GenerationPlan>(operation.plan.clone()) else {
        return Ok(Operated::Foreign);
    };
    let batch = Batch { services, org, service, operation_id, plan, deadline_ms };
    Ok(batch.go_on(operation).await?)
}

/// What one pass over the waiting users came to.
enum Pass {
    /// There were none.
    Empty,
    /// All had their turn, or are having it; some may have to wait.
    Through { busy: bool },
    /// The operation must be looked at again.
    Stopped,
    /// The organisation's learning stands still until, perhaps, then.
    Held { until: EpochSeconds },
    /// Time is nearly up.
    OutOfTime,
}

impl Batch<'_> {
    async fn go_on(&self, mut operation: Operation) -> Result<Operated, StoreError> {
        let mut looks = 0;
        loop {
            if operation.cancel_requested {
                return self.end(OperationStatus::Cancelled, None).await;
            }
            if self.is_out_of_time() {
                return Ok(self.continued(&operation));
            }
            if operation.is_listed() {
                match self.pass(&operation).await? {
                    Pass::Empty => {
                        if let Some(over) = self.finish().await? {
                            return Ok(over);
                        }
                    }
                    Pass::Through { busy: true } if looks == BUSY_LOOKS_MAX => {
                        return self.defer(self.services.clock.now() + DEFER_SECONDS).await;
                    }
                    Pass::Held { until } => return self.defer(until).await,
                    Pass::Through { busy: true } => {
                        looks += 1;
                        self.services.clock.sleep(BUSY_WAIT).await;
                    }
                    Pass::Through { busy: false } | Pass::Stopped => {}
                    Pass::OutOfTime => return Ok(self.continued(&operation)),
                }
            } else if let Err(error) = self.list_some(&operation).await {
                match error {
                    OrgServicesError::Store(error) => return Err(error),
                    OrgServicesError::Configuration(detail) => {
                        tracing::warn!(event = "operation_failed", detail);
                        let error = "The configuration cannot be followed".to_owned();
                        return self.end(OperationStatus::Failed, Some(error)).await;
                    }
                }
            }
            let beat = self.services.store.beat_operation(self.org, self.service, self.operation_id);
            let Some(next) = beat.await? else { return Ok(Operated::Over) };
            operation = next;
        }
    }

    /// No further turn, or piece of the list, is begun with less time left than one may take.
    fn is_out_of_time(&self) -> bool {
        self.services.clock.now_ms() >= self.deadline_ms - WINDOW_RESERVE_MS
    }

    /// Leaves the rest for later.
    async fn defer(&self, at: EpochSeconds) -> Result<Operated, StoreError> {
        self.services.store.defer_operation(self.org, self.service, self.operation_id, at).await?;
        Ok(Operated::Deferred)
    }

    fn continued(&self, operation: &Operation) -> Operated {
        Operated::Continued(format!("{}:{}", operation.step, self.services.clock.now_ms()))
    }

    /// Gives each waiting user a turn.
    async fn pass(&self, operation: &Operation) -> Result<Pass, StoreError> {
        let (mut after, mut found, mut busy) = (None, false, false);
        loop {
            let store = &self.services.store;
            let page = store
                .waiting_operation_users(self.org, self.operation_id, after.as_ref(), PAGE_USERS)
                .await?;
            for waiting in &page.users {
                found = true;
                if self.is_out_of_time() {
                    return Ok(Pass::OutOfTime);
                }
                match self.turn(operation, waiting).await? {
                    Turn::Over => {}
                    Turn::Busy => busy = true,
                    Turn::Stopped => return Ok(Pass::Stopped),
                    Turn::Held { until } => return Ok(Pass::Held { until }),
                }
            }
            after = page.users.last().map(|waiting| waiting.user.clone());
            if !page.more || after.is_none() {
                return Ok(if found { Pass::Through { busy } } else { Pass::Empty });
            }
        }
    }

    async fn turn(&self, operation: &Operation, waiting: &OperationUser) -> Result<Turn, StoreError> {
        take_turn(self, operation, waiting).await
    }

    /// Everybody had a turn; `None` when that is not so after all.
    async fn finish(&self) -> Result<Option<Operated>, StoreError> {
        let beat = self.services.store.beat_operation(self.org, self.service, self.operation_id);
        let Some(operation) = beat.await? else { return Ok(Some(Operated::Over)) };
        if operation.processed + operation.failed < operation.total {
            // Another worker is about to commit, or rows went missing: nothing waits, so nothing is left to do.
            tracing::warn!(event = "operation_incomplete", total = operation.total);
        }
        let (status, error) = if operation.total == 0 {
            (OperationStatus::Failed, Some(NOTHING_FOUND.to_owned()))
        } else if operation.processed == 0 {
            (OperationStatus::Failed, Some(format!("All {} user(s) failed", operation.failed)))
        } else {
            (OperationStatus::Completed, None)
        };
        self.end(status, error).await.map(Some)
    }

    async fn end(&self, status: OperationStatus, error: Option<String>) -> Result<Operated, StoreError> {
        let end = OperationEnd { status, error };
        let ended =
            self.services.store.end_operation(self.org, self.service, self.operation_id, &end).await?;
        if let Some(ended) = ended {
            tracing::info!(
                event = "operation_ended",
                org = self.org.as_str(),
                service = self.service.as_str(),
                mode = self.plan.mode.as_str(),
                status = ended.status.as_str(),
                total = ended.total,
                processed = ended.processed,
                failed = ended.failed,
                generated = ended.generated,
            );
        }
        Ok(Operated::Over)
    }
}
