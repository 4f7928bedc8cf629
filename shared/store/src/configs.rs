//! An organisation's configuration: one item with a version; secrets stand in it as ciphertext only.

use domain::ids::OrgId;

use crate::Store;
use crate::attributes::{DOCUMENT, ItemBuilder, ItemReader, VERSION, number};
use crate::error::StoreError;
use crate::keys;

/// The stored configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredConfig {
    /// Raised by every write.
    pub version: i64,
    /// The document as JSON, without secrets.
    pub document: String,
    /// The secrets, encrypted under the organisation's data key.
    pub secrets: Option<Vec<u8>>,
    /// The data key, encrypted under the deployment's key.
    pub data_key: Option<Vec<u8>>,
}

/// The configuration changed since it was read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigConflict {
    /// Another writer came first.
    #[error("the configuration changed since it was read")]
    Changed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const SECRETS: &str = "sec";
const DATA_KEY: &str = "dk";
const CONFIG: &str = "CONFIG";

impl Store {
    /// The configuration, consistently read; `None` while the organisation uses the defaults.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged. Never a default instead.
    pub async fn config(&self, org: &OrgId) -> Result<Option<StoredConfig>, StoreError> {
        let Some(item) = self.get(&keys::org_item(org, CONFIG)).await? else { return Ok(None) };
        let reader = ItemReader(&item);
        Ok(Some(StoredConfig {
            version: reader.number(VERSION)?,
            document: reader.text(DOCUMENT)?.to_owned(),
            secrets: reader.bytes_opt(SECRETS).map(<[u8]>::to_vec),
            data_key: reader.bytes_opt(DATA_KEY).map(<[u8]>::to_vec),
        }))
    }

    /// Replaces the configuration, if it still is at `config.version` (0: there is none).
    ///
    /// # Errors
    /// [`ConfigConflict`].
    pub async fn save_config(&self, org: &OrgId, config: StoredConfig) -> Result<(), ConfigConflict> {
        let item = ItemBuilder::new(&keys::org_item(org, CONFIG))
            .number(VERSION, config.version + 1)
            .text(DOCUMENT, &config.document)
            .bytes_if(SECRETS, config.secrets)
            .bytes_if(DATA_KEY, config.data_key)
            .build();
        let (condition, values) = if config.version == 0 {
            (format!("attribute_not_exists({VERSION})"), Vec::new())
        } else {
            (format!("{VERSION} = :seen"), vec![(":seen", number(config.version))])
        };
        if self.put_one(item, Some(&condition), values).await? {
            Ok(())
        } else {
            Err(ConfigConflict::Changed)
        }
    }
}
