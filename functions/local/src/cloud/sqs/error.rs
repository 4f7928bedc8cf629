//! What SQS refuses, with the names that clients look for.

use super::limits::{BATCH_BYTES_MAX, BATCH_ENTRIES_MAX};

/// A refused request.
#[derive(Debug, thiserror::Error)]
pub enum SqsError {
    /// No queue has this URL or name.
    #[error("The specified queue does not exist.")]
    QueueDoesNotExist,
    /// A receipt handle that this queue never gave out.
    #[error("The input receipt handle is invalid.")]
    ReceiptHandleIsInvalid,
    /// The body holds characters that XML 1.0 cannot.
    #[error(
        "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
    )]
    InvalidMessageContents,
    /// The visibility of a message that nobody holds was to be changed.
    #[error("The message referred to is not in flight.")]
    MessageNotInflight,
    /// A batch without entries.
    #[error("There should be at least one entry in the request.")]
    EmptyBatchRequest,
    /// A batch with too many entries.
    #[error("Maximum number of entries per request are {BATCH_ENTRIES_MAX}. You have sent {0}.")]
    TooManyEntriesInBatchRequest(usize),
    /// Two entries of a batch have this id.
    #[error("Id {0} repeated.")]
    BatchEntryIdsNotDistinct(String),
    /// An entry's id is malformed.
    #[error(
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long."
    )]
    InvalidBatchEntryId,
    /// The entries of a batch are too long together.
    #[error("Batch requests cannot be longer than {BATCH_BYTES_MAX} bytes. You have sent {0} bytes.")]
    BatchRequestTooLong(usize),
    /// The queue was purged less than a minute ago.
    #[error("Only one PurgeQueue operation on {0} is allowed every 60 seconds.")]
    PurgeQueueInProgress(String),
    /// A queue attribute of this name does not exist.
    #[error("Unknown Attribute {0}.")]
    InvalidAttributeName(String),
    /// An operation or a field that the local cloud does not offer.
    #[error("The local cloud does not offer {0}.")]
    UnsupportedOperation(String),
    /// A value out of its bounds.
    #[error("Value {value} for parameter {parameter} is invalid. Reason: {reason}.")]
    InvalidParameterValue {
        /// The value.
        value: String,
        /// Its name.
        parameter: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A required parameter is absent.
    #[error("The request must contain the parameter {0}.")]
    MissingParameter(&'static str),
    /// The request is not what the protocol asks for.
    #[error("The request could not be read: {0}")]
    Malformed(String),
    /// The journal could not be written, so nothing was changed.
    #[error("The journal could not be written.")]
    Journal(#[source] std::io::Error),
}

impl SqsError {
    pub(super) fn invalid(value: impl ToString, parameter: &'static str, reason: impl Into<String>) -> Self {
        Self::InvalidParameterValue { value: value.to_string(), parameter, reason: reason.into() }
    }

    /// The shape's name in the JSON protocol.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::QueueDoesNotExist => "com.amazonaws.sqs#QueueDoesNotExist",
            Self::ReceiptHandleIsInvalid => "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            Self::InvalidMessageContents => "com.amazonaws.sqs#InvalidMessageContents",
            Self::MessageNotInflight => "com.amazonaws.sqs#MessageNotInflight",
            Self::EmptyBatchRequest => "com.amazonaws.sqs#EmptyBatchRequest",
            Self::TooManyEntriesInBatchRequest(_) => "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
            Self::BatchEntryIdsNotDistinct(_) => "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
            Self::InvalidBatchEntryId => "com.amazonaws.sqs#InvalidBatchEntryId",
            Self::BatchRequestTooLong(_) => "com.amazonaws.sqs#BatchRequestTooLong",
            Self::PurgeQueueInProgress(_) => "com.amazonaws.sqs#PurgeQueueInProgress",
            Self::InvalidAttributeName(_) => "com.amazonaws.sqs#InvalidAttributeName",
            Self::UnsupportedOperation(_) => "com.amazonaws.sqs#UnsupportedOperation",
            Self::InvalidParameterValue { .. } => "com.amazon.coral.service#InvalidParameterValueException",
            Self::MissingParameter(_) => "com.amazon.coral.service#MissingRequiredParameterException",
            Self::Malformed(_) => "com.amazon.coral.service#SerializationException",
            Self::Journal(_) => "com.amazon.coral.service#InternalFailure",
        }
    }

    /// The code of the older query protocol, which is the one that clients match on.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue",
            Self::ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid",
            Self::InvalidMessageContents => "InvalidMessageContents",
            Self::MessageNotInflight => "AWS.SimpleQueueService.MessageNotInflight",
            Self::EmptyBatchRequest => "AWS.SimpleQueueService.EmptyBatchRequest",
            Self::TooManyEntriesInBatchRequest(_) => "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            Self::BatchEntryIdsNotDistinct(_) => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            Self::InvalidBatchEntryId => "AWS.SimpleQueueService.InvalidBatchEntryId",
            Self::BatchRequestTooLong(_) => "AWS.SimpleQueueService.BatchRequestTooLong",
            Self::PurgeQueueInProgress(_) => "AWS.SimpleQueueService.PurgeQueueInProgress",
            Self::InvalidAttributeName(_) => "InvalidAttributeName",
            Self::UnsupportedOperation(_) => "AWS.SimpleQueueService.UnsupportedOperation",
            Self::InvalidParameterValue { .. } => "InvalidParameterValue",
            Self::MissingParameter(_) => "MissingParameter",
            Self::Malformed(_) => "SerializationException",
            Self::Journal(_) => "InternalFailure",
        }
    }

    /// Whether the service, not the caller, is at fault.
    pub(super) fn is_fault(&self) -> bool {
        matches!(self, Self::Journal(_))
    }
}
