//! SQS's limits, and the checks of what callers send.

use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};

use super::error::SqsError;
use super::message::{Attributes, Draft};
use crate::cloud::template::Queue;

/// Most entries of a batch.
pub const BATCH_ENTRIES_MAX: usize = 10;
/// Most bytes of a batch, all entries together.
pub const BATCH_BYTES_MAX: usize = 1_048_576;
/// Longest id of a batch entry, in characters.
pub const ENTRY_ID_CHARS_MAX: usize = 80;
/// Longest group or deduplication id, in characters.
pub const ID_CHARS_MAX: usize = 128;
/// Longest delay of a message, in seconds.
pub const DELAY_SECONDS_MAX: i64 = 900;
/// Longest visibility time-out, and longest time that one receive may hold a message, in seconds.
pub const VISIBILITY_SECONDS_MAX: i64 = 43_200;
/// Longest wait of a receive, in seconds.
pub const WAIT_SECONDS_MAX: i64 = 20;
/// Most messages of a receive.
pub const RECEIVE_MESSAGES_MAX: i64 = 10;
/// Most attributes of a message.
pub const ATTRIBUTES_MAX: usize = 10;
/// How long a deduplication id is remembered, in milliseconds.
pub const DEDUPLICATION_MS: i64 = 300_000;
/// How long after a purge the next one is refused, in milliseconds.
pub const PURGE_INTERVAL_MS: i64 = 60_000;

/// What a caller wants to send, unchecked.
#[derive(Debug, Clone, Default)]
pub struct SendRequest {
    /// The message.
    pub body: String,
    /// What the caller attached.
    pub attributes: Attributes,
    /// Delay in seconds, instead of the queue's.
    pub delay_seconds: Option<i64>,
    /// The group of a message of a FIFO queue.
    pub group: Option<String>,
    /// The deduplication id of a message of a FIFO queue.
    pub deduplication_id: Option<String>,
}

/// Checks a message against the rules of its queue.
pub(super) fn check_send(queue: &Queue, request: SendRequest) -> Result<Draft, SqsError> {
    let SendRequest { body, attributes, delay_seconds, group, deduplication_id } = request;
    if body.is_empty() {
        return Err(SqsError::MissingParameter("MessageBody"));
    }
    let bytes = body.len() + attributes.bytes();
    if bytes > queue.message_bytes_max as usize {
        let reason = format!("Message must be shorter than {} bytes", queue.message_bytes_max);
        return Err(SqsError::invalid(format_args!("of {bytes} bytes"), "MessageBody", reason));
    }
    if !body.chars().all(is_allowed) {
        return Err(SqsError::InvalidMessageContents);
    }
    attributes.check()?;
    for (id, parameter) in [(&group, "MessageGroupId"), (&deduplication_id, "MessageDeduplicationId")] {
        if let Some(id) = id {
            check_id(id, parameter)?;
        }
    }
    let unfit = "The request include parameter that is not valid for this queue type";
    let (deduplication_id, delay_seconds) = if queue.fifo {
        if group.is_none() {
            return Err(SqsError::MissingParameter("MessageGroupId"));
        }
        if let Some(delay) = delay_seconds {
            return Err(SqsError::invalid(delay, "DelaySeconds", unfit));
        }
        let digest = || hex::encode(Sha256::digest(body.as_bytes()));
        let id = deduplication_id.or_else(|| queue.content_based_deduplication.then(digest));
        let missing = "The queue should either have ContentBasedDeduplication enabled or \
                       MessageDeduplicationId provided explicitly";
        (Some(id.ok_or_else(|| SqsError::invalid("null", "MessageDeduplicationId", missing))?), None)
    } else {
        if let Some(id) = deduplication_id {
            return Err(SqsError::invalid(id, "MessageDeduplicationId", unfit));
        }
        let checked = delay_seconds.map(|delay| check_range(delay, "DelaySeconds", 0..=DELAY_SECONDS_MAX));
        (None, checked.transpose()?)
    };
    let delay_ms = delay_seconds.unwrap_or_else(|| i64::from(queue.delay_seconds)) * 1000;
    Ok(Draft { body, attributes, delay_ms, group, deduplication_id })
}

/// Checks the ids of a batch's entries and how many there are.
pub(super) fn check_entries<'a>(ids: impl ExactSizeIterator<Item = &'a str>) -> Result<(), SqsError> {
    if ids.len() == 0 {
        return Err(SqsError::EmptyBatchRequest);
    }
    if ids.len() > BATCH_ENTRIES_MAX {
        return Err(SqsError::TooManyEntriesInBatchRequest(ids.len()));
    }
    let mut seen = std::collections::HashSet::new();
    for id in ids {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if id.is_empty() || id.len() > ENTRY_ID_CHARS_MAX || !id.chars().all(allowed) {
            return Err(SqsError::InvalidBatchEntryId);
        }
        if !seen.insert(id) {
            return Err(SqsError::BatchEntryIdsNotDistinct(id.to_owned()));
        }
    }
    Ok(())
}

/// Checks a number against its bounds.
pub(super) fn check_range(
    value: i64,
    parameter: &'static str,
    bounds: RangeInclusive<i64>,
) -> Result<i64, SqsError> {
    if bounds.contains(&value) {
        return Ok(value);
    }
    let reason = format!("Must be between {} and {}, if provided", bounds.start(), bounds.end());
    Err(SqsError::invalid(value, parameter, reason))
}

fn check_id(id: &str, parameter: &'static str) -> Result<(), SqsError> {
    if (1..=ID_CHARS_MAX).contains(&id.len()) && id.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(());
    }
    let reason = format!(
        "{parameter} can only include alphanumeric and punctuation characters. 1 to {ID_CHARS_MAX} in length"
    );
    Err(SqsError::invalid(id, parameter, reason))
}

/// The characters of XML 1.0.
fn is_allowed(c: char) -> bool {
    matches!(c, '\u{9}' | '\u{A}' | '\u{D}' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}
