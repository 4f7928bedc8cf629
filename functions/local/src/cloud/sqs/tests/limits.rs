//! Every limit at its edge.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message::SendMessageError;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry as DeleteEntry, MessageAttributeValue,
    SendMessageBatchRequestEntry as Entry,
};

use super::{Bench, queue, url};
use crate::cloud::sqs::{
    ATTRIBUTES_MAX, BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, DELAY_SECONDS_MAX, ENTRY_ID_CHARS_MAX, ID_CHARS_MAX,
    RECEIVE_MESSAGES_MAX, VISIBILITY_SECONDS_MAX, WAIT_SECONDS_MAX,
};

const Q: &str = "q.fifo";

fn code<T: std::fmt::Debug>(result: Result<T, SdkError<SendMessageError>>) -> String {
    result.unwrap_err().into_service_error().code().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_message_is_accepted_up_to_one_mebibyte_with_its_attributes() {
    let bench = Bench::new(&[queue("q")]);
    let attribute = MessageAttributeValue::builder().data_type("String").string_value("abc").build().unwrap();
    // "name" + "String" + "abc"
    let attributes_bytes = 13;
    for (bytes, ok) in [(BATCH_BYTES_MAX - 1, true), (BATCH_BYTES_MAX, true), (BATCH_BYTES_MAX + 1, false)] {
        let plain = bench.client.send_message().queue_url(url("q")).message_body("x".repeat(bytes));
        assert_eq!(plain.send().await.is_ok(), ok, "{bytes}");
        let request =
            bench.client.send_message().queue_url(url("q")).message_attributes("name", attribute.clone());
        let result = request.message_body("x".repeat(bytes - attributes_bytes)).send().await;
        assert_eq!(result.is_ok(), ok, "{bytes} with attributes");
    }
    let wide = "é".repeat(BATCH_BYTES_MAX / 2);
    bench.client.send_message().queue_url(url("q")).message_body(&wide).send().await.unwrap();
    let result = bench.client.send_message().queue_url(url("q")).message_body(wide + "é").send().await;
    assert_eq!(code(result), "InvalidParameterValue");
}

#[tokio::test]
async fn only_the_characters_of_xml_are_allowed() {
    let bench = Bench::new(&[queue("q")]);
    let allowed = ['\t', '\n', '\r', ' ', '\u{D7FF}', '\u{E000}', '\u{FFFD}', '\u{10000}', '\u{10FFFF}'];
    let refused = ['\0', '\u{8}', '\u{B}', '\u{1F}', '\u{FFFE}', '\u{FFFF}'];
    for (chars, ok) in [(allowed.as_slice(), true), (refused.as_slice(), false)] {
        for c in chars {
            let request = bench.client.send_message().queue_url(url("q")).message_body(format!("a{c}b"));
            match request.send().await {
                Ok(_) => assert!(ok, "{c:?}"),
                Err(error) => {
                    assert!(!ok && error.into_service_error().is_invalid_message_contents(), "{c:?}");
                }
            }
        }
    }
    let empty = bench.client.send_message().queue_url(url("q")).message_body("").send().await;
    assert_eq!(code(empty), "MissingParameter");
}

#[tokio::test]
async fn group_and_deduplication_ids_have_up_to_128_printable_characters() {
    let bench = Bench::new(&[queue(Q)]);
    let send = async |group: &str, id: &str| {
        let request = bench.client.send_message().queue_url(url(Q)).message_body("text");
        request.message_group_id(group).message_deduplication_id(id).send().await
    };
    for (length, ok) in [(1, true), (ID_CHARS_MAX - 1, true), (ID_CHARS_MAX, true), (ID_CHARS_MAX + 1, false)]
    {
        let long = "a".repeat(length);
        assert_eq!(send(&long, "id").await.is_ok(), ok, "group of {length}");
        assert_eq!(send("group", &long).await.is_ok(), ok, "id of {length}");
    }
    send("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "z").await.unwrap();
    for bad in ["a b", "ü", "\u{7f}"] {
        assert_eq!(code(send(bad, "id").await), "InvalidParameterValue", "{bad:?}");
        assert_eq!(code(send("group", bad).await), "InvalidParameterValue", "{bad:?}");
    }
}

#[tokio::test]
async fn what_does_not_fit_the_type_of_the_queue_is_refused() {
    let bench = Bench::new(&[queue(Q), queue("q")]);
    let fifo = || bench.client.send_message().queue_url(url(Q)).message_body("a");
    assert_eq!(code(fifo().message_deduplication_id("d").send().await), "MissingParameter");
    let delayed = fifo().message_group_id("g").message_deduplication_id("d").delay_seconds(1);
    assert_eq!(code(delayed.send().await), "InvalidParameterValue");
    let standard = || bench.client.send_message().queue_url(url("q")).message_body("a");
    assert_eq!(code(standard().message_deduplication_id("d").send().await), "InvalidParameterValue");
    standard().message_group_id("fair").send().await.expect("fair queues have groups");
}

#[tokio::test]
async fn numbers_are_accepted_up_to_their_limits_and_not_beyond() {
    let bench = Bench::new(&[queue("q")]);
    let edges = |max: i64| [(0, true), (max - 1, true), (max, true), (max + 1, false), (-1, false)];
    for (seconds, ok) in edges(DELAY_SECONDS_MAX) {
        let request = bench.client.send_message().queue_url(url("q")).message_body("a");
        assert_eq!(request.delay_seconds(seconds as i32).send().await.is_ok(), ok, "delay {seconds}");
    }
    let receive = || bench.client.receive_message().queue_url(url("q"));
    for (max, ok) in edges(RECEIVE_MESSAGES_MAX) {
        let ok = ok && max > 0;
        let result = receive().max_number_of_messages(max as i32).visibility_timeout(0).send().await;
        assert_eq!(result.is_ok(), ok, "messages {max}");
    }
    for (seconds, ok) in edges(WAIT_SECONDS_MAX) {
        // There is a message: nothing waits.
        let result = receive().wait_time_seconds(seconds as i32).visibility_timeout(0).send().await;
        assert_eq!(result.is_ok(), ok, "wait {seconds}");
    }
    for (seconds, ok) in edges(VISIBILITY_SECONDS_MAX) {
        let result = receive().visibility_timeout(seconds as i32).send().await;
        assert_eq!(result.is_ok(), ok, "visibility {seconds}");
    }
}

fn entries(count: usize, body: &str) -> Vec<Entry> {
    let entry = |index: usize| Entry::builder().id(index.to_string()).message_body(body).build().unwrap();
    (0..count).map(entry).collect()
}

#[tokio::test]
async fn a_batch_has_one_to_ten_entries_with_distinct_well_formed_ids() {
    let bench = Bench::new(&[queue("q")]);
    let send = async |entries: Vec<Entry>| {
        let request = bench.client.send_message_batch().queue_url(url("q")).set_entries(Some(entries));
        request.send().await.map_err(|error| error.into_service_error())
    };
    for count in [1, BATCH_ENTRIES_MAX - 1, BATCH_ENTRIES_MAX] {
        assert_eq!(send(entries(count, "a")).await.unwrap().successful().len(), count);
    }
    assert!(
        send(entries(BATCH_ENTRIES_MAX + 1, "a")).await.unwrap_err().is_too_many_entries_in_batch_request()
    );
    assert!(send(vec![]).await.unwrap_err().is_empty_batch_request());
    let twice = [entries(1, "a"), entries(1, "b")].concat();
    assert!(send(twice).await.unwrap_err().is_batch_entry_ids_not_distinct());
    let named = |id: &str| vec![Entry::builder().id(id).message_body("a").build().unwrap()];
    send(named(&"i".repeat(ENTRY_ID_CHARS_MAX))).await.unwrap();
    for bad in ["i".repeat(ENTRY_ID_CHARS_MAX + 1), "a b".to_owned(), "ü".to_owned(), String::new()] {
        assert!(send(named(&bad)).await.unwrap_err().is_invalid_batch_entry_id(), "{bad:?}");
    }
}

#[tokio::test]
async fn a_batch_is_accepted_up_to_one_mebibyte_in_all() {
    let bench = Bench::new(&[queue("q")]);
    for (bytes, ok) in [(BATCH_BYTES_MAX - 1, true), (BATCH_BYTES_MAX, true), (BATCH_BYTES_MAX + 1, false)] {
        let mut batch = entries(1, &"x".repeat(bytes - 1));
        batch.push(Entry::builder().id("last").message_body("x").build().unwrap());
        let request = bench.client.send_message_batch().queue_url(url("q")).set_entries(Some(batch));
        match request.send().await {
            Ok(answer) => assert!(ok && answer.failed().is_empty(), "{bytes}"),
            Err(error) => assert!(!ok && error.into_service_error().is_batch_request_too_long(), "{bytes}"),
        }
    }
}

#[tokio::test]
async fn a_bad_entry_fails_alone() {
    let bench = Bench::new(&[queue("q")]);
    let mut batch = entries(2, "a");
    batch.push(Entry::builder().id("bad").message_body("\0").build().unwrap());
    let request = bench.client.send_message_batch().queue_url(url("q")).set_entries(Some(batch));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.successful().len(), 2);
    let [failed] = answer.failed() else { panic!("one failure") };
    assert_eq!((failed.id(), failed.code(), failed.sender_fault()), ("bad", "InvalidMessageContents", true));

    let received = bench.receive("q", 10).await;
    let entry =
        |id: &str, handle: &str| DeleteEntry::builder().id(id).receipt_handle(handle).build().unwrap();
    let good = entry("good", received[0].receipt_handle().unwrap());
    let request = bench.client.delete_message_batch().queue_url(url("q"));
    let answer = request.entries(good).entries(entry("bad", "nonsense")).send().await.unwrap();
    assert_eq!(answer.successful()[0].id(), "good");
    assert_eq!(answer.failed()[0].code(), "ReceiptHandleIsInvalid");
    assert_eq!(bench.sqs.counts(&url("q")).unwrap().in_flight, 1);
}

#[tokio::test]
async fn a_message_has_up_to_ten_attributes_each_with_a_value_of_its_type() {
    let bench = Bench::new(&[queue("q")]);
    let text = MessageAttributeValue::builder().data_type("String").string_value("abc").build().unwrap();
    for (count, ok) in [(ATTRIBUTES_MAX - 1, true), (ATTRIBUTES_MAX, true), (ATTRIBUTES_MAX + 1, false)] {
        let attributes = (0..count).map(|index| (format!("a{index}"), text.clone())).collect();
        let request = bench.client.send_message().queue_url(url("q")).message_body("a");
        assert_eq!(request.set_message_attributes(Some(attributes)).send().await.is_ok(), ok, "{count}");
    }
    let bad = [
        MessageAttributeValue::builder().data_type("String").string_value("").build().unwrap(),
        MessageAttributeValue::builder().data_type("Binary").string_value("abc").build().unwrap(),
        MessageAttributeValue::builder().data_type("Colour").string_value("red").build().unwrap(),
    ];
    for attribute in bad {
        let request = bench.client.send_message().queue_url(url("q")).message_body("a");
        assert_eq!(code(request.message_attributes("a", attribute).send().await), "InvalidParameterValue");
    }
}
