//! Why there is no verdict.

use learning::services::OrgServicesError;
use llm::ChatError;
use store::StoreError;

/// Why there is no verdict. Both texts are safe for the log and hold nothing of the session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The store, or for the moment the model, is not at hand: worth another try by the queue.
    #[error("the judge is not at hand: {0}")]
    Unavailable(String),
    /// The model answered what is no verdict, or cannot be asked with these settings: asking again soon is no help.
    #[error("the judge gave no usable verdict: {0}")]
    Unusable(String),
}

impl From<StoreError> for JudgeError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<OrgServicesError> for JudgeError {
    fn from(error: OrgServicesError) -> Self {
        match error {
            OrgServicesError::Store(error) => error.into(),
            OrgServicesError::Configuration(text) => Self::Unusable(text),
        }
    }
}

impl From<ChatError> for JudgeError {
    fn from(error: ChatError) -> Self {
        tracing::warn!(event = "judge_failed", error_type = error.class(), error = error.detail());
        match error {
            ChatError::RateLimited { .. }
            | ChatError::Timeout { .. }
            | ChatError::Overloaded { .. }
            | ChatError::Network { .. } => Self::Unavailable(error.to_string()),
            ChatError::Auth { .. }
            | ChatError::Billing { .. }
            | ChatError::BadRequest { .. }
            | ChatError::ContextTooLong { .. }
            | ChatError::ContentFiltered { .. }
            | ChatError::Truncated { .. }
            | ChatError::Malformed { .. }
            | ChatError::AddressRefused { .. } => Self::Unusable(error.to_string()),
        }
    }
}
