//! Verdicts on sessions: those in force, by user and by time, and those they replaced.

use domain::entities::EvaluationResult;
use domain::ids::OrgId;
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    AGENT_VERSION, AT, BARRIER, BY_TIME_PK, BY_TIME_SK, COUNT, DOCUMENT, EVALUATION_ID, Item, ItemBuilder,
    ItemReader, PK, PURGE_EPOCH, SESSION, SK, number,
};
use crate::counters::Counter;
use crate::error::StoreError;
use crate::keys::{Key, Listing, UserKeys, padded, time_key};
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, Transaction};

impl Store {
    /// Takes the id of a new verdict.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn new_evaluation_id(&self, org: &OrgId) -> Result<i64, StoreError> {
        self.take_numbers(org, Counter::EvaluationResult, 1).await
    }

    /// The verdicts in force on one user's part in a session, one per evaluation and agent version; consistently
    /// read. `session` is the hash of the session id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a verdict is damaged.
    pub async fn session_evaluations(
        &self,
        keys: &UserKeys<'_>,
        session: &str,
    ) -> Result<Vec<EvaluationResult>, StoreError> {
        let partition = keys.partition();
        let items = self.query_all(Range::prefix(&partition, &keys.evaluations_of(session))).await?;
        items.iter().map(|item| ItemReader(item).json(DOCUMENT)).collect()
    }

    /// The verdicts in force on sessions that began in a span of time, both ends included, latest first; at most
    /// `limit`, or all. Eventual: for lists and numbers, never for decisions.
    ///
    /// # Errors
    /// [`StoreError`] when the table or index fails, or a verdict is damaged.
    pub async fn evaluations_between(
        &self,
        org: &OrgId,
        from: EpochSeconds,
        to: EpochSeconds,
        limit: Option<usize>,
    ) -> Result<Vec<EvaluationResult>, StoreError> {
        let keys = self.listed_between(org, Listing::Evaluations, from, to, limit).await?;
        let mut results = self.evaluations_at(&keys).await?;
        results.sort_by_key(|result| std::cmp::Reverse((result.created_at, result.result_id)));
        Ok(results)
    }

    /// When the earliest session with a verdict began; `None` when there is no verdict. Eventual.
    ///
    /// # Errors
    /// [`StoreError`] when the index fails.
    pub async fn earliest_evaluation(&self, org: &OrgId) -> Result<Option<EpochSeconds>, StoreError> {
        self.earliest_listed(org, Listing::Evaluations).await
    }

    async fn evaluations_at(&self, keys: &[Key]) -> Result<Vec<EvaluationResult>, StoreError> {
        let items = self.get_many(keys).await?;
        items.iter().map(|item| ItemReader(item).json(DOCUMENT)).collect()
    }
}

/// A new verdict, and the one that it takes the place of.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationCommit<'a> {
    /// The new verdict.
    pub result: &'a EvaluationResult,
    /// The one in force, as it was read, of the same user, session, evaluation and agent version.
    pub replaced: Option<&'a EvaluationResult>,
    /// The head's purge epoch when the session was read: of what was deleted since, no verdict comes.
    pub purge_epoch: i64,
}

