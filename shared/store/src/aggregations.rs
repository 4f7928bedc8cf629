//! The state of an aggregation: who is at it, when it is due, what it knows, and what changed since.

use std::collections::BTreeMap;

use domain::ids::OrgId;
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::attributes::{
    ACTIVE_RUN, AGENT_VERSION, DOCUMENT, DUE_AT, DUE_PK, DUE_SEQUENCE, EPOCH, FINGERPRINTS, Item, ItemReader,
    OBJECT, OWNER, PK, SK, UNTIL, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::keys::{AGENT_PARTITION, AGGREGATION, AgentKeys};
use crate::leases::{LEASE_MS, Lease, LeaseError};
use crate::rows::unless_damaged;
use crate::transaction::Expression;

/// What an aggregation made of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRecord {
    /// The agent playbook; `None` when another one says it already.
    pub agent_playbook_id: Option<i64>,
    /// The members, ascending.
    pub user_playbook_ids: Vec<i64>,
    /// Identity of the members' texts: a member that was edited changes its cluster.
    #[serde(default)]
    pub content_hash: String,
}

/// Clusters by their fingerprint.
pub type ClusterRecords = BTreeMap<String, ClusterRecord>;

/// What is to be known of an aggregation between its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AggregationRecord {
    /// The highest user playbook id that was processed.
    pub last_processed_user_playbook_id: i64,
    /// When a run was last committed.
    pub last_run_at: Option<EpochSeconds>,
    /// Runs that began since one came through without a failure.
    pub attempts: u32,
    /// Why the last one failed, if it did.
    pub last_error: Option<String>,
    /// When failed clusters may be tried again; `None` when there are none.
    pub retry_at: Option<EpochSeconds>,
}

/// The state of an aggregation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AggregationState {
    /// What is to be known.
    pub record: AggregationRecord,
    /// The clusters of the last run; `None` before the first.
    pub clusters: Option<ClusterRecords>,
    /// The run in force.
    pub active_run: i64,
    /// Raised whenever it becomes due.
    pub due_sequence: i64,
    /// Since when it is due.
    pub due_at: Option<EpochSeconds>,
}

