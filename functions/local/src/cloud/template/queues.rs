//! Queues.

use serde_json::Value;

use super::intrinsics::Scope;
use super::model::{DeduplicationScope, Queue, Redrive, TemplateError};
use super::properties::Properties;

/// A queue with SQS's defaults.
pub(super) fn unconfigured_queue(id: &str, name: String) -> Queue {
    Queue {
        logical_id: id.to_owned(),
        fifo: name.ends_with(".fifo"),
        name,
        content_based_deduplication: false,
        deduplication_scope: DeduplicationScope::Queue,
        visibility_seconds: 30,
        delay_seconds: 0,
        retention_seconds: 345_600,
        receive_wait_seconds: 0,
        message_bytes_max: 1_048_576,
        redrive: None,
    }
}

/// Reads one queue; the dead-letter queue is an ARN until resources are connected.
pub(super) fn queue(
    id: &str,
    scope: &Scope,
    properties: &mut Properties<'_>,
) -> Result<Queue, TemplateError> {
    properties.ignore(&[
        "QueueName",
        "FifoThroughputLimit",
        "KmsMasterKeyId",
        "KmsDataKeyReusePeriodSeconds",
        "RedriveAllowPolicy",
        "SqsManagedSseEnabled",
        "Tags",
    ]);
    let name = scope.attributes.get(&(id.to_owned(), "QueueName".to_owned())).and_then(Value::as_str);
    let mut queue = unconfigured_queue(id, name.unwrap_or_default().to_owned());
    if properties.flag("FifoQueue")? != queue.fifo {
        return Err(properties.problem("FifoQueue", "the name ends in .fifo if and only if it is true"));
    }
    queue.content_based_deduplication = properties.flag("ContentBasedDeduplication")?;
    queue.deduplication_scope = match properties.text("DeduplicationScope")?.as_deref() {
        None | Some("queue") => DeduplicationScope::Queue,
        Some("messageGroup") => DeduplicationScope::MessageGroup,
        Some(_) => return Err(properties.problem("DeduplicationScope", "is neither queue nor messageGroup")),
    };
    let mut set = |field: &mut u32, name, bounds| -> Result<(), TemplateError> {
        if let Some(number) = properties.number(name, bounds)? {
            *field = number;
        }
        Ok(())
    };
    set(&mut queue.visibility_seconds, "VisibilityTimeout", 0..=43_200)?;
    set(&mut queue.delay_seconds, "DelaySeconds", 0..=900)?;
    set(&mut queue.retention_seconds, "MessageRetentionPeriod", 60..=1_209_600)?;
    set(&mut queue.receive_wait_seconds, "ReceiveMessageWaitTimeSeconds", 0..=20)?;
    set(&mut queue.message_bytes_max, "MaximumMessageSize", 1_024..=1_048_576)?;
    if properties.has("RedrivePolicy") {
        let mut policy = properties.part("RedrivePolicy")?;
        let dead_letter = policy.required_text("deadLetterTargetArn")?;
        let count = policy.number("maxReceiveCount", 1..=1_000)?;
        let max_receive_count = count.ok_or_else(|| policy.problem("maxReceiveCount", "is missing"))?;
        policy.finish()?;
        // An ARN for now; `connect` finds whose it is.
        queue.redrive = Some(Redrive { dead_letter, max_receive_count });
    }
    Ok(queue)
}
