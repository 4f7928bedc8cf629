//! Tags of stored rows: how far a user's rows have theirs, and the writes that give them.

use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::attributes::{DOCUMENT, ItemBuilder, ItemReader};
use crate::error::StoreError;
use crate::keys::UserKeys;
use crate::learning::{CommitError, unchanged};
use crate::leases::{Lease, commit_under};
use crate::outbox::OutboxEntry;
use crate::profiles::ProfileRow;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Transaction, TransactionError};
use crate::user_playbooks::UserPlaybookRow;

/// How far a user's rows have their tags. Whoever writes it states a fact of the past, so it needs no lease.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaggingProgress {
    /// The version of the memory at which no row waited for its tags.
    pub memory_version: i64,
    /// The version of the configuration for which that holds.
    pub config_version: i64,
    /// Attempts that failed since.
    pub attempts: u32,
    /// Not before this time, unless the configuration changes.
    pub retry_at: Option<EpochSeconds>,
}

/// Rows with their new tags, each under the version that was read.
#[derive(Debug, Clone, Default)]
pub struct TaggedRows {
    /// Profiles.
    pub profiles: Vec<ProfileRow>,
    /// User playbooks.
    pub playbooks: Vec<UserPlaybookRow>,
    /// What is to follow.
    pub effect: Option<OutboxEntry>,
}

impl Store {
    /// How far a user's rows have their tags; `None` before the first look.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn tagging_progress(&self, keys: &UserKeys<'_>) -> Result<Option<TaggingProgress>, StoreError> {
        let item = self.get(&keys.tagging_progress()).await?;
        item.map(|item| ItemReader(&item).json(DOCUMENT)).transpose()
    }

    /// Replaces it.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn save_tagging_progress(
        &self,
        keys: &UserKeys<'_>,
        progress: &TaggingProgress,
    ) -> Result<(), StoreError> {
        let item = ItemBuilder::new(&keys.tagging_progress()).text(DOCUMENT, &encode(progress)?).build();
        self.put_one(item, None, Vec::new()).await.map(drop)
    }

    /// Writes tags under the lease. Rows that changed since they were read are left out: whoever changed them is
    /// right, and they are looked at again.
    ///
    /// # Errors
    /// [`CommitError::Superseded`] when another worker took over, or [`CommitError::Store`].
    pub async fn commit_tags(
        &self,
        keys: &UserKeys<'_>,
        lease: &Lease,
        mut rows: TaggedRows,
        now: EpochSeconds,
    ) -> Result<(), CommitError> {
        for attempt in 0..ATTEMPTS_MAX {
            if rows.profiles.is_empty() && rows.playbooks.is_empty() {
                return Ok(());
            }
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let (key, expression) = commit_under(keys.lease(), lease);
            let lease_index = transaction.update(self, &key, expression);
            for row in &rows.profiles {
                transaction.put_if(self, row.to_item(keys)?, unchanged(row.version));
            }
            for row in &rows.playbooks {
                transaction.put_if(self, row.to_item(keys)?, unchanged(row.version));
            }
            if let Some(effect) = &rows.effect {
                transaction.put(self, effect.to_item(now)?);
            }
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.condition_failed(lease_index) => return Err(CommitError::Superseded),
                Err(error) if error.is_refusal() => return Err(error.into_store_error("tag rows").into()),
                Err(error @ TransactionError::Cancelled(_)) => {
                    let first = lease_index + 1;
                    let playbooks = first + rows.profiles.len();
                    keep_unchanged(&mut rows.profiles, first, &error);
                    keep_unchanged(&mut rows.playbooks, playbooks, &error);
                }
                Err(TransactionError::Store(error)) => return Err(error.into()),
            }
        }
        Err(StoreError::Contended { operation: "tag rows" }.into())
    }
}

/// Drops the rows whose condition did not hold; the first of them is item `first` of the transaction.
fn keep_unchanged<T>(rows: &mut Vec<T>, first: usize, error: &TransactionError) {
    let mut index = first;
    rows.retain(|_| {
        let changed = error.condition_failed(index);
        index += 1;
        !changed
    });
}
