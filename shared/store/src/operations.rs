//! Batch operations: one item per organisation and service, which whoever starts an operation claims, its worker
//! moves on and a caller may ask to stop.
//!
//! No write replaces the item as a whole once it is claimed: each changes what it is about, on the condition that
//! this run is still in progress. So a wish to stop cannot be overwritten, and a worker of an earlier run that was
//! given up for dead changes nothing.

use domain::ids::{OrgId, UserHash};
use domain::operations::{OperationService, OperationStatus};
use domain::time::EpochSeconds;
use serde_json::Value;

use crate::Store;
use crate::attributes::{
    AT, CANCEL, COMPLETED_AT, CURRENT, DOCUMENT, DUE_AT, DUE_PK, ERROR, FAILED, GENERATED, HEARTBEAT,
    INTERACTIONS, Item, ItemBuilder, ItemReader, LIST_END, LISTED, OPERATION, OPERATION_KIND, PROCESSED,
    STATUS, STEP, TOTAL, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::keys;
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction, TransactionError};
use crate::version_operations;

/// An operation whose worker was not heard of for this long, in seconds, is over.
pub const OPERATION_STALE_SECONDS: i64 = 600;
/// An operation whose worker was not heard of for this long, in seconds, is woken again.
pub const OPERATION_REVIVE_SECONDS: i64 = 120;

/// An operation that is to begin.
#[derive(Debug, Clone)]
pub struct NewOperation {
    /// Which of the organisation's operations.
    pub service: OperationService,
    /// This run of it; unique.
    pub operation_id: String,
    /// What is done, in a word that its worker knows.
    pub kind: String,
    /// What is done in detail: for its worker.
    pub plan: Value,
    /// What the caller asked: for other callers.
    pub request_params: Value,
    /// Up to which user number the list of users is to be made.
    pub list_end: i64,
}

/// An operation as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Which of the organisation's operations.
    pub service: OperationService,
    /// This run of it.
    pub operation_id: String,
    /// What is done.
    pub kind: String,
    /// What is done in detail.
    pub plan: Value,
    /// What the caller asked.
    pub request_params: Value,
    /// Where it stands.
    pub status: OperationStatus,
    /// When it was claimed.
    pub started_at: EpochSeconds,
    /// When its worker was last heard of.
    pub heartbeat_at: EpochSeconds,
    /// When it ended.
    pub completed_at: Option<EpochSeconds>,
    /// Raised by every commit.
    pub step: i64,
    /// Users listed so far.
    pub total: i64,
    /// Users whose turn is over.
    pub processed: i64,
    /// Users whose turn was in vain.
    pub failed: i64,
    /// The user at hand.
    pub current_user: Option<UserHash>,
    /// Whether a caller wants it stopped.
    pub cancel_requested: bool,
    /// The next user number to be listed.
    pub listed: i64,
    /// The list is complete when that is reached.
    pub list_end: i64,
    /// Interactions that were read.
    pub interactions: i64,
    /// Rows that came to be.
    pub generated: i64,
    /// Why it failed.
    pub error_message: Option<String>,
}

impl Operation {
    pub(crate) fn from_item(item: &Item, service: OperationService) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let [plan, request_params]: [Value; 2] = reader.json(DOCUMENT)?;
        let status = OperationStatus::parse(reader.text(STATUS)?).ok_or_else(|| reader.corrupt(STATUS))?;
        Ok(Self {
            service,
            operation_id: reader.text(OPERATION)?.to_owned(),
            kind: reader.text(OPERATION_KIND)?.to_owned(),
            plan,
            request_params,
            status,
            started_at: reader.number(AT)?,
            heartbeat_at: reader.number(HEARTBEAT)?,
            completed_at: reader.number_opt(COMPLETED_AT),
            step: reader.count(STEP),
            total: reader.count(TOTAL),
            processed: reader.count(PROCESSED),
            failed: reader.count(FAILED),
            current_user: reader.text_opt(CURRENT).and_then(UserHash::parse),
            cancel_requested: reader.mark(CANCEL),
            listed: reader.count(LISTED),
            list_end: reader.count(LIST_END),
            interactions: reader.count(INTERACTIONS),
            generated: reader.count(GENERATED),
            error_message: reader.text_opt(ERROR).map(str::to_owned),
        })
    }

    /// Whether its worker was not heard of for too long.
    #[must_use]
    pub fn is_stale(&self, now: EpochSeconds) -> bool {
        self.status == OperationStatus::InProgress && now - self.heartbeat_at >= OPERATION_STALE_SECONDS
    }

    /// Whether all its users are listed.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.listed >= self.list_end
    }
}

