//! What clients see: digests, attributes, errors.

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry as ChangeEntry, MessageAttributeValue,
    QueueAttributeName as Name,
};
use bytes::Bytes;

use super::{Bench, queue, url, with_dead_letters};
use crate::cloud::service::LocalService;

#[tokio::test]
async fn digests_of_body_and_attributes_are_those_of_sqs() {
    let bench = Bench::new(&[queue("q")]);
    let text = MessageAttributeValue::builder().data_type("String").string_value("abc").build().unwrap();
    let binary = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([1, 2])).build();
    let request = bench.client.send_message().queue_url(url("q")).message_body("hello");
    let request = request.message_attributes("b", binary.unwrap()).message_attributes("a", text);
    let sent = request.send().await.unwrap();
    assert_eq!(sent.md5_of_message_body(), Some("5d41402abc4b2a76b9719d911017c592"));
    assert_eq!(sent.md5_of_message_attributes(), Some(ATTRIBUTES_MD5));
    let request = bench.client.receive_message().queue_url(url("q")).visibility_timeout(0);
    let received = request.message_attribute_names("All").send().await.unwrap().messages.unwrap();
    assert_eq!(received[0].md5_of_body(), sent.md5_of_message_body());
    assert_eq!(received[0].md5_of_message_attributes(), Some(ATTRIBUTES_MD5));
    let attributes = received[0].message_attributes().unwrap();
    assert_eq!(attributes["a"].string_value(), Some("abc"));
    assert_eq!(attributes["b"].binary_value(), Some(&Blob::new([1, 2])));
}

#[tokio::test]
async fn a_receiver_gets_the_attributes_it_asks_for() {
    let bench = Bench::new(&[queue("q")]);
    let value = MessageAttributeValue::builder().data_type("Number").string_value("1").build().unwrap();
    let request = bench.client.send_message().queue_url(url("q")).message_body("a");
    let request = request.message_attributes("trace.id", value.clone()).message_attributes("other", value);
    request.send().await.unwrap();
    let receive = || bench.client.receive_message().queue_url(url("q")).visibility_timeout(0);
    let none = receive().send().await.unwrap().messages.unwrap();
    assert!(none[0].attributes().is_none() && none[0].message_attributes().is_none());
    let some = receive().message_attribute_names("trace.*").send().await.unwrap().messages.unwrap();
    assert_eq!(some[0].message_attributes().unwrap().keys().collect::<Vec<_>>(), ["trace.id"]);
}

#[tokio::test]
async fn an_unknown_queue_is_reported_by_the_code_of_the_query_protocol() {
    let bench = Bench::new(&[queue("q")]);
    let request = bench.client.receive_message().queue_url(url("nobody"));
    let error = request.send().await.unwrap_err().into_service_error();
    assert!(error.is_queue_does_not_exist());
    assert_eq!(error.code(), Some("AWS.SimpleQueueService.NonExistentQueue"));
    let response = bench.sqs.call(raw("ReceiveMessage", "{\"QueueUrl\":\"https://x/1/nobody\"}")).await;
    assert_eq!(response.status(), 400);
    assert_eq!(response.headers()["x-amzn-query-error"], "AWS.SimpleQueueService.NonExistentQueue;Sender");
    assert!(String::from_utf8_lossy(response.body()).contains("com.amazonaws.sqs#QueueDoesNotExist"));
}

#[tokio::test]
async fn what_is_not_offered_is_refused_by_name() {
    let bench = Bench::new(&[queue("q")]);
    let create = bench.client.create_queue().queue_name("new").send().await.unwrap_err().into_service_error();
    assert_eq!(create.code(), Some("AWS.SimpleQueueService.UnsupportedOperation"));
    let request = bench.client.receive_message().queue_url(url("q")).receive_request_attempt_id("again");
    let attempt = request.send().await.unwrap_err().into_service_error();
    assert!(attempt.message().unwrap().contains("ReceiveRequestAttemptId"), "{attempt:?}");
    for body in ["", "[]", "{\"QueueUrl\":7}"] {
        assert_eq!(bench.sqs.call(raw("SendMessage", body)).await.status(), 400);
    }
}

fn raw(operation: &str, body: &str) -> http::Request<Bytes> {
    let request = http::Request::post("https://sqs.us-east-1.amazonaws.com/");
    request
        .header("x-amz-target", format!("AmazonSQS.{operation}"))
        .body(Bytes::from(body.to_owned()))
        .unwrap()
}

#[tokio::test]
async fn queue_attributes_tell_counts_and_settings() {
    let bench = Bench::new(&with_dead_letters("q.fifo", "dead.fifo", 3));
    for body in ["1", "2", "3"] {
        bench.send_fifo("q.fifo", body, body).await;
    }
    bench.receive("q.fifo", 1).await;
    let get = async |name: Name| {
        let request = bench.client.get_queue_attributes().queue_url(url("q.fifo")).attribute_names(name);
        request.send().await.map(|answer| answer.attributes.unwrap_or_default())
    };
    let all = get(Name::All).await.unwrap();
    assert_eq!(all[&Name::ApproximateNumberOfMessages], "2");
    assert_eq!(all[&Name::ApproximateNumberOfMessagesNotVisible], "1");
    assert_eq!(all[&Name::ApproximateNumberOfMessagesDelayed], "0");
    assert_eq!(all[&Name::QueueArn], queue("q.fifo").arn());
    assert_eq!(all[&Name::DeduplicationScope], "messageGroup");
    let policy: serde_json::Value = serde_json::from_str(&all[&Name::RedrivePolicy]).unwrap();
    assert_eq!(policy["deadLetterTargetArn"], queue("dead.fifo").arn());
    assert_eq!(policy["maxReceiveCount"], 3);
    assert_eq!(get(Name::VisibilityTimeout).await.unwrap().len(), 1);
    let unknown = get(Name::from("Colour")).await.unwrap_err().into_service_error();
    assert!(unknown.is_invalid_attribute_name());
}

#[tokio::test]
async fn queues_are_found_by_name_and_listed_by_prefix() {
    let bench = Bench::new(&[queue("a1"), queue("a2"), queue("b")]);
    let found = bench.client.get_queue_url().queue_name("b").send().await.unwrap();
    assert_eq!(found.queue_url(), Some(url("b").as_str()));
    assert!(bench.client.get_queue_url().queue_name("c").send().await.is_err());
    let listed = bench.client.list_queues().queue_name_prefix("a").send().await.unwrap();
    assert_eq!(listed.queue_urls(), [url("a1"), url("a2")]);
}

#[tokio::test]
async fn visibility_changes_in_batches() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    bench.send("q", "b").await;
    let received = bench.receive("q", 10).await;
    let mut request = bench.client.change_message_visibility_batch().queue_url(url("q"));
    for (index, message) in received.iter().enumerate() {
        let entry = ChangeEntry::builder().id(index.to_string()).visibility_timeout(0);
        request = request.entries(entry.receipt_handle(message.receipt_handle().unwrap()).build().unwrap());
    }
    assert_eq!(request.send().await.unwrap().successful().len(), 2);
    assert_eq!(bench.bodies("q", 10).await.len(), 2);
}

/// MD5 over each attribute, by name: length and bytes of name and type, 1 for text or 2 for binary, length
/// and bytes of the value; computed independently.
const ATTRIBUTES_MD5: &str = "ba752110c2a50f42b998fce48f99613b";
