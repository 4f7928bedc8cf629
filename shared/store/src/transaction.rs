//! All-or-nothing writes, with the reason of each item's refusal told apart.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};

use crate::Store;
use crate::attributes::{Item, PK, SK, text};
use crate::error::StoreError;
use crate::keys::Key;

/// Items that one transaction may hold (AWS).
pub(crate) const TRANSACTION_ITEMS_MAX: usize = 100;

/// Why one item stopped a transaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reason {
    /// It did not.
    None,
    /// Its condition did not hold; the item as it was found.
    Condition(Option<Item>),
    /// Another transaction was at work on it: worth another try.
    Conflict,
    /// Anything else, for the log.
    Other(String),
}

/// Why a transaction was not committed.
#[derive(Debug)]
pub(crate) enum TransactionError {
    /// Nothing was written; one reason per item, in the order in which they were added.
    Cancelled(Vec<Reason>),
    /// The store failed; whether it was written is unknown when it is unavailable.
    Store(StoreError),
}

impl TransactionError {
    /// Whether nothing but other writers stood in the way.
    pub(crate) fn is_conflict(&self) -> bool {
        let Self::Cancelled(reasons) = self else { return false };
        reasons.contains(&Reason::Conflict)
            && reasons.iter().all(|reason| matches!(reason, Reason::None | Reason::Conflict))
    }

    /// Whether an item was wrong in itself: the same again would be refused again.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Cancelled(reasons) if reasons.iter().any(|reason| matches!(reason, Reason::Other(_))))
    }

    /// Whether the condition of item `index` did not hold.
    pub(crate) fn condition_failed(&self, index: usize) -> bool {
        matches!(self, Self::Cancelled(reasons) if matches!(reasons.get(index), Some(Reason::Condition(_))))
    }

    /// The failure as one of the store, for callers to whom no refusal means anything.
    pub(crate) fn into_store_error(self, operation: &'static str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Cancelled(reasons) if reasons.contains(&Reason::Conflict) => {
                StoreError::Contended { operation }
            }
            Self::Cancelled(reasons) => {
                StoreError::Refused { operation, detail: format!("cancelled: {reasons:?}") }
            }
        }
    }
}

/// An update expression with its values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expression {
    pub(crate) update: String,
    pub(crate) condition: Option<String>,
    pub(crate) names: Vec<(&'static str, &'static str)>,
    pub(crate) values: Vec<(&'static str, AttributeValue)>,
}

impl Expression {
    pub(crate) fn new(update: impl Into<String>) -> Self {
        Self { update: update.into(), ..Self::default() }
    }

    pub(crate) fn condition(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    pub(crate) fn value(mut self, name: &'static str, value: AttributeValue) -> Self {
        self.values.push((name, value));
        self
    }
}

/// Items to be written together.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    items: Vec<TransactWriteItem>,
}

impl Transaction {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Writes an item that must not exist. Returns its index for [`TransactionError::condition_failed`].
    pub(crate) fn create(&mut self, table: &Store, item: Item) -> usize {
        let put = Put::builder()
            .table_name(&table.table)
            .set_item(Some(item))
            .condition_expression(format!("attribute_not_exists({PK})"))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        self.push(TransactWriteItem::builder().put(built(put.build())).build())
    }

    /// Writes an item, whatever was there.
    pub(crate) fn put(&mut self, table: &Store, item: Item) -> usize {
        let put = Put::builder().table_name(&table.table).set_item(Some(item));
        self.push(TransactWriteItem::builder().put(built(put.build())).build())
    }

    /// Writes an item under a condition on what was there.
    pub(crate) fn put_if(&mut self, table: &Store, item: Item, expression: Expression) -> usize {
        let put = Put::builder()
            .table_name(&table.table)
            .set_item(Some(item))
            .set_condition_expression(expression.condition)
            .set_expression_attribute_values(values(expression.values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        self.push(TransactWriteItem::builder().put(built(put.build())).build())
    }

    pub(crate) fn update(&mut self, table: &Store, key: &Key, expression: Expression) -> usize {
        let mut update = Update::builder()
            .table_name(&table.table)
            .key(PK, text(key.pk()))
            .key(SK, text(key.sk()))
            .update_expression(expression.update)
            .set_condition_expression(expression.condition)
            .set_expression_attribute_values(values(expression.values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for (name, attribute) in expression.names {
            update = update.expression_attribute_names(name, attribute);
        }
        self.push(TransactWriteItem::builder().update(built(update.build())).build())
    }

    /// Requires a condition of an item that is not written.
    pub(crate) fn check(&mut self, table: &Store, key: &Key, expression: Expression) -> usize {
        let check = ConditionCheck::builder()
            .table_name(&table.table)
            .key(PK, text(key.pk()))
            .key(SK, text(key.sk()))
            .set_condition_expression(expression.condition)
            .set_expression_attribute_values(values(expression.values));
        self.push(TransactWriteItem::builder().condition_check(built(check.build())).build())
    }

    /// Deletes an item under a condition.
    pub(crate) fn delete(&mut self, table: &Store, key: &Key, expression: Expression) -> usize {
        let delete = Delete::builder()
            .table_name(&table.table)
            .key(PK, text(key.pk()))
            .key(SK, text(key.sk()))
            .set_condition_expression(expression.condition)
            .set_expression_attribute_values(values(expression.values));
        self.push(TransactWriteItem::builder().delete(built(delete.build())).build())
    }

    fn push(&mut self, item: TransactWriteItem) -> usize {
        self.items.push(item);
        self.items.len() - 1
    }

    /// Commits once; the SDK repeats a lost answer under the same token.
    pub(crate) async fn commit(self, store: &Store) -> Result<(), TransactionError> {
        let sent = store.dynamo.transact_write_items().set_transact_items(Some(self.items)).send().await;
        let Err(error) = sent else { return Ok(()) };
        if let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
            error.as_service_error()
        {
            return Err(TransactionError::Cancelled(
                cancelled.cancellation_reasons().iter().map(reason).collect(),
            ));
        }
        if error.code() == Some("TransactionInProgressException") {
            return Err(TransactionError::Cancelled(vec![Reason::Conflict]));
        }
        Err(TransactionError::Store(StoreError::from_sdk("TransactWriteItems", error)))
    }
}

fn reason(reason: &CancellationReason) -> Reason {
    match reason.code() {
        None | Some("None") => Reason::None,
        Some("ConditionalCheckFailed") => Reason::Condition(reason.item().cloned()),
        // Throttled items may be tried again just as contended ones.
        Some("TransactionConflict" | "ThrottlingError" | "ProvisionedThroughputExceeded") => Reason::Conflict,
        Some(code) => Reason::Other(format!("{code}: {}", reason.message().unwrap_or(""))),
    }
}

fn values(
    values: Vec<(&'static str, AttributeValue)>,
) -> Option<std::collections::HashMap<String, AttributeValue>> {
    (!values.is_empty()).then(|| values.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}

/// The builders fail only on a missing table name, key or item, all of which are set above.
#[expect(clippy::expect_used, reason = "every required field is set by the only callers, above")]
fn built<T>(built: Result<T, aws_sdk_dynamodb::error::BuildError>) -> T {
    built.expect("required fields are set")
}
