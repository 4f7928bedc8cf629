//! An organisation's configuration: one item with a version, and the versions before it; secrets stand in all of them
//! as ciphertext only.

use domain::ids::OrgId;
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::attributes::{AT, DOCUMENT, Item, ItemBuilder, ItemReader, VERSION, number};
use crate::error::StoreError;
use crate::keys;
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction};

/// Versions before the current one that are kept.
pub const CONFIG_VERSIONS_KEPT: i64 = 20;

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

/// A version of the configuration, and when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastConfig {
    /// As it was stored.
    pub config: StoredConfig,
    /// When.
    pub at: EpochSeconds,
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
/// Sort keys of the versions begin so; each is followed by a place, and places are used again in turn.
const VERSIONS: &str = "CONFIG#";

impl Store {
    /// The configuration, consistently read; `None` while the organisation uses the defaults.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged. Never a default instead.
    pub async fn config(&self, org: &OrgId) -> Result<Option<StoredConfig>, StoreError> {
        let Some(item) = self.get(&keys::org_item(org, CONFIG)).await? else { return Ok(None) };
        Ok(Some(stored_config(&item)?))
    }

    /// The current version and those before it that are kept, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn config_versions(&self, org: &OrgId) -> Result<Vec<PastConfig>, StoreError> {
        let partition = keys::org_partition(org);
        let items = self.query_all(Range::prefix(&partition, VERSIONS)).await?;
        let past =
            |item: &Item| Ok(PastConfig { config: stored_config(item)?, at: ItemReader(item).number(AT)? });
        let mut versions = items.iter().map(past).collect::<Result<Vec<_>, StoreError>>()?;
        versions.sort_by_key(|past| std::cmp::Reverse(past.config.version));
        Ok(versions)
    }

    /// Replaces the configuration, if it still is at `config.version` (0: there is none). The version is kept, in the
    /// place of the oldest one, in the same transaction.
    ///
    /// # Errors
    /// [`ConfigConflict`].
    pub async fn save_config(&self, org: &OrgId, config: StoredConfig) -> Result<(), ConfigConflict> {
        let version = config.version + 1;
        let place = format!("{VERSIONS}{:02}", version % (CONFIG_VERSIONS_KEPT + 1));
        let item = |name: &str| {
            ItemBuilder::new(&keys::org_item(org, name))
                .number(VERSION, version)
                .number(AT, self.clock.now())
                .text(DOCUMENT, &config.document)
                .bytes_if(SECRETS, config.secrets.clone())
                .bytes_if(DATA_KEY, config.data_key.clone())
                .build()
        };
        let unchanged = if config.version == 0 {
            Expression::default().condition(format!("attribute_not_exists({VERSION})"))
        } else {
            let seen = Expression::default().condition(format!("{VERSION} = :seen"));
            seen.value(":seen", number(config.version))
        };
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = Transaction::default();
            let current = transaction.put_if(self, item(CONFIG), unchanged.clone());
            transaction.put(self, item(&place));
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.condition_failed(current) => return Err(ConfigConflict::Changed),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(error) => return Err(error.into_store_error("save configuration").into()),
            }
        }
        Err(StoreError::Contended { operation: "save configuration" }.into())
    }
}

fn stored_config(item: &Item) -> Result<StoredConfig, StoreError> {
    let reader = ItemReader(item);
    Ok(StoredConfig {
        version: reader.number(VERSION)?,
        document: reader.text(DOCUMENT)?.to_owned(),
        secrets: reader.bytes_opt(SECRETS).map(<[u8]>::to_vec),
        data_key: reader.bytes_opt(DATA_KEY).map(<[u8]>::to_vec),
    })
}
