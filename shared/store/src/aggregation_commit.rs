//! The commit of an aggregation. It may change more rows than a transaction holds and is still seen all or not at all:
//! new rows are written under the number of the run, old ones marked by it, and then one transaction makes the run
//! the active one. A crash before that leaves everything as it was; what it left lying is tidied by the next run.

use domain::ids::OrgId;

use crate::Store;
use crate::agent_playbooks::{
    AgentPlaybookRow, agent_playbook_lookup, agent_playbooks_version_key, agent_version_entry, one_more,
};
use crate::aggregation_operations::AggregationOperation;
use crate::aggregations::{AggregationRecord, ClusterRecords};
use crate::attributes::{ACTIVE_RUN, DOCUMENT, EPOCH, FINGERPRINTS, OBJECT, number, text};
use crate::error::StoreError;
use crate::keys::{self, AgentKeys};
use crate::learning::unchanged;
use crate::leases::Lease;
use crate::objects::digest;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::{encode, undamaged};
use crate::transaction::{Expression, Transaction, TransactionError};

/// Rows that are staged, marked or tidied together: each takes two items at most, and one is the fence.
const ROWS_PER_TRANSACTION: usize = 40;
/// Fingerprints that the state item holds itself, in bytes of JSON; the item must stay below 400 KB.
pub const FINGERPRINT_BYTES_INLINE_MAX: usize = 200 * 1024;
/// Times that leftovers are looked at again since a row was changed meanwhile.
const TIDY_LOOKS_MAX: usize = 10;

/// All that one run changes.
#[derive(Debug, Clone)]
pub struct AggregationCommit {
    /// The lease under which it was made; its epoch is the number of the run.
    pub lease: Lease,
    /// New rows, ids taken.
    pub insert: Vec<AgentPlaybookRow>,
    /// Rows that are no more, as they were read.
    pub retire: Vec<AgentPlaybookRow>,
    /// What is to be known.
    pub record: AggregationRecord,
    /// The clusters.
    pub clusters: ClusterRecords,
    /// The operations that this run was for, as they shall be.
    pub operations: Vec<AggregationOperation>,
}

/// Why a run was not committed.
#[derive(Debug, thiserror::Error)]
pub enum AggregationCommitError {
    /// Another worker took over.
    #[error("another worker took over this aggregation")]
    Superseded,
    /// A row changed since it was read: look again.
    #[error("rows changed since they were read")]
    Stale,
    /// The store failed; whether the commit happened is known from the state only.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Commits a run.
    ///
    /// # Errors
    /// [`AggregationCommitError`]; readers see everything as it was unless the store failed on the way.
    pub async fn commit_aggregation(
        &self,
        keys: &AgentKeys<'_>,
        commit: &AggregationCommit,
    ) -> Result<(), AggregationCommitError> {
        let changes_rows = !commit.insert.is_empty() || !commit.retire.is_empty();
        if changes_rows {
            self.tidy_aggregation(keys, &commit.lease).await?;
            self.stage(keys, commit).await?;
        }
        let clusters = encode(&commit.clusters)?;
        let object = if clusters.len() > FINGERPRINT_BYTES_INLINE_MAX {
            let key = clusters_object(keys, commit.lease.epoch, &clusters);
            self.objects.put(&key, clusters.clone().into_bytes()).await?;
            Some(key)
        } else {
            None
        };
        let activated = self
            .fenced(
                keys,
                &commit.lease,
                |transaction| {
                    let state = activate(commit, changes_rows, &clusters, object.as_deref())?;
                    transaction.update(self, &keys.aggregation(), state);
                    if changes_rows {
                        transaction.put(self, agent_version_entry(keys));
                        transaction.update(self, &agent_playbooks_version_key(keys.org), one_more());
                    }
                    for operation in &commit.operations {
                        operation.add_to(transaction, self, keys)?;
                    }
                    Ok(())
                },
                Fence::Updated,
            )
            .await;
        match activated {
            // The answer may have been lost on the way.
            Err(AggregationCommitError::Store(error)) if changes_rows => {
                let active = self.active_run(keys).await;
                if active.is_ok_and(|active| active == commit.lease.epoch) {
                    Ok(())
                } else {
                    Err(error.into())
                }
            }
            other => other,
        }
    }

    /// Writes what is to be known and how operations stand, under the lease.
    ///
    /// # Errors
    /// [`AggregationCommitError`].
    pub async fn save_aggregation(
        &self,
        keys: &AgentKeys<'_>,
        lease: &Lease,
        record: &AggregationRecord,
        operations: &[AggregationOperation],
    ) -> Result<(), AggregationCommitError> {
        self.fenced(
            keys,
            lease,
            |transaction| {
                let update = Expression::new(format!("SET {DOCUMENT} = :record"))
                    .condition(format!("{EPOCH} = :mine"))
                    .value(":record", text(&encode(record)?))
                    .value(":mine", number(lease.epoch));
                transaction.update(self, &keys.aggregation(), update);
                for operation in operations {
                    operation.add_to(transaction, self, keys)?;
                }
                Ok(())
            },
            Fence::Updated,
        )
        .await
    }

