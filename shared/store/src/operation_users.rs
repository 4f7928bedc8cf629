//! The users of one run of a batch operation: listed once, each taken exactly once.
//!
//! A user's row moves from those that wait to those that are done or failed in the transaction that writes what the
//! turn led to. So whoever comes second, or again, finds no row to move, and nothing is done or counted twice. Rows
//! name users by their hash only: what erases a user need not know of them.

use domain::ids::{OrgId, UserHash};
use domain::time::DAY_SECONDS;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    ATTEMPTS, CANCEL, COUNT, CURRENT, ERROR, FAILED, GENERATED, INTERACTIONS, ItemBuilder, ItemReader,
    LISTED, PK, PROCESSED, SK, STEP, TOTAL, TTL, number, text,
};
use crate::counters::Counter;
use crate::error::StoreError;
use crate::keys;
use crate::lookups::user_hash;
use crate::operations::{Operation, beat, beaten, in_progress};
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction, TransactionError};

/// Users that are listed together: with the operation they must fit one transaction.
const USERS_PER_TRANSACTION: usize = 90;
/// How long the rows of an operation are kept, in seconds.
const ROWS_KEPT_SECONDS: i64 = 30 * DAY_SECONDS;
/// Sort keys of users whose turn is to come, is over, was in vain.
const WAITING: &str = "W#";
const DONE: &str = "D#";
const IN_VAIN: &str = "F#";

/// A user whose turn is to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationUser {
    /// The user.
    pub user: UserHash,
    /// How often the turn was begun.
    pub attempts: i64,
}

/// Users that wait for their turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextUsers {
    /// Some of them, in the order of their hashes.
    pub users: Vec<OperationUser>,
    /// Whether there may be more after these.
    pub more: bool,
}

/// What came of beginning a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserStart {
    /// Go on.
    Begun,
    /// This run is over, or a caller wants it stopped.
    Stopped,
    /// Another worker has begun or finished this user's turn.
    Taken,
}

/// Users whose turns are over, so many of them at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Done.
    pub processed: Vec<UserHash>,
    /// In vain, and why.
    pub failed: Vec<(UserHash, String)>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Turn<'a> {
    /// So many interactions were read, so many rows made.
    Done { interactions: i64, generated: i64 },
    /// It failed for this reason.
    Failed(&'a str),
}

/// The places of a turn's items in a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnPlaces {
    pub(crate) operation: usize,
    pub(crate) row: usize,
}

