//! The log of what learning and callers changed in a user's profiles.

use std::collections::{BTreeMap, HashMap};

use domain::entities::UserProfile;
use domain::ids::{ProfileId, UserId};
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::access::Range;
use crate::attributes::{AT, BY_TIME_PK, BY_TIME_SK, DOCUMENT, Item, ItemBuilder, ItemReader, PK, SK, text};
use crate::error::StoreError;
use crate::keys::{Key, Listing, PROFILE_CHANGE_PREFIX, UserKeys, time_key};
use crate::rows::encode;
use crate::transaction::{Expression, Transaction};

/// The changes of one learning step, or of one direct write. Rows that were removed because the user asked to forget are not named:
/// no trace of their content stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileChange {
    /// Whose profiles.
    pub user_id: UserId,
    /// The request whose learning changed them, or that the caller named.
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

/// What callers created at once, request by request, each with what makes its key unique: a row is created once.
pub(crate) fn created_by_callers(rows: &[&UserProfile], now: EpochSeconds) -> Vec<(ProfileChange, String)> {
    let mut by_request: BTreeMap<&str, Vec<&UserProfile>> = BTreeMap::new();
    for row in rows {
        by_request.entry(&row.generated_from_request_id).or_default().push(row);
    }
    let change = |(request_id, rows): (&str, Vec<&UserProfile>)| {
        let first = rows.first()?;
        let change = ProfileChange {
            user_id: first.user_id.clone(),
            request_id: request_id.to_owned(),
            created_at: now,
            added_profiles: rows.iter().map(|row| (*row).clone()).collect(),
            removed_profiles: Vec::new(),
        };
        Some((change, format!("direct-{}", &first.profile_id.hash()[..16])))
    };
    by_request.into_iter().filter_map(change).collect()
}

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

/// An entry of the log that names what is to be forgotten.
#[derive(Debug)]
pub(crate) struct Redaction {
    key: Key,
    /// The entry without it; `None` when nothing else is in it.
    rest: Option<Item>,
    /// The entry as it was read.
    seen: String,
}

impl Redaction {
    /// Makes it part of a transaction. Nobody changes an entry but the holder of the lease, which the transaction
    /// checks.
    pub(crate) fn add_to(&self, transaction: &mut Transaction, store: &Store) {
        match &self.rest {
            Some(item) => transaction.put(store, item.clone()),
            None => transaction.delete(store, &self.key, Expression::default()),
        };
    }
}

impl Redaction {
    /// As [`Self::add_to`], for writers without the lease: under the condition that nobody else rewrote the entry.
    pub(crate) fn add_if_unchanged(&self, transaction: &mut Transaction, store: &Store) {
        let seen = Expression::default()
            .condition(format!("{DOCUMENT} = :seendoc"))
            .value(":seendoc", text(&self.seen));
        match &self.rest {
            Some(item) => transaction.put_if(store, item.clone(), seen),
            None => transaction.delete(store, &self.key, seen),
        };
    }
}

impl Store {
    /// The changes behind entries of [`Listing::ProfileChanges`], in their order; those that are gone are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an entry is damaged.
    pub async fn profile_changes(&self, keys: &[Key]) -> Result<Vec<ProfileChange>, StoreError> {
        let mut found = HashMap::new();
        for item in self.get_many(keys).await? {
            let reader = ItemReader(&item);
            let key = Key::from_parts(reader.text(PK)?, reader.text(SK)?);
            found.insert(key, reader.json(DOCUMENT)?);
        }
        Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
    }

    /// What must change in a user's log so that it names none of the `forgotten` profiles any more.
    pub(crate) async fn redactions(
        &self,
        keys: &UserKeys<'_>,
        forgotten: &[ProfileId],
    ) -> Result<Vec<Redaction>, StoreError> {
        if forgotten.is_empty() {
            return Ok(Vec::new());
        }
        let partition = keys.partition();
        let items = self.query_all(Range::prefix(&partition, PROFILE_CHANGE_PREFIX)).await?;
        let redactions = items.into_iter().map(|item| redaction(item, forgotten));
        Ok(redactions.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// The redaction of one entry; `None` when it names nothing of the kind.
fn redaction(mut item: Item, forgotten: &[ProfileId]) -> Result<Option<Redaction>, StoreError> {
    let reader = ItemReader(&item);
    let mut change: ProfileChange = reader.json(DOCUMENT)?;
    let key = Key::from_parts(reader.text(PK)?, reader.text(SK)?);
    let seen = reader.text(DOCUMENT)?.to_owned();
    let count = |change: &ProfileChange| change.added_profiles.len() + change.removed_profiles.len();
    let before = count(&change);
    for rows in [&mut change.added_profiles, &mut change.removed_profiles] {
        rows.retain(|row| !forgotten.contains(&row.profile_id));
    }
    if count(&change) == before {
        return Ok(None);
    }
    if count(&change) == 0 {
        return Ok(Some(Redaction { key, rest: None, seen }));
    }
    item.insert(DOCUMENT.to_owned(), text(&encode(&change)?));
    Ok(Some(Redaction { key, rest: Some(item), seen }))
}
