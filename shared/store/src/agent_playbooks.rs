//! Agent playbook rows: reads that never see half of an aggregation, and direct writes.
//!
//! An aggregation writes its rows under the number of its run and marks those that it retires; both count from the
//! moment on that the state of the aggregation names the run as the active one (see `aggregation_commit`).

use std::collections::BTreeMap;

use domain::entities::{AgentPlaybook, PlaybookStatus};
use domain::ids::OrgId;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    ACTIVE_RUN, AGENT_VERSION, AT, BORN_RUN, DOCUMENT, GONE_RUN, Item, ItemBuilder, ItemReader, SOURCES,
    STATUS, VECTOR, VECTOR_MODEL, VERSION, number,
};
use crate::counters::Counter;
use crate::error::StoreError;
use crate::keys::{self, AGENT_PLAYBOOK_PREFIX, AGENT_VERSION_PREFIX, AgentKeys, Key};
use crate::learning::unchanged;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::{StoredVector, encode, status, stored_vector, undamaged};
use crate::transaction::{Expression, Transaction, TransactionError};

/// Rows that one transaction of a direct write holds: each takes two items, and may be 128 KB of 4 MB.
const ROWS_PER_TRANSACTION: usize = 24;
/// Times that a reader looks again since an aggregation was committed meanwhile.
const LOOKS_MAX: usize = 20;
/// Sort key of the item that counts changes of agent playbooks.
const AGENT_PLAYBOOKS_VERSION: &str = "VER#agent_playbooks";

/// A stored agent playbook.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPlaybookRow {
    /// The playbook.
    pub playbook: AgentPlaybook,
    /// Its vector, when a hosted embedder made one.
    pub vector: Option<StoredVector>,
    /// The user playbooks that it was made of, ascending; none on rows that a caller wrote.
    pub sources: Vec<i64>,
    /// Raised by every write; 0 before the first.
    pub version: i64,
    /// The aggregation run that made it, until that run is cleaned up.
    pub(crate) born: Option<i64>,
    /// The aggregation run that retires it.
    pub(crate) gone: Option<i64>,
}

impl AgentPlaybookRow {
    /// A row that was not stored yet.
    #[must_use]
    pub fn new(playbook: AgentPlaybook, vector: Option<StoredVector>, sources: Vec<i64>) -> Self {
        Self { playbook, vector, sources, version: 0, born: None, gone: None }
    }

    /// Whether the row counts while `active` is the run in force.
    pub(crate) fn is_visible(&self, active: i64) -> bool {
        self.born.is_none_or(|run| run == active) && self.gone != Some(active)
    }

    pub(crate) fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let mut playbook: AgentPlaybook = reader.json(DOCUMENT)?;
        playbook.status = status(reader)?;
        let sources = if item.contains_key(SOURCES) { reader.json(SOURCES)? } else { Vec::new() };
        Ok(Self {
            playbook,
            vector: stored_vector(reader),
            sources,
            version: reader.number(VERSION)?,
            born: reader.number_opt(BORN_RUN),
            gone: reader.number_opt(GONE_RUN),
        })
    }

    /// The item, one version up.
    pub(crate) fn to_item(&self, keys: &AgentKeys<'_>) -> Result<Item, StoreError> {
        let playbook = &self.playbook;
        let mut builder = ItemBuilder::new(&keys.agent_playbook(playbook.agent_playbook_id))
            .text(DOCUMENT, &encode(playbook)?)
            .number(VERSION, self.version + 1)
            .number(AT, playbook.created_at)
            .text_if(STATUS, playbook.status.map(domain::entities::Status::as_str))
            .text(AGENT_VERSION, &playbook.agent_version)
            .text_if(VECTOR_MODEL, self.vector.as_ref().map(|vector| vector.model.as_str()))
            .bytes_if(VECTOR, self.vector.as_ref().map(|vector| vector.bytes.clone()));
        if !self.sources.is_empty() {
            builder = builder.text(SOURCES, &encode(&self.sources)?);
        }
        for (name, run) in [(BORN_RUN, self.born), (GONE_RUN, self.gone)] {
            if let Some(run) = run {
                builder = builder.number(name, run);
            }
        }
        Ok(builder.build())
    }
}

/// Says under which agent version an agent playbook is found by its id.
pub(crate) fn agent_playbook_lookup(keys: &AgentKeys<'_>, id: i64) -> Item {
    let key = keys::agent_playbook_lookup(keys.org, id);
    ItemBuilder::new(&key).text(AGENT_VERSION, keys.agent_version).build()
}

/// Says that the organisation has agent playbooks of this version.
pub(crate) fn agent_version_entry(keys: &AgentKeys<'_>) -> Item {
    ItemBuilder::new(&keys::agent_version_entry(keys)).text(AGENT_VERSION, keys.agent_version).build()
}

