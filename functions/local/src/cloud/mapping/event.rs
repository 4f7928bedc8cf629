//! The event that Lambda makes of received messages.

use aws_lambda_events::event::sqs::SqsEvent;
use serde_json::{Map, Value, json};

use crate::cloud::sqs::{Attribute, Received};
use crate::cloud::template::{Queue, REGION};

/// The event of a batch. It is made as JSON and then read, so that a handler gets exactly what it would read
/// from Lambda.
pub(super) fn sqs_event(queue: &Queue, batch: &[Received]) -> Result<SqsEvent, serde_json::Error> {
    let records: Vec<Value> = batch.iter().map(|received| record(queue, received)).collect();
    serde_json::from_value(json!({ "Records": records }))
}

fn record(queue: &Queue, received: &Received) -> Value {
    let message = &received.message;
    let attributes: Map<String, Value> =
        message.attributes.0.iter().map(|(name, value)| (name.clone(), attribute(value))).collect();
    let mut record = json!({
        "messageId": message.message_id,
        "receiptHandle": received.receipt_handle,
        "body": message.body,
        "attributes": message.system_attributes(),
        "messageAttributes": attributes,
        "md5OfBody": message.md5_of_body(),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue.arn(),
        "awsRegion": REGION,
    });
    if let Some(digest) = message.attributes.md5() {
        record["md5OfMessageAttributes"] = json!(digest);
    }
    record
}

fn attribute(attribute: &Attribute) -> Value {
    let mut value =
        json!({ "stringListValues": [], "binaryListValues": [], "dataType": attribute.data_type });
    if let Some(text) = &attribute.string_value {
        value["stringValue"] = json!(text);
    }
    if let Some(base64) = &attribute.binary_value {
        value["binaryValue"] = json!(base64);
    }
    value
}
