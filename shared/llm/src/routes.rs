//! Ways to providers: who could be asked, with which key, at which address.

use crate::addresses::AddressPolicy;
use crate::providers::{ModelRole, Provider, by_name};
use crate::secret::Secret;
use crate::settings::{AzureSettings, ProviderSettings, filled};
use crate::settings::{EMBEDDING_API_KEY, EMBEDDING_BASE_URL, EMBEDDING_MODEL};
use crate::settings::{LLM_API_KEY, LLM_BASE_URL, LLM_MODEL};

/// A way to a provider, before a model was chosen.
pub(crate) struct Route {
    pub(crate) provider: &'static str,
    pub(crate) base_url: String,
    pub(crate) api_key: Secret,
    pub(crate) known: Option<&'static Provider>,
    pub(crate) policy: AddressPolicy,
    pub(crate) azure: Option<AzureSettings>,
}

/// The provider that a model name speaks of, by prefix or by family.
pub(crate) fn provider_of(name: &str) -> Option<&'static Provider> {
    if let Some((prefix, _)) = name.split_once('/') {
        let prefix = if prefix == "azure" { "openai" } else { prefix };
        return by_name(prefix);
    }
    let mut letters = name.chars();
    let o_series = letters.next() == Some('o') && letters.next().is_some_and(|c| c.is_ascii_digit());
    let families = [
        ("claude", "anthropic"),
        ("gemini", "gemini"),
        ("gpt-", "openai"),
        ("text-embedding-3", "openai"),
        ("deepseek", "deepseek"),
        ("grok", "xai"),
        ("qwen", "dashscope"),
        ("glm", "zai"),
        ("moonshot", "moonshot"),
        ("kimi", "moonshot"),
        ("MiniMax", "minimax"),
    ];
    let family = families.iter().find(|(start, _)| name.starts_with(start)).map(|(_, provider)| *provider);
    by_name(if o_series { "openai" } else { family? })
}

/// `gemini/gemini-3-pro` → `gemini-3-pro`; `openrouter/google/x` → `google/x`.
pub(crate) fn without_prefix(route: &Route, name: &str) -> String {
    let own = name.strip_prefix(route.provider).and_then(|rest| rest.strip_prefix('/'));
    own.or_else(|| name.strip_prefix("azure/")).unwrap_or(name).to_owned()
}

/// Azure hosts whatever was deployed there: as an embedding model it counts only when one is named.
pub(crate) fn org_route(
    settings: &ProviderSettings,
    provider: &'static Provider,
    role: ModelRole,
) -> Option<Route> {
    let route = org_route_named(settings, provider)?;
    if route.azure.is_some() && role == ModelRole::Embedding {
        return settings.org_key(provider).map(|key| known_route(provider, key));
    }
    Some(route)
}

pub(crate) fn org_route_named(settings: &ProviderSettings, provider: &'static Provider) -> Option<Route> {
    let azure =
        settings.org.azure.as_ref().filter(|azure| provider.name == "openai" && !azure.api_key.is_empty());
    if let Some(azure) = azure {
        let route = known_route(provider, azure.api_key.clone());
        return Some(Route {
            base_url: azure.endpoint.clone(),
            policy: settings.tenant_policy(),
            azure: Some(azure.clone()),
            ..route
        });
    }
    let mut route = known_route(provider, settings.org_key(provider)?);
    let own_base = settings.org.dashscope_api_base.as_deref();
    if let Some(base) = filled(own_base).filter(|_| provider.name == "dashscope") {
        base.clone_into(&mut route.base_url);
        route.policy = settings.tenant_policy();
    }
    Some(route)
}

pub(crate) fn environment_route(settings: &ProviderSettings, provider: &'static Provider) -> Option<Route> {
    Some(known_route(provider, settings.environment_key(provider)?))
}

pub(crate) fn known_route(provider: &'static Provider, api_key: Secret) -> Route {
    Route {
        provider: provider.name,
        base_url: provider.base_url.to_owned(),
        api_key,
        known: Some(provider),
        policy: AddressPolicy::PublicOnly,
        azure: None,
    }
}

pub(crate) fn operator_variables(role: ModelRole) -> (&'static str, &'static str) {
    if role == ModelRole::Embedding {
        (EMBEDDING_BASE_URL, EMBEDDING_MODEL)
    } else {
        (LLM_BASE_URL, LLM_MODEL)
    }
}

pub(crate) fn operator_route(settings: &ProviderSettings, role: ModelRole) -> Option<Route> {
    let key_variable = if role == ModelRole::Embedding { EMBEDDING_API_KEY } else { LLM_API_KEY };
    Some(Route {
        provider: "operator_endpoint",
        base_url: settings.variable(operator_variables(role).0)?.to_owned(),
        api_key: Secret::new(settings.variable(key_variable).unwrap_or_default()),
        known: None,
        policy: AddressPolicy::AllowPrivate,
        azure: None,
    })
}
