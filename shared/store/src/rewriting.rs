//! Finishing a flip: rows rewritten, counted and stamped some at a time, by whoever comes by.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::entities::Status;
use domain::learning::LearningKind;
use domain::time::EpochMillis;
use domain::versions::Becomes;

use crate::Store;
use crate::access::Range;
use crate::aggregation_inbox::{promotion_mark, removal_mark};
use crate::attributes::{
    AGENT_VERSION, AGENT_VERSIONS, ARCHIVED, BARRIER, DELETED, FLIP, FLIP_NUMBER, FLIP_STAMP, Item,
    ItemReader, MEMORY_VERSION, OPERATION, PK, PROMOTED, SK, STATUS, VERSION, number, text,
};
use crate::error::StoreError;
use crate::flips::Flip;
use crate::keys::{Key, UserKeys, row_lookup, row_prefix, version_operation};
use crate::learning::unchanged;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::status;
use crate::transaction::{Expression, TRANSACTION_ITEMS_MAX, Transaction, TransactionError};
use crate::version_marks::settle_marks;
use crate::version_operations::VersionCounts;

/// Items of a transaction that are no rows: the lease, the operation, and three marks.
const OTHER_ITEMS: usize = 5;
/// Bytes of the rows that one transaction rewrites; DynamoDB allows 4 MB in all.
const ROW_BYTES_PER_TRANSACTION: usize = 3_000_000;

/// How far the rewriting of rows came.
pub(crate) enum Rewriting {
    Done,
    OutOfTime,
    /// Somebody else is at it: look again.
    Overtaken,
}

impl Store {
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
    pub(crate) async fn rewrite(
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
                let expression = counting(&counts, &flip.operation_id, agent_versions(flip.kind, chunk));
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
            Becomes::Archived => {
                if let Some((_, mark)) = removal_mark(keys, row) {
                    transaction.put(self, mark);
                }
                format!("SET {set}, {STATUS} = :status")
            }
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

/// How many of the rows fit one transaction.
fn chunk_rows(rows: &[(&Item, Becomes)]) -> usize {
    let (mut items, mut bytes) = (OTHER_ITEMS, 0);
    let fits = |(row, _): &&(&Item, Becomes)| {
        // A row and its look-up, or what it is to an aggregation.
        items += 2;
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

/// Agent versions whose current user playbooks these rows are, or become: their aggregations have news.
fn agent_versions(kind: LearningKind, rows: &[(&Item, Becomes)]) -> Vec<String> {
    let is_news = |(row, becomes): &&(&Item, Becomes)| match becomes {
        Becomes::Current => true,
        Becomes::Archived => !row.contains_key(STATUS),
        Becomes::Same | Becomes::Gone => false,
    };
    let news = rows.iter().filter(|_| kind == LearningKind::Playbook).filter(is_news);
    let versions: BTreeSet<&str> =
        news.filter_map(|(row, _)| ItemReader(row).text_opt(AGENT_VERSION)).collect();
    versions.into_iter().filter(|version| !version.is_empty()).map(str::to_owned).collect()
}

/// Adds to the counts of an operation, in the transaction that rewrites the rows: each is counted once.
fn counting(counts: &VersionCounts, operation_id: &str, agent_versions: Vec<String>) -> Expression {
    let mut update = format!("ADD {PROMOTED} :promoted, {ARCHIVED} :archived, {DELETED} :deleted");
    let mut expression = Expression::default();
    if !agent_versions.is_empty() {
        update.push_str(&format!(", {AGENT_VERSIONS} :versions"));
        expression = expression.value(":versions", AttributeValue::Ss(agent_versions));
    }
    Expression { update, ..expression }
        .condition(format!("{OPERATION} = :op"))
        .value(":promoted", number(counts.promoted))
        .value(":archived", number(counts.archived))
        .value(":deleted", number(counts.deleted))
        .value(":op", text(operation_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{DOCUMENT, ItemBuilder};

    fn item(bytes: usize) -> Item {
        let key = Key::from_parts("", "");
        let overhead = item_bytes(&ItemBuilder::new(&key).text(DOCUMENT, "").build());
        ItemBuilder::new(&key).text(DOCUMENT, &"x".repeat(bytes - overhead)).build()
    }

    fn fitting(rows: usize, bytes: usize, becomes: Becomes) -> usize {
        let item = item(bytes);
        chunk_rows(&vec![(&item, becomes); rows])
    }

    #[test]
    fn a_transaction_holds_as_many_rows_as_dynamodb_allows_items() {
        // A deleted row takes its look-up with it; one that becomes current or archived may be news to an aggregation.
        let most = (TRANSACTION_ITEMS_MAX - OTHER_ITEMS) / 2;
        for becomes in [Becomes::Gone, Becomes::Current, Becomes::Archived] {
            for rows in [0, 1, most - 1, most] {
                assert_eq!(fitting(rows, 100, becomes), rows);
            }
            assert_eq!(fitting(most + 1, 100, becomes), most);
        }
    }

    #[test]
    fn a_transaction_holds_no_more_bytes_than_it_may_but_always_a_row() {
        let third = ROW_BYTES_PER_TRANSACTION / 3;
        assert_eq!(fitting(4, third - 1, Becomes::Current), 3);
        assert_eq!(fitting(4, third, Becomes::Current), 3);
        assert_eq!(fitting(4, third + 1, Becomes::Current), 2);
        assert_eq!(fitting(4, ROW_BYTES_PER_TRANSACTION + 1, Becomes::Current), 1);
    }
}
