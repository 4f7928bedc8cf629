//! A provider and a model, ready to be spoken to.

use crate::addresses::AddressPolicy;
use crate::providers::{Abilities, SchemaMode, WireFormat};
use crate::secret::Secret;

/// The first version of Azure's API that takes a schema.
const AZURE_SCHEMA_VERSION: &str = "2024-08-01";

/// Azure's way to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureRoute {
    /// The deployment; the model's name when none was given.
    pub deployment: String,
    /// For example `2024-02-15-preview`.
    pub api_version: String,
}

/// A chat model that can be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedChat {
    /// The provider's name, for logs and metering.
    pub provider: String,
    /// Where it is; empty for Bedrock.
    pub base_url: String,
    /// Its key; may be empty for endpoints that want none.
    pub api_key: Secret,
    /// What it speaks.
    pub format: WireFormat,
    /// The provider's own name of the model, without our prefix.
    pub model: String,
    /// What it can do.
    pub abilities: Abilities,
    /// Where it may be.
    pub policy: AddressPolicy,
    /// Set for Azure.
    pub azure: Option<AzureRoute>,
}

impl ResolvedChat {
    /// An endpoint of the OpenAI format.
    #[must_use]
    pub fn open_ai(
        provider: &str,
        base_url: &str,
        api_key: Secret,
        model: &str,
        policy: AddressPolicy,
    ) -> Self {
        Self {
            provider: provider.to_owned(),
            base_url: base_url.trim().to_owned(),
            api_key,
            format: WireFormat::OpenAi,
            model: model.to_owned(),
            abilities: Abilities::FULL,
            policy,
            azure: None,
        }
    }

    /// Sets Azure's route, and lowers the abilities to those of its API version.
    #[must_use]
    pub fn on_azure(mut self, route: AzureRoute) -> Self {
        if route.api_version.as_str() < AZURE_SCHEMA_VERSION {
            self.abilities.schema = SchemaMode::Object;
        }
        self.azure = Some(route);
        self
    }
}

/// An embedding model that can be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedEmbedding {
    /// The provider's name, for logs and metering.
    pub provider: String,
    /// Where it is.
    pub base_url: String,
    /// Its key; may be empty for endpoints that want none.
    pub api_key: Secret,
    /// What it speaks: [`WireFormat::OpenAi`] or [`WireFormat::Gemini`].
    pub format: WireFormat,
    /// The provider's own name of the model, without our prefix.
    pub model: String,
    /// Where it may be.
    pub policy: AddressPolicy,
    /// Set for Azure.
    pub azure: Option<AzureRoute>,
}

/// What became of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved<T> {
    /// A provider was found.
    Hosted(T),
    /// Nothing is configured: the built-in, model-free implementation answers.
    Offline,
}
