//! Setting a flip, and finishing it: rows rewritten, counted and stamped some at a time, by whoever comes by.

use domain::entities::Status;
use domain::ids::OrgId;
use domain::learning::LearningKind;
use domain::time::EpochMillis;
use domain::versions::Becomes;

use crate::Store;
use crate::access::Range;
use crate::aggregation_inbox::promotion_mark;
use crate::attributes::{
    ACTIVE, ARCHIVED, BARRIER, DELETED, EPOCH, FLIP, FLIP_NUMBER, FLIP_STAMP, FLIPPED_PLAYBOOKS,
    FLIPPED_PROFILES, Item, ItemReader, MEMORY_VERSION, OPERATION, OWNER, PK, PROMOTED, SK, STATUS, UNTIL,
    VERSION, number, text,
};
use crate::error::StoreError;
use crate::flips::{Flip, FlipState, becomes, is_in_scope, narrowed};
use crate::keys::{Key, UserKeys, row_lookup, row_prefix, version_operation};
use crate::learning::unchanged;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::{encode, status};
use crate::transaction::{Expression, TRANSACTION_ITEMS_MAX, Transaction, TransactionError};
use crate::version_marks::settle_marks;
use crate::version_operations::{VersionCounts, VersionOperation};

/// Items of a transaction that are no rows: the lease, the operation, and three marks.
const OTHER_ITEMS: usize = 5;
/// Bytes of the rows that one transaction rewrites; DynamoDB allows 4 MB in all.
const ROW_BYTES_PER_TRANSACTION: usize = 3_000_000;

/// What came of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserFlip {
    /// The versions are changed.
    Flipped {
        /// The epoch of the lease that a worker lost by it, if one had it: it must be woken to start again.
        lost_lease: Option<i64>,
    },
    /// There was nothing to change, or this operation changed it before, or the user is being erased.
    Nothing,
    /// The change is visible, but not all rows are rewritten yet.
    OutOfTime,
    /// The operation is over: another runner ended it.
    Over,
}

/// How far the rewriting of rows came.
enum Rewriting {
    Done,
    OutOfTime,
    /// Somebody else is at it: look again.
    Overtaken,
}

