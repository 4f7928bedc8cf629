//! Verdicts on the learnings that a session was given: the state of their judgement, and their commit.
//!
//! Every attempt has a generation. It writes its verdicts under it, and one transaction then names that generation as
//! the one in force; readers pass over all others. So the verdicts of a session are replaced at once, however many
//! they are, and a crash leaves those of before.

use domain::entities::{RetrievedLearningResult, RetrievedLearningState};
use domain::ids::OrgId;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    ACTIVE_RUN, AT, BARRIER, BY_TIME_PK, BY_TIME_SK, COUNT, DOCUMENT, Item, ItemBuilder, ItemReader, PK,
    PURGE_EPOCH, SK, VERSION, number, text,
};
use crate::counters::Counter;
use crate::error::StoreError;
use crate::keys::{Key, Listing, UserKeys, padded, time_key};
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, Transaction, TransactionError};

/// Verdicts that one transaction writes: each may be 40 KB of 4 MB.
pub const ROWS_PER_TRANSACTION: usize = 80;

/// The state of a judgement as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievedLearningRecord {
    /// The state.
    pub state: RetrievedLearningState,
    /// The generation whose verdicts are in force; 0 when there are none.
    pub in_force: i64,
}

impl RetrievedLearningRecord {
    pub(crate) fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        Ok(Self { state: reader.json(DOCUMENT)?, in_force: reader.count(ACTIVE_RUN) })
    }
}

/// The verdicts of one attempt, and what must still be as it was read.
#[derive(Debug, Clone)]
pub struct RetrievedLearningCommit<'a> {
    /// The state as it shall be; its generation must still be the latest.
    pub state: &'a RetrievedLearningState,
    /// The verdicts, ids taken.
    pub rows: &'a [RetrievedLearningResult],
    /// The session's version when it was read: raised by every request.
    pub session_version: i64,
    /// The head's purge epoch when the session was read: raised by every deletion.
    pub purge_epoch: i64,
}

/// Why an attempt was not begun, recorded or committed.
#[derive(Debug, thiserror::Error)]
pub enum RetrievedLearningCommitError {
    /// A later attempt began.
    #[error("a later attempt began")]
    Superseded,
    /// The session is not as it was read, or is being erased: look again.
    #[error("the session changed since it was read")]
    Changed,
    /// The store failed; the state tells whether it was committed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which item of a transaction stands for what.
#[derive(Default)]
struct Placed {
    state: Option<usize>,
    session: Option<usize>,
    head: usize,
}

impl Store {
    /// How far the judgement of a session's learnings is, consistently read. `session` is the hash of its id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the state is damaged.
    pub async fn retrieved_learning_state(
        &self,
        keys: &UserKeys<'_>,
        session: &str,
    ) -> Result<Option<RetrievedLearningRecord>, StoreError> {
        let item = self.get(&keys.retrieved_state(session)).await?;
        item.as_ref().map(RetrievedLearningRecord::from_item).transpose()
    }

    /// Takes `many` consecutive ids of verdicts on learnings; the first is returned.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn take_retrieved_learning_ids(&self, org: &OrgId, many: usize) -> Result<i64, StoreError> {
        self.take_numbers(org, Counter::RetrievedLearningResult, many).await
    }

    /// Writes the state of an attempt, if the latest generation is `seen`: one less than its own when it begins (0
    /// when there was none), its own from then on. The verdicts in force stay.
    ///
    /// # Errors
    /// [`RetrievedLearningCommitError`]; `Changed` when the user is being erased.
    pub async fn save_retrieved_learning_state(
        &self,
        keys: &UserKeys<'_>,
        state: &RetrievedLearningState,
        seen: i64,
    ) -> Result<(), RetrievedLearningCommitError> {
        let session = state.session_id.hash();
        let update = state_update(state, seen)?;
        let saved = self
            .retrieved_transaction(|transaction| {
                let head = transaction.check(self, &keys.head(), not_barred());
                let update = transaction.update(self, &keys.retrieved_state(&session), update.clone());
                Ok(Placed { state: Some(update), session: None, head })
            })
            .await;
        self.unless_ours(keys, state, saved, |record| record.state == *state).await
    }