impl Store {
    /// The agent playbooks of one agent version, whatever their status, consistently read: those of before an
    /// aggregation or those of after it, never of both.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails, a row is damaged, or aggregations are committed faster than we read.
    pub async fn agent_playbooks(&self, keys: &AgentKeys<'_>) -> Result<Vec<AgentPlaybookRow>, StoreError> {
        self.agent_playbooks_of(keys, |items| items.iter().map(AgentPlaybookRow::from_item).collect()).await
    }

    /// As [`Self::agent_playbooks`], without rows that are damaged, which are logged.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails, or aggregations are committed faster than we read.
    pub async fn undamaged_agent_playbooks(
        &self,
        keys: &AgentKeys<'_>,
    ) -> Result<Vec<AgentPlaybookRow>, StoreError> {
        self.agent_playbooks_of(keys, |items| undamaged(items, AgentPlaybookRow::from_item)).await
    }

    async fn agent_playbooks_of(
        &self,
        keys: &AgentKeys<'_>,
        read: impl Fn(&[Item]) -> Result<Vec<AgentPlaybookRow>, StoreError> + Send + Sync,
    ) -> Result<Vec<AgentPlaybookRow>, StoreError> {
        let mut active = self.active_run(keys).await?;
        for _ in 0..LOOKS_MAX {
            let mut rows = read(&self.agent_playbook_items(keys).await?)?;
            let now_active = self.active_run(keys).await?;
            if now_active == active {
                rows.retain(|row| row.is_visible(active));
                return Ok(rows);
            }
            active = now_active;
        }
        Err(StoreError::Contended { operation: "read agent playbooks" })
    }

    /// All rows of the partition, those of unfinished and of cleaned-up runs among them.
    pub(crate) async fn agent_playbook_items(&self, keys: &AgentKeys<'_>) -> Result<Vec<Item>, StoreError> {
        let partition = keys.partition();
        self.query_all(Range::prefix(&partition, AGENT_PLAYBOOK_PREFIX)).await
    }

    /// The run whose rows count; 0 before the first.
    pub(crate) async fn active_run(&self, keys: &AgentKeys<'_>) -> Result<i64, StoreError> {
        let item = self.get(&keys.aggregation()).await?.unwrap_or_default();
        Ok(ItemReader(&item).count(ACTIVE_RUN))
    }

    /// The agent versions that an organisation has, or had, agent playbooks of.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an entry is damaged.
    pub async fn agent_versions(&self, org: &OrgId) -> Result<Vec<String>, StoreError> {
        let items =
            self.query_all(Range::prefix(&keys::agent_versions_partition(org), AGENT_VERSION_PREFIX)).await?;
        items.iter().map(|item| Ok(ItemReader(item).text(AGENT_VERSION)?.to_owned())).collect()
    }

    /// The agent playbooks of all agent versions of an organisation.
    ///
    /// # Errors
    /// As [`Self::agent_playbooks`].
    pub async fn org_agent_playbooks(&self, org: &OrgId) -> Result<Vec<AgentPlaybookRow>, StoreError> {
        let mut rows = Vec::new();
        for agent_version in self.agent_versions(org).await? {
            rows.extend(self.agent_playbooks(&AgentKeys { org, agent_version: &agent_version }).await?);
        }
        Ok(rows)
    }

    /// An agent playbook by its id alone, whatever its status.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the row is damaged.
    pub async fn agent_playbook_by_id(
        &self,
        org: &OrgId,
        id: i64,
    ) -> Result<Option<AgentPlaybookRow>, StoreError> {
        Ok(self.find_agent_playbook(org, id).await?.map(|(row, _, _)| row))
    }

    /// The row, its agent version, and the run under which it was seen to count.
    async fn find_agent_playbook(
        &self,
        org: &OrgId,
        id: i64,
    ) -> Result<Option<(AgentPlaybookRow, String, i64)>, StoreError> {
        let Some(found) = self.get(&keys::agent_playbook_lookup(org, id)).await? else { return Ok(None) };
        let agent_version = ItemReader(&found).text(AGENT_VERSION)?.to_owned();
        let keys = AgentKeys { org, agent_version: &agent_version };
        let mut active = self.active_run(&keys).await?;
        for _ in 0..LOOKS_MAX {
            let row = self.get(&keys.agent_playbook(id)).await?;
            let row = row.as_ref().map(AgentPlaybookRow::from_item).transpose()?;
            let now_active = self.active_run(&keys).await?;
            if now_active == active {
                let row = row.filter(|row| row.is_visible(active));
                return Ok(row.map(|row| (row, agent_version, active)));
            }
            active = now_active;
        }
        Err(StoreError::Contended { operation: "read agent playbook" })
    }

