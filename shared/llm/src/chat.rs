//! The port for chat models.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::ChatError;
use crate::types::{ChatRequest, ChatResponse};

/// A chat model: a provider's wire format, or a wrapper that retries or meters, or a double.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Asks once.
    ///
    /// # Errors
    /// Any [`ChatError`]. A cut or filtered answer is not an error here: it is told by
    /// [`ChatResponse::finish`], so that its tokens are known.
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError>;

    /// The provider's name, for logs and metering.
    fn provider(&self) -> &str;

    /// The model that answers when the request names none.
    fn model_name(&self) -> &str;

    /// Whether other models are asked when this one fails, which takes its time.
    fn has_fallbacks(&self) -> bool {
        false
    }
}

#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        (**self).chat(request).await
    }

    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn model_name(&self) -> &str {
        (**self).model_name()
    }

    fn has_fallbacks(&self) -> bool {
        (**self).has_fallbacks()
    }
}

#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Box<M> {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        (**self).chat(request).await
    }

    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn model_name(&self) -> &str {
        (**self).model_name()
    }

    fn has_fallbacks(&self) -> bool {
        (**self).has_fallbacks()
    }
}
