//! From a resolved provider to a model that retries, meters and logs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ids::OrgId;
use domain::time::Clock;
use tokio::sync::Semaphore;

use crate::addresses::AddressPolicy;
use crate::chat::ChatModel;
use crate::embedding::EmbeddingModel;
use crate::error::ChatError;
use crate::http::Http;
use crate::meter::{Meter, MeteredChat, UsageSink};
use crate::providers::WireFormat;
use crate::resolved::{ResolvedChat, ResolvedEmbedding};
use crate::retry::{Random, Retries};
use crate::retrying::{RetryingChat, RetryingEmbedding};
use crate::wire::client::HttpChat;
use crate::wire::embeddings::{EMBED_TEXTS_MAX, HttpEmbedding};

/// Calls under way to one provider, from one process.
pub const CONCURRENT_CALLS_MAX: usize = 16;

/// Builds models; one per process. Connections and permits are shared by all that it builds.
pub struct Models {
    clock: Arc<dyn Clock>,
    random: Random,
    sink: Arc<dyn UsageSink>,
    clients: Mutex<HashMap<AddressPolicy, Http>>,
    permits: Mutex<HashMap<(String, String), Arc<Semaphore>>>,
    #[cfg(feature = "bedrock")]
    aws: Option<aws_types::SdkConfig>,
}

impl Models {
    /// `random` yields numbers from 0 to below 1.
    pub fn new(clock: Arc<dyn Clock>, random: Random, sink: Arc<dyn UsageSink>) -> Self {
        Self {
            clock,
            random,
            sink,
            clients: Mutex::default(),
            permits: Mutex::default(),
            #[cfg(feature = "bedrock")]
            aws: None,
        }
    }

    /// Lets models of Amazon Bedrock be built.
    #[cfg(feature = "bedrock")]
    #[must_use]
    pub fn with_aws(mut self, config: aws_types::SdkConfig) -> Self {
        self.aws = Some(config);
        self
    }

    /// A chat model for `org`, with fallbacks that are asked once each when it fails.
    ///
    /// # Errors
    /// [`ChatError::Network`] when no TLS configuration can be had, [`ChatError::BadRequest`] for Bedrock in a
    /// program built without it.
    pub fn chat(
        &self,
        org: &OrgId,
        resolved: &ResolvedChat,
        fallbacks: &[ResolvedChat],
    ) -> Result<Arc<dyn ChatModel>, ChatError> {
        let primary = self.metered(org, resolved)?;
        let fallbacks = fallbacks.iter().map(|fallback| self.metered(org, fallback));
        Ok(Arc::new(RetryingChat::new(primary, fallbacks.collect::<Result<_, _>>()?)))
    }

    /// An embedding model for `org`.
    ///
    /// # Errors
    /// [`ChatError::Network`] when no TLS configuration can be had.
    pub fn embedding(
        &self,
        org: &OrgId,
        resolved: &ResolvedEmbedding,
    ) -> Result<Arc<dyn EmbeddingModel>, ChatError> {
        let inner = HttpEmbedding::new(self.http(resolved.policy)?, resolved.clone(), Some(self.meter(org)));
        let retries = self.retries(&resolved.provider, &resolved.base_url);
        Ok(Arc::new(RetryingEmbedding::new(inner, retries, EMBED_TEXTS_MAX)))
    }

    /// A meter for `org`, for models that are built elsewhere.
    #[must_use]
    pub fn meter(&self, org: &OrgId) -> Meter {
        Meter::new(org.clone(), Arc::clone(&self.sink), Arc::clone(&self.clock))
    }

    fn metered(
        &self,
        org: &OrgId,
        resolved: &ResolvedChat,
    ) -> Result<(Arc<dyn ChatModel>, Retries), ChatError> {
        let bare = self.bare(resolved)?;
        let retries = self.retries(&resolved.provider, &resolved.base_url);
        Ok((Arc::new(MeteredChat::new(bare, self.meter(org))), retries))
    }

    fn bare(&self, resolved: &ResolvedChat) -> Result<Box<dyn ChatModel>, ChatError> {
        if resolved.format == WireFormat::Bedrock {
            return self.bedrock(resolved);
        }
        Ok(Box::new(HttpChat::new(self.http(resolved.policy)?, resolved.clone())))
    }

    #[cfg(feature = "bedrock")]
    fn bedrock(&self, resolved: &ResolvedChat) -> Result<Box<dyn ChatModel>, ChatError> {
        let missing = || ChatError::BadRequest { detail: "no AWS configuration for Bedrock".to_owned() };
        let config = self.aws.as_ref().ok_or_else(missing)?;
        Ok(Box::new(crate::wire::bedrock::BedrockChat::new(config, resolved.model.clone())))
    }

    #[cfg(not(feature = "bedrock"))]
    #[expect(clippy::unused_self, reason = "the same shape with and without the feature")]
    fn bedrock(&self, _: &ResolvedChat) -> Result<Box<dyn ChatModel>, ChatError> {
        Err(ChatError::BadRequest { detail: "this program was built without Bedrock".to_owned() })
    }

    fn http(&self, policy: AddressPolicy) -> Result<Http, ChatError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(http) = clients.get(&policy) {
            return Ok(http.clone());
        }
        let http = Http::new(policy)?;
        clients.insert(policy, http.clone());
        Ok(http)
    }

    fn retries(&self, provider: &str, base_url: &str) -> Retries {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (provider.to_owned(), base_url.to_owned());
        let permits = permits.entry(key).or_insert_with(|| Arc::new(Semaphore::new(CONCURRENT_CALLS_MAX)));
        Retries {
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            permits: Arc::clone(permits),
        }
    }
}

#[cfg(test)]
mod tests;
