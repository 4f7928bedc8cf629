//! Direct writes of profiles and playbooks by callers, without a lease: each is one transaction that raises
//! the user's memory version.

use domain::ids::{OrgId, UserHash};
use domain::learning::LearningKind;

use crate::Store;
use crate::aggregation_inbox::{RowChange, inbox_mark};
use crate::attributes::ItemReader;
use crate::error::StoreError;
use crate::keys::{self, UserKeys};
use crate::learning::{PlaybookRows, unchanged};
use crate::leases::change_memory;
use crate::lookups::{lookup_item, user_hash};
use crate::outbox::OutboxEntry;
use crate::profile_changes::{change_item, created_by_callers};
use crate::profiles::ProfileRow;
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction, TransactionError};
use crate::user_playbooks::UserPlaybookRow;
use crate::version_marks::mark_user;

/// Rows that one transaction of a direct write holds: each takes three items at most; the version, marks and effects
/// come on top.
const ROWS_PER_TRANSACTION: usize = 24;
/// Effects that go with each transaction of a direct write of playbooks.
pub const EFFECTS_MAX: usize = 20;
/// Profiles that one transaction of a direct write holds: each may stand in the log as well.
const PROFILES_PER_TRANSACTION: usize = 12;
/// Longest JSON of a row that a caller writes, in bytes: so many of them stay below the 4 MB of a transaction.
pub const ROW_BYTES_MAX: usize = 128 * 1024;

/// Why a direct write was refused.
#[derive(Debug, thiserror::Error)]
pub enum DirectWriteError {
    /// The id is in use for another user.
    #[error("the id belongs to another user")]
    ForeignId,
    /// The user is being erased.
    #[error("the user is being erased")]
    Barred,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why rows were not replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// A row is not as it was read.
    #[error("a row changed since it was read")]
    Changed,
    /// The user is being erased.
    #[error("the user is being erased")]
    Barred,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Stores profiles of one user, replacing those with the same id; their creation time is kept. New ones stand in
    /// the log of changes.
    ///
    /// # Errors
    /// [`DirectWriteError`]; batches before the failing one are stored.
    pub async fn put_profiles(
        &self,
        org: &OrgId,
        user: &UserHash,
        rows: Vec<ProfileRow>,
    ) -> Result<(), DirectWriteError> {
        let keys = UserKeys { org, user };
        for chunk in rows.chunks(PROFILES_PER_TRANSACTION) {
            self.put_profile_chunk(&keys, chunk).await?;
        }
        Ok(())
    }

