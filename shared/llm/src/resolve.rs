//! Which provider and model serve a role.
//!
//! Order: the organisation's custom endpoint (completions only); a model name from the organisation or the
//! deployment, routed by its prefix; the organisation's keys; the operator's endpoint; the operator's keys;
//! nothing. What is found first decides; a mistake in it is an error and not a reason to look further.
//!
//! The deployment's name is passed over for an organisation that brought keys, none of them for that model: who
//! brings a provider wants no other to see the conversations.

use crate::addresses::AddressPolicy;
use crate::providers::{ModelRole, PROVIDERS, WireFormat};
use crate::resolved::{AzureRoute, Resolved, ResolvedChat, ResolvedEmbedding};
use crate::routes::{
    Route, environment_route, operator_route, operator_variables, org_route, org_route_named, provider_of,
    without_prefix,
};
use crate::secret::Secret;
use crate::settings::{CustomEndpoint, LLM_FALLBACK_MODELS, ProviderSettings, filled};

/// Name and prefix of Amazon Bedrock.
pub const BEDROCK: &str = "bedrock";
/// Prefix of models inside this process.
const LOCAL: &str = "local";

/// A configuration that names something it does not bring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A model was named, but there is no key for its provider.
    #[error("No API key for the model provider {provider}. Set api_key_config.{provider} or {key_variable}.")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The variable that could hold the key.
        key_variable: &'static str,
    },
    /// A model was named whose provider is not known, and there is no endpoint to ask for it.
    #[error("No LLM provider available for the model {0:?}. Use a name such as openai/gpt-5.5.")]
    UnknownModel(String),
    /// The operator's endpoint has no model.
    #[error("{url_variable} is set, but {model_variable} is not")]
    NoModel {
        /// The variable that is set.
        url_variable: &'static str,
        /// The variable that is missing.
        model_variable: &'static str,
    },
    /// The provider has no models for the role.
    #[error("No provider in [{provider}] supports role={role}")]
    RoleUnsupported {
        /// The provider.
        provider: &'static str,
        /// The role.
        role: &'static str,
    },
}

/// The chat model for a role.
///
/// # Errors
/// [`ResolveError`].
pub fn resolve_chat(
    settings: &ProviderSettings,
    role: ModelRole,
) -> Result<Resolved<ResolvedChat>, ResolveError> {
    if let Some(custom) = settings.org.custom_endpoint.as_ref().filter(|custom| custom.is_complete()) {
        return Ok(Resolved::Hosted(custom_chat(custom, settings.tenant_policy())));
    }
    choose(settings, role).map(hosted)
}

fn hosted(chosen: Chosen) -> Resolved<ResolvedChat> {
    match chosen {
        Chosen::Route(route, model) => Resolved::Hosted(chat(route, &model)),
        Chosen::Bedrock(model) => Resolved::Hosted(ResolvedChat {
            format: WireFormat::Bedrock,
            ..ResolvedChat::open_ai(BEDROCK, "", Secret::default(), &model, AddressPolicy::PublicOnly)
        }),
        Chosen::Nothing => Resolved::Offline,
    }
}

/// The models that are asked once each when the one for a role fails: `RETROSPECT_LLM_FALLBACK_MODELS`, names
/// parted by commas. None beside a custom endpoint: who brings one wants no other to see the conversations.
///
/// # Errors
/// [`ResolveError`] for the first name that cannot be resolved.
pub fn resolve_fallbacks(settings: &ProviderSettings) -> Result<Vec<ResolvedChat>, ResolveError> {
    if settings.org.custom_endpoint.as_ref().is_some_and(CustomEndpoint::is_complete) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for name in settings.variable(LLM_FALLBACK_MODELS).unwrap_or_default().split(',') {
        let Some(name) = filled(Some(name)) else { continue };
        if let Resolved::Hosted(chat) = hosted(by_model_name(settings, ModelRole::Generation, name)?) {
            found.push(chat);
        }
    }
    Ok(found)
}

