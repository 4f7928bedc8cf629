//! Changes of versions of an organisation: one item of each kind says which is under way, how far it is, and what it
//! did so far.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ids::{OrgId, UserHash};
use domain::learning::LearningKind;
use domain::operations::{OperationService, OperationStatus};
use domain::time::{EpochMillis, EpochSeconds};
use domain::versions::{Direction, VersionChange};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::attributes::{
    ACTIVE, AGENT_VERSIONS, ARCHIVED, DELETED, DOCUMENT, DUE_AT, DUE_PK, Item, ItemBuilder, ItemReader,
    LAST_USER, OPERATION, PK, PROMOTED, SK, SKIPPED, STATUS, UNTIL, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::flips::{RowScope, is_in_scope};
use crate::keys::{self, UserKeys, VERSION_OPERATION_PREFIX, VersionMark, version_operation};
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, Transaction, TransactionError};

/// A runner that was not heard of for this time, in seconds, is dead: another one goes on.
pub const VERSION_RUNNER_SILENT_SECONDS: i64 = 60;

/// Whom a change concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionUsers {
    /// All users with rows of the kind, or of those only the ones with rows that it makes current.
    All,
    /// These, in the order of their hashes.
    These(Vec<UserHash>),
}

/// A change of versions of an organisation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionOperation {
    /// Which run.
    pub operation_id: String,
    /// Of profiles or of user playbooks.
    pub kind: LearningKind,
    /// What becomes of a row.
    pub change: VersionChange,
    /// Which rows.
    pub scope: RowScope,
    /// Whose rows.
    pub users: VersionUsers,
    /// Only users are touched that have rows in the scope that it makes current.
    pub only_affected_users: bool,
    /// When it began.
    pub started_at: EpochSeconds,
}

/// How many rows a change of versions concerned so far; each is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VersionCounts {
    /// Rows made current.
    pub promoted: i64,
    /// Rows archived.
    pub archived: i64,
    /// Archived rows deleted.
    pub deleted: i64,
    /// Users that were passed over since a row of theirs is damaged; one may be counted again after a crash.
    pub skipped_users: i64,
}

/// Where a change of versions is.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionProgress {
    /// What it is.
    pub operation: VersionOperation,
    /// Whether there is more to do.
    pub is_active: bool,
    /// The last user that it is done with; users go in the order of their hashes.
    pub last_user: Option<UserHash>,
    /// What it did.
    pub counts: VersionCounts,
    /// Until when its runner need not be heard of.
    pub runner_until_ms: EpochMillis,
    /// Agent versions whose current user playbooks it changed so far.
    pub agent_versions: Vec<String>,
}

impl VersionProgress {
    fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let user = |text| UserHash::parse(text).ok_or_else(|| reader.corrupt(LAST_USER));
        Ok(Self {
            operation: reader.json(DOCUMENT)?,
            is_active: reader.mark(ACTIVE),
            last_user: reader.text_opt(LAST_USER).map(user).transpose()?,
            counts: VersionCounts {
                promoted: reader.count(PROMOTED),
                archived: reader.count(ARCHIVED),
                deleted: reader.count(DELETED),
                skipped_users: reader.count(SKIPPED),
            },
            runner_until_ms: reader.count(UNTIL),
            agent_versions: reader.texts(AGENT_VERSIONS),
        })
    }
}

/// Whether a change of versions is under way, and which was the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VersionGate {
    pub(crate) is_active: bool,
    operation_id: String,
}

/// A change of versions whose runner was not heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueVersions {
    /// The tenant.
    pub org: OrgId,
    /// Of what.
    pub kind: LearningKind,
    /// Since when.
    pub due_at: EpochSeconds,
}

