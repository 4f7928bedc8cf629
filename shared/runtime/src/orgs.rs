//! What differs from organisation to organisation: configuration, secrets, models.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::config::Config;
use domain::ids::OrgId;
use domain::site_vars::LlmModelSetting;
use domain::time::EpochSeconds;
use learning::services::{OrgConfig, OrgServices, OrgServicesError};
use llm::providers::ModelRole;
use llm::resolve::{resolve_chat, resolve_embedding, resolve_fallbacks};
use llm::resolved::Resolved;
use llm::{ChatModel, EmbeddingModel, EmbeddingPurpose};
use search::QuantizedVector;
use store::{ConfigConflict, Store, StoreError, StoredConfig, StoredVector};

use crate::models::{offline_chat, offline_embedding, provider_settings};
use crate::secrets::{SealedSecrets, Secrets, SecretsError};
use crate::settings::Settings;
use crate::site::SiteVars;
use crate::stalls::StallWatch;

/// How long a configuration is used without looking whether it changed, in seconds.
pub const CONFIG_SECONDS_MAX: i64 = 5;
/// Organisations whose configuration a process keeps.
const ORGS_MAX: usize = 1_000;

/// Why an organisation's configuration is not at hand.
#[derive(Debug, thiserror::Error)]
pub enum OrgError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The secrets could not be sealed or opened.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The stored document is not a configuration. Never read as the default.
    #[error("stored configuration is damaged: {0}")]
    Damaged(String),
}

/// Why a configuration was not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Somebody else wrote it meanwhile.
    #[error("the configuration was changed meanwhile")]
    Conflict,
    /// It could not be sealed or stored.
    #[error(transparent)]
    Org(#[from] OrgError),
}

/// A role, and the name that was asked for instead of the role's own.
type ModelKey = (ModelRole, Option<String>);

/// Configuration and models of one organisation, all of the same version.
pub struct LoadedOrg {
    /// 0 while the organisation uses the defaults.
    pub version: i64,
    /// The configuration, secrets included.
    pub config: Arc<Config>,
    models: Mutex<ChosenModels>,
}

/// Models under one choice of the deployment: another choice drops them.
#[derive(Default)]
struct ChosenModels {
    site: LlmModelSetting,
    chat: HashMap<ModelKey, Arc<dyn ChatModel>>,
    embedding: Option<Arc<dyn EmbeddingModel>>,
}

impl ChosenModels {
    fn under(&mut self, site: &LlmModelSetting) -> &mut Self {
        if self.site != *site {
            *self = Self { site: site.clone(), ..Self::default() };
        }
        self
    }
}

impl std::fmt::Debug for LoadedOrg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LoadedOrg(version {})", self.version)
    }
}

impl LoadedOrg {
    fn new(version: i64, config: Config) -> Self {
        Self { version, config: Arc::new(config), models: Mutex::default() }
    }
}

/// All organisations that this process has to do with.
pub struct Orgs {
    store: Store,
    secrets: Secrets,
    settings: Settings,
    models: llm::connect::Models,
    site: Arc<SiteVars>,
    stalls: Arc<StallWatch>,
    loaded: Mutex<HashMap<OrgId, (EpochSeconds, Arc<LoadedOrg>)>>,
}

impl std::fmt::Debug for Orgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Orgs")
    }
}

impl Orgs {
    /// Nothing loaded yet.
    #[must_use]
    pub fn new(
        store: Store,
        secrets: Secrets,
        settings: Settings,
        models: llm::connect::Models,
        site: Arc<SiteVars>,
    ) -> Self {
        let stalls = Arc::new(StallWatch::new(store.clone()));
        Self { store, secrets, settings, models, site, stalls, loaded: Mutex::default() }
    }

    /// The configuration in force, at most [`CONFIG_SECONDS_MAX`] old.
    ///
    /// # Errors
    /// [`OrgError`]; never a default instead.
    pub async fn load(&self, org: &OrgId) -> Result<Arc<LoadedOrg>, OrgError> {
        let now = self.store.clock().now();
        let known = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(org).cloned();
        if let Some((at, loaded)) = &known
            && now - at < CONFIG_SECONDS_MAX
        {
            return Ok(Arc::clone(loaded));
        }
        let stored = self.store.config(org).await?;
        let version = stored.as_ref().map_or(0, |stored| stored.version);
        // The same version has the same models: connections and caches stay.
        let loaded = match known.map(|(_, loaded)| loaded).filter(|loaded| loaded.version == version) {
            Some(loaded) => loaded,
            None => Arc::new(self.read(org, stored).await?),
        };
        self.keep(org, &loaded);
        Ok(loaded)
    }