    async fn put_profile_chunk(
        &self,
        keys: &UserKeys<'_>,
        chunk: &[ProfileRow],
    ) -> Result<(), DirectWriteError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let lookups: Vec<_> =
                chunk.iter().map(|row| keys::profile_lookup(keys.org, &row.profile.profile_id)).collect();
            for item in self.get_many(&lookups).await? {
                if user_hash(ItemReader(&item))? != *keys.user {
                    return Err(DirectWriteError::ForeignId);
                }
            }
            let stored_keys: Vec<_> = chunk.iter().map(|row| keys.profile(&row.profile.profile_id)).collect();
            // As stored: the write is conditional on their versions, and their statuses do not matter to it.
            let stored = self.get_many(&stored_keys).await?;
            let stored: Vec<_> = stored.iter().map(ProfileRow::from_item).collect::<Result<_, _>>()?;
            let mut transaction = Transaction::default();
            let memory = transaction.update(self, &keys.lease(), change_memory());
            let mut created = Vec::new();
            let statuses: Vec<_> = chunk.iter().map(|row| row.profile.status).collect();
            mark_user(&mut transaction, self, keys, LearningKind::Profile, &statuses);
            for row in chunk {
                let old = stored.iter().find(|old| old.profile.profile_id == row.profile.profile_id);
                let mut row = row.clone();
                if let Some(old) = old {
                    row.version = old.version;
                    row.profile.created_at = old.profile.created_at;
                    transaction.put_if(self, row.to_item(keys)?, unchanged(old.version));
                } else {
                    transaction.create(self, row.to_item(keys)?);
                    let key = keys::profile_lookup(keys.org, &row.profile.profile_id);
                    transaction.create(self, lookup_item(&key, keys.user));
                }
                if old.is_none() {
                    created.push(row.profile);
                }
            }
            let created: Vec<_> = created.iter().collect();
            for (change, id) in created_by_callers(&created, self.clock.now()) {
                transaction.put(self, change_item(keys, &change, &id)?);
            }
            match self.settle(keys, transaction, memory, "put profiles").await? {
                true => return Ok(()),
                false => continue,
            }
        }
        Err(StoreError::Contended { operation: "put profiles" }.into())
    }

    /// Stores new user playbooks of one user (or of no user); their ids must have been taken. `effects`, of which
    /// there may be [`EFFECTS_MAX`], are committed with them and carried out by the caller.
    ///
    /// # Errors
    /// [`DirectWriteError`]; batches before the failing one are stored.
    pub async fn create_user_playbooks(
        &self,
        org: &OrgId,
        user: &UserHash,
        rows: Vec<UserPlaybookRow>,
        effects: &[OutboxEntry],
    ) -> Result<(), DirectWriteError> {
        let keys = UserKeys { org, user };
        for chunk in rows.chunks(ROWS_PER_TRANSACTION) {
            let mut attempt = 0;
            loop {
                let mut transaction = Transaction::default();
                let memory = transaction.update(self, &keys.lease(), change_memory());
                let statuses: Vec<_> = chunk.iter().map(|row| row.playbook.status).collect();
                mark_user(&mut transaction, self, &keys, LearningKind::Playbook, &statuses);
                for row in chunk {
                    transaction.create(self, row.to_item(&keys)?);
                    let key = keys::user_playbook_lookup(org, row.playbook.user_playbook_id);
                    transaction.create(self, lookup_item(&key, user));
                    if let Some(mark) = inbox_mark(&keys, row, RowChange::Inserted) {
                        transaction.put(self, mark);
                    }
                }
                for effect in effects {
                    transaction.put(self, effect.to_item(self.clock.now())?);
                }
                if self.settle(&keys, transaction, memory, "create user playbooks").await? {
                    break;
                }
                attempt += 1;
                if attempt >= ATTEMPTS_MAX {
                    return Err(StoreError::Contended { operation: "create user playbooks" }.into());
                }
                self.retries.wait(attempt).await;
            }
        }
        Ok(())
    }

    /// Replaces a few user playbooks of one user (or of no user) by others, all or nothing; each old row must be as it
    /// was read.
    ///
    /// # Errors
    /// [`ReplaceError`].
    pub async fn replace_user_playbooks(
        &self,
        org: &OrgId,
        user: &UserHash,
        rows: &PlaybookRows,
    ) -> Result<(), ReplaceError> {
        let keys = UserKeys { org, user };
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let memory = transaction.update(self, &keys.lease(), change_memory());
            self.add_playbooks(&mut transaction, &keys, rows)?;
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.condition_failed(memory) => {
                    if self.is_barred(&keys).await? {
                        return Err(ReplaceError::Barred);
                    }
                    // A change of versions is under way: the rows are read again once it is done.
                    self.finish_flip(&keys, None).await?;
                    return Err(ReplaceError::Changed);
                }
                Err(error) if error.is_conflict() => {}
                Err(error) if error.is_refusal() => {
                    return Err(error.into_store_error("replace user playbooks").into());
                }
                Err(TransactionError::Cancelled(_)) => return Err(ReplaceError::Changed),
                Err(TransactionError::Store(error)) => return Err(error.into()),
            }
        }
        Err(StoreError::Contended { operation: "replace user playbooks" }.into())
    }

    /// Commits a direct write: `true` when done, `false` when it is worth another try.
    ///
    /// A write that meets a change of versions finishes that first and then begins again. It could also go on and
    /// leave word which of its rows are newer than the change; but then every reader, and whoever finishes the
    /// change, would have to tell such rows apart, and a row that the write replaces would have two truths.
    async fn settle(
        &self,
        keys: &UserKeys<'_>,
        transaction: Transaction,
        memory: usize,
        operation: &'static str,
    ) -> Result<bool, DirectWriteError> {
        match transaction.commit(self).await {
            Ok(()) => Ok(true),
            Err(error) if error.condition_failed(memory) => {
                if self.is_barred(keys).await? {
                    return Err(DirectWriteError::Barred);
                }
                self.finish_flip(keys, None).await?;
                Ok(false)
            }
            Err(TransactionError::Cancelled(_)) => Ok(false),
            Err(error) => Err(error.into_store_error(operation).into()),
        }
    }

    /// Says that some user's playbooks changed, for readers that cache those of the whole organisation.
    /// A plain counter after the commit: losing one write delays such a reader by its maximum age, no more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn bump_org_playbooks(&self, org: &OrgId) -> Result<(), StoreError> {
        let key = keys::org_item(org, PLAYBOOKS_VERSION);
        let expression = Expression::new(format!("ADD {} :one", crate::attributes::VERSION))
            .value(":one", crate::attributes::number(1));
        self.update_one(&key, expression).await?;
        Ok(())
    }

    /// The number that [`Self::bump_org_playbooks`] raises.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn org_playbooks_version(&self, org: &OrgId) -> Result<i64, StoreError> {
        let item = self.get(&keys::org_item(org, PLAYBOOKS_VERSION)).await?.unwrap_or_default();
        Ok(ItemReader(&item).count(crate::attributes::VERSION))
    }
}

/// Sort key of the item that counts changes of user playbooks.
const PLAYBOOKS_VERSION: &str = "VER#user_playbooks";