impl Store {
    /// Changes the versions of one user as the operation says, at once for every reader, and rewrites the rows.
    /// An operation changes a user once, however often it comes by.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails; then it must come by again.
    pub async fn flip_user(
        &self,
        keys: &UserKeys<'_>,
        operation: &VersionOperation,
        deadline_ms: EpochMillis,
    ) -> Result<UserFlip, StoreError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let lease = self.get(&keys.lease()).await?.unwrap_or_default();
            let reader = ItemReader(&lease);
            let state = FlipState::of(Some(&lease))?;
            if reader.mark(BARRIER) {
                return Ok(UserFlip::Nothing);
            }
            if let Some(flip) = &state.flip {
                if !self.finish_flip(keys, Some(deadline_ms)).await? {
                    return Ok(UserFlip::OutOfTime);
                }
                if flip.operation_id == operation.operation_id {
                    return Ok(UserFlip::Flipped { lost_lease: None });
                }
                continue;
            }
            if reader.text_opt(flipped_by(operation.kind)) == Some(&operation.operation_id) {
                return Ok(UserFlip::Nothing);
            }
            let partition = keys.partition();
            let rows = self.query_all(Range::prefix(&partition, row_prefix(operation.kind))).await?;
            let Some(flip) = planned(keys.org, operation, &state, &rows)? else {
                return Ok(UserFlip::Nothing);
            };
            let is_leased = reader.number_opt(UNTIL).is_some_and(|until| until > self.clock.now_ms());
            let lost_lease = is_leased.then(|| reader.count(EPOCH));
            match self.set_flip(keys, &flip, reader.count(MEMORY_VERSION)).await? {
                Ok(()) => {}
                Err(error) if error.condition_failed(OPERATION_INDEX) => return Ok(UserFlip::Over),
                Err(TransactionError::Cancelled(_)) => continue,
                Err(TransactionError::Store(error)) => return Err(error),
            }
            // The rows are as they were read: the condition on the memory version said so.
            let is_finished = match self.rewrite(keys, &flip, &rows, Some(deadline_ms)).await? {
                Rewriting::Done => true,
                Rewriting::OutOfTime => false,
                Rewriting::Overtaken => self.finish_flip(keys, Some(deadline_ms)).await?,
            };
            return Ok(if is_finished { UserFlip::Flipped { lost_lease } } else { UserFlip::OutOfTime });
        }
        Err(StoreError::Contended { operation: "flip user" })
    }

    /// The write that changes everything for readers. Nobody's commit that was prepared before can follow it:
    /// workers lose their lease, and the rows are as they were when it was decided what becomes of them.
    async fn set_flip(
        &self,
        keys: &UserKeys<'_>,
        flip: &Flip,
        seen: i64,
    ) -> Result<Result<(), TransactionError>, StoreError> {
        let is_seen = if seen == 0 {
            format!("(attribute_not_exists({MEMORY_VERSION}) OR {MEMORY_VERSION} = :seen)")
        } else {
            format!("{MEMORY_VERSION} = :seen")
        };
        let by = flipped_by(flip.kind);
        let update = format!(
            "SET {FLIP} = :flip, {by} = :op, {UNTIL} = :zero REMOVE {OWNER} \
             ADD {EPOCH} :one, {MEMORY_VERSION} :one, {FLIP_NUMBER} :one"
        );
        let lease = Expression::new(update)
            .condition(format!(
                "attribute_not_exists({FLIP}) AND attribute_not_exists({BARRIER}) AND {is_seen}"
            ))
            .value(":flip", text(&encode(flip)?))
            .value(":op", text(&flip.operation_id))
            .value(":seen", number(seen))
            .value(":zero", number(0))
            .value(":one", number(1));
        // A runner that was left behind must not begin again what another one ended.
        let operation = Expression::default()
            .condition(format!("{OPERATION} = :op AND {ACTIVE} = :true"))
            .value(":op", text(&flip.operation_id))
            .value(":true", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
        let mut transaction = Transaction::default();
        transaction.update(self, &keys.lease(), lease);
        transaction.check(self, &version_operation(keys.org, flip.kind), operation);
        Ok(transaction.commit(self).await)
    }

    /// Finishes the flip of a user, if there is one; `false` when the time was up before.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub(crate) async fn finish_flip(
        &self,
        keys: &UserKeys<'_>,
        deadline_ms: Option<EpochMillis>,
    ) -> Result<bool, StoreError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let Some(flip) = self.flip_state(keys).await?.flip else { return Ok(true) };
            let partition = keys.partition();
            let rows = self.query_all(Range::prefix(&partition, row_prefix(flip.kind))).await?;
            match self.rewrite(keys, &flip, &rows, deadline_ms).await? {
                Rewriting::Done => return Ok(true),
                Rewriting::OutOfTime => return Ok(false),
                Rewriting::Overtaken => {}
            }
        }
        Err(StoreError::Contended { operation: "finish flip" })
    }

    /// Rewrites all rows that are not rewritten yet, and clears the record with the last of them.
    async fn rewrite(
        &self,
        keys: &UserKeys<'_>,
        flip: &Flip,
        rows: &[Item],
        deadline_ms: Option<EpochMillis>,
    ) -> Result<Rewriting, StoreError> {
        let (mut rest, mut statuses) = (Vec::new(), Vec::new());
        for row in rows {
            let becomes = flip.becomes(row)?;
            statuses.extend(becomes.status(status(ItemReader(row))?));
            if becomes != Becomes::Same {
                rest.push((row, becomes));
            }
        }
        loop {
            if deadline_ms.is_some_and(|deadline| self.clock.now_ms() >= deadline) {
                return Ok(Rewriting::OutOfTime);
            }
            let count = chunk_rows(&rest);
            let chunk: Vec<_> = rest.drain(..count).collect();
            // Nobody else changes rows meanwhile, so what will be there at the end is known.
            let settled = rest.is_empty().then_some(statuses.as_slice());
            if !self.rewrite_chunk(keys, flip, &chunk, settled).await? {
                return Ok(Rewriting::Overtaken);
            }
            if settled.is_some() {
                return Ok(Rewriting::Done);
            }
        }
    }

    /// One transaction; `false` when something was not as it was read.
    async fn rewrite_chunk(
        &self,
        keys: &UserKeys<'_>,
        flip: &Flip,
        chunk: &[(&Item, Becomes)],
        settled: Option<&[Option<Status>]>,
    ) -> Result<bool, StoreError> {
        let counts = counts(chunk);
        let mut is_counted = counts != VersionCounts::default();
        let mut attempt = 0;
        loop {
            let mut transaction = Transaction::default();
            self.add_lease(&mut transaction, keys, flip, settled.is_some());
            if let Some(statuses) = settled {
                settle_marks(&mut transaction, self, keys, flip.kind, statuses);
            }
            for (row, becomes) in chunk {
                self.add_row(&mut transaction, keys, flip, row, *becomes)?;
            }
            let operation = is_counted.then(|| {
                let expression = counting(&counts, &flip.operation_id);
                transaction.update(self, &version_operation(keys.org, flip.kind), expression)
            });
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.is_conflict() && attempt < ATTEMPTS_MAX => {
                    attempt += 1;
                    self.retries.wait(attempt).await;
                }
                Err(error) if operation.is_some_and(|operation| error.condition_failed(operation)) => {
                    // An operation ends only after its flips; should it be gone all the same, the user must not
                    // stay flipped by half for ever.
                    tracing::error!(event = "flip_without_operation", operation_id = flip.operation_id);
                    is_counted = false;
                }
                Err(error) if !error.is_conflict() && !error.is_refusal() => match error {
                    TransactionError::Cancelled(_) => return Ok(false),
                    TransactionError::Store(error) => return Err(error),
                },
                Err(error) => return Err(error.into_store_error("finish flip")),
            }
        }
    }

    /// The lease still has this flip; with the last rows it loses it.
    fn add_lease(&self, transaction: &mut Transaction, keys: &UserKeys<'_>, flip: &Flip, is_last: bool) {
        let expression = if is_last {
            Expression::new(format!("REMOVE {FLIP} ADD {MEMORY_VERSION} :one")).value(":one", number(1))
        } else {
            Expression::default()
        };
        let expression = expression
            .condition(format!(
                "{FLIP_NUMBER} = :number AND attribute_exists({FLIP}) AND attribute_not_exists({BARRIER})"
            ))
            .value(":number", number(flip.number));
        if is_last {
            transaction.update(self, &keys.lease(), expression);
        } else {
            transaction.check(self, &keys.lease(), expression);
        }
    }

    fn add_row(
        &self,
        transaction: &mut Transaction,
        keys: &UserKeys<'_>,
        flip: &Flip,
        row: &Item,
        becomes: Becomes,
    ) -> Result<(), StoreError> {
        let reader = ItemReader(row);
        let key = Key::from_parts(reader.text(PK)?, reader.text(SK)?);
        let expression = unchanged(reader.number(VERSION)?);
        let set = format!("{FLIP_STAMP} = :flip, {VERSION} = {VERSION} + :one");
        let update = match becomes {
            Becomes::Same => return Ok(()),
            Becomes::Gone => {
                let lookup = row_lookup(keys.org, flip.kind, key.sk()).ok_or_else(|| reader.corrupt(SK))?;
                transaction.delete(self, &key, expression);
                transaction.delete(self, &lookup, Expression::default());
                return Ok(());
            }
            Becomes::Current => {
                if flip.kind == LearningKind::Playbook {
                    // Aggregations know current rows only: for them it is new.
                    transaction.put(self, promotion_mark(keys, row)?);
                }
                format!("SET {set} REMOVE {STATUS}")
            }
            Becomes::Archived => format!("SET {set}, {STATUS} = :status"),
        };
        let mut expression =
            Expression { update, ..expression }.value(":flip", number(flip.number)).value(":one", number(1));
        if becomes == Becomes::Archived {
            expression = expression.value(":status", text(Status::Archived.as_str()));
        }
        transaction.update(self, &key, expression);
        Ok(())
    }
}

