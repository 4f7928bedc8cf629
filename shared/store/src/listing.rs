//! Lists across users, by time, newest first.

use domain::ids::{OrgId, UserHash};
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{BY_TIME_SK, Item, ItemReader, PK, SESSION, SK, SOURCE, STATUS};
use crate::error::StoreError;
use crate::keys::{Key, Listing, UserKeys};
use crate::lookups::receipt_from;
use crate::requests::RequestDocument;

/// Where a list goes on.
#[derive(Debug, Clone)]
pub struct Page(Item);

/// An entry of the index `by_time`: where the row is, and what filters may need.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeEntry {
    /// The row.
    pub key: Key,
    /// The time by which it is listed.
    pub at: EpochSeconds,
    /// The session, on requests.
    pub session: Option<String>,
    /// The source.
    pub source: Option<String>,
    /// The status, on memory rows; absent on current ones.
    pub status: Option<String>,
}

impl TimeEntry {
    /// The user of whom the row is, if it is one of a user's rows.
    #[must_use]
    pub fn user(&self) -> Option<UserHash> {
        let (_, user) = self.key.pk().split_once("#U#")?;
        UserHash::parse(user)
    }
}

impl Store {
    /// A page of at most `limit` entries, newest first, and where the next one starts.
    ///
    /// # Errors
    /// [`StoreError`] when the index fails or an entry is damaged.
    pub async fn list(
        &self,
        org: &OrgId,
        listing: Listing,
        limit: usize,
        page: Option<Page>,
    ) -> Result<(Vec<TimeEntry>, Option<Page>), StoreError> {
        let partition = listing.partition(org);
        let (items, next) = self.query_by_time(&partition, limit, page.map(|page| page.0)).await?;
        let entries = items.iter().map(entry).collect::<Result<_, _>>()?;
        Ok((entries, next.map(Page)))
    }

    /// The documents of requests behind look-ups, which entries of [`Listing::Interactions`] name.
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails, or an item is damaged.
    pub async fn documents_of_lookups(
        &self,
        org: &OrgId,
        lookups: &[Key],
    ) -> Result<Vec<RequestDocument>, StoreError> {
        let mut keys = Vec::with_capacity(lookups.len());
        for item in self.get_many(lookups).await? {
            let receipt = receipt_from(&item)?;
            keys.push(UserKeys { org, user: &receipt.user }.request(receipt.first_position));
        }
        self.documents_by_keys(&keys).await
    }

    /// The documents behind entries of [`Listing::Requests`].
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails, or a document is damaged.
    pub async fn documents_of(&self, entries: &[TimeEntry]) -> Result<Vec<RequestDocument>, StoreError> {
        let keys: Vec<_> = entries.iter().map(|entry| entry.key.clone()).collect();
        self.documents_by_keys(&keys).await
    }
}

fn entry(item: &Item) -> Result<TimeEntry, StoreError> {
    let reader = ItemReader(item);
    let at = reader.text(BY_TIME_SK)?.split('#').next().and_then(|at| at.parse().ok());
    Ok(TimeEntry {
        key: Key::from_parts(reader.text(PK)?, reader.text(SK)?),
        at: at.ok_or_else(|| reader.corrupt(BY_TIME_SK))?,
        session: reader.text_opt(SESSION).map(str::to_owned),
        source: reader.text_opt(SOURCE).map(str::to_owned),
        status: reader.text_opt(STATUS).map(str::to_owned),
    })
}