    /// Puts the verdicts of an attempt in force, in the place of those of before.
    ///
    /// # Errors
    /// [`RetrievedLearningCommitError`]; the verdicts of before are in force then, unless the store failed.
    pub async fn commit_retrieved_learnings(
        &self,
        keys: &UserKeys<'_>,
        commit: &RetrievedLearningCommit<'_>,
    ) -> Result<(), RetrievedLearningCommitError> {
        let staged = commit.rows.len().saturating_sub(ROWS_PER_TRANSACTION);
        let (staged, last) = commit.rows.split_at(staged);
        for chunk in staged.chunks(ROWS_PER_TRANSACTION) {
            self.stage_verdicts(keys, commit.state, chunk).await?;
        }
        let session = commit.state.session_id.hash();
        let update = in_force_update(keys, commit)?;
        let committed = self
            .retrieved_transaction(|transaction| {
                let head = transaction.check(self, &keys.head(), as_read(commit.purge_epoch));
                let version = Expression::default()
                    .condition(format!("{VERSION} = :seen"))
                    .value(":seen", number(commit.session_version));
                let checked = transaction.check(self, &keys.session(&commit.state.session_id), version);
                let state = transaction.update(self, &keys.retrieved_state(&session), update.clone());
                for row in last {
                    transaction.put(self, row_item(keys, &session, commit.state.generation, row)?);
                }
                Ok(Placed { state: Some(state), session: Some(checked), head })
            })
            .await;
        let is_in_force = |record: &RetrievedLearningRecord| record.in_force == commit.state.generation;
        self.unless_ours(keys, commit.state, committed, is_in_force).await
    }

    async fn stage_verdicts(
        &self,
        keys: &UserKeys<'_>,
        state: &RetrievedLearningState,
        rows: &[RetrievedLearningResult],
    ) -> Result<(), RetrievedLearningCommitError> {
        let session = state.session_id.hash();
        self.retrieved_transaction(|transaction| {
            let head = transaction.check(self, &keys.head(), not_barred());
            let latest = Expression::default()
                .condition(format!("{VERSION} = :mine"))
                .value(":mine", number(state.generation));
            let checked = transaction.check(self, &keys.retrieved_state(&session), latest);
            for row in rows {
                transaction.put(self, row_item(keys, &session, state.generation, row)?);
            }
            Ok(Placed { state: Some(checked), session: None, head })
        })
        .await
    }

    /// Removes what earlier attempts left: verdicts that are not in force, and none of an attempt under way. May be
    /// left undone: readers pass over them.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn tidy_retrieved_learnings(
        &self,
        keys: &UserKeys<'_>,
        session: &str,
    ) -> Result<usize, StoreError> {
        let Some(record) = self.retrieved_learning_state(keys, session).await? else { return Ok(0) };
        let partition = keys.partition();
        let all = self.query_all(Range::prefix(&partition, &UserKeys::retrieved_rows(session))).await?;
        let in_force = UserKeys::retrieved_rows_of(session, record.in_force);
        let latest = UserKeys::retrieved_rows_of(session, record.state.generation);
        let mut left = Vec::new();
        for item in &all {
            let reader = ItemReader(item);
            let sk = reader.text(SK)?;
            if !sk.starts_with(&in_force) && !sk.starts_with(&latest) {
                left.push(Key::from_parts(reader.text(PK)?, sk));
            }
        }
        for chunk in left.chunks(ROWS_PER_TRANSACTION) {
            let mut transaction = Transaction::default();
            for key in chunk {
                transaction.delete(self, key, Expression::default());
            }
            transaction.commit(self).await.map_err(|error| error.into_store_error("tidy verdicts"))?;
        }
        Ok(left.len())
    }

    async fn retrieved_transaction(
        &self,
        fill: impl Fn(&mut Transaction) -> Result<Placed, StoreError> + Send + Sync,
    ) -> Result<(), RetrievedLearningCommitError> {
        const OPERATION: &str = "commit verdicts on learnings";
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let placed = fill(&mut transaction)?;
            let failed = |error: &TransactionError, item: Option<usize>| {
                item.is_some_and(|item| error.condition_failed(item))
            };
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if failed(&error, placed.state) => {
                    return Err(RetrievedLearningCommitError::Superseded);
                }
                Err(error) if failed(&error, Some(placed.head)) || failed(&error, placed.session) => {
                    return Err(RetrievedLearningCommitError::Changed);
                }
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into_store_error(OPERATION).into()),
            }
        }
        Err(StoreError::Contended { operation: OPERATION }.into())
    }

    /// The answer to a write may have been lost, and its repeat refused: the state tells whether it was ours.
    async fn unless_ours(
        &self,
        keys: &UserKeys<'_>,
        state: &RetrievedLearningState,
        written: Result<(), RetrievedLearningCommitError>,
        is_written: impl Fn(&RetrievedLearningRecord) -> bool + Send,
    ) -> Result<(), RetrievedLearningCommitError> {
        let error = match written {
            Ok(()) => return Ok(()),
            Err(error @ RetrievedLearningCommitError::Changed) => return Err(error),
            Err(error) => error,
        };
        match self.retrieved_learning_state(keys, &state.session_id.hash()).await {
            Ok(Some(found)) if found.state.attempt_id == state.attempt_id && is_written(&found) => Ok(()),
            _ => Err(error),
        }
    }
}