/// The place of the operation in the transaction that sets a flip.
const OPERATION_INDEX: usize = 1;

/// The attribute of a lease that names the operation that last changed the versions of a kind.
fn flipped_by(kind: LearningKind) -> &'static str {
    match kind {
        LearningKind::Profile => FLIPPED_PROFILES,
        LearningKind::Playbook => FLIPPED_PLAYBOOKS,
    }
}

/// The flip of a user with these rows; `None` when there is nothing to change.
fn planned(
    org: &OrgId,
    operation: &VersionOperation,
    state: &FlipState,
    rows: &[Item],
) -> Result<Option<Flip>, StoreError> {
    let (mut changed, mut is_affected) = (Vec::new(), false);
    for row in rows {
        if becomes(operation.kind, operation.change, &operation.scope, row)? != Becomes::Same {
            // What could not be rewritten must not be flipped.
            let reader = ItemReader(row);
            reader.number(VERSION)?;
            row_lookup(org, operation.kind, reader.text(SK)?).ok_or_else(|| reader.corrupt(SK))?;
            changed.push(row);
        }
        is_affected |= is_in_scope(row, &operation.scope, operation.change.direction.promoted())?;
    }
    if changed.is_empty() || operation.only_affected_users && !is_affected {
        return Ok(None);
    }
    Ok(Some(Flip {
        operation_id: operation.operation_id.clone(),
        number: state.number + 1,
        kind: operation.kind,
        change: operation.change,
        scope: narrowed(&operation.scope, &changed),
    }))
}