impl Store {
    /// The highest number that was given to a user of the organisation.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn user_numbers(&self, org: &OrgId) -> Result<i64, StoreError> {
        let item = self.get(&keys::counter(org, Counter::User.name())).await?.unwrap_or_default();
        Ok(ItemReader(&item).count(COUNT))
    }

    /// Users with the numbers `from..=to`, consistently read; numbers that lead to nobody are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn users_of_numbers(
        &self,
        org: &OrgId,
        from: i64,
        to: i64,
    ) -> Result<Vec<UserHash>, StoreError> {
        let keys: Vec<_> = (from..=to).map(|number| keys::user_number_lookup(org, number)).collect();
        let items = self.get_many(&keys).await?;
        items.iter().map(|item| user_hash(ItemReader(item))).collect()
    }

    /// Adds users to the list of an operation, each once, and says how far the list got; `false` when another worker
    /// did so first, or this run is over.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn list_operation_users(
        &self,
        org: &OrgId,
        operation: &Operation,
        users: &[UserHash],
        listed: i64,
    ) -> Result<bool, StoreError> {
        let mut chunks: Vec<&[UserHash]> = users.chunks(USERS_PER_TRANSACTION).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        let last = chunks.len() - 1;
        for (place, chunk) in chunks.into_iter().enumerate() {
            // Not until all of them are there: after a crash they are listed again, and found.
            let to = if place == last { listed } else { operation.listed };
            if !self.list_users(org, operation, chunk, to).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn list_users(
        &self,
        org: &OrgId,
        operation: &Operation,
        users: &[UserHash],
        listed: i64,
    ) -> Result<bool, StoreError> {
        let run = &operation.operation_id;
        let rows: Vec<_> = users.iter().map(|user| keys::operation_user(org, run, WAITING, user)).collect();
        let found = self.get_many(&rows).await?;
        let is_listed = |key: &keys::Key| found.iter().any(|item| item.get(SK) == Some(&text(key.sk())));
        let mut new: Vec<_> = rows.iter().filter(|key| !is_listed(key)).collect();
        new.sort_by_key(|key| key.sk());
        new.dedup();
        let now = self.clock.now();
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = Transaction::default();
            let update = format!("{} ADD {TOTAL} :more, {STEP} :one", beat(&format!(", {LISTED} = :to")));
            let mut expression = in_progress(Expression::new(update), run);
            let condition = expression.condition.take().unwrap_or_default();
            let expression = beaten(expression, now)
                .condition(format!("{condition} AND {LISTED} = :from"))
                .value(":to", number(listed))
                .value(":from", number(operation.listed))
                .value(":more", number(i64::try_from(new.len()).unwrap_or(0)))
                .value(":one", number(1));
            transaction.update(self, &keys::operation(org, operation.service), expression);
            for key in &new {
                let item = ItemBuilder::new(key).number(ATTEMPTS, 0).number(TTL, now + ROWS_KEPT_SECONDS);
                transaction.create(self, item.build());
            }
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(TransactionError::Cancelled(_)) => return Ok(false),
                Err(TransactionError::Store(error)) => return Err(error),
            }
        }
        Err(StoreError::Contended { operation: "list users" })
    }

    /// Some of the users who wait for their turn, after `after`.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn waiting_operation_users(
        &self,
        org: &OrgId,
        operation_id: &str,
        after: Option<&UserHash>,
        limit: usize,
    ) -> Result<NextUsers, StoreError> {
        let partition = keys::operation_users(org, operation_id);
        let mut range = Range::prefix(&partition, WAITING).limit(limit);
        if let Some(user) = after {
            // Behind the user's own row and before any other.
            range.from = format!("{WAITING}{}!", user.as_str());
        }
        let (items, next) = self.query_page(&range, None).await?;
        let users = items.iter().map(|item| {
            let reader = ItemReader(item);
            Ok(OperationUser { user: user_of(reader, WAITING)?, attempts: reader.number(ATTEMPTS)? })
        });
        Ok(NextUsers { users: users.collect::<Result<_, StoreError>>()?, more: next.is_some() })
    }

    /// Begins the turn of a user: it counts as attempted from here on, whatever becomes of the worker.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn begin_operation_user(
        &self,
        org: &OrgId,
        operation: &Operation,
        waiting: &OperationUser,
    ) -> Result<UserStart, StoreError> {
        let run = &operation.operation_id;
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = Transaction::default();
            let mut expression = in_progress(Expression::new(beat(&format!(", {CURRENT} = :user"))), run);
            let condition = expression.condition.take().unwrap_or_default();
            let expression = beaten(expression, self.clock.now())
                .condition(format!("{condition} AND attribute_not_exists({CANCEL})"))
                .value(":user", text(waiting.user.as_str()));
            let key = keys::operation(org, operation.service);
            let stopped = transaction.update(self, &key, expression);
            let row = keys::operation_user(org, run, WAITING, &waiting.user);
            let expression = Expression::new(format!("SET {ATTEMPTS} = :next"))
                .condition(format!("{ATTEMPTS} = :seen"))
                .value(":seen", number(waiting.attempts))
                .value(":next", number(waiting.attempts + 1));
            transaction.update(self, &row, expression);
            match transaction.commit(self).await {
                Ok(()) => return Ok(UserStart::Begun),
                Err(error) if error.condition_failed(stopped) => return Ok(UserStart::Stopped),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(TransactionError::Cancelled(_)) => return Ok(UserStart::Taken),
                Err(TransactionError::Store(error)) => return Err(error),
            }
        }
        Err(StoreError::Contended { operation: "begin turn" })
    }

    /// Takes back that a turn was begun: the store failed, not the turn.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails; the turn then counts as attempted.
    pub async fn unbegin_operation_user(
        &self,
        org: &OrgId,
        operation_id: &str,
        waiting: &OperationUser,
    ) -> Result<(), StoreError> {
        let row = keys::operation_user(org, operation_id, WAITING, &waiting.user);
        let expression = Expression::new(format!("SET {ATTEMPTS} = :seen"))
            .condition(format!("{ATTEMPTS} = :begun"))
            .value(":seen", number(waiting.attempts))
            .value(":begun", number(waiting.attempts + 1));
        self.update_one(&row, expression).await?;
        Ok(())
    }

    /// Records that the turn of a user was in vain; `false` when it was over before, or this run is.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn fail_operation_user(
        &self,
        org: &OrgId,
        operation: &Operation,
        user: &UserHash,
        error: &str,
    ) -> Result<bool, StoreError> {
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = Transaction::default();
            self.add_turn(&mut transaction, org, operation, user, &Turn::Failed(error));
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(TransactionError::Cancelled(_)) => return Ok(false),
                Err(TransactionError::Store(error)) => return Err(error),
            }
        }
        Err(StoreError::Contended { operation: "fail turn" })
    }

    /// Makes the end of a user's turn part of a transaction.
    pub(crate) fn add_turn(
        &self,
        transaction: &mut Transaction,
        org: &OrgId,
        operation: &Operation,
        user: &UserHash,
        turn: &Turn<'_>,
    ) -> TurnPlaces {
        let run = &operation.operation_id;
        let now = self.clock.now();
        let (counted, interactions, generated) = match turn {
            Turn::Done { interactions, generated } => (PROCESSED, *interactions, *generated),
            Turn::Failed(_) => (FAILED, 0, 0),
        };
        let update = format!(
            "{} REMOVE {CURRENT} ADD {counted} :one, {STEP} :one, {INTERACTIONS} :read, {GENERATED} :made",
            beat("")
        );
        let expression = beaten(in_progress(Expression::new(update), run), now)
            .value(":one", number(1))
            .value(":read", number(interactions))
            .value(":made", number(generated));
        let operation = transaction.update(self, &keys::operation(org, operation.service), expression);
        let waits = Expression::default().condition(format!("attribute_exists({PK})"));
        let row = transaction.delete(self, &keys::operation_user(org, run, WAITING, user), waits);
        let (prefix, error) = match turn {
            Turn::Done { .. } => (DONE, None),
            Turn::Failed(error) => (IN_VAIN, Some(*error)),
        };
        let over = ItemBuilder::new(&keys::operation_user(org, run, prefix, user))
            .text_if(ERROR, error)
            .number(INTERACTIONS, interactions)
            .number(GENERATED, generated)
            .number(TTL, now + ROWS_KEPT_SECONDS);
        transaction.put(self, over.build());
        TurnPlaces { operation, row }
    }

    /// Whether the turn of a user was done in this run.
    pub(crate) async fn is_turn_done(
        &self,
        org: &OrgId,
        operation_id: &str,
        user: &UserHash,
    ) -> Result<bool, StoreError> {
        Ok(self.get(&keys::operation_user(org, operation_id, DONE, user)).await?.is_some())
    }

    /// Users whose turns are over, at most `limit` of each kind.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn operation_outcomes(
        &self,
        org: &OrgId,
        operation_id: &str,
        limit: usize,
    ) -> Result<Outcomes, StoreError> {
        let partition = keys::operation_users(org, operation_id);
        let (done, _) = self.query_page(&Range::prefix(&partition, DONE).limit(limit), None).await?;
        let (failed, _) = self.query_page(&Range::prefix(&partition, IN_VAIN).limit(limit), None).await?;
        let failed = failed.iter().map(|item| {
            let reader = ItemReader(item);
            Ok((user_of(reader, IN_VAIN)?, reader.text_opt(ERROR).unwrap_or_default().to_owned()))
        });
        Ok(Outcomes {
            processed: done.iter().map(|item| user_of(ItemReader(item), DONE)).collect::<Result<_, _>>()?,
            failed: failed.collect::<Result<_, StoreError>>()?,
        })
    }
}

/// The user of a row.
fn user_of(reader: ItemReader<'_>, prefix: &str) -> Result<UserHash, StoreError> {
    let hash = reader.text(SK)?.strip_prefix(prefix);
    hash.and_then(UserHash::parse).ok_or_else(|| reader.corrupt(SK))
}
