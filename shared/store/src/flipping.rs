//! Setting a flip: the write that changes the versions of one user for every reader.

use domain::ids::OrgId;
use domain::learning::LearningKind;
use domain::time::EpochMillis;
use domain::versions::Becomes;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    ACTIVE, BARRIER, EPOCH, FLIP, FLIP_NUMBER, FLIPPED_PLAYBOOKS, FLIPPED_PROFILES, Item, ItemReader,
    MEMORY_VERSION, OPERATION, OWNER, SK, UNTIL, VERSION, number, text,
};
use crate::error::StoreError;
use crate::flips::{Flip, FlipState, becomes, is_in_scope, narrowed};
use crate::keys::{UserKeys, row_lookup, row_prefix, version_operation};
use crate::retry::ATTEMPTS_MAX;
use crate::rewriting::Rewriting;
use crate::rows::encode;
use crate::transaction::{Expression, Transaction, TransactionError};
use crate::version_operations::VersionOperation;

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
