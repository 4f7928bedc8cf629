//! Edits and deletes of rows of memory by callers. They need no lease: a row is written under the version that was
//! read, so that a worker and a caller never overwrite each other, and a learned window that meets a changed row is
//! learned again.

use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;

use domain::ids::{OrgId, ProfileId, UserHash};
use domain::time::EpochSeconds;

use crate::Store;
use crate::aggregation_inbox::{RowChange, inbox_mark, removal_mark};
use crate::attributes::{Item, ItemReader, PK, SK};
use crate::error::StoreError;
use crate::keys::{self, Key, UserKeys};
use crate::learning::unchanged;
use crate::leases::change_memory;
use crate::lookups::user_hash;
use crate::memory::DirectWriteError;
use crate::outbox::OutboxEntry;
use crate::profiles::ProfileRow;
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction, TransactionError};
use crate::user_playbooks::UserPlaybookRow;

/// Rows that are deleted together: each takes up to four of a transaction's 100 items (row, look-up, mark, and what
/// follows for its agent version), and one is the memory version.
const DELETED_ROWS_PER_TRANSACTION: usize = 24;
/// Entries of the log that are rewritten together: each may be 300 KB twice, a transaction 4 MB.
const REDACTIONS_PER_TRANSACTION: usize = 5;

/// What follows when user playbooks of these agent versions change.
pub type EffectsOf<'a> = dyn Fn(&BTreeSet<&str>) -> Vec<OutboxEntry> + Sync + 'a;

/// What became of a wish to delete.
#[derive(Debug, Default)]
pub struct Deleted {
    /// Rows that were there.
    pub rows: usize,
    /// What follows and was committed with them.
    pub effects: Vec<OutboxEntry>,
}

impl Store {
    /// Replaces a profile, if it still is as it was read (`row.version`); `false` when it is not.
    ///
    /// # Errors
    /// [`DirectWriteError`].
    pub async fn replace_profile(
        &self,
        keys: &UserKeys<'_>,
        row: &ProfileRow,
    ) -> Result<bool, DirectWriteError> {
        let item = row.to_item(keys)?;
        self.direct(keys, "replace profile", |transaction| {
            transaction.put_if(self, item.clone(), unchanged(row.version));
        })
        .await
    }

    /// Replaces a user playbook, if it still is as it was read (`row.version`); `false` when it is not. `effects` are
    /// committed with it and carried out by the caller.
    ///
    /// # Errors
    /// [`DirectWriteError`].
    pub async fn replace_user_playbook(
        &self,
        keys: &UserKeys<'_>,
        row: &UserPlaybookRow,
        effects: &[OutboxEntry],
    ) -> Result<bool, DirectWriteError> {
        let item = row.to_item(keys)?;
        let effects = effect_items(effects, self.clock.now())?;
        let mark = inbox_mark(keys, row, RowChange::Changed);
        self.direct(keys, "replace user playbook", |transaction| {
            transaction.put_if(self, item.clone(), unchanged(row.version));
            if let Some(mark) = &mark {
                transaction.put(self, mark.clone());
            }
            for effect in &effects {
                transaction.put(self, effect.clone());
            }
        })
        .await
    }

    /// Deletes profiles of one user for good: rows, look-ups, and what the log says of them. Returns how many
    /// were there. Ids that are not there count nothing.
    ///
    /// # Errors
    /// [`DirectWriteError`]; what was deleted before it stays deleted, and the same call deletes the rest.
    pub async fn delete_profiles(
        &self,
        keys: &UserKeys<'_>,
        ids: &[ProfileId],
    ) -> Result<usize, DirectWriteError> {
        // The log comes first: once a row is gone, nobody asks for its traces again.
        self.redact(keys, ids).await?;
        let pairs: Vec<_> = distinct(ids)
            .into_iter()
            .map(|id| (keys.profile(id), keys::profile_lookup(keys.org, id)))
            .collect();
        Ok(self.delete_rows(keys, &pairs, "delete profiles", &|_| Vec::new()).await?.rows)
    }

    /// Deletes user playbooks of one user for good. `effects` says what follows for agent versions that lose current
    /// ones: it is committed with them and carried out by the caller.
    ///
    /// # Errors
    /// [`DirectWriteError`]; what was deleted before it stays deleted, and the same call deletes the rest.
    pub async fn delete_user_playbooks(
        &self,
        keys: &UserKeys<'_>,
        ids: &[i64],
        effects: &EffectsOf<'_>,
    ) -> Result<Deleted, DirectWriteError> {
        let pairs: Vec<_> = distinct(ids)
            .into_iter()
            .map(|id| (keys.user_playbook(*id), keys::user_playbook_lookup(keys.org, *id)))
            .collect();
        self.delete_rows(keys, &pairs, "delete user playbooks", effects).await
    }

