//! Profile rows.

use domain::entities::UserProfile;
use domain::ids::{OrgId, ProfileId};
use domain::learning::LearningKind;

use crate::Store;
use crate::attributes::{
    AT, BY_TIME_PK, BY_TIME_SK, DOCUMENT, Item, ItemBuilder, ItemReader, SOURCE, STATUS, VECTOR,
    VECTOR_MODEL, VERSION,
};
use crate::error::StoreError;
use crate::keys::{Key, Listing, PROFILE_PREFIX, UserKeys, time_key};
use crate::rows::{StoredVector, encode, status, stored_vector};

/// A stored profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileRow {
    /// The profile.
    pub profile: UserProfile,
    /// Its vector, when a hosted embedder made one.
    pub vector: Option<StoredVector>,
    /// Raised by every write; 0 before the first.
    pub version: i64,
}

impl ProfileRow {
    /// A row that was not stored yet.
    #[must_use]
    pub fn new(profile: UserProfile, vector: Option<StoredVector>) -> Self {
        Self { profile, vector, version: 0 }
    }

    pub(crate) fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let mut profile: UserProfile = reader.json(DOCUMENT)?;
        profile.status = status(reader)?;
        Ok(Self { profile, vector: stored_vector(reader), version: reader.number(VERSION)? })
    }

    /// The item, one version up.
    pub(crate) fn to_item(&self, keys: &UserKeys<'_>) -> Result<Item, StoreError> {
        let profile = &self.profile;
        let modified = profile.last_modified_timestamp;
        Ok(ItemBuilder::new(&keys.profile(&profile.profile_id))
            .text(DOCUMENT, &encode(profile)?)
            .number(VERSION, self.version + 1)
            .number(AT, modified)
            .text_if(STATUS, profile.status.map(domain::entities::Status::as_str))
            .text_if(SOURCE, profile.source.as_deref())
            .text_if(VECTOR_MODEL, self.vector.as_ref().map(|vector| vector.model.as_str()))
            .bytes_if(VECTOR, self.vector.as_ref().map(|vector| vector.bytes.clone()))
            .text(BY_TIME_PK, &Listing::Profiles.partition(keys.org))
            .text(BY_TIME_SK, &time_key(modified, &profile.profile_id.hash()[..16]))
            .build())
    }
}

impl Store {
    /// All profiles of a user, whatever their status, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn profiles(&self, keys: &UserKeys<'_>) -> Result<Vec<ProfileRow>, StoreError> {
        let [items] = self.visible_rows(keys, [PROFILE_PREFIX]).await?;
        items.iter().map(ProfileRow::from_item).collect()
    }

    /// A profile by its id alone, whatever its status.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the row is damaged.
    pub async fn profile_by_id(&self, org: &OrgId, id: &ProfileId) -> Result<Option<ProfileRow>, StoreError> {
        let Some(user) = self.user_of_profile(org, id).await? else { return Ok(None) };
        let keys = UserKeys { org, user: &user };
        self.visible_row(&keys, &keys.profile(id)).await?.as_ref().map(ProfileRow::from_item).transpose()
    }

    /// Profiles behind index entries, consistently read, in any order; those that are gone are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn profiles_by_keys(&self, keys: &[Key]) -> Result<Vec<ProfileRow>, StoreError> {
        self.visible_rows_by_keys(keys).await?.iter().map(ProfileRow::from_item).collect()
    }

    /// At most `limit` profiles of all users that are wanted, the last modified first. The index may lag behind;
    /// the rows themselves do not.
    ///
    /// # Errors
    /// [`StoreError`] when the table or the index fails, or a row is damaged.
    pub async fn newest_profiles(
        &self,
        org: &OrgId,
        limit: usize,
        is_wanted: impl Fn(&UserProfile) -> bool,
    ) -> Result<Vec<ProfileRow>, StoreError> {
        let keep = |item: &Item| {
            let row = ProfileRow::from_item(item)?;
            Ok(is_wanted(&row.profile).then_some(row))
        };
        let mut found = self.rows_across(org, LearningKind::Profile, limit, keep).await?;
        found.sort_by_key(|row| std::cmp::Reverse(row.profile.last_modified_timestamp));
        found.truncate(limit);
        Ok(found)
    }
}
