//! The log of what learning changed in a user's profiles.

use domain::entities::UserProfile;
use domain::ids::UserId;
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::attributes::{AT, BY_TIME_PK, BY_TIME_SK, DOCUMENT, Item, ItemBuilder};
use crate::error::StoreError;
use crate::keys::{Listing, UserKeys, time_key};
use crate::rows::encode;

/// One learning step's changes. Rows that were removed because the user asked to forget are not named:
/// no trace of their content stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileChange {
    /// Whose profiles.
    pub user_id: UserId,
    /// The request whose learning changed them.
    pub request_id: String,
    /// When.
    pub created_at: EpochSeconds,
    /// Rows that came to be.
    pub added_profiles: Vec<UserProfile>,
    /// Rows that were merged or superseded.
    pub removed_profiles: Vec<UserProfile>,
}

/// Rows of a change that one log item keeps: the whole item must stay below 400 KB.
const CHANGE_BYTES_MAX: usize = 300 * 1024;

/// The item of a change; `window` makes its key unique. A change too large for an item keeps the ids only.
pub(crate) fn change_item(
    keys: &UserKeys<'_>,
    change: &ProfileChange,
    window: &str,
) -> Result<Item, StoreError> {
    let mut document = encode(change)?;
    if document.len() > CHANGE_BYTES_MAX {
        let mut short = change.clone();
        for row in short.added_profiles.iter_mut().chain(&mut short.removed_profiles) {
            row.content.clear();
            row.custom_features = None;
            row.source_span = None;
        }
        document = encode(&short)?;
    }
    Ok(ItemBuilder::new(&keys.profile_change(change.created_at, window))
        .text(DOCUMENT, &document)
        .number(AT, change.created_at)
        .text(BY_TIME_PK, &Listing::ProfileChanges.partition(keys.org))
        .text(BY_TIME_SK, &time_key(change.created_at, window))
        .build())
}