    /// Stores new agent playbooks; their ids must have been taken.
    ///
    /// # Errors
    /// [`StoreError`]; batches before the failing one are stored.
    pub async fn create_agent_playbooks(
        &self,
        org: &OrgId,
        rows: Vec<AgentPlaybookRow>,
    ) -> Result<(), StoreError> {
        let mut by_version: BTreeMap<String, Vec<AgentPlaybookRow>> = BTreeMap::new();
        for row in rows {
            by_version.entry(row.playbook.agent_version.clone()).or_default().push(row);
        }
        for (agent_version, rows) in &by_version {
            let keys = AgentKeys { org, agent_version };
            for chunk in rows.chunks(ROWS_PER_TRANSACTION) {
                self.create_agent_playbook_chunk(&keys, chunk).await?;
            }
        }
        Ok(())
    }

    async fn create_agent_playbook_chunk(
        &self,
        keys: &AgentKeys<'_>,
        chunk: &[AgentPlaybookRow],
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "create agent playbooks";
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            transaction.put(self, agent_version_entry(keys));
            for row in chunk {
                transaction.create(self, row.to_item(keys)?);
                transaction.create(self, agent_playbook_lookup(keys, row.playbook.agent_playbook_id));
            }
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into_store_error(OPERATION)),
            }
        }
        Err(StoreError::Contended { operation: OPERATION })
    }

    /// Changes one agent playbook; `false` when there is none of this id. A row that a person has looked at is kept
    /// by an aggregation that was about to replace it.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the row is damaged.
    pub async fn change_agent_playbook(
        &self,
        org: &OrgId,
        id: i64,
        change: impl Fn(&mut AgentPlaybookRow) + Send + Sync,
    ) -> Result<bool, StoreError> {
        const OPERATION: &str = "change agent playbook";
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let Some((mut row, agent_version, active)) = self.find_agent_playbook(org, id).await? else {
                return Ok(false);
            };
            let keys = AgentKeys { org, agent_version: &agent_version };
            let version = row.version;
            change(&mut row);
            row.gone = None;
            let mut transaction = Transaction::default();
            transaction.check(self, &keys.aggregation(), still_active(active));
            transaction.put_if(self, row.to_item(&keys)?, unchanged(version));
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(TransactionError::Cancelled(reasons)) => {
                    // Somebody else changed it, or an aggregation was committed: look again.
                    tracing::debug!(event = "agent_playbook_changed_meanwhile", ?reasons);
                }
                Err(error) => return Err(error.into_store_error(OPERATION)),
            }
        }
        Err(StoreError::Contended { operation: OPERATION })
    }

    /// Sets whether people approve of an agent playbook; `false` when there is none of this id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the row is damaged.
    pub async fn set_agent_playbook_status(
        &self,
        org: &OrgId,
        id: i64,
        status: PlaybookStatus,
    ) -> Result<bool, StoreError> {
        self.change_agent_playbook(org, id, |row| row.playbook.playbook_status = status).await
    }

    /// Takes `many` consecutive agent playbook ids; the first is returned.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn take_agent_playbook_ids(&self, org: &OrgId, many: usize) -> Result<i64, StoreError> {
        self.take_numbers(org, Counter::AgentPlaybook, many).await
    }

    /// Says that agent playbooks changed, for readers that cache those of the whole organisation.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn bump_agent_playbooks(&self, org: &OrgId) -> Result<(), StoreError> {
        self.update_one(&agent_playbooks_version_key(org), one_more()).await?;
        Ok(())
    }

    /// The number that [`Self::bump_agent_playbooks`] raises.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn agent_playbooks_version(&self, org: &OrgId) -> Result<i64, StoreError> {
        let item = self.get(&agent_playbooks_version_key(org)).await?.unwrap_or_default();
        Ok(ItemReader(&item).count(VERSION))
    }
}

pub(crate) fn agent_playbooks_version_key(org: &OrgId) -> Key {
    keys::org_item(org, AGENT_PLAYBOOKS_VERSION)
}

/// The update by which a version rises.
pub(crate) fn one_more() -> Expression {
    Expression::new(format!("ADD {VERSION} :one")).value(":one", number(1))
}

/// No aggregation was committed since `active` was read.
pub(crate) fn still_active(active: i64) -> Expression {
    let condition = if active == 0 {
        format!("(attribute_not_exists({ACTIVE_RUN}) OR {ACTIVE_RUN} = :active)")
    } else {
        format!("{ACTIVE_RUN} = :active")
    };
    Expression::default().condition(condition).value(":active", number(active))
}