impl Store {
    /// Begins a change of versions: `false` when another one of the kind is under way, or a batch that makes rows of
    /// the kind.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn begin_version_operation(
        &self,
        org: &OrgId,
        operation: &VersionOperation,
    ) -> Result<bool, StoreError> {
        let service = OperationService::of(operation.kind);
        for attempt in 1..=ATTEMPTS_MAX {
            // Closes a batch whose worker was given up.
            self.operation(org, service).await?;
            let mut transaction = Transaction::default();
            let free = Expression::default()
                .condition(format!("attribute_not_exists({PK}) OR {ACTIVE} = :false OR {OPERATION} = :op"))
                .value(":false", AttributeValue::Bool(false))
                .value(":op", text(&operation.operation_id));
            transaction.put_if(self, self.version_item(org, operation)?, free);
            let idle = Expression::default()
                .condition(format!("attribute_not_exists({STATUS}) OR {STATUS} <> :running"))
                .value(":running", text(OperationStatus::InProgress.as_str()));
            transaction.check(self, &keys::operation(org, service), idle);
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(TransactionError::Cancelled(_)) => return Ok(false),
                Err(TransactionError::Store(error)) => return Err(error),
            }
        }
        Err(StoreError::Contended { operation: "begin change of versions" })
    }

    fn version_item(&self, org: &OrgId, operation: &VersionOperation) -> Result<Item, StoreError> {
        let silent_at = self.clock.now() + VERSION_RUNNER_SILENT_SECONDS;
        Ok(ItemBuilder::new(&version_operation(org, operation.kind))
            .text(OPERATION, &operation.operation_id)
            .text(DOCUMENT, &encode(operation)?)
            .mark(ACTIVE, true)
            .number(UNTIL, silent_at * 1_000)
            .text(DUE_PK, &due::partition_of(&operation.operation_id))
            .number(DUE_AT, silent_at)
            .build())
    }

    /// The change of versions that is under way, or was the last one.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn version_progress(
        &self,
        org: &OrgId,
        kind: LearningKind,
    ) -> Result<Option<VersionProgress>, StoreError> {
        let item = self.get(&version_operation(org, kind)).await?;
        item.as_ref().map(VersionProgress::from_item).transpose()
    }

    pub(crate) async fn version_gate(
        &self,
        org: &OrgId,
        kind: LearningKind,
    ) -> Result<VersionGate, StoreError> {
        let Some(item) = self.get(&version_operation(org, kind)).await? else {
            return Ok(VersionGate::default());
        };
        let reader = ItemReader(&item);
        let operation_id = reader.text(OPERATION)?.to_owned();
        Ok(VersionGate { is_active: reader.mark(ACTIVE), operation_id })
    }

    /// Says that a runner is at work and which user it is done with; `false` when the operation is over.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn beat_version_operation(
        &self,
        org: &OrgId,
        operation: &VersionOperation,
        last_user: Option<&UserHash>,
    ) -> Result<bool, StoreError> {
        let until = self.clock.now() + VERSION_RUNNER_SILENT_SECONDS;
        let mut update = format!("SET {UNTIL} = :until, {DUE_AT} = :due");
        let mut condition = format!("{OPERATION} = :op AND {ACTIVE} = :true");
        if last_user.is_some() {
            update.push_str(&format!(", {LAST_USER} = :user"));
            // A slower runner does not take a faster one back.
            condition.push_str(&format!(" AND (attribute_not_exists({LAST_USER}) OR {LAST_USER} <= :user)"));
        }
        let mut expression = Expression::new(update)
            .condition(condition)
            .value(":until", number(until * 1_000))
            .value(":due", number(until))
            .value(":op", text(&operation.operation_id))
            .value(":true", AttributeValue::Bool(true));
        if let Some(user) = last_user {
            expression = expression.value(":user", text(user.as_str()));
        }
        Ok(self.update_one(&version_operation(org, operation.kind), expression).await?.is_some())
    }

    /// Counts a user that was passed over.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn skip_version_user(
        &self,
        org: &OrgId,
        operation: &VersionOperation,
    ) -> Result<(), StoreError> {
        let expression = Expression::new(format!("ADD {SKIPPED} :one"))
            .condition(format!("{OPERATION} = :op"))
            .value(":one", number(1))
            .value(":op", text(&operation.operation_id));
        self.update_one(&version_operation(org, operation.kind), expression).await?;
        Ok(())
    }

    /// Lets another runner go on at once.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn leave_version_operation(
        &self,
        org: &OrgId,
        operation: &VersionOperation,
    ) -> Result<(), StoreError> {
        let expression = Expression::new(format!("SET {UNTIL} = :zero, {DUE_AT} = :now"))
            .condition(format!("{OPERATION} = :op AND {ACTIVE} = :true"))
            .value(":zero", number(0))
            .value(":now", number(self.clock.now()))
            .value(":op", text(&operation.operation_id))
            .value(":true", AttributeValue::Bool(true));
        self.update_one(&version_operation(org, operation.kind), expression).await?;
        Ok(())
    }

    /// Moves an overdue change of versions to `next`, so that one that does not get on crowds out nobody; the run
    /// to be woken, or `None` when it is not overdue as seen any more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn push_due_versions(
        &self,
        due: &DueVersions,
        next: EpochSeconds,
    ) -> Result<Option<String>, StoreError> {
        let expression = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen"))
            .value(":next", number(next))
            .value(":seen", number(due.due_at));
        let item = self.update_one(&version_operation(&due.org, due.kind), expression).await?;
        item.map(|item| ItemReader(&item).text(OPERATION).map(str::to_owned)).transpose()
    }

    /// Whether any row of a user is in the scope and has the status that the operation makes current. Rows are as
    /// readers see them.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn is_affected(
        &self,
        keys: &UserKeys<'_>,
        operation: &VersionOperation,
    ) -> Result<bool, StoreError> {
        let [rows] = self.visible_rows(keys, [keys::row_prefix(operation.kind)]).await?;
        for row in &rows {
            if is_in_scope(row, &operation.scope, operation.change.direction.promoted())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends a change of versions that is done with all its users; what it did in all. `None` when a later one
    /// stands in its place: its counts are known to whoever ended it.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn end_version_operation(
        &self,
        org: &OrgId,
        operation: &VersionOperation,
    ) -> Result<Option<VersionCounts>, StoreError> {
        let expression = Expression::new(format!("SET {ACTIVE} = :false REMOVE {DUE_PK}, {DUE_AT}"))
            .condition(format!("{OPERATION} = :op"))
            .value(":op", text(&operation.operation_id))
            .value(":false", AttributeValue::Bool(false));
        let item = self.update_one(&version_operation(org, operation.kind), expression).await?;
        item.as_ref().map(VersionProgress::from_item).transpose().map(|item| item.map(|item| item.counts))
    }
}

impl VersionOperation {
    /// The mark of users who have rows that it makes current.
    #[must_use]
    pub fn affected(&self) -> VersionMark {
        match self.change.direction {
            Direction::Upgrade => VersionMark::Pending,
            Direction::Downgrade => VersionMark::Archived,
        }
    }
}

/// The organisation and kind behind an index entry, if it is one of a change of versions.
pub(crate) fn parse_key(item: &Item) -> Option<DueVersions> {
    let reader = ItemReader(item);
    let kind = reader.text_opt(SK)?.strip_prefix(VERSION_OPERATION_PREFIX)?;
    let kind = LearningKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
    let org = reader.text_opt(PK)?.strip_prefix("O#")?.parse().ok()?;
    Some(DueVersions { org, kind, due_at: reader.number_opt(DUE_AT)? })
}

/// No change of versions is under way: a condition on its item.
pub(crate) fn is_over() -> Expression {
    Expression::default()
        .condition(format!("attribute_not_exists({PK}) OR {ACTIVE} = :false"))
        .value(":false", AttributeValue::Bool(false))
}
