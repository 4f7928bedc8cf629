//! Messages, their attributes, and the digests by which clients check both.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::time::EpochMillis;
use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

use super::error::SqsError;
use super::limits::ATTRIBUTES_MAX;

/// Who sends, as far as messages tell.
const SENDER_ID: &str = "AIDARETROSPECTLOCAL00";

/// One value that a caller attached to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Attribute {
    /// `String`, `Number` or `Binary`, with an optional `.label`.
    pub data_type: String,
    /// The value of a string or number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string_value: Option<String>,
    /// The value of a binary attribute, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary_value: Option<String>,
}

impl Attribute {
    fn value(&self) -> Option<(u8, Vec<u8>)> {
        match (self.data_type.split('.').next(), &self.string_value, &self.binary_value) {
            (Some("String" | "Number"), Some(text), None) => Some((1, text.clone().into_bytes())),
            (Some("Binary"), None, Some(base64)) => Some((2, STANDARD.decode(base64).ok()?)),
            _ => None,
        }
    }
}

/// What a caller attached to a message, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attributes(pub BTreeMap<String, Attribute>);

impl Attributes {
    /// How much of the message's size they take.
    pub(super) fn bytes(&self) -> usize {
        let value = |attribute: &Attribute| attribute.value().map_or(0, |(_, bytes)| bytes.len());
        self.0.iter().map(|(name, one)| name.len() + one.data_type.len() + value(one)).sum()
    }

    pub(super) fn check(&self) -> Result<(), SqsError> {
        if self.0.len() > ATTRIBUTES_MAX {
            let reason = format!("Number of message attributes exceeds the allowed maximum {ATTRIBUTES_MAX}");
            return Err(SqsError::invalid(self.0.len(), "MessageAttributes", reason));
        }
        let bad = self.0.iter().find(|(_, one)| one.value().is_none_or(|(_, bytes)| bytes.is_empty()));
        let Some((name, _)) = bad else { return Ok(()) };
        Err(SqsError::invalid(
            name,
            "MessageAttributes",
            "The attribute must contain a non-empty value of its type",
        ))
    }

    /// The digest that SQS makes of attributes; none without attributes.
    #[must_use]
    pub fn md5(&self) -> Option<String> {
        let mut digest = Md5::new();
        for (name, attribute) in &self.0 {
            let (transport, value) = attribute.value()?;
            digest_sized(&mut digest, name.as_bytes());
            digest_sized(&mut digest, attribute.data_type.as_bytes());
            digest.update([transport]);
            digest_sized(&mut digest, &value);
        }
        (!self.0.is_empty()).then(|| hex::encode(digest.finalize()))
    }
}

fn digest_sized(digest: &mut Md5, bytes: &[u8]) {
    // A message has at most 1 MiB, attributes included: the length always fits.
    digest.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    digest.update(bytes);
}

/// A checked message that is not yet in the queue.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) body: String,
    pub(super) attributes: Attributes,
    pub(super) delay_ms: i64,
    pub(super) group: Option<String>,
    pub(super) deduplication_id: Option<String>,
}

/// A message in a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its place in the queue: later ones have greater numbers.
    pub sequence: u64,
    /// Its name.
    pub message_id: String,
    /// What was sent.
    pub body: String,
    /// What was attached.
    #[serde(default, skip_serializing_if = "none_attached")]
    pub attributes: Attributes,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its deduplication id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deduplication_id: Option<String>,
    /// When it was sent.
    pub sent_ms: EpochMillis,
    /// From when its retention counts.
    pub retained_since_ms: EpochMillis,
    /// From when it can be received (again).
    pub visible_at_ms: EpochMillis,
    /// How often it was received.
    #[serde(default)]
    pub receive_count: u32,
    /// When it was first received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_received_ms: Option<EpochMillis>,
    /// Its latest receive in this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// ARN of the queue that gave it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter_source: Option<String>,
}

fn none_attached(attributes: &Attributes) -> bool {
    attributes.0.is_empty()
}

/// One receive of a message: who holds its handle may delete it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Differs in every receive.
    pub nonce: String,
    /// When it was received.
    pub received_ms: EpochMillis,
}

impl Message {
    /// Whether a receiver holds it at `now`.
    pub(super) fn is_in_flight(&self, now_ms: EpochMillis) -> bool {
        self.receipt.is_some() && self.visible_at_ms > now_ms
    }

    /// Hex MD5 of the body.
    #[must_use]
    pub fn md5_of_body(&self) -> String {
        hex::encode(Md5::digest(self.body.as_bytes()))
    }

    /// What SQS itself says about the message, by the names that clients ask for.
    #[must_use]
    pub fn system_attributes(&self) -> BTreeMap<&'static str, String> {
        let mut known = BTreeMap::from([
            ("ApproximateReceiveCount", self.receive_count.to_string()),
            ("SenderId", SENDER_ID.to_owned()),
            ("SentTimestamp", self.sent_ms.to_string()),
        ]);
        let optional = [
            ("ApproximateFirstReceiveTimestamp", self.first_received_ms.map(|at| at.to_string())),
            ("DeadLetterQueueSourceArn", self.dead_letter_source.clone()),
            ("MessageDeduplicationId", self.deduplication_id.clone()),
            ("MessageGroupId", self.group.clone()),
            ("SequenceNumber", self.deduplication_id.as_ref().map(|_| sequence_text(self.sequence))),
        ];
        known.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        known
    }
}

/// A sequence number as FIFO queues write it: 20 digits, so that text sorts as numbers do.
pub(super) fn sequence_text(sequence: u64) -> String {
    format!("{sequence:020}")
}

/// What a receiver is given to delete a message with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) queue: String,
    pub(super) sequence: u64,
    pub(super) nonce: String,
}

impl Handle {
    pub(super) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}/{}/{}", self.queue, self.sequence, self.nonce))
    }

    /// `None` for what no queue ever gave out.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let mut parts = text.split('/');
        let (queue, sequence, nonce) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { queue: queue.to_owned(), sequence: sequence.parse().ok()?, nonce: nonce.to_owned() })
    }
}