/// What came of the wish to begin an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// It is in progress now.
    Claimed(Box<Operation>),
    /// Another one of its service is in progress, or a change of versions of what it makes.
    Busy,
}

/// How an operation ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationEnd {
    /// Where it stands then.
    pub status: OperationStatus,
    /// Why it failed.
    pub error: Option<String>,
}

impl Store {
    /// Begins an operation, unless one of its service is in progress, or a change of versions of the same rows. One
    /// whose worker was given up is closed first.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn claim_operation(&self, org: &OrgId, new: &NewOperation) -> Result<Claim, StoreError> {
        for attempt in 1..=ATTEMPTS_MAX {
            let current = self.operation(org, new.service).await?;
            if let Some(current) = current
                && current.status == OperationStatus::InProgress
            {
                // It may be ours already, when the answer to an earlier try was lost.
                return Ok(if current.operation_id == new.operation_id {
                    Claim::Claimed(Box::new(current))
                } else {
                    Claim::Busy
                });
            }
            let item = self.operation_item(org, new)?;
            let mut transaction = Transaction::default();
            let free = Expression::default()
                .condition(format!("attribute_not_exists({STATUS}) OR {STATUS} <> :running"))
                .value(":running", text(OperationStatus::InProgress.as_str()));
            transaction.put_if(self, item.clone(), free);
            let versions = transaction.check(
                self,
                &keys::version_operation(org, new.service.kind()),
                version_operations::is_over(),
            );
            match transaction.commit(self).await {
                Ok(()) => return Ok(Claim::Claimed(Box::new(Operation::from_item(&item, new.service)?))),
                Err(error) if error.condition_failed(versions) => return Ok(Claim::Busy),
                Err(TransactionError::Cancelled(_)) => self.retries.wait(attempt).await,
                Err(TransactionError::Store(error)) => return Err(error),
            }
        }
        Err(StoreError::Contended { operation: "claim operation" })
    }

    fn operation_item(&self, org: &OrgId, new: &NewOperation) -> Result<Item, StoreError> {
        let now = self.clock.now();
        let document = crate::rows::encode(&[&new.plan, &new.request_params])?;
        Ok(ItemBuilder::new(&keys::operation(org, new.service))
            .text(STATUS, OperationStatus::InProgress.as_str())
            .text(OPERATION, &new.operation_id)
            .text(OPERATION_KIND, &new.kind)
            .text(DOCUMENT, &document)
            .number(AT, now)
            .number(HEARTBEAT, now)
            .number(LISTED, 0)
            .number(LIST_END, new.list_end)
            .text(DUE_PK, &due::partition_of(&new.operation_id))
            .number(DUE_AT, now)
            .build())
    }

    /// The last operation of a service. One whose worker was given up is closed first.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn operation(
        &self,
        org: &OrgId,
        service: OperationService,
    ) -> Result<Option<Operation>, StoreError> {
        let key = keys::operation(org, service);
        let Some(item) = self.get(&key).await? else { return Ok(None) };
        let operation = Operation::from_item(&item, service)?;
        let now = self.clock.now();
        if !operation.is_stale(now) {
            return Ok(Some(operation));
        }
        let silence = now - operation.heartbeat_at;
        let error = format!(
            "Auto-recovered: operation was stuck IN_PROGRESS for {silence}s (threshold: {OPERATION_STALE_SECONDS}s)"
        );
        let end = OperationEnd { status: OperationStatus::Failed, error: Some(error) };
        // Only if it was not heard of meanwhile.
        let mut expression = end_expression(&operation.operation_id, &end, now);
        let condition = expression.condition.take().unwrap_or_default();
        let expression = expression
            .condition(format!("{condition} AND {HEARTBEAT} = :heard"))
            .value(":heard", number(operation.heartbeat_at));
        self.update_one(&key, expression).await?;
        // Whatever came of it.
        self.get(&key).await?.map(|item| Operation::from_item(&item, service)).transpose()
    }

    /// Says that the operation's worker is alive; the operation as it is then, or `None` when this run is over.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn beat_operation(
        &self,
        org: &OrgId,
        service: OperationService,
        operation_id: &str,
    ) -> Result<Option<Operation>, StoreError> {
        let now = self.clock.now();
        let expression = in_progress(Expression::new(beat("")), operation_id);
        let item = self.update_one(&keys::operation(org, service), beaten(expression, now)).await?;
        item.map(|item| Operation::from_item(&item, service)).transpose()
    }

    /// Puts an operation off: it is woken again at `at`.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn defer_operation(
        &self,
        org: &OrgId,
        service: OperationService,
        operation_id: &str,
        at: EpochSeconds,
    ) -> Result<(), StoreError> {
        let update = format!("SET {HEARTBEAT} = :now, {DUE_AT} = :next REMOVE {CURRENT}");
        let expression = in_progress(Expression::new(update), operation_id)
            .value(":now", number(self.clock.now()))
            .value(":next", number(at));
        self.update_one(&keys::operation(org, service), expression).await?;
        Ok(())
    }

    /// Asks an operation to stop: the run that was asked, or `None` when none is in progress.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn cancel_operation(
        &self,
        org: &OrgId,
        service: OperationService,
    ) -> Result<Option<String>, StoreError> {
        let Some(operation) = self.operation(org, service).await? else { return Ok(None) };
        if operation.status != OperationStatus::InProgress {
            return Ok(None);
        }
        let expression = Expression::new(format!("SET {CANCEL} = :yes"))
            .value(":yes", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
        let expression = in_progress(expression, &operation.operation_id);
        let asked = self.update_one(&keys::operation(org, service), expression).await?.is_some();
        Ok(asked.then_some(operation.operation_id))
    }

    /// Ends an operation. One that a caller asked to stop ends as cancelled and not otherwise. The operation as it
    /// is then; `None` when this run was over before.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn end_operation(
        &self,
        org: &OrgId,
        service: OperationService,
        operation_id: &str,
        end: &OperationEnd,
    ) -> Result<Option<Operation>, StoreError> {
        let key = keys::operation(org, service);
        let now = self.clock.now();
        let mut expression = end_expression(operation_id, end, now);
        let condition = expression.condition.take().unwrap_or_default();
        let condition = format!("{condition} AND attribute_not_exists({CANCEL})");
        let mut ended = self.update_one(&key, expression.condition(condition)).await?;
        if ended.is_none() {
            let end = OperationEnd { status: OperationStatus::Cancelled, error: None };
            ended = self.update_one(&key, end_expression(operation_id, &end, now)).await?;
        }
        ended.map(|item| Operation::from_item(&item, service)).transpose()
    }

    /// Moves an overdue operation to `next`, so that one that does not get on crowds out nobody; the run to be
    /// woken, or `None` when it is not overdue as seen any more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn push_due_operation(
        &self,
        org: &OrgId,
        service: OperationService,
        seen: EpochSeconds,
        next: EpochSeconds,
    ) -> Result<Option<String>, StoreError> {
        let expression = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen"))
            .value(":next", number(next))
            .value(":seen", number(seen));
        let item = self.update_one(&keys::operation(org, service), expression).await?;
        item.map(|item| ItemReader(&item).text(OPERATION).map(str::to_owned)).transpose()
    }
}

