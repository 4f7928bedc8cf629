//! The log of what aggregations changed: bodies in S3, which may be large, and an entry of each in the table.

use domain::entities::{AgentPlaybook, BlockingIssue, PlaybookStatus};
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::access::Range;
use crate::attributes::{AT, Item, ItemBuilder, ItemReader, OBJECT};
use crate::error::StoreError;
use crate::keys::{AGGREGATION_CHANGE_PREFIX, AgentKeys};
use crate::rows::encode;

/// How the failure to read an object that is not there begins.
const NO_OBJECT: &str = "NoSuchKey ";

/// How a run went about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// Everything anew.
    FullArchive,
    /// What changed.
    Incremental,
}

impl RunMode {
    /// The word in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FullArchive => "full_archive",
            Self::Incremental => "incremental",
        }
    }
}

/// An agent playbook as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPlaybookSnapshot {
    /// Its id.
    pub agent_playbook_id: i64,
    /// Its name.
    pub playbook_name: String,
    /// For which agent.
    pub agent_version: String,
    /// The rule.
    pub content: String,
    /// When it applies.
    pub trigger: Option<String>,
    /// Why.
    pub rationale: Option<String>,
    /// What stood in the way.
    pub blocking_issue: Option<BlockingIssue>,
    /// Whether people had approved it.
    pub playbook_status: PlaybookStatus,
    /// The caller's text.
    pub playbook_metadata: String,
}

impl From<&AgentPlaybook> for AgentPlaybookSnapshot {
    fn from(playbook: &AgentPlaybook) -> Self {
        Self {
            agent_playbook_id: playbook.agent_playbook_id,
            playbook_name: playbook.playbook_name.clone(),
            agent_version: playbook.agent_version.clone(),
            content: playbook.content.clone(),
            trigger: playbook.trigger.clone(),
            rationale: playbook.rationale.clone(),
            blocking_issue: playbook.blocking_issue.clone(),
            playbook_status: playbook.playbook_status,
            playbook_metadata: playbook.playbook_metadata.clone(),
        }
    }
}

/// An agent playbook that took the place of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPlaybookUpdate {
    /// The other.
    pub before: AgentPlaybookSnapshot,
    /// It.
    pub after: AgentPlaybookSnapshot,
}

/// What one run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregationChange {
    /// Always 0: entries are told apart by their time.
    pub id: i64,
    /// When.
    pub created_at: EpochSeconds,
    /// The name of the playbooks.
    pub playbook_name: String,
    /// Of which agent.
    pub agent_version: String,
    /// How the run went about it.
    pub run_mode: RunMode,
    /// Rows that came to be.
    pub added_agent_playbooks: Vec<AgentPlaybookSnapshot>,
    /// Rows that are no more.
    pub removed_agent_playbooks: Vec<AgentPlaybookSnapshot>,
    /// Rows that others took the place of.
    pub updated_agent_playbooks: Vec<AgentPlaybookUpdate>,
}

impl Store {
    /// Logs what a run changed. Doing it twice changes nothing.
    ///
    /// # Errors
    /// [`StoreError`] when bucket or table fail.
    pub async fn log_aggregation(
        &self,
        keys: &AgentKeys<'_>,
        run: i64,
        change: &AggregationChange,
    ) -> Result<(), StoreError> {
        let object = format!("o/{}/a/{}/changes/{run}.json", keys.org, keys.hash());
        self.objects.put(&object, encode(change)?.into_bytes()).await?;
        let item = ItemBuilder::new(&keys.aggregation_change(change.created_at, run))
            .text(OBJECT, &object)
            .number(AT, change.created_at)
            .build();
        self.put_one(item, None, Vec::new()).await?;
        Ok(())
    }

    /// Those of the last `limit` changes that are of playbooks of this name, the newest first, as far as `bytes_max`
    /// hold them. Changes that are lost or damaged are left out, and so is one that alone is larger than that.
    ///
    /// # Errors
    /// [`StoreError`] when table or bucket fail.
    pub async fn aggregation_changes(
        &self,
        keys: &AgentKeys<'_>,
        playbook_name: &str,
        limit: usize,
        bytes_max: usize,
    ) -> Result<Vec<AggregationChange>, StoreError> {
        let partition = keys.partition();
        let range = Range { ascending: false, ..Range::prefix(&partition, AGGREGATION_CHANGE_PREFIX) };
        let (items, _) = self.query_page(&range.limit(limit), None).await?;
        let (mut changes, mut bytes) = (Vec::new(), 0);
        for item in &items {
            let Some((change, size)) = self.aggregation_change(keys, item).await? else { continue };
            if change.playbook_name != playbook_name {
                continue;
            }
            if size > bytes_max {
                tracing::warn!(event = "aggregation_change_too_large", org = keys.org.as_str(), bytes = size);
                continue;
            }
            bytes += size;
            if bytes > bytes_max {
                break;
            }
            changes.push(change);
        }
        Ok(changes)
    }

    /// The change behind an entry, and its size in bytes; `None` when it is lost or damaged.
    async fn aggregation_change(
        &self,
        keys: &AgentKeys<'_>,
        item: &Item,
    ) -> Result<Option<(AggregationChange, usize)>, StoreError> {
        match self.read_aggregation_change(item).await {
            Err(error) if is_lost(&error) => {
                tracing::warn!(event = "aggregation_change_unreadable", org = keys.org.as_str(), %error);
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    async fn read_aggregation_change(&self, item: &Item) -> Result<(AggregationChange, usize), StoreError> {
        let reader = ItemReader(item);
        let body = self.objects.get(reader.text(OBJECT)?).await?;
        let change = serde_json::from_slice(&body).map_err(|_| reader.corrupt(OBJECT))?;
        Ok((change, body.len()))
    }
}

/// Whether there is no reading it, however often one tries.
fn is_lost(error: &StoreError) -> bool {
    match error {
        StoreError::Corrupt { .. } => true,
        StoreError::Unavailable { detail, .. } => detail.starts_with(NO_OBJECT),
        StoreError::Refused { .. } | StoreError::Contended { .. } => false,
    }
}
