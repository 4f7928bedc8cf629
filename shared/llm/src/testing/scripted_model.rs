//! A chat model without a server: answers from a queue.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::render::{INPUT_TOKENS, OUTPUT_TOKENS};
use crate::chat::ChatModel;
use crate::error::ChatError;
use crate::types::{ChatRequest, ChatResponse, FinishReason, ToolCall, Usage};

/// Answers from a queue and remembers the requests; fails as overloaded when the queue is empty.
#[derive(Default)]
pub struct ScriptedModel {
    answers: Mutex<VecDeque<Result<ChatResponse, ChatError>>>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl ScriptedModel {
    /// With these answers.
    pub fn new(answers: impl IntoIterator<Item = Result<ChatResponse, ChatError>>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), requests: Mutex::default() }
    }

    /// With these texts.
    #[must_use]
    pub fn saying(texts: &[&str]) -> Self {
        Self::new(texts.iter().map(|text| Ok(answer(text))))
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.unwrap_or_else(|| {
            Err(ChatError::Overloaded { retry_after: None, detail: "the script is used up".to_owned() })
        })
    }

    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn model_name(&self) -> &'static str {
        "scripted-model"
    }
}

/// An answer of text.
#[must_use]
pub fn answer(text: &str) -> ChatResponse {
    ChatResponse {
        text: Some(text.to_owned()),
        tool_calls: Vec::new(),
        finish: FinishReason::Stop,
        usage: Usage { input_tokens: INPUT_TOKENS, output_tokens: OUTPUT_TOKENS, cached_tokens: 0 },
        model: "scripted-model".to_owned(),
    }
}

/// An answer of tool calls: names and arguments as text.
#[must_use]
pub fn tool_answer(calls: &[(&str, &str)]) -> ChatResponse {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| ToolCall {
        id: format!("call_{index}"),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
        signature: None,
    });
    ChatResponse { text: None, tool_calls: calls.collect(), finish: FinishReason::ToolCalls, ..answer("") }
}