    async fn stage(
        &self,
        keys: &AgentKeys<'_>,
        commit: &AggregationCommit,
    ) -> Result<(), AggregationCommitError> {
        let run = commit.lease.epoch;
        for chunk in commit.insert.chunks(ROWS_PER_TRANSACTION) {
            self.fenced(
                keys,
                &commit.lease,
                |transaction| {
                    for row in chunk {
                        let id = row.playbook.agent_playbook_id;
                        let row = AgentPlaybookRow { born: Some(run), ..row.clone() };
                        transaction.put(self, row.to_item(keys)?);
                        transaction.put(self, agent_playbook_lookup(keys, id));
                    }
                    Ok(())
                },
                Fence::Checked,
            )
            .await?;
        }
        for chunk in commit.retire.chunks(ROWS_PER_TRANSACTION) {
            self.fenced(
                keys,
                &commit.lease,
                |transaction| {
                    for row in chunk {
                        let marked = AgentPlaybookRow { gone: Some(run), born: None, ..row.clone() };
                        transaction.put_if(self, marked.to_item(keys)?, unchanged(row.version));
                    }
                    Ok(())
                },
                Fence::Checked,
            )
            .await?;
        }
        Ok(())
    }

    /// Finishes what the active run began, and undoes what a run left that never became active.
    ///
    /// # Errors
    /// [`AggregationCommitError`].
    pub async fn tidy_aggregation(
        &self,
        keys: &AgentKeys<'_>,
        lease: &Lease,
    ) -> Result<(), AggregationCommitError> {
        for _ in 0..TIDY_LOOKS_MAX {
            let active = self.active_run(keys).await?;
            // A damaged row stays as it is: nobody can tell what would become of it.
            let mut rows = undamaged(&self.agent_playbook_items(keys).await?, AgentPlaybookRow::from_item)?;
            rows.retain(|row| row.born.is_some() || row.gone.is_some());
            let mut is_stale = false;
            for chunk in rows.chunks(ROWS_PER_TRANSACTION) {
                let tidied = self.fenced(
                    keys,
                    lease,
                    |transaction| {
                        chunk.iter().try_for_each(|row| self.tidy_row(transaction, keys, row, active))
                    },
                    Fence::Checked,
                );
                match tidied.await {
                    Err(AggregationCommitError::Stale) => is_stale = true,
                    other => other?,
                }
            }
            if !is_stale {
                return Ok(());
            }
        }
        Err(StoreError::Contended { operation: "tidy aggregation" }.into())
    }

    fn tidy_row(
        &self,
        transaction: &mut Transaction,
        keys: &AgentKeys<'_>,
        row: &AgentPlaybookRow,
        active: i64,
    ) -> Result<(), StoreError> {
        if row.is_visible(active) {
            let plain = AgentPlaybookRow { born: None, gone: None, ..row.clone() };
            transaction.put_if(self, plain.to_item(keys)?, unchanged(row.version));
        } else {
            let id = row.playbook.agent_playbook_id;
            transaction.delete(self, &keys.agent_playbook(id), unchanged(row.version));
            transaction.delete(self, &keys::agent_playbook_lookup(keys.org, id), Expression::default());
        }
        Ok(())
    }

    /// A transaction that holds only while the lease does. Its first item is the fence: the state itself where that
    /// is written, otherwise a check of it.
    async fn fenced(
        &self,
        keys: &AgentKeys<'_>,
        lease: &Lease,
        fill: impl Fn(&mut Transaction) -> Result<(), StoreError> + Send + Sync,
        fence: Fence,
    ) -> Result<(), AggregationCommitError> {
        const OPERATION: &str = "commit aggregation";
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            if fence == Fence::Checked {
                let held = Expression::default()
                    .condition(format!("{EPOCH} = :mine"))
                    .value(":mine", number(lease.epoch));
                transaction.check(self, &keys.aggregation(), held);
            }
            fill(&mut transaction)?;
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.condition_failed(0) => return Err(AggregationCommitError::Superseded),
                Err(error) if error.is_conflict() => {}
                Err(error @ TransactionError::Cancelled(_)) if error.is_refusal() => {
                    return Err(error.into_store_error(OPERATION).into());
                }
                Err(TransactionError::Cancelled(_)) => return Err(AggregationCommitError::Stale),
                Err(TransactionError::Store(error)) => return Err(error.into()),
            }
        }
        Err(StoreError::Contended { operation: OPERATION }.into())
    }
}

/// How a transaction makes sure of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    /// Its first item checks the state.
    Checked,
    /// Its first item updates the state, under the same condition.
    Updated,
}

/// The update that makes a run the active one.
fn activate(
    commit: &AggregationCommit,
    changes_rows: bool,
    clusters: &str,
    object: Option<&str>,
) -> Result<Expression, StoreError> {
    let mut update = format!("SET {DOCUMENT} = :record");
    let mut expression = Expression::default()
        .condition(format!("{EPOCH} = :mine"))
        .value(":record", text(&encode(&commit.record)?))
        .value(":mine", number(commit.lease.epoch));
    if changes_rows {
        update.push_str(&format!(", {ACTIVE_RUN} = :mine"));
    }
    match object {
        Some(object) => {
            update.push_str(&format!(", {OBJECT} = :object REMOVE {FINGERPRINTS}"));
            expression = expression.value(":object", text(object));
        }
        None => {
            update.push_str(&format!(", {FINGERPRINTS} = :clusters REMOVE {OBJECT}"));
            expression = expression.value(":clusters", text(clusters));
        }
    }
    expression.update = update;
    Ok(expression)
}

/// Where the fingerprints of a run are kept when they are many.
fn clusters_object(keys: &AgentKeys<'_>, run: i64, body: &str) -> String {
    let org: &OrgId = keys.org;
    format!("o/{org}/a/{}/clusters/{run}-{}.json", keys.hash(), digest(body.as_bytes()))
}
