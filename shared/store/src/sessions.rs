//! One user's part in a session.

use std::collections::HashMap;

use domain::ids::{RequestId, SessionId};
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{
    AT, COUNT, FIRST_AT, FIRST_POSITION, Item, ItemReader, LAST_POSITION, REQUEST, SK, VERSION,
};
use crate::error::StoreError;
use crate::keys::{Key, UserKeys};

/// What is known of a session without reading its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Raised by every request.
    pub version: i64,
    /// Requests so far.
    pub requests: i64,
    /// The first request.
    pub first_request: RequestId,
    /// When it came.
    pub first_at: EpochSeconds,
    /// When the last one came.
    pub last_at: EpochSeconds,
    /// Positions of the first and the last request: all others lie between.
    pub first_position: i64,
    /// See [`Self::first_position`].
    pub last_position: i64,
}

impl Store {
    /// A user's part in a session, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn session(
        &self,
        keys: &UserKeys<'_>,
        session: &SessionId,
    ) -> Result<Option<SessionRecord>, StoreError> {
        self.get(&keys.session(session)).await?.as_ref().map(SessionRecord::from_item).transpose()
    }

    /// A user's part in several sessions, each named once; a hundred are one call. Sessions that are gone are left
    /// out. Consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn sessions_of(
        &self,
        keys: &UserKeys<'_>,
        sessions: &[SessionId],
    ) -> Result<HashMap<SessionId, SessionRecord>, StoreError> {
        let asked: Vec<Key> = sessions.iter().map(|session| keys.session(session)).collect();
        let session_of: HashMap<&str, &SessionId> = asked.iter().map(Key::sk).zip(sessions).collect();
        let mut records = HashMap::with_capacity(sessions.len());
        for item in self.get_many(&asked).await? {
            let reader = ItemReader(&item);
            let session = session_of.get(reader.text(SK)?).ok_or_else(|| reader.corrupt(SK))?;
            records.insert((*session).clone(), SessionRecord::from_item(&item)?);
        }
        Ok(records)
    }
}

impl SessionRecord {
    pub(crate) fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        Ok(Self {
            version: reader.number(VERSION)?,
            requests: reader.number(COUNT)?,
            first_request: RequestId::new(reader.text(REQUEST)?).map_err(|_| reader.corrupt(REQUEST))?,
            first_at: reader.number(FIRST_AT)?,
            last_at: reader.number(AT)?,
            first_position: reader.number(FIRST_POSITION)?,
            last_position: reader.number(LAST_POSITION)?,
        })
    }
}
