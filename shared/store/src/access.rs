//! Single-item reads and writes, and paging queries, with errors told apart.

use std::future::Future;

use domain::ids::OrgId;
use domain::time::EpochSeconds;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, ReturnValue};

use crate::Store;
use crate::attributes::{BY_TIME_PK, BY_TIME_SK, Item, ItemReader, PK, SK, text};
use crate::error::{CONFLICT_CODE, StoreError};
use crate::keys::{Key, Listing, time_key};
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::Expression;

/// Keys that one `BatchGetItem` may ask for (AWS).
const BATCH_GET_KEYS_MAX: usize = 100;

/// Which rows of a partition to read, and how.
#[derive(Debug, Clone)]
pub(crate) struct Range<'a> {
    pub(crate) partition: &'a str,
    /// Inclusive bounds of the sort key.
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) ascending: bool,
    pub(crate) limit: Option<i32>,
}

impl<'a> Range<'a> {
    /// All sort keys that begin with `prefix`.
    pub(crate) fn prefix(partition: &'a str, prefix: &str) -> Self {
        Self {
            partition,
            from: prefix.to_owned(),
            // Sort keys are ASCII, which is below this.
            to: format!("{prefix}\u{7f}"),
            ascending: true,
            limit: None,
        }
    }

    pub(crate) fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(i32::try_from(limit.max(1)).unwrap_or(i32::MAX));
        self
    }
}

/// A page of items, and where the next one starts.
pub(crate) type ItemPage = (Vec<Item>, Option<Item>);

