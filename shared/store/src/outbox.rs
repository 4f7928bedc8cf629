//! Effects that follow a commit: written with it, carried out by the same handler, and by the sweep when that
//! one died in between. Each is carried out at least once, so each must bear being repeated.

use domain::ids::OrgId;
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::attributes::{DOCUMENT, DUE_AT, DUE_PK, Item, ItemBuilder, ItemReader, PK, SK, text};
use crate::due;
use crate::error::StoreError;
use crate::keys::{self, AgentKeys, Key};
use crate::rows::encode;

/// An effect that is still there after this time, in seconds, was left over by its handler.
pub const OUTBOX_LEFT_OVER_SECONDS: i64 = 60;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Effect {
    /// Tell readers of all users' playbooks that some changed.
    OrgPlaybooksChanged,
    /// User playbooks of this agent version were saved: their aggregation is due once so many were.
    AggregationMayBeDue {
        /// The agent version.
        agent_version: String,
        /// How many.
        wanted: usize,
    },
}

/// What whoever carried an effect out should do at once; the sweep does it otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowUp {
    /// Nothing.
    Nothing,
    /// Wake the aggregation of this agent version.
    Aggregate {
        /// The agent version.
        agent_version: String,
        /// Tells this wake from earlier ones.
        sequence: i64,
    },
}

/// An effect that was committed and not yet carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// The tenant.
    pub org: OrgId,
    /// Unique in the organisation.
    pub id: String,
    /// What is to be done.
    pub effect: Effect,
}

impl OutboxEntry {
    fn key(&self) -> Key {
        keys::outbox(&self.org, &self.id)
    }

    pub(crate) fn to_item(&self, now: EpochSeconds) -> Result<Item, StoreError> {
        let item = ItemBuilder::new(&self.key())
            .text(DOCUMENT, &encode(&self.effect)?)
            .text(DUE_PK, &due::partition_of(&self.id))
            .number(DUE_AT, now + OUTBOX_LEFT_OVER_SECONDS);
        Ok(item.build())
    }
}

/// The organisation and id behind an index entry, if it is one of the outbox.
pub(crate) fn parse_key(item: &Item) -> Option<(OrgId, String)> {
    let reader = ItemReader(item);
    let org = reader.text_opt(PK)?.strip_prefix("O#")?.strip_suffix("#OUT#0")?;
    Some((org.parse().ok()?, reader.text_opt(SK)?.to_owned()))
}

impl Store {
    /// Carries an effect out and removes its entry; says what should follow.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails; the entry then stays for the sweep.
    pub async fn carry_out(&self, entry: &OutboxEntry) -> Result<FollowUp, StoreError> {
        let follow_up = match &entry.effect {
            Effect::OrgPlaybooksChanged => {
                self.bump_org_playbooks(&entry.org).await?;
                FollowUp::Nothing
            }
            Effect::AggregationMayBeDue { agent_version, wanted } => {
                let keys = AgentKeys { org: &entry.org, agent_version };
                match self.make_aggregation_due(&keys, *wanted).await? {
                    Some(sequence) => FollowUp::Aggregate { agent_version: agent_version.clone(), sequence },
                    None => FollowUp::Nothing,
                }
            }
        };
        let key = entry.key();
        self.dynamo
            .delete_item()
            .table_name(&self.table)
            .key(PK, text(key.pk()))
            .key(SK, text(key.sk()))
            .send()
            .await
            .map_err(|error| StoreError::from_sdk("DeleteItem", error))?;
        Ok(follow_up)
    }

    /// An entry that was left over, if it is still there.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the entry is damaged.
    pub async fn outbox_entry(&self, org: &OrgId, id: &str) -> Result<Option<OutboxEntry>, StoreError> {
        let Some(item) = self.get(&keys::outbox(org, id)).await? else { return Ok(None) };
        let effect = ItemReader(&item).json(DOCUMENT)?;
        Ok(Some(OutboxEntry { org: org.clone(), id: id.to_owned(), effect }))
    }
}
