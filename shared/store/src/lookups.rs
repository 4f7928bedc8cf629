//! Finding rows by id alone, and what makes ids unique.

use domain::ids::{OrgId, ProfileId, RequestId, SessionId, UserHash};
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    AT, COUNT, Item, ItemBuilder, ItemReader, PAYLOAD_HASH, POSITION, USER_HASH, USER_NUMBER_BASE,
};
use crate::error::StoreError;
use crate::keys::{self};

/// What a publish was told, kept under its request id so that a repeat is told the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestReceipt {
    /// Whose request it is.
    pub user: UserHash,
    /// Position of its first interaction.
    pub first_position: i64,
    /// How many interactions it has.
    pub interactions: i64,
    /// Identity of the payload.
    pub payload_hash: String,
    /// When it was stored.
    pub created_at: EpochSeconds,
}

pub(crate) fn user_hash(reader: ItemReader<'_>) -> Result<UserHash, StoreError> {
    UserHash::parse(reader.text(USER_HASH)?).ok_or_else(|| reader.corrupt(USER_HASH))
}

pub(crate) fn receipt_from(item: &Item) -> Result<RequestReceipt, StoreError> {
    let reader = ItemReader(item);
    Ok(RequestReceipt {
        user: user_hash(reader)?,
        first_position: reader.number(POSITION)?,
        interactions: reader.number(COUNT)?,
        payload_hash: reader.text(PAYLOAD_HASH)?.to_owned(),
        created_at: reader.number(AT)?,
    })
}

impl Store {
    /// The receipt of a request id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn request_receipt(
        &self,
        org: &OrgId,
        request: &RequestId,
    ) -> Result<Option<RequestReceipt>, StoreError> {
        self.get(&keys::request_lookup(org, request)).await?.as_ref().map(receipt_from).transpose()
    }

    /// Whether a request id was ever used, though nothing else may be left of the request.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn has_request_id(&self, org: &OrgId, request: &RequestId) -> Result<bool, StoreError> {
        Ok(self.get(&keys::request_lookup(org, request)).await?.is_some())
    }

    /// The users who took part in a session.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn session_members(
        &self,
        org: &OrgId,
        session: &SessionId,
    ) -> Result<Vec<UserHash>, StoreError> {
        let partition = keys::session_partition(org, session);
        let items = self.query_all(Range::prefix(&partition, "U#")).await?;
        items.iter().map(|item| user_hash(ItemReader(item))).collect()
    }

    /// The user of a user number, and the position from which that number counts.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn user_of_number(
        &self,
        org: &OrgId,
        number: i64,
    ) -> Result<Option<(UserHash, i64)>, StoreError> {
        let Some(item) = self.get(&keys::user_number_lookup(org, number)).await? else { return Ok(None) };
        let reader = ItemReader(&item);
        Ok(Some((user_hash(reader)?, reader.count(USER_NUMBER_BASE))))
    }

    /// The user of a profile id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn user_of_profile(&self, org: &OrgId, id: &ProfileId) -> Result<Option<UserHash>, StoreError> {
        let item = self.get(&keys::profile_lookup(org, id)).await?;
        item.as_ref().map(|item| user_hash(ItemReader(item))).transpose()
    }

    /// The user of a user playbook id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn user_of_playbook(&self, org: &OrgId, id: i64) -> Result<Option<UserHash>, StoreError> {
        let item = self.get(&keys::user_playbook_lookup(org, id)).await?;
        item.as_ref().map(|item| user_hash(ItemReader(item))).transpose()
    }
}

/// A look-up item that says which user a row belongs to.
pub(crate) fn lookup_item(key: &keys::Key, user: &UserHash) -> Item {
    ItemBuilder::new(key).text(USER_HASH, user.as_str()).build()
}