impl Store {
    /// Reads one item consistently.
    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Item>, StoreError> {
        let answer = self
            .dynamo
            .get_item()
            .table_name(&self.table)
            .key(PK, text(key.pk()))
            .key(SK, text(key.sk()))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("GetItem", error))?;
        Ok(answer.item)
    }

    /// Reads items consistently, in any order; absent ones are left out.
    pub(crate) async fn get_many(&self, keys: &[Key]) -> Result<Vec<Item>, StoreError> {
        let mut found = Vec::with_capacity(keys.len());
        for chunk in keys.chunks(BATCH_GET_KEYS_MAX) {
            let mut wanted: Vec<Item> = chunk
                .iter()
                .map(|key| Item::from([(PK.to_owned(), text(key.pk())), (SK.to_owned(), text(key.sk()))]))
                .collect();
            let mut attempt = 0;
            while !wanted.is_empty() {
                let request = KeysAndAttributes::builder()
                    .set_keys(Some(wanted))
                    .consistent_read(true)
                    .build()
                    .map_err(|error| StoreError::Refused {
                        operation: "BatchGetItem",
                        detail: error.to_string(),
                    })?;
                let answer = self
                    .dynamo
                    .batch_get_item()
                    .request_items(&self.table, request)
                    .send()
                    .await
                    .map_err(|error| StoreError::from_sdk("BatchGetItem", error))?;
                found.extend(answer.responses.unwrap_or_default().into_values().flatten());
                wanted = answer
                    .unprocessed_keys
                    .and_then(|mut tables| tables.remove(&self.table))
                    .map(|rest| rest.keys)
                    .unwrap_or_default();
                if !wanted.is_empty() {
                    attempt += 1;
                    if attempt > ATTEMPTS_MAX {
                        return Err(StoreError::Unavailable {
                            operation: "BatchGetItem",
                            detail: "keys stay unprocessed".to_owned(),
                        });
                    }
                    self.retries.wait(attempt).await;
                }
            }
        }
        Ok(found)
    }

    /// One page of a range, read consistently.
    pub(crate) async fn query_page(
        &self,
        range: &Range<'_>,
        start: Option<Item>,
    ) -> Result<ItemPage, StoreError> {
        let answer = self
            .dynamo
            .query()
            .table_name(&self.table)
            .key_condition_expression(format!("{PK} = :pk AND {SK} BETWEEN :from AND :to"))
            .expression_attribute_values(":pk", text(range.partition))
            .expression_attribute_values(":from", text(&range.from))
            .expression_attribute_values(":to", text(&range.to))
            .consistent_read(true)
            .scan_index_forward(range.ascending)
            .set_limit(range.limit)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("Query", error))?;
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
    }

    /// A whole range, page after page.
    pub(crate) async fn query_all(&self, range: Range<'_>) -> Result<Vec<Item>, StoreError> {
        let (mut items, mut next) = self.query_page(&range, None).await?;
        while let Some(start) = next {
            let (more, then) = self.query_page(&range, Some(start)).await?;
            items.extend(more);
            next = then;
        }
        Ok(items)
    }

    /// One page of the index `by_time`, newest first. Eventual: for lists, never for decisions.
    pub(crate) async fn query_by_time(
        &self,
        partition: &str,
        limit: usize,
        start: Option<Item>,
    ) -> Result<ItemPage, StoreError> {
        self.query_by_time_between(partition, (0, EpochSeconds::MAX), Some(limit), start).await
    }

    /// As [`Self::query_by_time`], of a span of time, both ends included.
    pub(crate) async fn query_by_time_between(
        &self,
        partition: &str,
        (from, to): (EpochSeconds, EpochSeconds),
        limit: Option<usize>,
        start: Option<Item>,
    ) -> Result<ItemPage, StoreError> {
        let limit = limit.map(|limit| i32::try_from(limit.max(1)).unwrap_or(i32::MAX));
        let answer = self
            .dynamo
            .query()
            .table_name(&self.table)
            .index_name("by_time")
            .key_condition_expression(format!("{BY_TIME_PK} = :pk AND {BY_TIME_SK} BETWEEN :from AND :to"))
            .expression_attribute_values(":pk", text(partition))
            .expression_attribute_values(":from", text(&time_key(from, "")))
            // What breaks ties is ASCII, which is below this.
            .expression_attribute_values(":to", text(&time_key(to, "\u{7f}")))
            .scan_index_forward(false)
            .set_limit(limit)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("Query", error))?;
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
    }

    /// The time of the earliest entry of a list; `None` when it is empty. Eventual.
    pub(crate) async fn earliest_listed(
        &self,
        org: &OrgId,
        listing: Listing,
    ) -> Result<Option<EpochSeconds>, StoreError> {
        let answer = self
            .dynamo
            .query()
            .table_name(&self.table)
            .index_name("by_time")
            .key_condition_expression(format!("{BY_TIME_PK} = :pk"))
            .expression_attribute_values(":pk", text(&listing.partition(org)))
            .limit(1)
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("Query", error))?;
        let Some(item) = answer.items.unwrap_or_default().pop() else { return Ok(None) };
        let reader = ItemReader(&item);
        let at = reader.text(BY_TIME_SK)?.split('#').next().and_then(|at| at.parse().ok());
        at.map(Some).ok_or_else(|| reader.corrupt(BY_TIME_SK))
    }

    /// Updates one item; `Ok(None)` when its condition did not hold, else the item as it is now.
    pub(crate) async fn update_one(
        &self,
        key: &Key,
        expression: Expression,
    ) -> Result<Option<Item>, StoreError> {
        let mut update = self
            .dynamo
            .update_item()
            .table_name(&self.table)
            .key(PK, text(key.pk()))
            .key(SK, text(key.sk()))
            .update_expression(expression.update)
            .set_condition_expression(expression.condition)
            .return_values(ReturnValue::AllNew);
        for (name, value) in expression.values {
            update = update.expression_attribute_values(name, value);
        }
        for (name, attribute) in expression.names {
            update = update.expression_attribute_names(name, attribute);
        }
        match self.past_conflicts(|| update.clone().send()).await {
            Ok(answer) => Ok(Some(answer.attributes.unwrap_or_default())),
            Err(error)
                if matches!(
                    error.as_service_error(),
                    Some(UpdateItemError::ConditionalCheckFailedException(_))
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(StoreError::from_sdk("UpdateItem", error)),
        }
    }

    /// Writes one item under a condition; `false` when the condition did not hold.
    pub(crate) async fn put_one(
        &self,
        item: Item,
        condition: Option<&str>,
        values: Vec<(&'static str, AttributeValue)>,
    ) -> Result<bool, StoreError> {
        let mut put = self
            .dynamo
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .set_condition_expression(condition.map(str::to_owned));
        for (name, value) in values {
            put = put.expression_attribute_values(name, value);
        }
        match self.past_conflicts(|| put.clone().send()).await {
            Ok(_) => Ok(true),
            Err(error)
                if matches!(
                    error.as_service_error(),
                    Some(PutItemError::ConditionalCheckFailedException(_))
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(StoreError::from_sdk("PutItem", error)),
        }
    }

    /// Sends the write of one item until no transaction is at work on that item; the last answer if one always
    /// is. Such a conflict says nothing about the write's condition.
    async fn past_conflicts<T, E, F>(&self, send: impl Fn() -> F) -> Result<T, SdkError<E>>
    where
        E: ProvideErrorMetadata,
        F: Future<Output = Result<T, SdkError<E>>>,
    {
        let mut attempt = 1;
        loop {
            let sent = send().await;
            let is_conflict = sent.as_ref().err().is_some_and(|error| error.code() == Some(CONFLICT_CODE));
            if !is_conflict || attempt == ATTEMPTS_MAX {
                return sent;
            }
            self.retries.wait(attempt).await;
            attempt += 1;
        }
    }
}
