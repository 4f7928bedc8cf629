//! Noticing that learning stands still, and that it goes on: around every model that learning asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::ids::OrgId;
use domain::time::EpochSeconds;
use llm::providers::ModelRole;
use llm::reset::reset_estimate;
use llm::{ChatError, ChatModel, ChatRequest, ChatResponse};
use store::{NewStall, Store};

/// How long it is believed that an organisation is not stalled without looking, in seconds.
const BELIEVED_SECONDS: i64 = 5;
/// Organisations of which that is believed.
const BELIEVED_MAX: usize = 10_000;

/// What this process believes, and where the truth is.
pub(crate) struct StallWatch {
    store: Store,
    running: Mutex<HashMap<OrgId, EpochSeconds>>,
}

impl StallWatch {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, running: Mutex::default() }
    }

    /// The model, watched if learning depends on its role.
    pub(crate) fn watch(
        self: &Arc<Self>,
        inner: Arc<dyn ChatModel>,
        org: &OrgId,
        role: ModelRole,
        config_version: i64,
    ) -> Arc<dyn ChatModel> {
        match role {
            ModelRole::Generation | ModelRole::ShouldRun | ModelRole::ExtractionAgent => {
                let (watch, org) = (Arc::clone(self), org.clone());
                Arc::new(WatchedChat { inner, watch, org, role: role.as_str(), config_version })
            }
            ModelRole::Evaluation | ModelRole::PreRetrieval | ModelRole::Embedding => inner,
        }
    }

    fn believe(&self, org: &OrgId, at: Option<EpochSeconds>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() >= BELIEVED_MAX {
            running.clear();
        }
        match at {
            Some(at) => drop(running.insert(org.clone(), at)),
            None => drop(running.remove(org)),
        }
    }

    fn is_believed_running(&self, org: &OrgId) -> bool {
        let now = self.store.clock().now();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(org).is_some_and(|at| now - at < BELIEVED_SECONDS)
    }
}

struct WatchedChat {
    inner: Arc<dyn ChatModel>,
    watch: Arc<StallWatch>,
    org: OrgId,
    role: &'static str,
    config_version: i64,
}

impl WatchedChat {
    /// The note may fail: the next call says the same.
    async fn stalled(&self, reason: llm::StallReason, error: &ChatError) {
        self.watch.believe(&self.org, None);
        let message = error.detail();
        let new = NewStall {
            reason: reason.as_str(),
            reset_estimate: reset_estimate(&message, self.watch.store.clock().now()),
            message,
            role: self.role,
            config_version: self.config_version,
        };
        let org = self.org.as_str();
        match self.watch.store.begin_stall(&self.org, &new).await {
            Ok(true) => tracing::warn!(event = "stall_began", org, reason = new.reason, role = self.role),
            Ok(false) => {}
            Err(error) => tracing::warn!(event = "stall_not_noted", org, %error),
        }
    }

    /// A model answered. If one of this role had failed, or under another configuration, the stall is over.
    async fn answered(&self) {
        if self.watch.is_believed_running(&self.org) {
            return;
        }
        let org = self.org.as_str();
        let stall = match self.watch.store.stall(&self.org).await {
            Ok(stall) => stall.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(event = "stall_unreadable", org, %error);
                return;
            }
        };
        if stall.stalled {
            if stall.role != self.role && stall.holds(self.config_version) {
                return;
            }
            match self.watch.store.end_stall(&self.org).await {
                Ok(_) => tracing::info!(event = "stall_ended", org),
                Err(error) => {
                    tracing::warn!(event = "stall_not_ended", org, %error);
                    return;
                }
            }
        }
        self.watch.believe(&self.org, Some(self.watch.store.clock().now()));
    }
}

#[async_trait]
impl ChatModel for WatchedChat {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let result = self.inner.chat(request).await;
        match &result {
            Ok(_) => self.answered().await,
            Err(error) => {
                if let Some(reason) = error.stall_reason() {
                    self.stalled(reason, error).await;
                }
            }
        }
        result
    }

    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn model_name(&self) -> &str {
        self.inner.model_name()
    }
}
