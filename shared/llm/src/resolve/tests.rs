use std::collections::BTreeMap;

use super::*;
use crate::providers::SchemaMode;
use crate::settings::{AzureSettings, EMBEDDING_BASE_URL, EMBEDDING_MODEL, LLM_BASE_URL, LLM_MODEL};
use crate::settings::{ModelNames, OrgModels};

const COMPLETIONS: [ModelRole; 5] = [
    ModelRole::Generation,
    ModelRole::Evaluation,
    ModelRole::ShouldRun,
    ModelRole::PreRetrieval,
    ModelRole::ExtractionAgent,
];

fn environment(variables: &[(&str, &str)]) -> ProviderSettings {
    let environment =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ProviderSettings { environment, ..ProviderSettings::default() }
}

fn org_keys(providers: &[&str]) -> OrgModels {
    let keys = providers.iter().map(|name| ((*name).to_owned(), Secret::new(format!("org-{name}"))));
    OrgModels { keys: keys.collect(), ..OrgModels::default() }
}

fn chat(settings: &ProviderSettings, role: ModelRole) -> ResolvedChat {
    match resolve_chat(settings, role).unwrap() {
        Resolved::Hosted(chat) => chat,
        Resolved::Offline => panic!("offline"),
    }
}

fn embedding(settings: &ProviderSettings) -> ResolvedEmbedding {
    match resolve_embedding(settings).unwrap() {
        Resolved::Hosted(embedding) => embedding,
        Resolved::Offline => panic!("offline"),
    }
}

#[test]
fn nothing_configured_means_offline_for_every_role() {
    for variables in [&[][..], &[("OPENAI_API_KEY", "  ")]] {
        let settings = environment(variables);
        for role in COMPLETIONS {
            assert_eq!(resolve_chat(&settings, role), Ok(Resolved::Offline));
        }
        assert_eq!(resolve_embedding(&settings), Ok(Resolved::Offline));
    }
}

#[test]
fn the_first_provider_with_a_key_serves_each_role_with_its_model() {
    let settings = environment(&[("OPENAI_API_KEY", "k"), ("ZAI_API_KEY", "z")]);
    assert_eq!(chat(&settings, ModelRole::Generation).provider, "zai");
    let settings = environment(&[("OPENAI_API_KEY", "k")]);
    let models = COMPLETIONS.map(|role| chat(&settings, role).model);
    assert_eq!(models, ["gpt-5.5", "gpt-5.4-mini", "gpt-5-nano", "gpt-5-nano", "gpt-5.5"]);
    assert_eq!(embedding(&settings).model, "text-embedding-3-small");
}

#[test]
fn every_provider_serves_the_extraction_agent_with_its_generation_model() {
    for provider in &PROVIDERS {
        let settings = environment(&[(provider.key_variable, "k")]);
        let agent = chat(&settings, ModelRole::ExtractionAgent);
        assert_eq!(agent, chat(&settings, ModelRole::Generation));
        assert_eq!(agent.provider, provider.name);
        assert!(!agent.model.starts_with(&format!("{}/", provider.name)), "{}", agent.model);
        assert_eq!(agent.policy, AddressPolicy::PublicOnly);
    }
}

