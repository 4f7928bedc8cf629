//! Keys of model providers.

use serde::Serialize;
use serde_json::Value;

use super::secrets::SecretString;
use crate::validation::{Faults, Fields, Path, Rule, object, rules, urls};

record! {
    /// An endpoint that speaks the OpenAI format; when set it serves every completion.
    CustomEndpoint "CustomEndpointConfig" {
        /// The model to ask for.
        model: String = required(rules::text),
        /// The key.
        api_key: SecretString = required(SecretString::read),
        /// The address.
        api_base: String = required(urls::http_url),
    }
}

record! {
    /// OpenAI models hosted by Azure.
    AzureOpenAi "AzureOpenAIConfig" {
        /// The key.
        api_key: SecretString = required(SecretString::read),
        /// The address.
        endpoint: String = required(urls::http_url),
        /// The version of the interface.
        api_version: String = optional("2024-02-15-preview".to_owned(), rules::text),
        /// The deployment, if it is named otherwise than the model.
        deployment_name: Option<String> = nullable(rules::text),
    }
}

record! {
    /// OpenAI, directly or through Azure.
    OpenAi "OpenAIConfig" {
        /// The key.
        api_key: Option<SecretString> = nullable(SecretString::read),
        /// Through Azure instead.
        azure_config: Option<AzureOpenAi> = nullable(AzureOpenAi::read),
    }
    check |openai| if openai.api_key.is_none() && openai.azure_config.is_none() {
        Err("Either api_key or azure_config must be provided".to_owned())
    } else {
        Ok(())
    };
}

record! {
    /// DashScope.
    DashScope "DashScopeConfig" {
        /// The key.
        api_key: SecretString = required(SecretString::read),
        /// Another address than the usual one.
        api_base: Option<String> = nullable(urls::plain_http_url("api_base")),
    }
}

/// A provider that needs only a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProviderKey {
    /// The key.
    pub api_key: SecretString,
}

impl ProviderKey {
    fn rule<'v>(model: &'static str) -> impl Rule<'v, Self> {
        move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
            let key = |fields: &mut Fields<'_, 'v>| {
                Some(Self { api_key: fields.required("api_key", SecretString::read)? })
            };
            object(Some(model), value, at, faults, key, |_| Ok(()))
        }
    }
}

model! {
    /// The organisation's own keys, by provider.
    ApiKeys "APIKeyConfig" {
        /// An endpoint of its own.
        custom_endpoint: Option<CustomEndpoint> = nullable(CustomEndpoint::read),
        /// OpenAI.
        openai: Option<OpenAi> = nullable(OpenAi::read),
        /// Anthropic.
        anthropic: Option<ProviderKey> = nullable(ProviderKey::rule("AnthropicConfig")),
        /// OpenRouter.
        openrouter: Option<ProviderKey> = nullable(ProviderKey::rule("OpenRouterConfig")),
        /// Gemini.
        gemini: Option<ProviderKey> = nullable(ProviderKey::rule("GeminiConfig")),
        /// MiniMax.
        minimax: Option<ProviderKey> = nullable(ProviderKey::rule("MiniMaxConfig")),
        /// DeepSeek.
        deepseek: Option<ProviderKey> = nullable(ProviderKey::rule("DeepSeekConfig")),
        /// DashScope.
        dashscope: Option<DashScope> = nullable(DashScope::read),
        /// Z.AI.
        zai: Option<ProviderKey> = nullable(ProviderKey::rule("ZAIConfig")),
        /// Moonshot.
        moonshot: Option<ProviderKey> = nullable(ProviderKey::rule("MoonshotConfig")),
        /// xAI.
        xai: Option<ProviderKey> = nullable(ProviderKey::rule("XAIConfig")),
    }
}

impl ApiKeys {
    pub(super) fn visit_secrets(&mut self, visit: &mut dyn FnMut(&str, &mut SecretString)) {
        if let Some(custom) = &mut self.custom_endpoint {
            visit("custom_endpoint.api_key", &mut custom.api_key);
        }
        if let Some(openai) = &mut self.openai {
            if let Some(key) = &mut openai.api_key {
                visit("openai.api_key", key);
            }
            if let Some(azure) = &mut openai.azure_config {
                visit("openai.azure_config.api_key", &mut azure.api_key);
            }
        }
        if let Some(dashscope) = &mut self.dashscope {
            visit("dashscope.api_key", &mut dashscope.api_key);
        }
        let plain = [
            ("anthropic.api_key", &mut self.anthropic),
            ("openrouter.api_key", &mut self.openrouter),
            ("gemini.api_key", &mut self.gemini),
            ("minimax.api_key", &mut self.minimax),
            ("deepseek.api_key", &mut self.deepseek),
            ("zai.api_key", &mut self.zai),
            ("moonshot.api_key", &mut self.moonshot),
            ("xai.api_key", &mut self.xai),
        ];
        for (path, provider) in plain {
            if let Some(provider) = provider {
                visit(path, &mut provider.api_key);
            }
        }
    }
}
