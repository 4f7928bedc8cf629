//! What the worker needs of the world.

use std::sync::Arc;

use async_trait::async_trait;
use domain::config::Config;
use domain::flags::OrgFlags;
use domain::ids::OrgId;
use domain::time::{Clock, EpochSeconds};
use llm::providers::ModelRole;
use llm::{ChatModel, EmbeddingModel};
use store::{STALL_PROBE_SECONDS, Stall, Store, StoreError, StoredVector};
use wake::Wakes;

/// New identifiers, from outside so that tests can repeat them.
pub trait Ids: Send + Sync + std::fmt::Debug {
    /// A random UUID in its hyphenated form.
    fn uuid(&self) -> String;
}

/// A configuration, and the version by which a change of it is noticed.
#[derive(Debug, Clone)]
pub struct OrgConfig {
    /// 0 while the organisation uses the defaults.
    pub version: i64,
    /// The configuration.
    pub config: Arc<Config>,
    /// What the deployment has switched on for the organisation.
    pub flags: OrgFlags,
}

/// Why an organisation's settings or models are not at hand.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OrgServicesError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration names something that cannot be used; retrying cannot mend it.
    #[error("configuration: {0}")]
    Configuration(String),
}

/// What differs from organisation to organisation.
#[async_trait]
pub trait OrgServices: Send + Sync {
    /// The configuration in force.
    ///
    /// # Errors
    /// [`OrgServicesError`]; never a default instead.
    async fn config(&self, org: &OrgId) -> Result<OrgConfig, OrgServicesError>;

    /// The chat model for a role.
    ///
    /// # Errors
    /// [`OrgServicesError`].
    async fn chat(&self, org: &OrgId, role: ModelRole) -> Result<Arc<dyn ChatModel>, OrgServicesError>;

    /// The chat model of this name, with what the configuration says of a role in all other respects.
    ///
    /// # Errors
    /// [`OrgServicesError`].
    async fn chat_named(
        &self,
        org: &OrgId,
        role: ModelRole,
        model: &str,
    ) -> Result<Arc<dyn ChatModel>, OrgServicesError>;

    /// The embedding model.
    ///
    /// # Errors
    /// [`OrgServicesError`].
    async fn embedding(&self, org: &OrgId) -> Result<Arc<dyn EmbeddingModel>, OrgServicesError>;

    /// Vectors to be stored beside rows; `None` where the embedder runs in this process or does not answer.
    ///
    /// # Errors
    /// [`OrgServicesError`].
    async fn stored_vectors(
        &self,
        org: &OrgId,
        texts: &[String],
    ) -> Result<Vec<Option<StoredVector>>, OrgServicesError>;
}

/// Everything that the worker uses. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// The table and the bucket.
    pub store: Store,
    /// The queues.
    pub wakes: Wakes,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
    /// Settings and models per organisation.
    pub orgs: Arc<dyn OrgServices>,
    /// A session is judged when it has been silent for so long, in seconds.
    pub evaluation_delay_seconds: i64,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Services")
    }
}

impl Services {
    /// When work that asks models under this version of the configuration may go on, if the organisation's learning
    /// stands still. While users wait, it is they who see whether the provider answers; where none does, the work
    /// itself does, as often as they would.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub(crate) async fn held_until(
        &self,
        org: &OrgId,
        config_version: i64,
    ) -> Result<Option<EpochSeconds>, StoreError> {
        let stall = self.stall(org).await?.filter(|stall| stall.holds(config_version));
        let now_ms = self.clock.now_ms();
        let probes =
            |stall: &Stall| stall.probe.is_none() && now_ms - stall.since_ms >= STALL_PROBE_SECONDS * 1_000;
        Ok(stall.filter(|stall| !probes(stall)).map(|_| self.clock.now() + STALL_PROBE_SECONDS))
    }

    /// When work may be tried again that just failed in this way, if that is why learning stands still.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub(crate) async fn stalled_by(
        &self,
        org: &OrgId,
        code: &str,
    ) -> Result<Option<EpochSeconds>, StoreError> {
        let stall = self.stall(org).await?.filter(|stall| stall.stalled && stall.reason == code);
        Ok(stall.map(|_| self.clock.now() + STALL_PROBE_SECONDS))
    }

    /// Why an organisation's learning stands still, if it does. A damaged note of it holds nobody up.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn stall(&self, org: &OrgId) -> Result<Option<Stall>, StoreError> {
        match self.store.stall(org).await {
            Err(error @ StoreError::Corrupt { .. }) => {
                tracing::error!(event = "stall_unreadable", org = org.as_str(), %error);
                Ok(None)
            }
            other => other,
        }
    }
}