impl Store {
    /// Takes the lease of an aggregation, if nobody else holds it. Its epoch is the number of the run: whoever holds
    /// it takes it again for each run.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub async fn take_aggregation(&self, keys: &AgentKeys<'_>, owner: &str) -> Result<Lease, LeaseError> {
        let now = self.leases_end_by();
        let until_ms = self.clock.now_ms() + LEASE_MS;
        let update =
            format!("SET {OWNER} = :me, {UNTIL} = :until, {AGENT_VERSION} = :version ADD {EPOCH} :one");
        let free = format!("attribute_not_exists({UNTIL}) OR {UNTIL} <= :now OR {OWNER} = :me");
        let expression = Expression::new(update)
            .condition(free)
            .value(":me", text(owner))
            .value(":version", text(keys.agent_version))
            .value(":until", number(until_ms))
            .value(":now", number(now))
            .value(":one", number(1));
        let item = self.update_one(&keys.aggregation(), expression).await?.ok_or(LeaseError::Busy)?;
        let epoch = ItemReader(&item).number(EPOCH)?;
        Ok(Lease { owner: owner.to_owned(), epoch, purge_epoch: 0, until_ms })
    }

    /// Extends a lease that is still ours.
    ///
    /// # Errors
    /// [`LeaseError::Busy`] when another worker took over.
    pub async fn renew_aggregation(&self, keys: &AgentKeys<'_>, owner: &str) -> Result<(), LeaseError> {
        let expression = Expression::new(format!("SET {UNTIL} = :until"))
            .condition(format!("{OWNER} = :me"))
            .value(":until", number(self.clock.now_ms() + LEASE_MS))
            .value(":me", text(owner));
        self.update_one(&keys.aggregation(), expression).await?.map(drop).ok_or(LeaseError::Busy)
    }

    /// Gives a lease back, if it is still ours.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails; the lease then ends by itself.
    pub async fn release_aggregation(&self, keys: &AgentKeys<'_>, owner: &str) -> Result<(), StoreError> {
        let expression = Expression::new(format!("SET {UNTIL} = :zero REMOVE {OWNER}"))
            .condition(format!("{OWNER} = :me"))
            .value(":zero", number(0))
            .value(":me", text(owner));
        self.update_one(&keys.aggregation(), expression).await?;
        Ok(())
    }

    /// Whether a worker is at it now.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn is_aggregating(&self, keys: &AgentKeys<'_>) -> Result<bool, StoreError> {
        let item = self.get(&keys.aggregation()).await?.unwrap_or_default();
        Ok(ItemReader(&item).number_opt(UNTIL).is_some_and(|until| until > self.leases_end_by()))
    }

    /// The state; a fresh one before the first run. What is damaged of it is logged and begins anew: the next run
    /// then asks about every cluster, and writes it whole.
    ///
    /// # Errors
    /// [`StoreError`] when table or bucket fail.
    pub async fn aggregation_state(&self, keys: &AgentKeys<'_>) -> Result<AggregationState, StoreError> {
        let Some(item) = self.get(&keys.aggregation()).await? else {
            return Ok(AggregationState::default());
        };
        let reader = ItemReader(&item);
        let clusters = match reader.text_opt(OBJECT) {
            Some(object) => {
                let body = self.objects.get(object).await?;
                unless_damaged(serde_json::from_slice(&body).map_err(|_| reader.corrupt(OBJECT)))?
            }
            None if item.contains_key(FINGERPRINTS) => unless_damaged(reader.json(FINGERPRINTS))?,
            None => None,
        };
        let record = if item.contains_key(DOCUMENT) { unless_damaged(reader.json(DOCUMENT))? } else { None };
        let record = record.unwrap_or_default();
        Ok(AggregationState {
            record,
            clusters,
            active_run: reader.count(ACTIVE_RUN),
            due_sequence: reader.count(DUE_SEQUENCE),
            due_at: reader.number_opt(DUE_AT),
        })
    }

    /// Moves or clears the due time, under the lease; `false` when it became due anew since `seen_sequence` was
    /// read, or another worker took over.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn finish_aggregation(
        &self,
        keys: &AgentKeys<'_>,
        lease: &Lease,
        seen_sequence: i64,
        due_at: Option<EpochSeconds>,
    ) -> Result<bool, StoreError> {
        let update = match due_at {
            Some(_) => format!("SET {DUE_AT} = :at, {DUE_PK} = :shard"),
            None => format!("REMOVE {DUE_AT}, {DUE_PK}"),
        };
        let unseen = if seen_sequence == 0 {
            format!("(attribute_not_exists({DUE_SEQUENCE}) OR {DUE_SEQUENCE} = :seen)")
        } else {
            format!("{DUE_SEQUENCE} = :seen")
        };
        let mut expression = Expression::new(update)
            .condition(format!("{EPOCH} = :mine AND {unseen}"))
            .value(":seen", number(seen_sequence))
            .value(":mine", number(lease.epoch));
        if let Some(at) = due_at {
            expression = expression.value(":at", number(at)).value(":shard", text(&shard(keys)));
        }
        Ok(self.update_one(&keys.aggregation(), expression).await?.is_some())
    }

    /// Makes an aggregation due now if at least `wanted` user playbooks changed; returns the sequence number of
    /// that, which tells one wake from the next.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn make_aggregation_due(
        &self,
        keys: &AgentKeys<'_>,
        wanted: usize,
    ) -> Result<Option<i64>, StoreError> {
        if self.count_marks(keys, wanted).await? < wanted {
            return Ok(None);
        }
        let item = self.update_one(&keys.aggregation(), due_now(keys, self.clock.now())).await?;
        Ok(Some(ItemReader(&item.unwrap_or_default()).count(DUE_SEQUENCE)))
    }
}

/// The update by which an aggregation becomes due now.
pub(crate) fn due_now(keys: &AgentKeys<'_>, now: EpochSeconds) -> Expression {
    let update =
        format!("SET {DUE_AT} = :now, {DUE_PK} = :shard, {AGENT_VERSION} = :version ADD {DUE_SEQUENCE} :one");
    Expression::new(update)
        .value(":now", number(now))
        .value(":shard", text(&shard(keys)))
        .value(":version", text(keys.agent_version))
        .value(":one", number(1))
}

pub(crate) fn shard(keys: &AgentKeys<'_>) -> String {
    due::partition_of(&keys.hash())
}

/// The organisation and the item behind an index entry, if it is the state of an aggregation.
pub(crate) fn parse_key(item: &Item) -> Option<(OrgId, String)> {
    let reader = ItemReader(item);
    if reader.text_opt(SK)? != AGGREGATION {
        return None;
    }
    let (org, hash) = reader.text_opt(PK)?.strip_prefix("O#")?.split_once(AGENT_PARTITION)?;
    Some((org.parse().ok()?, hash.to_owned()))
}
