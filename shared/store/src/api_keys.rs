//! Organisations and the keys by which callers name them.

use domain::ids::OrgId;
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{AT, ItemBuilder, ItemReader, PK, text};
use crate::error::StoreError;
use crate::keys;

const NAME: &str = "name";
const ORG: &str = "org";
const SECRET_HASH: &str = "sh";
const REVOKED: &str = "rev";

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

impl Store {
    /// Creates an organisation; `false` when the id is taken.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn create_organisation(&self, organisation: &Organisation) -> Result<bool, StoreError> {
        let item = ItemBuilder::new(&keys::org_item(&organisation.id, "ORG"))
            .text(NAME, &organisation.name)
            .number(AT, organisation.created_at)
            .build();
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

    /// Stores a key; `false` when one with the same look-up exists for another organisation.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn put_api_key(&self, key: &NewApiKey) -> Result<bool, StoreError> {
        let item = ItemBuilder::new(&keys::api_key(&key.lookup))
            .text(ORG, key.org.as_str())
            .text(SECRET_HASH, &key.secret_hash)
            .number(AT, key.created_at)
            .build();
        let condition = format!("attribute_not_exists({PK}) OR {ORG} = :org");
        self.put_one(item, Some(&condition), vec![(":org", text(key.org.as_str()))]).await
    }

    /// The one read without an organisation: it finds which one a caller belongs to.
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