/// On the condition that this run is in progress.
pub(crate) fn in_progress(expression: Expression, operation_id: &str) -> Expression {
    expression
        .condition(format!("{OPERATION} = :run AND {STATUS} = :running"))
        .value(":run", text(operation_id))
        .value(":running", text(OperationStatus::InProgress.as_str()))
}

/// A `SET` of whatever a sign of life sets, and `more`.
pub(crate) fn beat(more: &str) -> String {
    format!("SET {HEARTBEAT} = :now, {DUE_AT} = :revive{more}")
}

/// The values of [`beat`].
pub(crate) fn beaten(expression: Expression, now: EpochSeconds) -> Expression {
    expression.value(":now", number(now)).value(":revive", number(now + OPERATION_REVIVE_SECONDS))
}

fn end_expression(operation_id: &str, end: &OperationEnd, now: EpochSeconds) -> Expression {
    let mut update = format!("SET {STATUS} = :ended, {COMPLETED_AT} = :now");
    if end.error.is_some() {
        update.push_str(&format!(", {ERROR} = :error"));
    }
    update.push_str(&format!(" REMOVE {DUE_AT}, {DUE_PK}, {CURRENT}"));
    let expression = in_progress(Expression::new(update), operation_id)
        .value(":ended", text(end.status.as_str()))
        .value(":now", number(now));
    match &end.error {
        Some(error) => expression.value(":error", text(error)),
        None => expression,
    }
}

/// The service behind the key of an operation.
pub(crate) fn parse_key(item: &Item) -> Option<(OrgId, OperationService)> {
    let reader = ItemReader(item);
    let service = reader.text_opt(crate::attributes::SK)?.strip_prefix(keys::OPERATION_PREFIX)?;
    let org = reader.text_opt(crate::attributes::PK)?.strip_prefix("O#")?;
    Some((org.parse().ok()?, OperationService::parse(service)?))
}