    /// The configuration as it is stored at this moment.
    ///
    /// # Errors
    /// [`OrgError`].
    pub async fn load_stored(&self, org: &OrgId) -> Result<Arc<LoadedOrg>, OrgError> {
        let stored = self.store.config(org).await?;
        let loaded = Arc::new(self.read(org, stored).await?);
        self.keep(org, &loaded);
        Ok(loaded)
    }

    /// Forgets what is loaded of an organisation in this process; whether there was anything.
    pub fn evict(&self, org: &OrgId) -> bool {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).remove(org).is_some()
    }

    /// Stores a configuration, if the stored one still is at `version`.
    ///
    /// # Errors
    /// [`SaveError`].
    pub async fn save(&self, org: &OrgId, version: i64, mut config: Config) -> Result<(), SaveError> {
        let complete = config.clone();
        let secrets = config.take_secrets();
        let sealed = if secrets.values().all(String::is_empty) {
            None
        } else {
            Some(self.secrets.seal(org, &secrets).await.map_err(OrgError::from)?)
        };
        let (ciphertext, data_key) = sealed.map(|sealed| (sealed.ciphertext, sealed.data_key)).unzip();
        let stored =
            StoredConfig { version, document: config.to_stored().to_string(), secrets: ciphertext, data_key };
        match self.store.save_config(org, stored).await {
            Ok(()) => {
                self.keep(org, &Arc::new(LoadedOrg::new(version + 1, complete)));
                Ok(())
            }
            Err(ConfigConflict::Changed) => Err(SaveError::Conflict),
            Err(ConfigConflict::Store(error)) => Err(SaveError::Org(error.into())),
        }
    }

    /// The embedding model, or the built-in one when the configuration names one that cannot be used: reading
    /// does not depend on a provider.
    ///
    /// # Errors
    /// [`OrgError`] when the configuration is not at hand.
    pub async fn embedding_or_local(&self, org: &OrgId) -> Result<Arc<dyn EmbeddingModel>, OrgError> {
        let loaded = self.load(org).await?;
        match self.embedding_of(org, &loaded, &self.site.read().await.models) {
            Ok(model) => Ok(model),
            Err(error) => {
                tracing::warn!(event = "embedding_model_unusable", org = org.as_str(), error);
                Ok(offline_embedding())
            }
        }
    }

    /// Vectors to be stored beside rows: of a hosted embedder, when it answers. A row without one is found by
    /// its words until it has one; the built-in embedder makes its vectors when rows are loaded.
    ///
    /// # Errors
    /// [`OrgError`] when the configuration is not at hand.
    pub async fn stored_vectors(
        &self,
        org: &OrgId,
        texts: &[String],
    ) -> Result<Vec<Option<StoredVector>>, OrgError> {
        let model = self.embedding_or_local(org).await?;
        Ok(stored_vectors(model.as_ref(), texts).await)
    }

    fn embedding_of(
        &self,
        org: &OrgId,
        loaded: &LoadedOrg,
        site: &LlmModelSetting,
    ) -> Result<Arc<dyn EmbeddingModel>, String> {
        let mut models = loaded.models.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = models.under(site);
        if let Some(model) = &chosen.embedding {
            return Ok(Arc::clone(model));
        }
        let settings = provider_settings(&loaded.config, site, &self.settings);
        let model = match resolve_embedding(&settings).map_err(|error| error.to_string())? {
            Resolved::Hosted(resolved) => {
                self.models.embedding(org, &resolved).map_err(|error| error.to_string())?
            }
            Resolved::Offline => offline_embedding(),
        };
        chosen.embedding = Some(Arc::clone(&model));
        Ok(model)
    }

    fn chat_of(
        &self,
        org: &OrgId,
        loaded: &LoadedOrg,
        site: &LlmModelSetting,
        role: ModelRole,
        name: Option<&str>,
    ) -> Result<Arc<dyn ChatModel>, String> {
        let mut models = loaded.models.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = models.under(site);
        let key = (role, name.map(str::to_owned));
        if let Some(model) = chosen.chat.get(&key) {
            return Ok(Arc::clone(model));
        }
        let mut settings = provider_settings(&loaded.config, site, &self.settings);
        if let Some(name) = name {
            settings.org.models.put(role, name);
        }
        let model = match resolve_chat(&settings, role).map_err(|error| error.to_string())? {
            Resolved::Hosted(resolved) => {
                let fallbacks = resolve_fallbacks(&settings).map_err(|error| error.to_string())?;
                self.models.chat(org, &resolved, &fallbacks).map_err(|error| error.to_string())?
            }
            Resolved::Offline => offline_chat(self.models.meter(org)),
        };
        // No learning depends on a model that was asked for by name: its refusals are no stall.
        let model = if name.is_none() { self.stalls.watch(model, org, role, loaded.version) } else { model };
        chosen.chat.insert(key, Arc::clone(&model));
        Ok(model)
    }

    async fn read(&self, org: &OrgId, stored: Option<StoredConfig>) -> Result<LoadedOrg, OrgError> {
        let Some(stored) = stored else { return Ok(LoadedOrg::new(0, Config::default())) };
        let document = serde_json::from_str(&stored.document)
            .map_err(|error| OrgError::Damaged(format!("line {}", error.line())))?;
        let mut config = Config::load(&document).map_err(|errors| OrgError::Damaged(errors.summary()))?;
        if let (Some(ciphertext), Some(data_key)) = (stored.secrets, stored.data_key) {
            config.put_secrets(self.secrets.open(org, &SealedSecrets { ciphertext, data_key }).await?);
        }
        Ok(LoadedOrg::new(stored.version, config))
    }

    fn keep(&self, org: &OrgId, loaded: &Arc<LoadedOrg>) {
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ORGS_MAX && !all.contains_key(org) {
            all.clear();
        }
        // A slow read must not put an older version over what was saved meanwhile.
        if all.get(org).is_none_or(|(_, known)| known.version <= loaded.version) {
            all.insert(org.clone(), (self.store.clock().now(), Arc::clone(loaded)));
        }
    }
}

