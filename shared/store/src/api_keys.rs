//! Organisations and the keys by which callers name them.

use domain::ids::OrgId;
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::attributes::{AT, Item, ItemBuilder, ItemReader, PK, SK, number, text};
use crate::error::StoreError;
use crate::keys;
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction};

const NAME: &str = "name";
const ORG: &str = "org";
const SECRET_HASH: &str = "sh";
const REVOKED: &str = "rev";
/// When it was revoked.
const REVOKED_AT: &str = "revat";

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organisation {
    /// Its id.
    pub id: OrgId,
    /// Its name for people.
    pub name: String,
    /// When it was created.
    pub created_at: EpochSeconds,
}

/// A key to be stored: of the secret only the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    /// What a presented key is found by.
    pub lookup: String,
    /// Hex SHA-256 of the secret.
    pub secret_hash: String,
    /// Whom it admits.
    pub org: OrgId,
    /// When it was created.
    pub created_at: EpochSeconds,
}

/// A stored key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyRecord {
    /// Whom it admits.
    pub org: OrgId,
    /// Hex SHA-256 of the secret, to be compared in constant time.
    pub secret_hash: String,
    /// Whether it was taken back.
    pub revoked: bool,
}

/// A key of an organisation, as operators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgApiKey {
    /// What it is found by.
    pub lookup: String,
    /// When it was created.
    pub created_at: EpochSeconds,
    /// When it was taken back.
    pub revoked_at: Option<EpochSeconds>,
}

/// The item of an organisation.
pub(crate) fn organisation_item(organisation: &Organisation) -> Item {
    ItemBuilder::new(&keys::org_item(&organisation.id, "ORG"))
        .text(NAME, &organisation.name)
        .number(AT, organisation.created_at)
        .build()
}

impl Store {
    /// Creates an organisation; `false` when the id is taken.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn create_organisation(&self, organisation: &Organisation) -> Result<bool, StoreError> {
        let item = organisation_item(organisation);
        self.put_one(item, Some(&format!("attribute_not_exists({PK})")), Vec::new()).await
    }

    /// An organisation by its id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn organisation(&self, id: &OrgId) -> Result<Option<Organisation>, StoreError> {
        let Some(item) = self.get(&keys::org_item(id, "ORG")).await? else { return Ok(None) };
        let reader = ItemReader(&item);
        Ok(Some(Organisation {
            id: id.clone(),
            name: reader.text(NAME)?.to_owned(),
            created_at: reader.number(AT)?,
        }))
    }

    /// Stores a key, and its name among those of its organisation; `false` when one with the same look-up exists for
    /// another organisation.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn put_api_key(&self, key: &NewApiKey) -> Result<bool, StoreError> {
        for attempt in 1..=ATTEMPTS_MAX {
            let item = ItemBuilder::new(&keys::api_key(&key.lookup))
                .text(ORG, key.org.as_str())
                .text(SECRET_HASH, &key.secret_hash)
                .number(AT, key.created_at)
                .build();
            let own = Expression::default()
                .condition(format!("attribute_not_exists({PK}) OR {ORG} = :org"))
                .value(":org", text(key.org.as_str()));
            let mut transaction = Transaction::default();
            let stored = transaction.put_if(self, item, own);
            transaction.put(self, ItemBuilder::new(&keys::org_api_key(&key.org, &key.lookup)).build());
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.condition_failed(stored) => return Ok(false),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(error) => return Err(error.into_store_error("put API key")),
            }
        }
        Err(StoreError::Contended { operation: "put API key" })
    }

    /// The keys of an organisation, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn api_keys(&self, org: &OrgId) -> Result<Vec<OrgApiKey>, StoreError> {
        let partition = keys::org_partition(org);
        let named = self.query_all(Range::prefix(&partition, keys::ORG_API_KEY_PREFIX)).await?;
        let lookup = |item: &Item| -> Result<keys::Key, StoreError> {
            let reader = ItemReader(item);
            let lookup = reader.text(SK)?.strip_prefix(keys::ORG_API_KEY_PREFIX);
            Ok(keys::api_key(lookup.ok_or_else(|| reader.corrupt(SK))?))
        };
        let found = named.iter().map(lookup).collect::<Result<Vec<_>, _>>()?;
        let items = self.get_many(&found).await?;
        let own = items.iter().filter(|item| ItemReader(item).text_opt(ORG) == Some(org.as_str()));
        let mut all = own.map(org_api_key).collect::<Result<Vec<_>, _>>()?;
        all.sort_by(|a, b| (a.created_at, &a.lookup).cmp(&(b.created_at, &b.lookup)));
        Ok(all)
    }

    /// Takes a key back; `false` when the organisation has no such key. Doing so twice keeps the first time.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn revoke_api_key(&self, org: &OrgId, lookup: &str) -> Result<bool, StoreError> {
        let revoke = Expression::new(format!(
            "SET {REVOKED} = :yes, {REVOKED_AT} = if_not_exists({REVOKED_AT}, :now)"
        ))
        .condition(format!("{ORG} = :org"))
        .value(":yes", aws_sdk_dynamodb::types::AttributeValue::Bool(true))
        .value(":now", number(self.clock.now()))
        .value(":org", text(org.as_str()));
        Ok(self.update_one(&keys::api_key(lookup), revoke).await?.is_some())
    }

    /// A read without an organisation: it finds which one a caller belongs to.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn api_key(&self, lookup: &str) -> Result<Option<ApiKeyRecord>, StoreError> {
        let Some(item) = self.get(&keys::api_key(lookup)).await? else { return Ok(None) };
        let reader = ItemReader(&item);
        Ok(Some(ApiKeyRecord {
            org: reader.text(ORG)?.parse().map_err(|_| reader.corrupt(ORG))?,
            secret_hash: reader.text(SECRET_HASH)?.to_owned(),
            revoked: reader.mark(REVOKED),
        }))
    }
}

fn org_api_key(item: &Item) -> Result<OrgApiKey, StoreError> {
    let reader = ItemReader(item);
    let lookup = reader.text(PK)?.strip_prefix(keys::API_KEY_PREFIX);
    let created_at = reader.number(AT)?;
    Ok(OrgApiKey {
        lookup: lookup.ok_or_else(|| reader.corrupt(PK))?.to_owned(),
        created_at,
        // Keys that were revoked by hand carry no time.
        revoked_at: reader.mark(REVOKED).then(|| reader.number_opt(REVOKED_AT).unwrap_or(created_at)),
    })
}
