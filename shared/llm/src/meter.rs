//! What every call cost, failed ones included.

use std::sync::Arc;

use async_trait::async_trait;
use domain::ids::OrgId;
use domain::time::{Clock, EpochMillis};

use crate::chat::ChatModel;
use crate::error::ChatError;
use crate::types::{ChatRequest, ChatResponse, FinishReason, Usage};

/// One call to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    /// Who pays.
    pub org: OrgId,
    /// The prompt id, or `embedding`.
    pub purpose: &'static str,
    /// The model that answered, or that was asked.
    pub model: String,
    /// Its provider.
    pub provider: String,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// `success`, `truncated`, `content_filtered`, or the class of the error.
    pub outcome: &'static str,
    /// How long it took.
    pub duration_ms: u64,
}

/// Where usage is counted.
pub trait UsageSink: Send + Sync {
    /// Takes note of one call. Must not block.
    fn record(&self, record: UsageRecord);
}

/// A sink together with who pays and how time is told.
#[derive(Clone)]
pub struct Meter {
    org: OrgId,
    sink: Arc<dyn UsageSink>,
    clock: Arc<dyn Clock>,
}

impl Meter {
    /// A meter for one organisation.
    pub fn new(org: OrgId, sink: Arc<dyn UsageSink>, clock: Arc<dyn Clock>) -> Self {
        Self { org, sink, clock }
    }

    /// The time at which a call starts.
    pub(crate) fn start(&self) -> EpochMillis {
        self.clock.now_ms()
    }

    pub(crate) fn record(
        &self,
        started: EpochMillis,
        purpose: &'static str,
        provider: &str,
        model: &str,
        usage: Usage,
        outcome: &'static str,
    ) {
        let duration_ms = u64::try_from(self.clock.now_ms().saturating_sub(started)).unwrap_or(0);
        self.sink.record(UsageRecord {
            org: self.org.clone(),
            purpose,
            model: model.to_owned(),
            provider: provider.to_owned(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            outcome,
            duration_ms,
        });
    }
}

/// A chat model whose every call is metered. Belongs inside the retries: each try costs.
pub struct MeteredChat<M> {
    inner: M,
    meter: Meter,
}

impl<M: ChatModel> MeteredChat<M> {
    /// Wraps a model.
    pub fn new(inner: M, meter: Meter) -> Self {
        Self { inner, meter }
    }
}

/// Records a call as `abandoned` when its future is dropped half way: a hard timeout, a cancelled caller.
struct Pending<'a> {
    meter: &'a Meter,
    started: EpochMillis,
    purpose: &'static str,
    provider: &'a str,
    model: &'a str,
    done: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.done {
            let usage = Usage::default();
            self.meter.record(self.started, self.purpose, self.provider, self.model, usage, "abandoned");
        }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for MeteredChat<M> {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let asked = if request.model.is_empty() { self.inner.model_name() } else { &request.model };
        let (started, purpose, provider) = (self.meter.start(), request.purpose, self.inner.provider());
        let mut pending =
            Pending { meter: &self.meter, started, purpose, provider, model: asked, done: false };
        let result = self.inner.chat(request).await;
        pending.done = true;
        let (model, usage, outcome) = match &result {
            Ok(response) => (response.model.as_str(), response.usage, outcome(response.finish)),
            Err(error) => (asked, Usage::default(), error.class()),
        };
        self.meter.record(started, purpose, provider, model, usage, outcome);
        result
    }

    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn model_name(&self) -> &str {
        self.inner.model_name()
    }
}

fn outcome(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Length => "truncated",
        FinishReason::ContentFilter => "content_filtered",
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other => "success",
    }
}
