//! The JSON protocol: the operation is named in a header, failures carry the query protocol's code in another.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::SqsError;
use super::limits::{BATCH_BYTES_MAX, check_entries};
use super::wire::{
    Batch, BatchAnswer, FailedEntry, Held, ListQueues, OneQueue, QueueName, Receive, ReceivedMessage, Send,
};
use super::{Attributes, ReceiveRequest, Received, SendReceipt, Sqs};
use crate::cloud::service::LocalService;

/// First part of the operation's name in its header.
const TARGET_PREFIX: &str = "AmazonSQS.";
/// Names the operation.
const TARGET_HEADER: &str = "x-amz-target";
/// Carries the code of a failure.
const QUERY_ERROR_HEADER: &str = "x-amzn-query-error";

#[async_trait]
impl LocalService for Sqs {
    async fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        let target = request.headers().get(TARGET_HEADER).and_then(|value| value.to_str().ok());
        let operation = target.and_then(|target| target.strip_prefix(TARGET_PREFIX)).unwrap_or_default();
        match self.answer(operation, request.body()).await {
            Ok(body) => response(StatusCode::OK, None, &body),
            Err(error) => {
                let (status, side) = match error.is_fault() {
                    true => (StatusCode::INTERNAL_SERVER_ERROR, "Receiver"),
                    false => (StatusCode::BAD_REQUEST, "Sender"),
                };
                let body = json!({ "__type": error.kind(), "message": error.to_string() });
                response(status, Some(format!("{};{side}", error.code())), &body)
            }
        }
    }
}

