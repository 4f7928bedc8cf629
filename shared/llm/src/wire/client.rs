//! A chat model over HTTP: picks the format, sends, reads.

use std::time::Duration;

use async_trait::async_trait;

use super::{anthropic, gemini, openai};
use crate::chat::ChatModel;
use crate::error::ChatError;
use crate::http::{Call, Http, join};
use crate::providers::WireFormat;
use crate::resolved::ResolvedChat;
use crate::types::{ChatRequest, ChatResponse};

/// One provider at one base URL. Asks once; retries and metering are wrapped around it.
pub(crate) struct HttpChat {
    http: Http,
    resolved: ResolvedChat,
}

impl HttpChat {
    pub(crate) fn new(http: Http, resolved: ResolvedChat) -> Self {
        Self { http, resolved }
    }

    fn call(&self, request: &ChatRequest, model: &str, timeout: Duration) -> Result<Call<'_>, ChatError> {
        let resolved = &self.resolved;
        let key = &resolved.api_key;
        let base = &resolved.base_url;
        let (url, headers, body) = match resolved.format {
            WireFormat::OpenAi => (
                openai::url(base, resolved.azure.as_ref(), "chat/completions")?,
                openai::headers(key, resolved.azure.is_some()),
                openai::body(resolved, request, model),
            ),
            WireFormat::Anthropic => {
                (join(base, "messages")?, anthropic::headers(key), anthropic::body(request, model))
            }
            WireFormat::Gemini => (
                gemini::url(base, model, "generateContent")?,
                gemini::headers(key),
                gemini::body(request, model),
            ),
            WireFormat::Bedrock => {
                return Err(ChatError::BadRequest { detail: "Bedrock is not reached by URL".to_owned() });
            }
        };
        Ok(Call { url, headers, body, timeout, secret: key })
    }
}

#[async_trait]
impl ChatModel for HttpChat {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let model = if request.model.is_empty() { &self.resolved.model } else { &request.model };
        let body = self.http.post(self.call(request, model, request.timeout)?).await?;
        match self.resolved.format {
            WireFormat::OpenAi => openai::parse(&body, model),
            WireFormat::Anthropic => anthropic::parse(&body, request, model),
            WireFormat::Gemini | WireFormat::Bedrock => gemini::parse(&body, model),
        }
    }

    fn provider(&self) -> &str {
        &self.resolved.provider
    }

    fn model_name(&self) -> &str {
        &self.resolved.model
    }
}

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
