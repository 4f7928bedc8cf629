//! Requests and answers of the JSON protocol.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::limits::SendRequest;
use super::message::Attributes;

/// `SendMessage`, and an entry of `SendMessageBatch`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Send {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default)]
    message_body: String,
    delay_seconds: Option<i64>,
    #[serde(default)]
    message_attributes: Attributes,
    message_deduplication_id: Option<String>,
    message_group_id: Option<String>,
}

impl Send {
    /// How much of a batch's size it takes.
    pub(super) fn bytes(&self) -> usize {
        self.message_body.len() + self.message_attributes.bytes()
    }
}

impl From<Send> for SendRequest {
    fn from(wire: Send) -> Self {
        Self {
            body: wire.message_body,
            attributes: wire.message_attributes,
            delay_seconds: wire.delay_seconds,
            group: wire.message_group_id,
            deduplication_id: wire.message_deduplication_id,
        }
    }
}

/// Any batch.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Batch<T> {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default = "Vec::new")]
    pub(super) entries: Vec<T>,
}

/// `ReceiveMessage`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Receive {
    #[serde(default)]
    pub(super) queue_url: String,
    pub(super) max_number_of_messages: Option<i64>,
    pub(super) visibility_timeout: Option<i64>,
    pub(super) wait_time_seconds: Option<i64>,
    /// The older name of the next one.
    #[serde(default)]
    pub(super) attribute_names: Vec<String>,
    #[serde(default)]
    pub(super) message_system_attribute_names: Vec<String>,
    #[serde(default)]
    pub(super) message_attribute_names: Vec<String>,
}

/// A received message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceivedMessage {
    pub(super) message_id: String,
    pub(super) receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    pub(super) md5_of_body: String,
    pub(super) body: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) attributes: BTreeMap<&'static str, String>,
    #[serde(rename = "MD5OfMessageAttributes", skip_serializing_if = "Option::is_none")]
    pub(super) md5_of_message_attributes: Option<String>,
    #[serde(skip_serializing_if = "no_attributes")]
    pub(super) message_attributes: Attributes,
}

fn no_attributes(attributes: &Attributes) -> bool {
    attributes.0.is_empty()
}

/// `DeleteMessage` and `ChangeMessageVisibility`, and entries of their batches.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Held {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default)]
    pub(super) receipt_handle: String,
    pub(super) visibility_timeout: Option<i64>,
}

/// `GetQueueAttributes` and `PurgeQueue`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct OneQueue {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default)]
    pub(super) attribute_names: Vec<String>,
}

/// `GetQueueUrl`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct QueueName {
    #[serde(default)]
    pub(super) queue_name: String,
}

/// `ListQueues`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct ListQueues {
    #[serde(default)]
    pub(super) queue_name_prefix: String,
}

/// The answer to any batch.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchAnswer {
    pub(super) successful: Vec<Value>,
    pub(super) failed: Vec<FailedEntry>,
}

/// An entry that was refused.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct FailedEntry {
    pub(super) id: String,
    pub(super) sender_fault: bool,
    pub(super) code: &'static str,
    pub(super) message: String,
}
