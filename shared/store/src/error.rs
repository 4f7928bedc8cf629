//! What can go wrong between the store and AWS, told apart by what a caller can do about it.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// What DynamoDB calls it when the write of one item meets a transaction.
pub(crate) const CONFLICT_CODE: &str = "TransactionConflictException";

/// A failure of the store itself, as opposed to a condition that did not hold.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The service did not answer, or said that it could not. Whether a write happened is unknown.
    #[error("storage is unavailable: {operation}: {detail}")]
    Unavailable {
        /// The AWS operation.
        operation: &'static str,
        /// For the log only.
        detail: String,
    },
    /// The service refused the call as wrong: a defect of ours, and nothing was written.
    #[error("storage refused {operation}: {detail}")]
    Refused {
        /// The AWS operation.
        operation: &'static str,
        /// For the log only.
        detail: String,
    },
    /// A stored item does not hold what its kind must hold. Never read as absent.
    #[error("stored item {key} has no valid {attribute}")]
    Corrupt {
        /// The key, which holds no caller text.
        key: String,
        /// The attribute.
        attribute: &'static str,
    },
    /// Other writers kept winning until the bound on attempts.
    #[error("too many concurrent writers: {operation}")]
    Contended {
        /// What was tried.
        operation: &'static str,
    },
}

impl StoreError {
    /// Classifies an SDK failure: a 4xx that is not throttling is [`Self::Refused`], all else unavailable.
    pub(crate) fn from_sdk<E>(operation: &'static str, error: SdkError<E>) -> Self
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let code = error.code().unwrap_or("").to_owned();
        if code == CONFLICT_CODE {
            return Self::Contended { operation };
        }
        let refused = match &error {
            SdkError::ServiceError(context) => {
                context.raw().status().is_client_error() && !is_throttling(&code)
            }
            SdkError::ConstructionFailure(_) => true,
            _ => false,
        };
        let detail = format!("{code} {}", chain(&error));
        if refused { Self::Refused { operation, detail } } else { Self::Unavailable { operation, detail } }
    }
}

fn is_throttling(code: &str) -> bool {
    code.contains("Throttl")
        || matches!(code, "ProvisionedThroughputExceededException" | "RequestLimitExceeded" | "SlowDown")
}

/// The whole chain of an SDK error in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
