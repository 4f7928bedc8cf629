//! Amazon Bedrock Converse, through the AWS SDK. A schema is asked for by forcing a tool whose arguments are the
//! answer.

use async_trait::async_trait;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::converse::{ConverseError, ConverseOutput};
use aws_sdk_bedrockruntime::types::{ContentBlock, InferenceConfiguration, StopReason, TokenUsage};

use super::bedrock_document::to_json;
use super::bedrock_request::{messages, system, tool_config};
use super::{malformed, quirks};
use crate::chat::ChatModel;
use crate::classify::Refusal;
use crate::error::{ChatError, shorten};
use crate::resolve::BEDROCK;
use crate::types::{ChatRequest, ChatResponse, FinishReason, ToolCall, Usage};

/// A model of Bedrock. Asks once: our own retries are wrapped around it, so the SDK's are off.
pub(crate) struct BedrockChat {
    client: Client,
    model: String,
}

impl BedrockChat {
    pub(crate) fn new(config: &aws_types::SdkConfig, model: String) -> Self {
        let config = aws_sdk_bedrockruntime::config::Builder::from(config)
            .retry_config(RetryConfig::disabled())
            .build();
        Self { client: Client::from_conf(config), model }
    }
}

#[async_trait]
impl ChatModel for BedrockChat {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let model = if request.model.is_empty() { &self.model } else { &request.model };
        let limit = request.max_output_tokens.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        // This service ends at 1.
        let temperature = quirks::temperature(model, request).map(|temperature| temperature.min(1.0));
        let inference = InferenceConfiguration::builder().set_max_tokens(limit).set_temperature(temperature);
        let timeouts = TimeoutConfig::builder().operation_timeout(request.timeout).build();
        let output = self
            .client
            .converse()
            .model_id(model)
            .set_system(system(request))
            .set_messages(Some(messages(&request.messages)?))
            .inference_config(inference.build())
            .set_tool_config(tool_config(request)?)
            .customize()
            .config_override(aws_sdk_bedrockruntime::config::Builder::new().timeout_config(timeouts))
            .send()
            .await
            .map_err(|error| classify(&error))?;
        read(&output, request, model)
    }

    fn provider(&self) -> &str {
        BEDROCK
    }

    fn model_name(&self) -> &str {
        &self.model
    }
}

fn classify(error: &SdkError<ConverseError>) -> ChatError {
    match error {
        SdkError::TimeoutError(_) => ChatError::Timeout { detail: "no answer in time".to_owned() },
        SdkError::DispatchFailure(failure) => {
            let detail =
                failure.as_connector_error().map_or_else(String::new, |error| shorten(&error.to_string()));
            if failure.is_timeout() { ChatError::Timeout { detail } } else { ChatError::Network { detail } }
        }
        SdkError::ServiceError(service) => {
            let refusal = Refusal {
                status: status_of(service.err(), service.raw().status().as_u16()),
                codes: service.err().code().unwrap_or_default().to_lowercase(),
                message: service.err().message().unwrap_or_default().to_owned(),
                retry_after: None,
            };
            refusal.into_error()
        }
        SdkError::ConstructionFailure(_) => {
            ChatError::BadRequest { detail: "the request could not be built".to_owned() }
        }
        _ => malformed("the answer could not be read"),
    }
}

/// Bedrock's own statuses mislead: a model that failed is 424, one that is not ready 429.
fn status_of(error: &ConverseError, status: u16) -> u16 {
    match error {
        ConverseError::AccessDeniedException(_) => 403,
        ConverseError::ThrottlingException(_) => 429,
        ConverseError::ModelTimeoutException(_) => 408,
        ConverseError::InternalServerException(_)
        | ConverseError::ModelErrorException(_)
        | ConverseError::ModelNotReadyException(_)
        | ConverseError::ServiceUnavailableException(_) => 503,
        _ => status,
    }
}

fn read(output: &ConverseOutput, request: &ChatRequest, model: &str) -> Result<ChatResponse, ChatError> {
    let message = output.output().and_then(|output| output.as_message().ok());
    let message = message.ok_or_else(|| malformed("the answer has no message"))?;
    let mut text = String::new();
    let mut tool_calls = Vec::new();
    for block in message.content() {
        match block {
            ContentBlock::Text(piece) => text.push_str(piece),
            ContentBlock::ToolUse(call) => tool_calls.push(ToolCall {
                id: call.tool_use_id().to_owned(),
                name: call.name().to_owned(),
                arguments: to_json(call.input()).to_string(),
                signature: None,
            }),
            _ => {}
        }
    }
    let mut finish = match output.stop_reason() {
        StopReason::EndTurn | StopReason::StopSequence => FinishReason::Stop,
        StopReason::ToolUse => FinishReason::ToolCalls,
        StopReason::MaxTokens | StopReason::ModelContextWindowExceeded => FinishReason::Length,
        StopReason::ContentFiltered | StopReason::GuardrailIntervened => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    };
    let forced = if request.tools.is_empty() { tool_calls.pop() } else { None };
    if let Some(answer) = forced {
        text = answer.arguments;
        tool_calls.clear();
        if finish == FinishReason::ToolCalls {
            finish = FinishReason::Stop;
        }
    }
    Ok(ChatResponse {
        text: (!text.is_empty()).then_some(text),
        tool_calls,
        finish,
        usage: output.usage().map(usage).unwrap_or_default(),
        model: model.to_owned(),
    })
}

fn usage(usage: &TokenUsage) -> Usage {
    let count = |tokens: i32| u64::try_from(tokens).unwrap_or(0);
    let cached = count(usage.cache_read_input_tokens().unwrap_or(0));
    let written = count(usage.cache_write_input_tokens().unwrap_or(0));
    Usage {
        input_tokens: count(usage.input_tokens()) + cached + written,
        output_tokens: count(usage.output_tokens()),
        cached_tokens: cached,
    }
}

#[cfg(test)]
mod tests;
