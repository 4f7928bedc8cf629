//! From an organisation's configuration to what the choice of a model depends on.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use domain::config::{Config, SecretString};
use domain::site_vars::LlmModelSetting;
use llm::meter::{Meter, MeteredChat};
use llm::offline_adapter::{OfflineChat, OfflineEmbedding};
use llm::providers::ModelRole;
use llm::secret::Secret;
use llm::settings::{AzureSettings, CustomEndpoint, ModelNames, OrgModels, ProviderSettings};
use llm::{ChatModel, EmbeddingModel};

use crate::settings::Settings;

/// What the resolution of providers reads.
pub(crate) fn provider_settings(
    config: &Config,
    site: &LlmModelSetting,
    settings: &Settings,
) -> ProviderSettings {
    ProviderSettings {
        org: org_models(config),
        site_models: site_models(site),
        environment: settings.environment.clone(),
        allow_private_addresses: settings.allow_private_addresses,
    }
}

/// The deployment's choice by role. The extraction agent goes with generation, as everywhere.
pub(crate) fn site_models(site: &LlmModelSetting) -> BTreeMap<ModelRole, String> {
    let names = [
        (ModelRole::Generation, &site.generation),
        (ModelRole::ExtractionAgent, &site.generation),
        (ModelRole::Evaluation, &site.evaluation),
        (ModelRole::ShouldRun, &site.should_run),
        (ModelRole::PreRetrieval, &site.pre_retrieval),
        (ModelRole::Embedding, &site.embedding),
    ];
    names.into_iter().filter_map(|(role, name)| Some((role, name.clone()?))).collect()
}

fn org_models(config: &Config) -> OrgModels {
    let mut models = OrgModels { models: model_names(config), ..OrgModels::default() };
    let Some(keys) = &config.api_key_config else { return models };
    models.custom_endpoint = keys.custom_endpoint.as_ref().map(|endpoint| CustomEndpoint {
        model: endpoint.model.clone(),
        api_key: secret(&endpoint.api_key),
        api_base: endpoint.api_base.clone(),
    });
    if let Some(openai) = &keys.openai {
        if let Some(key) = &openai.api_key {
            models.keys.insert("openai".to_owned(), secret(key));
        }
        models.azure = openai.azure_config.as_ref().map(|azure| AzureSettings {
            api_key: secret(&azure.api_key),
            endpoint: azure.endpoint.clone(),
            api_version: azure.api_version.clone(),
            deployment_name: azure.deployment_name.clone(),
        });
    }
    if let Some(dashscope) = &keys.dashscope {
        models.keys.insert("dashscope".to_owned(), secret(&dashscope.api_key));
        models.dashscope_api_base.clone_from(&dashscope.api_base);
    }
    let simple = [
        ("anthropic", &keys.anthropic),
        ("openrouter", &keys.openrouter),
        ("gemini", &keys.gemini),
        ("minimax", &keys.minimax),
        ("deepseek", &keys.deepseek),
        ("zai", &keys.zai),
        ("moonshot", &keys.moonshot),
        ("xai", &keys.xai),
    ];
    for (provider, key) in simple {
        if let Some(key) = key {
            models.keys.insert(provider.to_owned(), secret(&key.api_key));
        }
    }
    models
}

fn model_names(config: &Config) -> ModelNames {
    let Some(llm) = &config.llm_config else { return ModelNames::default() };
    ModelNames {
        generation: llm.generation_model_name.clone(),
        should_run: llm.should_run_model_name.clone(),
        pre_retrieval: llm.pre_retrieval_model_name.clone(),
        embedding: llm.embedding_model_name.clone(),
    }
}

fn secret(text: &SecretString) -> Secret {
    Secret::new(text.expose())
}

static OFFLINE_EMBEDDING: LazyLock<Arc<dyn EmbeddingModel>> =
    LazyLock::new(|| Arc::new(OfflineEmbedding::new()));

/// The embedder that is built in.
pub(crate) fn offline_embedding() -> Arc<dyn EmbeddingModel> {
    Arc::clone(&OFFLINE_EMBEDDING)
}

/// The rule-based extractor in place of a chat model.
pub(crate) fn offline_chat(meter: Meter) -> Arc<dyn ChatModel> {
    Arc::new(MeteredChat::new(OfflineChat::new(), meter))
}