#[test]
fn a_provider_without_embeddings_leaves_them_to_the_next_or_to_the_built_in() {
    let settings = environment(&[("ANTHROPIC_API_KEY", "k")]);
    assert_eq!(resolve_embedding(&settings), Ok(Resolved::Offline));
    let settings = environment(&[("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "g")]);
    let found = embedding(&settings);
    assert_eq!((found.provider.as_str(), found.model.as_str()), ("gemini", "gemini-embedding-001"));
    assert_eq!(found.format, WireFormat::Gemini);
}

#[test]
fn the_order_is_custom_endpoint_org_key_operator_endpoint_operator_key() {
    let mut settings = environment(&[
        ("ANTHROPIC_API_KEY", "k"),
        (LLM_BASE_URL, "http://127.0.0.1:9/v1"),
        (LLM_MODEL, "llama"),
    ]);
    let operator = chat(&settings, ModelRole::ShouldRun);
    assert_eq!((operator.model.as_str(), operator.policy), ("llama", AddressPolicy::AllowPrivate));
    assert!(operator.api_key.is_empty());

    settings.org = org_keys(&["openai"]);
    let org = chat(&settings, ModelRole::Generation);
    assert_eq!((org.provider.as_str(), org.api_key.expose()), ("openai", "org-openai"));

    settings.org.custom_endpoint = Some(CustomEndpoint {
        model: "m".to_owned(),
        api_key: Secret::new("c"),
        api_base: "https://llm.example/v1".to_owned(),
    });
    for role in COMPLETIONS {
        let custom = chat(&settings, role);
        assert_eq!((custom.model.as_str(), custom.policy), ("m", AddressPolicy::PublicOnly));
    }
    assert_eq!(embedding(&settings).provider, "openai", "a custom endpoint is not asked for embeddings");

    settings.org.custom_endpoint =
        Some(CustomEndpoint { model: "m".to_owned(), ..CustomEndpoint::default() });
    assert_eq!(chat(&settings, ModelRole::Generation).provider, "openai", "an incomplete one does not count");
}

#[test]
fn tenants_urls_may_be_private_only_where_the_tenant_owns_the_machine() {
    let mut settings = ProviderSettings::default();
    settings.org.custom_endpoint = Some(CustomEndpoint {
        model: "m".to_owned(),
        api_key: Secret::new("c"),
        api_base: "http://localhost:11434/v1".to_owned(),
    });
    assert_eq!(chat(&settings, ModelRole::Generation).policy, AddressPolicy::PublicOnly);
    settings.allow_private_addresses = true;
    assert_eq!(chat(&settings, ModelRole::Generation).policy, AddressPolicy::AllowPrivate);
}

fn named(name: &str, variables: &[(&str, &str)]) -> Result<Resolved<ResolvedChat>, ResolveError> {
    let mut settings = environment(variables);
    settings.org.models = ModelNames { generation: Some(name.to_owned()), ..ModelNames::default() };
    resolve_chat(&settings, ModelRole::Generation)
}

#[test]
fn a_model_name_is_routed_by_its_prefix_or_family() {
    let all: Vec<(&str, &str)> = PROVIDERS.iter().map(|provider| (provider.key_variable, "k")).collect();
    for (name, provider, model) in [
        ("gemini/gemini-3-pro", "gemini", "gemini-3-pro"),
        ("openrouter/google/gemini-3-flash", "openrouter", "google/gemini-3-flash"),
        ("openai/gpt-5.5", "openai", "gpt-5.5"),
        ("gpt-4o", "openai", "gpt-4o"),
        ("o3-mini", "openai", "o3-mini"),
        ("claude-opus-4-6", "anthropic", "claude-opus-4-6"),
        ("dashscope/qwen-max", "dashscope", "qwen-max"),
    ] {
        let Ok(Resolved::Hosted(chat)) = named(name, &all) else { panic!("{name}") };
        assert_eq!((chat.provider.as_str(), chat.model.as_str()), (provider, model));
    }
    let Ok(Resolved::Hosted(bedrock)) = named("bedrock/us.amazon.nova-pro-v1:0", &[]) else {
        panic!("bedrock")
    };
    assert_eq!((bedrock.format, bedrock.model.as_str()), (WireFormat::Bedrock, "us.amazon.nova-pro-v1:0"));
    assert_eq!(named("local/anything", &all), Ok(Resolved::Offline));
}

#[test]
fn a_model_without_a_key_is_an_error_that_names_the_key() {
    let error = named("gemini/gemini-3-pro", &[("OPENAI_API_KEY", "k")]).unwrap_err();
    assert!(error.to_string().contains("GEMINI_API_KEY"), "{error}");
    assert_eq!(named("llama3", &[]), Err(ResolveError::UnknownModel("llama3".to_owned())));
    let Ok(Resolved::Hosted(gateway)) = named("gemini/gemini-3-pro", &[(LLM_BASE_URL, "http://gw/v1")])
    else {
        panic!("gateway")
    };
    assert_eq!(gateway.model, "gemini/gemini-3-pro", "a gateway gets the name as it is");
    let missing = resolve_chat(&environment(&[(LLM_BASE_URL, "http://gw/v1")]), ModelRole::Generation);
    assert!(matches!(missing, Err(ResolveError::NoModel { .. })));
}

#[test]
fn the_deployments_choice_of_models_yields_to_the_organisations() {
    let mut settings = environment(&[("OPENAI_API_KEY", "k")]);
    settings.site_models = BTreeMap::from([(ModelRole::Generation, "openai/gpt-4.1".to_owned())]);
    assert_eq!(chat(&settings, ModelRole::Generation).model, "gpt-4.1");
    settings.org.models.generation = Some("openai/gpt-4o".to_owned());
    assert_eq!(chat(&settings, ModelRole::ExtractionAgent).model, "gpt-4o");
}

#[test]
fn the_deployments_choice_does_not_take_an_organisation_to_a_provider_that_it_did_not_bring() {
    let mut settings = environment(&[("OPENAI_API_KEY", "k")]);
    settings.site_models = BTreeMap::from([(ModelRole::Generation, "openai/gpt-4.1".to_owned())]);
    settings.org = org_keys(&["anthropic"]);
    assert_eq!(chat(&settings, ModelRole::Generation).provider, "anthropic");
    settings.org = org_keys(&["anthropic", "openai"]);
    let chosen = chat(&settings, ModelRole::Generation);
    assert_eq!((chosen.model.as_str(), chosen.api_key.expose()), ("gpt-4.1", "org-openai"));
}

#[test]
fn azure_is_reached_by_deployment_and_old_versions_get_no_schema() {
    let mut settings = ProviderSettings::default();
    settings.org.azure = Some(AzureSettings {
        api_key: Secret::new("a"),
        endpoint: "https://x.openai.azure.com".to_owned(),
        api_version: "2024-02-15-preview".to_owned(),
        deployment_name: None,
    });
    let old = chat(&settings, ModelRole::Generation);
    assert_eq!(old.azure.as_ref().unwrap().deployment, "gpt-5.5");
    assert_eq!(old.abilities.schema, SchemaMode::Object);
    assert_eq!(old.policy, AddressPolicy::PublicOnly);
    assert_eq!(resolve_embedding(&settings), Ok(Resolved::Offline), "no embedding model was named");
    settings.org.azure.as_mut().unwrap().api_version = "2024-10-21".to_owned();
    assert_eq!(chat(&settings, ModelRole::Generation).abilities.schema, SchemaMode::Strict);
    settings.org.models.embedding = Some("text-embedding-3-large".to_owned());
    assert_eq!(embedding(&settings).azure.unwrap().deployment, "text-embedding-3-large");
}

#[test]
fn dashscope_may_live_elsewhere() {
    let mut settings = ProviderSettings { org: org_keys(&["dashscope"]), ..ProviderSettings::default() };
    settings.org.dashscope_api_base = Some("https://dashscope.example/v1".to_owned());
    let found = chat(&settings, ModelRole::ShouldRun);
    assert_eq!(
        (found.base_url.as_str(), found.model.as_str()),
        ("https://dashscope.example/v1", "qwen-turbo")
    );
}

#[test]
fn the_operators_embedding_endpoint_is_its_own() {
    let settings = environment(&[
        (EMBEDDING_BASE_URL, "http://127.0.0.1:11434/v1"),
        (EMBEDDING_MODEL, "nomic-embed-text"),
        (LLM_BASE_URL, "http://127.0.0.1:9/v1"),
        (LLM_MODEL, "llama"),
    ]);
    assert_eq!(embedding(&settings).base_url, "http://127.0.0.1:11434/v1");
    assert_eq!(chat(&settings, ModelRole::Generation).base_url, "http://127.0.0.1:9/v1");
}

#[test]
fn keys_do_not_print_themselves() {
    let settings = ProviderSettings { org: org_keys(&["openai"]), ..ProviderSettings::default() };
    assert!(!format!("{:?}", chat(&settings, ModelRole::Generation)).contains("org-openai"));
    assert!(!format!("{settings:?}").contains("org-openai"));
}

#[test]
fn fallbacks_are_named_in_a_list_and_never_beside_a_custom_endpoint() {
    let mut settings =
        environment(&[("OPENAI_API_KEY", "k"), (LLM_FALLBACK_MODELS, "openai/gpt-4o, ,bedrock/nova")]);
    let models: Vec<String> =
        resolve_fallbacks(&settings).unwrap().into_iter().map(|chat| chat.model).collect();
    assert_eq!(models, ["gpt-4o", "nova"]);
    settings.org.custom_endpoint = Some(CustomEndpoint {
        model: "m".to_owned(),
        api_key: Secret::new("c"),
        api_base: "https://llm.example/v1".to_owned(),
    });
    assert_eq!(resolve_fallbacks(&settings), Ok(vec![]));
    let unknown = environment(&[(LLM_FALLBACK_MODELS, "gemini/x")]);
    assert!(resolve_fallbacks(&unknown).is_err());
}
