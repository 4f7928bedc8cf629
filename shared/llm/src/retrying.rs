//! Models that ask again, and then ask another model.

use std::sync::Arc;

use async_trait::async_trait;

use crate::chat::ChatModel;
use crate::embedding::{EmbedError, EmbeddingModel, EmbeddingPurpose};
use crate::error::ChatError;
use crate::retry::{Bounds, RETRIES_MAX, Retries};
use crate::types::{ChatRequest, ChatResponse};
use crate::wire::embeddings::EMBED_TIMEOUT;

/// A chat model with retries and fallbacks. The fallbacks bring their own permits and models.
pub struct RetryingChat {
    primary: (Arc<dyn ChatModel>, Retries),
    fallbacks: Vec<(Arc<dyn ChatModel>, Retries)>,
}

impl RetryingChat {
    /// Wraps a model; each fallback gets one try, in their order, once the primary's tries are used up.
    #[must_use]
    pub fn new(
        primary: (Arc<dyn ChatModel>, Retries),
        fallbacks: Vec<(Arc<dyn ChatModel>, Retries)>,
    ) -> Self {
        Self { primary, fallbacks }
    }

    async fn ask(
        (model, retries): &(Arc<dyn ChatModel>, Retries),
        request: &ChatRequest,
        retries_max: u32,
    ) -> Result<ChatResponse, ChatError> {
        let bounds = Bounds { timeout: request.timeout, deadline: request.deadline, retries_max };
        let call = |timeout| async move {
            let request = ChatRequest { timeout, ..request.clone() };
            model.chat(&request).await
        };
        retries.run(bounds, call).await
    }

    async fn ask_all(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let retries_max = request.retries_max.unwrap_or(RETRIES_MAX);
        let mut result = Self::ask(&self.primary, request, retries_max).await;
        for fallback in &self.fallbacks {
            if result.is_ok() {
                break;
            }
            let request = ChatRequest { model: String::new(), ..request.clone() };
            let answer = Self::ask(fallback, &request, 0).await;
            if answer.is_ok() {
                let (primary, served) = (self.primary.0.model_name(), fallback.0.model_name());
                tracing::warn!(event = "llm_fallback_used", primary_model = primary, served_model = served);
                result = answer;
            }
        }
        // When all fail, the primary's error is the one that says what to mend.
        result
    }
}

#[async_trait]
impl ChatModel for RetryingChat {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let model = if request.model.is_empty() { self.model_name() } else { &request.model };
        tracing::info!(
            event = "llm_request_start",
            model,
            purpose = request.purpose,
            timeout = request.timeout.as_secs(),
            has_response_format = request.response_schema.is_some(),
            num_retries = request.retries_max.unwrap_or(RETRIES_MAX),
            fallbacks = self.fallbacks.len(),
        );
        let clock = &self.primary.1.clock;
        let started = clock.now_ms();
        let result = self.ask_all(request).await;
        #[expect(clippy::cast_precision_loss, reason = "a duration for people to read")]
        let elapsed_seconds = clock.now_ms().saturating_sub(started) as f64 / 1000.0;
        match &result {
            Ok(answer) => tracing::info!(
                event = "llm_request_end",
                model = answer.model,
                purpose = request.purpose,
                elapsed_seconds,
                success = true,
                input_tokens = answer.usage.input_tokens,
                output_tokens = answer.usage.output_tokens,
            ),
            Err(error) => tracing::warn!(
                event = "llm_request_end",
                model,
                purpose = request.purpose,
                elapsed_seconds,
                success = false,
                error_type = error.class(),
                error = error.detail(),
            ),
        }
        result
    }

    fn provider(&self) -> &str {
        self.primary.0.provider()
    }

    fn model_name(&self) -> &str {
        self.primary.0.model_name()
    }

    fn has_fallbacks(&self) -> bool {
        !self.fallbacks.is_empty()
    }
}

/// An embedding model with retries, batch by batch.
pub struct RetryingEmbedding<M> {
    inner: M,
    retries: Retries,
    batch_texts_max: usize,
}

impl<M: EmbeddingModel> RetryingEmbedding<M> {
    /// Wraps a model; texts are sent in batches of at most `batch_texts_max`, so that one failure repeats little.
    pub fn new(inner: M, retries: Retries, batch_texts_max: usize) -> Self {
        Self { inner, retries, batch_texts_max: batch_texts_max.max(1) }
    }
}

#[async_trait]
impl<M: EmbeddingModel> EmbeddingModel for RetryingEmbedding<M> {
    async fn embed(&self, texts: &[String], purpose: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let bounds = Bounds { timeout: EMBED_TIMEOUT, deadline: None, retries_max: RETRIES_MAX };
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.batch_texts_max) {
            vectors.extend(self.retries.run(bounds, |_| self.inner.embed(batch, purpose)).await?);
        }
        Ok(vectors)
    }

    fn model_name(&self) -> &str {
        self.inner.model_name()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn similarity_threshold(&self) -> f32 {
        self.inner.similarity_threshold()
    }

    fn clustering_threshold(&self) -> f32 {
        self.inner.clustering_threshold()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }
}
