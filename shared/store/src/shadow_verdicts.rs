//! Verdicts on the answers of shadow agents: one per turn and version of the judge's prompt.

use domain::entities::ShadowVerdict;
use domain::ids::OrgId;
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{
    AT, BARRIER, BY_TIME_PK, BY_TIME_SK, COUNT, DOCUMENT, ERROR, ItemReader, PK, PURGE_EPOCH, number, text,
};
use crate::counters::Counter;
use crate::error::StoreError;
use crate::keys::{UserKeys, padded, shadow_verdicts_partition, time_key};
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, Transaction};

/// A new verdict, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowCommit<'a> {
    /// The verdict.
    pub verdict: &'a ShadowVerdict,
    /// Where the request of the turn begins.
    pub first_position: i64,
    /// The head's purge epoch when the request was read: of what was deleted since, no verdict comes.
    pub purge_epoch: i64,
}

/// Why a verdict was not saved.
#[derive(Debug, thiserror::Error)]
pub enum ShadowCommitError {
    /// The user is being erased, or some of what the user said was deleted meanwhile.
    #[error("what was judged is being erased")]
    Erased,
    /// The store failed; the same verdict may be saved again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Takes the id of a new verdict.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn new_shadow_verdict_id(&self, org: &OrgId) -> Result<i64, StoreError> {
        self.take_numbers(org, Counter::ShadowVerdict, 1).await
    }

    /// Saves a verdict; `false` when the turn has one under this version of the prompt already, which stays.
    ///
    /// # Errors
    /// [`ShadowCommitError`]; nothing was written but after a lost answer.
    pub async fn save_shadow_verdict(
        &self,
        keys: &UserKeys<'_>,
        commit: &ShadowCommit<'_>,
    ) -> Result<bool, ShadowCommitError> {
        let document = encode(commit.verdict)?;
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let unchanged = Expression::default()
                .condition(format!(
                    "attribute_exists({COUNT}) AND attribute_not_exists({BARRIER}) AND \
                     (attribute_not_exists({PURGE_EPOCH}) OR {PURGE_EPOCH} = :purged)"
                ))
                .value(":purged", number(commit.purge_epoch));
            let head = transaction.check(self, &keys.head(), unchanged);
            let there = Expression::default().condition(format!("attribute_exists({PK})"));
            let request = transaction.check(self, &keys.request(commit.first_position), there);
            let turn = keys.shadow_turn(commit.verdict.interaction_id, &commit.verdict.judge_prompt_version);
            let turn = transaction.update(self, &turn, verdict_update(keys.org, commit.verdict, &document));
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.is_conflict() => {}
                Err(error) if error.condition_failed(head) || error.condition_failed(request) => {
                    return Err(ShadowCommitError::Erased);
                }
                Err(error) if error.condition_failed(turn) => return Ok(false),
                Err(error) => return Err(error.into_store_error("save shadow verdict").into()),
            }
        }
        Err(StoreError::Contended { operation: "save shadow verdict" }.into())
    }

    /// The verdicts under one version of the judge's prompt that were reached in a span of time, both ends included,
    /// latest first; at most `limit`, or all. Eventual: for lists and numbers, never for decisions.
    ///
    /// # Errors
    /// [`StoreError`] when the table or index fails, or a verdict is damaged.
    pub async fn shadow_verdicts_between(
        &self,
        org: &OrgId,
        version: &str,
        from: EpochSeconds,
        to: EpochSeconds,
        limit: Option<usize>,
    ) -> Result<Vec<ShadowVerdict>, StoreError> {
        let keys = self.listed_in(&shadow_verdicts_partition(org, version), (from, to), limit).await?;
        let items = self.get_many(&keys).await?;
        let read = items.iter().map(|item| ItemReader(item).json(DOCUMENT));
        let mut verdicts = read.collect::<Result<Vec<ShadowVerdict>, _>>()?;
        verdicts.sort_by_key(|verdict| std::cmp::Reverse((verdict.created_at, verdict.verdict_id)));
        Ok(verdicts)
    }
}

fn verdict_update(org: &OrgId, verdict: &ShadowVerdict, document: &str) -> Expression {
    let listed = shadow_verdicts_partition(org, &verdict.judge_prompt_version);
    Expression::new(format!(
        "SET {DOCUMENT} = :doc, {AT} = :at, {BY_TIME_PK} = :bp, {BY_TIME_SK} = :bs REMOVE {ERROR}"
    ))
    .condition(format!("attribute_not_exists({DOCUMENT})"))
    .value(":doc", text(document))
    .value(":at", number(verdict.created_at))
    .value(":bp", text(&listed))
    .value(":bs", text(&time_key(verdict.created_at, &padded(verdict.verdict_id))))
}