/// The user is there and not being erased.
fn not_barred() -> Expression {
    Expression::default().condition(format!("attribute_exists({COUNT}) AND attribute_not_exists({BARRIER})"))
}

/// As [`not_barred`], and nothing of the user was deleted since.
fn as_read(purge_epoch: i64) -> Expression {
    let absent =
        if purge_epoch == 0 { format!("attribute_not_exists({PURGE_EPOCH}) OR ") } else { String::new() };
    Expression::default()
        .condition(format!(
            "attribute_exists({COUNT}) AND attribute_not_exists({BARRIER}) AND ({absent}{PURGE_EPOCH} = :purged)"
        ))
        .value(":purged", number(purge_epoch))
}

fn state_update(state: &RetrievedLearningState, seen: i64) -> Result<Expression, StoreError> {
    let update = Expression::new(format!("SET {DOCUMENT} = :state, {VERSION} = :generation"))
        .value(":state", text(&encode(state)?))
        .value(":generation", number(state.generation));
    Ok(match seen {
        0 => update.condition(format!("attribute_not_exists({VERSION})")),
        _ => update.condition(format!("{VERSION} = :latest")).value(":latest", number(seen)),
    })
}

/// Names the generation in force. A session with verdicts is listed by when it began.
fn in_force_update(
    keys: &UserKeys<'_>,
    commit: &RetrievedLearningCommit<'_>,
) -> Result<Expression, StoreError> {
    let state = commit.state;
    let update = format!("SET {DOCUMENT} = :state, {ACTIVE_RUN} = :mine");
    let expression = Expression::default()
        .condition(format!("{VERSION} = :mine"))
        .value(":state", text(&encode(state)?))
        .value(":mine", number(state.generation));
    let Some(began) = commit.rows.iter().map(|row| row.created_at).min() else {
        let update = format!("{update} REMOVE {AT}, {BY_TIME_PK}, {BY_TIME_SK}");
        return Ok(Expression { update, ..expression });
    };
    let update = format!("{update}, {AT} = :began, {BY_TIME_PK} = :listing, {BY_TIME_SK} = :time");
    let time = time_key(began, &padded(commit.rows.iter().map(|row| row.result_id).max().unwrap_or(0)));
    Ok(Expression { update, ..expression }
        .value(":began", number(began))
        .value(":listing", text(&Listing::LearningSessions.partition(keys.org)))
        .value(":time", text(&time)))
}

fn row_item(
    keys: &UserKeys<'_>,
    session: &str,
    generation: i64,
    row: &RetrievedLearningResult,
) -> Result<Item, StoreError> {
    let tie = format!("{:020}#{}", row.interaction_id.unwrap_or(0).max(0), padded(row.result_id));
    Ok(ItemBuilder::new(&keys.retrieved_row(session, generation, row))
        .text(DOCUMENT, &encode(row)?)
        .number(VERSION, generation)
        .text(BY_TIME_PK, &Listing::LearningVerdicts.partition(keys.org))
        .text(BY_TIME_SK, &time_key(row.interaction_created_at.unwrap_or(0), &tie))
        .build())
}
