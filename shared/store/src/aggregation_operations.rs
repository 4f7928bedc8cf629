//! Aggregations that callers asked for: their records, found by their id and by the caller's request id.

use domain::ids::OrgId;
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::access::Range;
use crate::aggregations::due_now;
use crate::attributes::{DOCUMENT, Item, ItemBuilder, ItemReader, REQUEST, VERSION};
use crate::error::StoreError;
use crate::keys::{self, AgentKeys, QUEUED_OPERATION_PREFIX};
use crate::learning::unchanged;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::{encode, undamaged};
use crate::transaction::{Expression, Transaction, TransactionError};

/// Operations that one run serves; others wait for the next.
pub const OPERATIONS_PER_RUN_MAX: usize = 20;

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregationOperationStatus {
    /// Nobody has begun.
    Queued,
    /// A worker is at it.
    Running,
    /// It failed and is tried again.
    Retrying,
    /// Done.
    Succeeded,
    /// Given up.
    Failed,
}

impl AggregationOperationStatus {
    /// Whether nothing comes after it.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregationResult {
    /// Clusters among the user playbooks.
    pub clusters_found: usize,
    /// User playbooks that were looked at.
    pub user_playbooks_processed: usize,
    /// Agent playbooks that were made.
    pub playbooks_generated: usize,
    /// Why nothing was done, if so.
    pub skipped: Option<String>,
}

/// An aggregation that a caller asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregationOperation {
    /// Ours.
    pub operation_id: String,
    /// The caller's.
    pub request_id: String,
    /// Of which agent version.
    pub agent_version: String,
    /// How far.
    pub status: AggregationOperationStatus,
    /// When it was asked for.
    pub created_at: EpochSeconds,
    /// When this record was last changed.
    pub updated_at: EpochSeconds,
    /// When a worker first began.
    pub started_at: Option<EpochSeconds>,
    /// When it came to its end.
    pub completed_at: Option<EpochSeconds>,
    /// Times that a worker began.
    pub attempts: u32,
    /// When it may be tried, or tried again.
    pub next_attempt_at: Option<EpochSeconds>,
    /// Why it failed.
    pub error: Option<String>,
    /// What it did.
    pub result: Option<AggregationResult>,
    /// Whether a run for it was committed, with failures: only these are left to do.
    #[serde(default)]
    pub partly_done: bool,
    /// Raised by every write; 0 before the first.
    #[serde(skip)]
    pub version: i64,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It is accepted, now or before.
    Accepted(AggregationOperation),
    /// The request id was used for something else, with this operation.
    Conflict(String),
}

impl AggregationOperation {
    fn to_item(&self, org: &OrgId) -> Result<Item, StoreError> {
        let item = ItemBuilder::new(&keys::aggregation_operation(org, &self.operation_id))
            .text(DOCUMENT, &encode(self)?)
            .number(VERSION, self.version + 1);
        Ok(item.build())
    }

    fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let mut operation: Self = reader.json(DOCUMENT)?;
        operation.version = reader.number(VERSION)?;
        Ok(operation)
    }

    /// Makes its change part of a transaction; one that came to its end leaves the queue.
    pub(crate) fn add_to(
        &self,
        transaction: &mut Transaction,
        store: &Store,
        keys: &AgentKeys<'_>,
    ) -> Result<(), StoreError> {
        transaction.put_if(store, self.to_item(keys.org)?, unchanged(self.version));
        if self.status.is_final() {
            transaction.delete(store, &keys.queued_operation(&self.operation_id), Expression::default());
        }
        Ok(())
    }
}

impl Store {
    /// Accepts an operation and makes the aggregation due. A repeated request id gets the first operation.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a record is damaged.
    pub async fn submit_aggregation(
        &self,
        org: &OrgId,
        operation: &AggregationOperation,
    ) -> Result<Submitted, StoreError> {
        const OPERATION: &str = "submit aggregation";
        let keys = AgentKeys { org, agent_version: &operation.agent_version };
        let request_key = keys::aggregation_request(org, &operation.request_id);
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            if let Some(known) = self.get(&request_key).await? {
                let operation_id = ItemReader(&known).text(REQUEST)?.to_owned();
                let known = self.aggregation_operation(org, &operation_id).await?;
                return Ok(match known {
                    Some(known) if known.agent_version == operation.agent_version => {
                        Submitted::Accepted(known)
                    }
                    _ => Submitted::Conflict(operation_id),
                });
            }
            let mut transaction = Transaction::default();
            let request = ItemBuilder::new(&request_key).text(REQUEST, &operation.operation_id);
            transaction.create(self, request.build());
            transaction.create(self, operation.to_item(org)?);
            let queued = ItemBuilder::new(&keys.queued_operation(&operation.operation_id))
                .text(REQUEST, &operation.operation_id);
            transaction.create(self, queued.build());
            transaction.update(self, &keys.aggregation(), due_now(&keys, self.clock.now()));
            match transaction.commit(self).await {
                Ok(()) => {
                    let version = operation.version + 1;
                    return Ok(Submitted::Accepted(AggregationOperation { version, ..operation.clone() }));
                }
                Err(error @ TransactionError::Cancelled(_)) if error.is_refusal() => {
                    return Err(error.into_store_error(OPERATION));
                }
                // Another submission came first, or was at work: look again.
                Err(TransactionError::Cancelled(_)) => {}
                Err(TransactionError::Store(error)) => return Err(error),
            }
        }
        Err(StoreError::Contended { operation: OPERATION })
    }

    /// An operation by its id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the record is damaged.
    pub async fn aggregation_operation(
        &self,
        org: &OrgId,
        operation_id: &str,
    ) -> Result<Option<AggregationOperation>, StoreError> {
        let item = self.get(&keys::aggregation_operation(org, operation_id)).await?;
        item.as_ref().map(AggregationOperation::from_item).transpose()
    }

    /// The operations that wait for an aggregation, the oldest first. Damaged records are logged and left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn queued_aggregations(
        &self,
        keys: &AgentKeys<'_>,
    ) -> Result<Vec<AggregationOperation>, StoreError> {
        let partition = keys.partition();
        let queued = self.query_all(Range::prefix(&partition, QUEUED_OPERATION_PREFIX)).await?;
        let operation_key =
            |item: &Item| Ok(keys::aggregation_operation(keys.org, ItemReader(item).text(REQUEST)?));
        let operation_keys = undamaged(&queued, operation_key)?;
        let items = self.get_many(&operation_keys).await?;
        let mut operations = undamaged(&items, AggregationOperation::from_item)?;
        operations.sort_by(|a, b| (a.created_at, &a.operation_id).cmp(&(b.created_at, &b.operation_id)));
        Ok(operations)
    }
}