fn response(status: StatusCode, query_error: Option<String>, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("content-type", http::HeaderValue::from_static("application/x-amz-json-1.0"));
    // Codes are constants of plain ASCII.
    if let Some(value) = query_error.and_then(|code| http::HeaderValue::from_str(&code).ok()) {
        headers.insert(QUERY_ERROR_HEADER, value);
    }
    response
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, SqsError> {
    serde_json::from_slice(body).map_err(|error| SqsError::Malformed(error.to_string()))
}

impl Sqs {
    async fn answer(&self, operation: &str, body: &[u8]) -> Result<Value, SqsError> {
        match operation {
            "SendMessage" => {
                let request: Send = read(body)?;
                let url = request.queue_url.clone();
                Ok(sent(&self.send(&url, request.into())?))
            }
            "SendMessageBatch" => self.send_batch(read(body)?),
            "ReceiveMessage" => self.receive_message(read(body)?).await,
            "DeleteMessage" => {
                let request: Held = read(body)?;
                self.delete_held(&request.queue_url, &request)?;
                Ok(json!({}))
            }
            "DeleteMessageBatch" => self.held_batch(read(body)?, Self::delete_held),
            "ChangeMessageVisibility" => {
                let request: Held = read(body)?;
                self.change_held(&request.queue_url, &request)?;
                Ok(json!({}))
            }
            "ChangeMessageVisibilityBatch" => self.held_batch(read(body)?, Self::change_held),
            "GetQueueAttributes" => self.queue_attributes(&read(body)?),
            "GetQueueUrl" => {
                let QueueName { queue_name } = read(body)?;
                let state = self.state.lock();
                let queue = state.queues.iter().find(|queue| queue.settings.name == queue_name);
                Ok(json!({ "QueueUrl": queue.ok_or(SqsError::QueueDoesNotExist)?.settings.url() }))
            }
            "ListQueues" => {
                let ListQueues { queue_name_prefix: prefix } = read(body)?;
                let state = self.state.lock();
                let named = state.queues.iter().filter(|queue| queue.settings.name.starts_with(&prefix));
                Ok(json!({ "QueueUrls": named.map(|queue| queue.settings.url()).collect::<Vec<_>>() }))
            }
            "PurgeQueue" => {
                let OneQueue { queue_url, .. } = read(body)?;
                self.purge(&queue_url)?;
                Ok(json!({}))
            }
            other => Err(SqsError::UnsupportedOperation(other.to_owned())),
        }
    }

    fn send_batch(&self, batch: Batch<Send>) -> Result<Value, SqsError> {
        self.counts(&batch.queue_url)?;
        check_entries(batch.entries.iter().map(|entry| entry.id.as_str()))?;
        let bytes = batch.entries.iter().map(Send::bytes).sum();
        if bytes > BATCH_BYTES_MAX {
            return Err(SqsError::BatchRequestTooLong(bytes));
        }
        let mut answer = BatchAnswer::default();
        for entry in batch.entries {
            let id = entry.id.clone();
            match self.send(&batch.queue_url, entry.into()) {
                Ok(receipt) => {
                    let mut success = sent(&receipt);
                    success["Id"] = json!(id);
                    answer.successful.push(success);
                }
                Err(error) => answer.failed.push(failed(id, &error)),
            }
        }
        Ok(json!(answer))
    }

    async fn receive_message(&self, request: Receive) -> Result<Value, SqsError> {
        let options = ReceiveRequest {
            max_messages: request.max_number_of_messages,
            visibility_seconds: request.visibility_timeout,
            wait_seconds: request.wait_time_seconds,
        };
        let received = self.receive(&request.queue_url, options).await?;
        let messages: Vec<_> = received.into_iter().map(|one| shown(one, &request)).collect();
        Ok(if messages.is_empty() { json!({}) } else { json!({ "Messages": messages }) })
    }

    fn delete_held(&self, queue_url: &str, held: &Held) -> Result<(), SqsError> {
        self.delete(queue_url, &held.receipt_handle)
    }

    fn change_held(&self, queue_url: &str, held: &Held) -> Result<(), SqsError> {
        let seconds = held.visibility_timeout.ok_or(SqsError::MissingParameter("VisibilityTimeout"))?;
        self.change_visibility(queue_url, &held.receipt_handle, seconds)
    }

    fn held_batch(
        &self,
        batch: Batch<Held>,
        step: impl Fn(&Self, &str, &Held) -> Result<(), SqsError>,
    ) -> Result<Value, SqsError> {
        self.counts(&batch.queue_url)?;
        check_entries(batch.entries.iter().map(|entry| entry.id.as_str()))?;
        let mut answer = BatchAnswer::default();
        for entry in batch.entries {
            match step(self, &batch.queue_url, &entry) {
                Ok(()) => answer.successful.push(json!({ "Id": entry.id })),
                Err(error) => answer.failed.push(failed(entry.id, &error)),
            }
        }
        Ok(json!(answer))
    }

    fn queue_attributes(&self, request: &OneQueue) -> Result<Value, SqsError> {
        let counts = self.counts(&request.queue_url)?;
        let state = self.state.lock();
        let queue = &state.queues[state.by_url(&request.queue_url)?].settings;
        let mut known = vec![
            ("ApproximateNumberOfMessages", counts.visible.to_string()),
            ("ApproximateNumberOfMessagesNotVisible", counts.in_flight.to_string()),
            ("ApproximateNumberOfMessagesDelayed", counts.delayed.to_string()),
            ("QueueArn", queue.arn()),
            ("VisibilityTimeout", queue.visibility_seconds.to_string()),
            ("DelaySeconds", queue.delay_seconds.to_string()),
            ("MessageRetentionPeriod", queue.retention_seconds.to_string()),
            ("MaximumMessageSize", queue.message_bytes_max.to_string()),
            ("ReceiveMessageWaitTimeSeconds", queue.receive_wait_seconds.to_string()),
        ];
        if queue.fifo {
            let scope = match queue.deduplication_scope {
                crate::cloud::template::DeduplicationScope::Queue => "queue",
                crate::cloud::template::DeduplicationScope::MessageGroup => "messageGroup",
            };
            known.push(("FifoQueue", "true".to_owned()));
            known.push(("ContentBasedDeduplication", queue.content_based_deduplication.to_string()));
            known.push(("DeduplicationScope", scope.to_owned()));
        }
        let dead_letter = queue.redrive.as_ref().and_then(|redrive| {
            let target = state.queues.iter().find(|one| one.settings.logical_id == redrive.dead_letter)?;
            Some((target.settings.arn(), redrive.max_receive_count))
        });
        if let Some((arn, count)) = dead_letter {
            let policy = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": count });
            known.push(("RedrivePolicy", policy.to_string()));
        }
        let asked = &request.attribute_names;
        let is_known = |name: &String| name == "All" || known.iter().any(|(known, _)| known == name);
        if let Some(unknown) = asked.iter().find(|name| !is_known(name)) {
            return Err(SqsError::InvalidAttributeName(unknown.clone()));
        }
        known.retain(|(name, _)| asked.iter().any(|asked| asked == "All" || asked == name));
        let attributes: serde_json::Map<String, Value> =
            known.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        Ok(json!({ "Attributes": attributes }))
    }
}

fn sent(receipt: &SendReceipt) -> Value {
    let mut answer = json!({ "MessageId": receipt.message_id, "MD5OfMessageBody": receipt.md5_of_body });
    if let Some(number) = &receipt.sequence_number {
        answer["SequenceNumber"] = json!(number);
    }
    if let Some(digest) = &receipt.md5_of_attributes {
        answer["MD5OfMessageAttributes"] = json!(digest);
    }
    answer
}

fn failed(id: String, error: &SqsError) -> FailedEntry {
    FailedEntry { id, sender_fault: !error.is_fault(), code: error.code(), message: error.to_string() }
}

/// A message with those of its attributes that the receiver asked for.
fn shown(received: Received, request: &Receive) -> ReceivedMessage {
    let Received { message, receipt_handle } = received;
    let mut attributes = message.system_attributes();
    let asked = || request.attribute_names.iter().chain(&request.message_system_attribute_names);
    attributes.retain(|name, _| asked().any(|asked| asked == "All" || asked == name));
    let is_asked = |name: &str| {
        request.message_attribute_names.iter().any(|asked| match asked.strip_suffix(".*") {
            Some(prefix) => name.starts_with(prefix),
            None => asked == "All" || asked == name,
        })
    };
    let md5_of_body = message.md5_of_body();
    let mut own = message.attributes.0;
    own.retain(|name, _| is_asked(name));
    let message_attributes = Attributes(own);
    ReceivedMessage {
        message_id: message.message_id,
        receipt_handle,
        md5_of_body,
        body: message.body,
        attributes,
        md5_of_message_attributes: message_attributes.md5(),
        message_attributes,
    }
}
