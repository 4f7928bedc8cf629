//! Due users of stalled organisations: out of the common index, and back into it.

use domain::ids::{OrgId, UserHash};
use domain::time::EpochSeconds;
use futures::future::join_all;

use crate::Store;
use crate::attributes::{COUNT, DUE_AT, DUE_PK, STATUS, number, text};
use crate::due::{self, DUE_SHARDS, DueUser};
use crate::error::StoreError;
use crate::keys::UserKeys;
use crate::retry::ATTEMPTS_MAX;
use crate::stalls::{STALL_PROBE_SECONDS, STALLED, Stall, stall_key};
use crate::transaction::{Expression, Transaction, TransactionError};

/// Users that one transaction parks.
const PARKED_PER_TRANSACTION: usize = 50;
/// Users that one look puts back: an organisation that goes on shall not keep the others waiting.
pub const PUT_BACK_PER_LOOK_MAX: usize = 500;
/// Users that are put back at the same time.
const PUT_BACK_AT_ONCE: usize = 25;
/// A look finds nobody this long after learning went on, in seconds: the index lags, but not so long.
const PUT_BACK_SECONDS: i64 = 600;
/// Between two looks for users who must be put back, in seconds.
const LOOK_SECONDS: i64 = 30;

/// What a look at a stall led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TendedStall {
    /// This user was put back, and is let through to see whether the provider answers.
    Probe(UserHash),
    /// So many users were put back.
    PutBack(usize),
    /// Nobody waits.
    Nobody,
}

/// The index partition in which users of a stalled organisation wait.
fn partition(org: &OrgId, shard: u32) -> String {
    format!("stalled#{org}#{shard}")
}

fn partition_of_user(org: &OrgId, user: &UserHash) -> String {
    let shard = due::partition(user);
    format!("stalled#{org}#{}", shard.strip_prefix("due#").unwrap_or(&shard))
}

impl Store {
    /// Takes overdue users of a stalled organisation out of the common index, as long as it is stalled. Users who are
    /// not due as seen any more stay where they are. How many were parked; `None` when the organisation is not
    /// stalled.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn park_users(&self, org: &OrgId, users: &[DueUser]) -> Result<Option<usize>, StoreError> {
        let mut parked = 0;
        for chunk in users.chunks(PARKED_PER_TRANSACTION) {
            match self.park_chunk(org, chunk.to_vec()).await? {
                Some(many) => parked += many,
                None => return Ok(None),
            }
        }
        Ok(Some(parked))
    }

    async fn park_chunk(&self, org: &OrgId, mut users: Vec<DueUser>) -> Result<Option<usize>, StoreError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            if users.is_empty() {
                return Ok(Some(0));
            }
            let mut transaction = Transaction::default();
            let is_stalled = Expression::default()
                .condition(format!("{STATUS} = :stalled"))
                .value(":stalled", text(STALLED));
            let check = transaction.check(self, &stall_key(org), is_stalled);
            let indexes: Vec<usize> =
                users.iter().map(|user| transaction.update(self, &head_key(user), park(user))).collect();
            match transaction.commit(self).await {
                Ok(()) => return Ok(Some(users.len())),
                Err(error) if error.condition_failed(check) => return Ok(None),
                Err(error @ TransactionError::Cancelled(_)) if !error.is_refusal() => {
                    let mut moved = indexes.iter().map(|index| error.condition_failed(*index));
                    users.retain(|_| !moved.next().unwrap_or(false));
                }
                Err(error) => return Err(error.into_store_error("park users")),
            }
        }
        Err(StoreError::Contended { operation: "park users" })
    }

    /// Looks at a stall whose time has come: lets a user through while it lasts, puts users back once it is over.
    ///
    /// # Errors
    /// [`StoreError`] when the table or the index fails.
    pub async fn tend_stall(&self, org: &OrgId) -> Result<TendedStall, StoreError> {
        match self.stall(org).await? {
            Some(stall) if stall.stalled => self.probe(org).await,
            Some(stall) => self.put_back_some(org, &stall).await,
            None => Ok(TendedStall::Nobody),
        }
    }

    async fn probe(&self, org: &OrgId) -> Result<TendedStall, StoreError> {
        let now = self.clock.now();
        let user = self.parked_users(org, 1).await?.pop();
        let probe = user.as_ref().map(|user| user.as_str().to_owned());
        let next = |old: &Stall| {
            let stall = Stall { probe: probe.clone(), ..old.clone() };
            old.stalled.then_some((stall, Some(now + STALL_PROBE_SECONDS)))
        };
        if !self.change_stall(org, next).await? {
            return Ok(TendedStall::Nobody);
        }
        let Some(user) = user else { return Ok(TendedStall::Nobody) };
        self.put_back(org, &user).await?;
        Ok(TendedStall::Probe(user))
    }

    async fn put_back_some(&self, org: &OrgId, seen: &Stall) -> Result<TendedStall, StoreError> {
        let users = self.parked_users(org, PUT_BACK_PER_LOOK_MAX).await?;
        for some in users.chunks(PUT_BACK_AT_ONCE) {
            for done in join_all(some.iter().map(|user| self.put_back(org, user))).await {
                done?;
            }
        }
        let now = self.clock.now();
        let is_over = users.is_empty() && now - seen.cleared_at >= PUT_BACK_SECONDS;
        let next = (!is_over).then_some(now + LOOK_SECONDS);
        // Not one that began meanwhile.
        self.change_stall(org, |old| (old == seen).then(|| (old.clone(), next))).await?;
        Ok(if users.is_empty() { TendedStall::Nobody } else { TendedStall::PutBack(users.len()) })
    }

    /// Users who wait, the longest overdue of each shard first. Eventual: a user may be gone already.
    async fn parked_users(&self, org: &OrgId, limit: usize) -> Result<Vec<UserHash>, StoreError> {
        let mut found = Vec::new();
        for shard in 0..DUE_SHARDS {
            if found.len() < limit {
                let left = limit - found.len();
                found.extend(self.due_users(&partition(org, shard), EpochSeconds::MAX, left).await?);
            }
        }
        Ok(found.into_iter().map(|user| user.user).collect())
    }

    /// Back into the common index, as overdue as before.
    async fn put_back(&self, org: &OrgId, user: &UserHash) -> Result<(), StoreError> {
        let keys = UserKeys { org, user };
        let expression = Expression::new(format!("SET {DUE_PK} = :shard"))
            .condition(format!("{DUE_PK} = :parked"))
            .value(":shard", text(&due::partition(user)))
            .value(":parked", text(&partition_of_user(org, user)));
        self.update_one(&keys.head(), expression).await?;
        Ok(())
    }
}

fn head_key(user: &DueUser) -> crate::keys::Key {
    UserKeys { org: &user.org, user: &user.user }.head()
}

fn park(user: &DueUser) -> Expression {
    Expression::new(format!("SET {DUE_PK} = :parked"))
        .condition(format!("{DUE_AT} = :seen AND {DUE_PK} = :shard AND attribute_exists({COUNT})"))
        .value(":parked", text(&partition_of_user(&user.org, &user.user)))
        .value(":seen", number(user.due_at))
        .value(":shard", text(&due::partition(&user.user)))
}