/// The embedding model.
///
/// # Errors
/// [`ResolveError`].
pub fn resolve_embedding(settings: &ProviderSettings) -> Result<Resolved<ResolvedEmbedding>, ResolveError> {
    let role = ModelRole::Embedding;
    let (route, model) = match choose(settings, role)? {
        Chosen::Route(route, model) => (route, model),
        Chosen::Bedrock(_) => {
            return Err(ResolveError::RoleUnsupported { provider: BEDROCK, role: role.as_str() });
        }
        Chosen::Nothing => return Ok(Resolved::Offline),
    };
    if route.known.is_some_and(|provider| provider.format == WireFormat::Anthropic) {
        return Err(ResolveError::RoleUnsupported { provider: route.provider, role: role.as_str() });
    }
    // The configured deployment is that of the chat model.
    let azure =
        route.azure.map(|azure| AzureRoute { deployment: model.clone(), api_version: azure.api_version });
    Ok(Resolved::Hosted(ResolvedEmbedding {
        provider: route.provider.to_owned(),
        base_url: route.base_url,
        api_key: route.api_key,
        format: route.known.map_or(WireFormat::OpenAi, |provider| provider.format),
        model,
        policy: route.policy,
        azure,
    }))
}

fn custom_chat(custom: &CustomEndpoint, policy: AddressPolicy) -> ResolvedChat {
    ResolvedChat::open_ai(
        "custom_endpoint",
        &custom.api_base,
        custom.api_key.clone(),
        custom.model.trim(),
        policy,
    )
}

fn chat(route: Route, model: &str) -> ResolvedChat {
    let mut chat = ResolvedChat::open_ai(route.provider, &route.base_url, route.api_key, model, route.policy);
    if let Some(provider) = route.known {
        chat.format = provider.format;
        chat.abilities = provider.abilities;
    }
    match route.azure {
        Some(azure) => {
            let deployment = azure.deployment_name.unwrap_or_else(|| model.to_owned());
            chat.on_azure(AzureRoute { deployment, api_version: azure.api_version })
        }
        None => chat,
    }
}

enum Chosen {
    Route(Route, String),
    Bedrock(String),
    Nothing,
}

fn choose(settings: &ProviderSettings, role: ModelRole) -> Result<Chosen, ResolveError> {
    if let Some(name) = settings.org.models.get(role) {
        return by_model_name(settings, role, name);
    }
    let org = PROVIDERS
        .iter()
        .find_map(|provider| Some((provider.model(role)?, org_route(settings, provider, role)?)));
    let site = settings.site_models.get(&role).map(String::as_str);
    let org_has_key =
        |name| provider_of(name).is_some_and(|provider| org_route_named(settings, provider).is_some());
    if let Some(name) = filled(site).filter(|name| org.is_none() || org_has_key(name)) {
        return by_model_name(settings, role, name);
    }
    if let Some((model, route)) = org {
        let model = without_prefix(&route, model);
        return Ok(Chosen::Route(route, model));
    }
    let (url_variable, model_variable) = operator_variables(role);
    let operator_model = settings.variable(model_variable);
    if let Some(route) = operator_route(settings, role) {
        let model = operator_model.ok_or(ResolveError::NoModel { url_variable, model_variable })?;
        return Ok(Chosen::Route(route, model.to_owned()));
    }
    if let Some(name) = operator_model {
        return by_model_name(settings, role, name);
    }
    let found = PROVIDERS.iter().find_map(|p| Some((p.model(role)?, environment_route(settings, p)?)));
    Ok(found.map_or(Chosen::Nothing, |(model, route)| {
        let model = without_prefix(&route, model);
        Chosen::Route(route, model)
    }))
}

/// A named model goes to the provider of its name: with the organisation's key, through the operator's endpoint,
/// or with the operator's key. A name that says nothing goes to the first of these that there is.
fn by_model_name(settings: &ProviderSettings, role: ModelRole, name: &str) -> Result<Chosen, ResolveError> {
    match name.split_once('/') {
        Some((LOCAL, _)) => return Ok(Chosen::Nothing),
        Some((BEDROCK, model)) => return Ok(Chosen::Bedrock(model.to_owned())),
        _ => {}
    }
    let known = provider_of(name);
    let candidates =
        || PROVIDERS.iter().filter(|provider| known.is_none_or(|known| known.name == provider.name));
    if let Some(route) = candidates().find_map(|provider| org_route_named(settings, provider)) {
        let model = without_prefix(&route, name);
        return Ok(Chosen::Route(route, model));
    }
    if let Some(route) = operator_route(settings, role) {
        // Gateways understand prefixes, so the name goes there as it is.
        return Ok(Chosen::Route(route, name.to_owned()));
    }
    if let Some(route) = candidates().find_map(|provider| environment_route(settings, provider)) {
        let model = without_prefix(&route, name);
        return Ok(Chosen::Route(route, model));
    }
    Err(match known {
        Some(provider) => {
            ResolveError::NoKey { provider: provider.name, key_variable: provider.key_variable }
        }
        None => ResolveError::UnknownModel(name.to_owned()),
    })
}

#[cfg(test)]
mod tests;