/// See [`Orgs::stored_vectors`].
async fn stored_vectors(model: &dyn EmbeddingModel, texts: &[String]) -> Vec<Option<StoredVector>> {
    if model.is_local() || texts.is_empty() {
        return vec![None; texts.len()];
    }
    match model.embed(texts, EmbeddingPurpose::Document).await {
        Ok(vectors) => vectors
            .iter()
            .map(|vector| {
                let bytes = QuantizedVector::quantize(vector).ok()?.to_bytes();
                Some(StoredVector { model: model.model_name().to_owned(), bytes })
            })
            .collect(),
        Err(error) => {
            tracing::warn!(event = "embedding_deferred", rows = texts.len(), %error);
            vec![None; texts.len()]
        }
    }
}

#[async_trait]
impl OrgServices for Orgs {
    async fn config(&self, org: &OrgId) -> Result<OrgConfig, OrgServicesError> {
        let loaded = self.load(org).await.map_err(services_error)?;
        let flags = self.site.read().await.flags.of(org);
        Ok(OrgConfig { version: loaded.version, config: Arc::clone(&loaded.config), flags })
    }

    async fn chat(&self, org: &OrgId, role: ModelRole) -> Result<Arc<dyn ChatModel>, OrgServicesError> {
        let loaded = self.load(org).await.map_err(services_error)?;
        let site = self.site.read().await;
        self.chat_of(org, &loaded, &site.models, role, None).map_err(OrgServicesError::Configuration)
    }

    async fn chat_named(
        &self,
        org: &OrgId,
        role: ModelRole,
        model: &str,
    ) -> Result<Arc<dyn ChatModel>, OrgServicesError> {
        let loaded = self.load(org).await.map_err(services_error)?;
        let site = self.site.read().await;
        self.chat_of(org, &loaded, &site.models, role, Some(model)).map_err(OrgServicesError::Configuration)
    }

    async fn embedding(&self, org: &OrgId) -> Result<Arc<dyn EmbeddingModel>, OrgServicesError> {
        self.embedding_or_local(org).await.map_err(services_error)
    }

    async fn stored_vectors(
        &self,
        org: &OrgId,
        texts: &[String],
    ) -> Result<Vec<Option<StoredVector>>, OrgServicesError> {
        Self::stored_vectors(self, org, texts).await.map_err(services_error)
    }
}

fn services_error(error: OrgError) -> OrgServicesError {
    match error {
        OrgError::Store(error) => OrgServicesError::Store(error),
        OrgError::Secrets(error) => OrgServicesError::Store(StoreError::Unavailable {
            operation: "open secrets",
            detail: error.to_string(),
        }),
        OrgError::Damaged(detail) => OrgServicesError::Configuration(detail),
    }
}