    /// Which users profiles belong to. Ids that are not there are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn owners_of_profiles(
        &self,
        org: &OrgId,
        ids: &[ProfileId],
    ) -> Result<Vec<(ProfileId, UserHash)>, StoreError> {
        self.users_of(ids, |id| keys::profile_lookup(org, id)).await
    }

    /// Which users (or whether no user) user playbooks belong to. Ids that are not there are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn owners_of_playbooks(
        &self,
        org: &OrgId,
        ids: &[i64],
    ) -> Result<Vec<(i64, UserHash)>, StoreError> {
        self.users_of(ids, |id| keys::user_playbook_lookup(org, *id)).await
    }

    async fn users_of<T: Clone + Eq + Hash + Sync>(
        &self,
        ids: &[T],
        lookup: impl Fn(&T) -> Key + Send,
    ) -> Result<Vec<(T, UserHash)>, StoreError> {
        let by_key: std::collections::HashMap<Key, &T> = ids.iter().map(|id| (lookup(id), id)).collect();
        let lookups: Vec<Key> = by_key.keys().cloned().collect();
        let mut found = Vec::new();
        for item in self.get_many(&lookups).await? {
            let reader = ItemReader(&item);
            if let Some(id) = by_key.get(&Key::from_parts(reader.text(PK)?, reader.text(SK)?)) {
                found.push(((*id).clone(), user_hash(reader)?));
            }
        }
        Ok(found)
    }

    async fn redact(&self, keys: &UserKeys<'_>, ids: &[ProfileId]) -> Result<(), DirectWriteError> {
        for _ in 0..ATTEMPTS_MAX {
            let redactions = self.redactions(keys, ids).await?;
            let mut is_stale = false;
            for chunk in redactions.chunks(REDACTIONS_PER_TRANSACTION) {
                let done = self.direct(keys, "redact profile changes", |transaction| {
                    chunk.iter().for_each(|redaction| redaction.add_if_unchanged(transaction, self));
                });
                is_stale |= !done.await?;
            }
            if !is_stale {
                return Ok(());
            }
        }
        Err(StoreError::Contended { operation: "redact profile changes" }.into())
    }

    /// Deletes rows with their look-ups; a row is counted by the transaction that finds and deletes it.
    async fn delete_rows(
        &self,
        keys: &UserKeys<'_>,
        pairs: &[(Key, Key)],
        operation: &'static str,
        effects: &EffectsOf<'_>,
    ) -> Result<Deleted, DirectWriteError> {
        let mut deleted = Deleted::default();
        for chunk in pairs.chunks(DELETED_ROWS_PER_TRANSACTION) {
            let some = self.delete_chunk(keys, chunk, operation, effects).await?;
            deleted.rows += some.rows;
            deleted.effects.extend(some.effects);
        }
        Ok(deleted)
    }

    async fn delete_chunk(
        &self,
        keys: &UserKeys<'_>,
        chunk: &[(Key, Key)],
        operation: &'static str,
        effects: &EffectsOf<'_>,
    ) -> Result<Deleted, DirectWriteError> {
        for _ in 0..ATTEMPTS_MAX {
            let row_keys: Vec<_> = chunk.iter().map(|(row, _)| row.clone()).collect();
            let items = self.get_many(&row_keys).await?;
            let found = keys_of(&items)?;
            let there: Vec<_> = chunk.iter().filter(|(row, _)| found.contains(row)).collect();
            if there.is_empty() {
                return Ok(Deleted::default());
            }
            let removals: Vec<_> = items.iter().filter_map(|row| removal_mark(keys, row)).collect();
            let effects = effects(&removals.iter().map(|(version, _)| version.as_str()).collect());
            let written = effect_items(&effects, self.clock.now())?;
            let exists = || Expression::default().condition(format!("attribute_exists({PK})"));
            let done = self.direct(keys, operation, |transaction| {
                for (row, lookup) in &there {
                    transaction.delete(self, row, exists());
                    transaction.delete(self, lookup, Expression::default());
                }
                for item in removals.iter().map(|(_, mark)| mark).chain(&written) {
                    transaction.put(self, item.clone());
                }
            });
            if done.await? {
                return Ok(Deleted { rows: there.len(), effects });
            }
        }
        Err(StoreError::Contended { operation }.into())
    }

    /// One transaction that also raises the memory version, repeated while others are at work on the same items;
    /// `false` when a condition on a row did not hold.
    async fn direct(
        &self,
        keys: &UserKeys<'_>,
        operation: &'static str,
        fill: impl Fn(&mut Transaction) + Send,
    ) -> Result<bool, DirectWriteError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let memory = transaction.update(self, &keys.lease(), change_memory());
            fill(&mut transaction);
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.condition_failed(memory) => {
                    if self.is_barred(keys).await? {
                        return Err(DirectWriteError::Barred);
                    }
                    // A change of versions is under way: the rows are read again once it is done.
                    self.finish_flip(keys, None).await?;
                    return Ok(false);
                }
                Err(error) if error.is_conflict() => {}
                Err(error) if error.is_refusal() => return Err(error.into_store_error(operation).into()),
                Err(TransactionError::Cancelled(_)) => return Ok(false),
                Err(error) => return Err(error.into_store_error(operation).into()),
            }
        }
        Err(StoreError::Contended { operation }.into())
    }
}

fn effect_items(effects: &[OutboxEntry], now: EpochSeconds) -> Result<Vec<Item>, StoreError> {
    effects.iter().map(|effect| effect.to_item(now)).collect()
}

/// Each of `ids` once: a batch read refuses doubles.
fn distinct<T: Eq + Hash>(ids: &[T]) -> Vec<&T> {
    let mut seen = HashSet::new();
    ids.iter().filter(|id| seen.insert(*id)).collect()
}

fn keys_of(items: &[Item]) -> Result<HashSet<Key>, StoreError> {
    let key = |item: &Item| {
        let reader = ItemReader(item);
        Ok(Key::from_parts(reader.text(PK)?, reader.text(SK)?))
    };
    items.iter().map(key).collect()
}