/// Why a verdict was not saved.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationCommitError {
    /// The user is being erased, or some of what was judged was deleted.
    #[error("what was judged is being erased")]
    Erased,
    /// Another verdict came first.
    #[error("another verdict came first")]
    Superseded,
    /// The store failed; the same verdict may be saved again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Puts a verdict in force, and the one before it into the history. Saving the same verdict again does nothing.
    ///
    /// # Errors
    /// [`EvaluationCommitError`]; nothing was written but after a lost answer.
    pub async fn save_evaluation(
        &self,
        keys: &UserKeys<'_>,
        commit: &EvaluationCommit<'_>,
    ) -> Result<(), EvaluationCommitError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let placed = self.add_evaluation(&mut transaction, keys, commit)?;
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) if error.condition_failed(placed.head) => {
                    return Err(EvaluationCommitError::Erased);
                }
                Err(error) if error.condition_failed(placed.result) => {
                    let session = commit.result.session_id.hash();
                    let in_force = self.session_evaluations(keys, &session).await?;
                    let is_ours = in_force.iter().any(|one| one.result_id == commit.result.result_id);
                    return if is_ours { Ok(()) } else { Err(EvaluationCommitError::Superseded) };
                }
                Err(error) => return Err(error.into_store_error("save evaluation").into()),
            }
        }
        Err(StoreError::Contended { operation: "save evaluation" }.into())
    }

    /// Makes a verdict part of a transaction.
    pub(crate) fn add_evaluation(
        &self,
        transaction: &mut Transaction,
        keys: &UserKeys<'_>,
        commit: &EvaluationCommit<'_>,
    ) -> Result<PlacedEvaluation, StoreError> {
        let head = transaction.check(
            self,
            &keys.head(),
            Expression::default()
                .condition(format!(
                    "attribute_exists({COUNT}) AND attribute_not_exists({BARRIER}) AND \
                     (attribute_not_exists({PURGE_EPOCH}) OR {PURGE_EPOCH} = :purged)"
                ))
                .value(":purged", number(commit.purge_epoch)),
        );
        let item = evaluation_item(keys, commit.result)?;
        let result = match commit.replaced {
            None => transaction.create(self, item),
            Some(replaced) => {
                let seen = Expression::default()
                    .condition(format!("{EVALUATION_ID} = :seen"))
                    .value(":seen", number(replaced.result_id));
                transaction.put(self, past_evaluation_item(keys, replaced)?);
                transaction.put_if(self, item, seen)
            }
        };
        Ok(PlacedEvaluation { head, result })
    }
}

/// Indexes of the items whose refusal means something.
pub(crate) struct PlacedEvaluation {
    pub(crate) head: usize,
    pub(crate) result: usize,
}

/// The item of a verdict in force.
fn evaluation_item(keys: &UserKeys<'_>, result: &EvaluationResult) -> Result<Item, StoreError> {
    let tie = padded(result.result_id);
    Ok(ItemBuilder::new(&keys.evaluation(result))
        .text(DOCUMENT, &encode(result)?)
        .number(EVALUATION_ID, result.result_id)
        .text(SESSION, result.session_id.as_str())
        .text(AGENT_VERSION, &result.agent_version)
        .number(AT, result.created_at)
        .text(BY_TIME_PK, &Listing::Evaluations.partition(keys.org))
        .text(BY_TIME_SK, &time_key(result.created_at, &tie))
        .build())
}

/// The item of a verdict that another one replaced.
fn past_evaluation_item(keys: &UserKeys<'_>, result: &EvaluationResult) -> Result<Item, StoreError> {
    Ok(ItemBuilder::new(&keys.past_evaluation(result))
        .text(DOCUMENT, &encode(result)?)
        .number(AT, result.created_at)
        .build())
}

impl Store {
    /// The keys of what is listed in a span of time, both ends included, latest first.
    pub(crate) async fn listed_between(
        &self,
        org: &OrgId,
        listing: Listing,
        from: EpochSeconds,
        to: EpochSeconds,
        limit: Option<usize>,
    ) -> Result<Vec<Key>, StoreError> {
        self.listed_in(&listing.partition(org), (from, to), limit).await
    }

    /// As [`Self::listed_between`], in a partition of the index.
    pub(crate) async fn listed_in(
        &self,
        partition: &str,
        span: (EpochSeconds, EpochSeconds),
        limit: Option<usize>,
    ) -> Result<Vec<Key>, StoreError> {
        let entries = self.entries_between(partition, span, limit).await?;
        let key = |item: &Item| {
            let reader = ItemReader(item);
            Ok(Key::from_parts(reader.text(PK)?, reader.text(SK)?))
        };
        entries.iter().map(key).collect()
    }

    /// The entries of a partition of `by_time` in a span of time, both ends included, latest first.
    pub(crate) async fn entries_between(
        &self,
        partition: &str,
        span: (EpochSeconds, EpochSeconds),
        limit: Option<usize>,
    ) -> Result<Vec<Item>, StoreError> {
        let (mut entries, mut start) = (Vec::new(), None);
        loop {
            let page = self.query_by_time_between(partition, span, limit, start).await?;
            entries.extend(page.0);
            let is_enough = limit.is_some_and(|limit| entries.len() >= limit);
            if is_enough || page.1.is_none() {
                entries.truncate(limit.unwrap_or(usize::MAX));
                return Ok(entries);
            }
            start = page.1;
        }
    }
}
