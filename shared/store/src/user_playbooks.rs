//! User playbook rows.

use domain::entities::UserPlaybook;
use domain::ids::OrgId;
use domain::learning::LearningKind;

use crate::Store;
use crate::attributes::{
    AGENT_VERSION, AT, BY_TIME_PK, BY_TIME_SK, DOCUMENT, Item, ItemBuilder, ItemReader, SOURCE, STATUS,
    VECTOR, VECTOR_MODEL, VERSION,
};
use crate::counters::Counter;
use crate::error::StoreError;
use crate::keys::{Key, Listing, USER_PLAYBOOK_PREFIX, UserKeys, padded, time_key};
use crate::rows::{StoredVector, encode, status, stored_vector};

/// A stored user playbook.
#[derive(Debug, Clone, PartialEq)]
pub struct UserPlaybookRow {
    /// The playbook.
    pub playbook: UserPlaybook,
    /// Its vector, when a hosted embedder made one.
    pub vector: Option<StoredVector>,
    /// Raised by every write; 0 before the first.
    pub version: i64,
}

impl UserPlaybookRow {
    /// A row that was not stored yet.
    #[must_use]
    pub fn new(playbook: UserPlaybook, vector: Option<StoredVector>) -> Self {
        Self { playbook, vector, version: 0 }
    }

    pub(crate) fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let mut playbook: UserPlaybook = reader.json(DOCUMENT)?;
        playbook.status = status(reader)?;
        Ok(Self { playbook, vector: stored_vector(reader), version: reader.number(VERSION)? })
    }

    /// The item, one version up.
    pub(crate) fn to_item(&self, keys: &UserKeys<'_>) -> Result<Item, StoreError> {
        let playbook = &self.playbook;
        let id = playbook.user_playbook_id;
        Ok(ItemBuilder::new(&keys.user_playbook(id))
            .text(DOCUMENT, &encode(playbook)?)
            .number(VERSION, self.version + 1)
            .number(AT, playbook.created_at)
            .text_if(STATUS, playbook.status.map(domain::entities::Status::as_str))
            .text_if(SOURCE, playbook.source.as_deref())
            .text(AGENT_VERSION, &playbook.agent_version)
            .text_if(VECTOR_MODEL, self.vector.as_ref().map(|vector| vector.model.as_str()))
            .bytes_if(VECTOR, self.vector.as_ref().map(|vector| vector.bytes.clone()))
            .text(BY_TIME_PK, &Listing::UserPlaybooks.partition(keys.org))
            .text(BY_TIME_SK, &time_key(playbook.created_at, &padded(id)))
            .build())
    }
}

impl Store {
    /// All user playbooks of a user (or of no user), whatever their status, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn user_playbooks(&self, keys: &UserKeys<'_>) -> Result<Vec<UserPlaybookRow>, StoreError> {
        let [items] = self.visible_rows(keys, [USER_PLAYBOOK_PREFIX]).await?;
        items.iter().map(UserPlaybookRow::from_item).collect()
    }

    /// A user playbook by its id alone, whatever its status.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the row is damaged.
    pub async fn user_playbook_by_id(
        &self,
        org: &OrgId,
        id: i64,
    ) -> Result<Option<UserPlaybookRow>, StoreError> {
        let Some(user) = self.user_of_playbook(org, id).await? else { return Ok(None) };
        let keys = UserKeys { org, user: &user };
        self.visible_row(&keys, &keys.user_playbook(id))
            .await?
            .as_ref()
            .map(UserPlaybookRow::from_item)
            .transpose()
    }

    /// All user playbooks of an organisation that the index knows, in any order.
    ///
    /// # Errors
    /// [`StoreError`] when the table or the index fails, or a row is damaged.
    pub async fn all_user_playbooks(&self, org: &OrgId) -> Result<Vec<UserPlaybookRow>, StoreError> {
        let keep = |item: &Item| UserPlaybookRow::from_item(item).map(Some);
        self.rows_across(org, LearningKind::Playbook, usize::MAX, keep).await
    }

    /// User playbooks behind index entries, consistently read, in any order; those that are gone are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn user_playbooks_by_keys(&self, keys: &[Key]) -> Result<Vec<UserPlaybookRow>, StoreError> {
        self.visible_rows_by_keys(keys).await?.iter().map(UserPlaybookRow::from_item).collect()
    }

    /// Takes `many` consecutive user playbook ids; the first is returned.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn take_user_playbook_ids(&self, org: &OrgId, many: usize) -> Result<i64, StoreError> {
        self.take_numbers(org, Counter::UserPlaybook, many).await
    }
}