/// How many of the rows fit one transaction.
fn chunk_rows(rows: &[(&Item, Becomes)]) -> usize {
    let (mut items, mut bytes) = (OTHER_ITEMS, 0);
    let fits = |(row, becomes): &&(&Item, Becomes)| {
        items += if *becomes == Becomes::Archived { 1 } else { 2 };
        bytes += item_bytes(row);
        items <= TRANSACTION_ITEMS_MAX && bytes <= ROW_BYTES_PER_TRANSACTION
    };
    rows.iter().take_while(fits).count().max(1).min(rows.len())
}

/// Roughly how large an item is.
fn item_bytes(item: &Item) -> usize {
    use aws_sdk_dynamodb::types::AttributeValue::{B, S};
    let value = |value: &_| match value {
        S(text) => text.len(),
        B(bytes) => bytes.as_ref().len(),
        _ => 24,
    };
    item.iter().map(|(name, stored)| name.len() + value(stored)).sum()
}

fn counts(rows: &[(&Item, Becomes)]) -> VersionCounts {
    let count = |wanted| {
        let found = rows.iter().filter(|(_, becomes)| *becomes == wanted).count();
        i64::try_from(found).unwrap_or(i64::MAX)
    };
    VersionCounts {
        promoted: count(Becomes::Current),
        archived: count(Becomes::Archived),
        deleted: count(Becomes::Gone),
        skipped_users: 0,
    }
}

/// Adds to the counts of an operation, in the transaction that rewrites the rows: each is counted once.
fn counting(counts: &VersionCounts, operation_id: &str) -> Expression {
    Expression::new(format!("ADD {PROMOTED} :promoted, {ARCHIVED} :archived, {DELETED} :deleted"))
        .condition(format!("{OPERATION} = :op"))
        .value(":promoted", number(counts.promoted))
        .value(":archived", number(counts.archived))
        .value(":deleted", number(counts.deleted))
        .value(":op", text(operation_id))
}
