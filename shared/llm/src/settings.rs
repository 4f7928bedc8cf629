//! What the choice of a provider depends on, already read by someone else: an organisation's configuration, the
//! deployment's choice of models, the environment. This crate looks at none of these itself.

use std::collections::BTreeMap;

use crate::addresses::AddressPolicy;
use crate::providers::{ModelRole, Provider};
use crate::secret::Secret;

/// Base URL of the operator's endpoint for chat models.
pub const LLM_BASE_URL: &str = "RETROSPECT_LLM_BASE_URL";
/// Its key; may be missing.
pub const LLM_API_KEY: &str = "RETROSPECT_LLM_API_KEY";
/// Its model; without a base URL, a model name that is routed by its prefix.
pub const LLM_MODEL: &str = "RETROSPECT_LLM_MODEL";
/// Models to fall back on, parted by commas.
pub const LLM_FALLBACK_MODELS: &str = "RETROSPECT_LLM_FALLBACK_MODELS";
/// Base URL of the operator's endpoint for embeddings.
pub const EMBEDDING_BASE_URL: &str = "RETROSPECT_EMBEDDING_BASE_URL";
/// Its key; may be missing.
pub const EMBEDDING_API_KEY: &str = "RETROSPECT_EMBEDDING_API_KEY";
/// Its model; without a base URL, a model name that is routed by its prefix.
pub const EMBEDDING_MODEL: &str = "RETROSPECT_EMBEDDING_MODEL";

/// `api_key_config.custom_endpoint`: one endpoint for every completion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomEndpoint {
    /// The model's name there.
    pub model: String,
    /// Its key.
    pub api_key: Secret,
    /// Where it is.
    pub api_base: String,
}

impl CustomEndpoint {
    /// Whether all fields are set; only then it counts.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.model.trim().is_empty() && !self.api_key.is_empty() && !self.api_base.trim().is_empty()
    }
}

/// `api_key_config.openai.azure_config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureSettings {
    /// The key.
    pub api_key: Secret,
    /// The resource, for example `https://name.openai.azure.com`.
    pub endpoint: String,
    /// For example `2024-02-15-preview`.
    pub api_version: String,
    /// The deployment; the model's name when missing.
    pub deployment_name: Option<String>,
}

/// An organisation's `llm_config`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelNames {
    /// For generation, evaluation and the extraction agent.
    pub generation: Option<String>,
    /// For the gate.
    pub should_run: Option<String>,
    /// For query reformulation.
    pub pre_retrieval: Option<String>,
    /// For vectors.
    pub embedding: Option<String>,
}

impl ModelNames {
    /// Sets the name for a role and those that share it.
    pub fn put(&mut self, role: ModelRole, name: &str) {
        let place = match role {
            ModelRole::Generation | ModelRole::Evaluation | ModelRole::ExtractionAgent => {
                &mut self.generation
            }
            ModelRole::ShouldRun => &mut self.should_run,
            ModelRole::PreRetrieval => &mut self.pre_retrieval,
            ModelRole::Embedding => &mut self.embedding,
        };
        *place = Some(name.to_owned());
    }

    pub(crate) fn get(&self, role: ModelRole) -> Option<&str> {
        let name = match role {
            ModelRole::Generation | ModelRole::Evaluation | ModelRole::ExtractionAgent => &self.generation,
            ModelRole::ShouldRun => &self.should_run,
            ModelRole::PreRetrieval => &self.pre_retrieval,
            ModelRole::Embedding => &self.embedding,
        };
        filled(name.as_deref())
    }
}

/// What an organisation configured: `api_key_config` and `llm_config`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrgModels {
    /// One endpoint for every completion.
    pub custom_endpoint: Option<CustomEndpoint>,
    /// Keys by provider name (`openai`, `anthropic`, …).
    pub keys: BTreeMap<String, Secret>,
    /// OpenAI's models on Azure; goes before the key of `openai`.
    pub azure: Option<AzureSettings>,
    /// Another place for DashScope.
    pub dashscope_api_base: Option<String>,
    /// Model names.
    pub models: ModelNames,
}

/// All that the choice depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderSettings {
    /// The organisation's own.
    pub org: OrgModels,
    /// The deployment's choice of models; by role, with prefix.
    pub site_models: BTreeMap<ModelRole, String>,
    /// The environment's variables.
    pub environment: BTreeMap<String, String>,
    /// Whether URLs given by tenants may lead to private addresses: on a laptop, where the tenant is its owner.
    pub allow_private_addresses: bool,
}

impl ProviderSettings {
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        filled(self.environment.get(name).map(String::as_str))
    }

    pub(crate) fn tenant_policy(&self) -> AddressPolicy {
        if self.allow_private_addresses { AddressPolicy::AllowPrivate } else { AddressPolicy::PublicOnly }
    }

    pub(crate) fn org_key(&self, provider: &Provider) -> Option<Secret> {
        self.org.keys.get(provider.name).filter(|key| !key.is_empty()).cloned()
    }

    pub(crate) fn environment_key(&self, provider: &Provider) -> Option<Secret> {
        self.variable(provider.key_variable).map(Secret::new)
    }
}

/// The text, if it is more than blanks.
pub(crate) fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}
