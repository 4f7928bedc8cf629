//! The lease of a user: one worker at a time changes a user's memory, and an epoch that only grows makes a
//! late one fail.

use std::sync::atomic::Ordering;

use domain::time::EpochMillis;

use crate::Store;
use crate::attributes::{
    BARRIER, EPOCH, FLIP, Item, ItemReader, MEMORY_VERSION, OWNER, PURGE_EPOCH, UNTIL, number, text,
};
use crate::error::StoreError;
use crate::flips::FlipState;
use crate::keys::{Key, UserKeys};
use crate::transaction::Expression;

/// How long a lease lasts without a heartbeat, in milliseconds.
pub const LEASE_MS: i64 = 300_000;

/// A lease that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub owner: String,
    /// Fences every commit made under it.
    pub epoch: i64,
    /// The purge epoch when it was taken: inputs read under it must not outlive an erasure.
    pub purge_epoch: i64,
    /// When it ends unless renewed.
    pub until_ms: EpochMillis,
}

/// Why a lease was not taken or renewed.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another worker holds it.
    #[error("another worker holds the lease")]
    Busy,
    /// The user is being erased.
    #[error("the user is being erased")]
    Barred,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a cached memory is checked against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct MemoryVersion {
    /// Raised by every change of the user's profiles and playbooks.
    pub version: i64,
    /// Raised by erasures.
    pub purge_epoch: i64,
}

impl Store {
    /// Treats every lease that was taken before this moment as given back. Only for a process that is the only one
    /// over its table, and has taken none yet: whoever held them is dead.
    pub fn void_earlier_leases(&self) {
        // One that is taken from now on ends later than that.
        let end = self.clock.now_ms() + LEASE_MS - 1;
        self.void_leases_until_ms.store(end, Ordering::Relaxed);
    }

    /// Leases that end by this time are over.
    pub(crate) fn leases_end_by(&self) -> EpochMillis {
        self.clock.now_ms().max(self.void_leases_until_ms.load(Ordering::Relaxed))
    }

    /// Takes the lease of a user, if nobody holds it. A change of versions that is under way is finished first,
    /// so that what is done under the lease sees rows as they are.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub async fn take_lease(&self, keys: &UserKeys<'_>, owner: &str) -> Result<Lease, LeaseError> {
        let now = self.leases_end_by();
        let until = self.clock.now_ms() + LEASE_MS;
        let expression = Expression::new(format!("SET {OWNER} = :me, {UNTIL} = :until ADD {EPOCH} :one"))
            .condition(format!(
                "attribute_not_exists({BARRIER}) AND \
                 (attribute_not_exists({UNTIL}) OR {UNTIL} <= :now OR {OWNER} = :me)"
            ))
            .value(":me", text(owner))
            .value(":until", number(until))
            .value(":now", number(now))
            .value(":one", number(1));
        match self.update_one(&keys.lease(), expression).await? {
            Some(item) => {
                let reader = ItemReader(&item);
                let lease = Lease {
                    owner: owner.to_owned(),
                    epoch: reader.number(EPOCH)?,
                    purge_epoch: reader.count(PURGE_EPOCH),
                    until_ms: until,
                };
                self.finish_flip_under(keys, &item, &lease).await?;
                Ok(lease)
            }
            None => match self.get(&keys.lease()).await? {
                Some(item) if ItemReader(&item).mark(BARRIER) => Err(LeaseError::Barred),
                _ => Err(LeaseError::Busy),
            },
        }
    }

    async fn finish_flip_under(
        &self,
        keys: &UserKeys<'_>,
        item: &Item,
        lease: &Lease,
    ) -> Result<(), LeaseError> {
        if FlipState::of(Some(item))?.flip.is_none() {
            return Ok(());
        }
        let Err(error) = self.finish_flip(keys, None).await else { return Ok(()) };
        // If it cannot be given back, it ends by itself.
        if let Err(error) = self.release_lease(keys, lease).await {
            tracing::warn!(event = "lease_not_released", %error);
        }
        Err(error.into())
    }

    /// Extends a lease that is still ours; [`LeaseError::Busy`] when another worker took over.
    ///
    /// # Errors
    /// [`LeaseError`]. A store failure says nothing about the lease: it lasts until it ends.
    pub async fn renew_lease(&self, keys: &UserKeys<'_>, lease: &mut Lease) -> Result<(), LeaseError> {
        let until = self.clock.now_ms() + LEASE_MS;
        let expression = Expression::new(format!("SET {UNTIL} = :until"))
            // Not one that was given back meanwhile.
            .condition(format!("{EPOCH} = :mine AND {OWNER} = :me"))
            .value(":until", number(until))
            .value(":me", text(&lease.owner))
            .value(":mine", number(lease.epoch));
        if self.update_one(&keys.lease(), expression).await?.is_none() {
            return Err(LeaseError::Busy);
        }
        lease.until_ms = until;
        Ok(())
    }

    /// Gives a lease back, if it is still ours.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails; the lease then ends by itself.
    pub async fn release_lease(&self, keys: &UserKeys<'_>, lease: &Lease) -> Result<(), StoreError> {
        let expression = Expression::new(format!("SET {UNTIL} = :zero REMOVE {OWNER}"))
            .condition(format!("{EPOCH} = :mine"))
            .value(":zero", number(0))
            .value(":mine", number(lease.epoch));
        self.update_one(&keys.lease(), expression).await?;
        Ok(())
    }

    /// Whether a worker holds the lease now.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn is_leased(&self, keys: &UserKeys<'_>) -> Result<bool, StoreError> {
        let item = self.get(&keys.lease()).await?.unwrap_or_default();
        Ok(ItemReader(&item).number_opt(UNTIL).is_some_and(|until| until > self.leases_end_by()))
    }

    /// Whether the user is being erased.
    pub(crate) async fn is_barred(&self, keys: &UserKeys<'_>) -> Result<bool, StoreError> {
        let item = self.get(&keys.lease()).await?.unwrap_or_default();
        Ok(ItemReader(&item).mark(BARRIER))
    }

    /// The version of a user's memory: one small consistent read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn memory_version(&self, keys: &UserKeys<'_>) -> Result<MemoryVersion, StoreError> {
        let item = self.get(&keys.lease()).await?.unwrap_or_default();
        let reader = ItemReader(&item);
        Ok(MemoryVersion { version: reader.count(MEMORY_VERSION), purge_epoch: reader.count(PURGE_EPOCH) })
    }
}

/// The condition and effect of a commit under a lease: ours still, nothing erased since, memory changed.
pub(crate) fn commit_under(key: Key, lease: &Lease) -> (Key, Expression) {
    let purged = if lease.purge_epoch == 0 {
        format!("(attribute_not_exists({PURGE_EPOCH}) OR {PURGE_EPOCH} = :purge)")
    } else {
        format!("{PURGE_EPOCH} = :purge")
    };
    let expression = Expression::new(format!("ADD {MEMORY_VERSION} :one"))
        .condition(format!("{EPOCH} = :mine AND {purged} AND attribute_not_exists({BARRIER})"))
        .value(":one", number(1))
        .value(":mine", number(lease.epoch))
        .value(":purge", number(lease.purge_epoch));
    (key, expression)
}

/// The effect of a direct write, which needs no lease: memory changed, the user is not being erased, and no change
/// of versions is under way, which would have to know of the write.
pub(crate) fn change_memory() -> Expression {
    Expression::new(format!("ADD {MEMORY_VERSION} :one"))
        .condition(format!("attribute_not_exists({BARRIER}) AND attribute_not_exists({FLIP})"))
        .value(":one", number(1))
}
