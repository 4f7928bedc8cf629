//! Standard queues: visibility, delay, retention, dead letters, waiting.

use std::time::Duration;

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::MessageSystemAttributeName as Name;

use super::{Bench, asleep, queue, url, waiting, with_dead_letters};
use crate::cloud::sqs::{Counts, PURGE_INTERVAL_MS};
use crate::cloud::template::Queue;

#[tokio::test]
async fn a_received_message_stays_invisible_until_its_visibility_ends_and_counts_its_receives() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    let first = bench.receive("q", 10).await;
    assert_eq!(first[0].attributes().unwrap()[&Name::ApproximateReceiveCount], "1");
    bench.pass(29);
    assert!(bench.receive("q", 10).await.is_empty());
    bench.pass(1);
    let again = bench.receive("q", 10).await;
    assert_eq!(again[0].attributes().unwrap()[&Name::ApproximateReceiveCount], "2");
    assert_eq!(again[0].message_id(), first[0].message_id());
    assert_ne!(again[0].receipt_handle(), first[0].receipt_handle());
    let first_received = &again[0].attributes().unwrap()[&Name::ApproximateFirstReceiveTimestamp];
    assert_eq!(*first_received, super::START_MS.to_string());
}

#[tokio::test]
async fn a_receive_may_choose_its_own_visibility() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    let request = bench.client.receive_message().queue_url(url("q")).visibility_timeout(5);
    assert_eq!(request.send().await.unwrap().messages().len(), 1);
    bench.pass(5);
    assert_eq!(bench.bodies("q", 1).await, ["a"]);
}

#[tokio::test]
async fn a_deleted_message_never_comes_again_and_deleting_it_twice_is_no_error() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    let received = bench.receive("q", 1).await;
    bench.delete("q", &received[0]).await;
    bench.delete("q", &received[0]).await;
    bench.pass(31);
    assert!(bench.receive("q", 1).await.is_empty());
}

#[tokio::test]
async fn a_standard_queue_takes_the_latest_handle_late_and_ignores_an_older_one() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    let first = bench.receive("q", 1).await;
    bench.pass(31);
    let second = bench.receive("q", 1).await;
    bench.delete("q", &first[0]).await;
    bench.pass(31);
    assert_eq!(bench.sqs.counts(&url("q")).unwrap().visible, 1);
    bench.delete("q", &second[0]).await;
    assert_eq!(bench.sqs.counts(&url("q")).unwrap(), Counts::default());
}

#[tokio::test]
async fn a_handle_that_no_queue_gave_out_is_invalid() {
    let bench = Bench::new(&[queue("q"), queue("other")]);
    bench.send("other", "a").await;
    let foreign = bench.receive("other", 1).await[0].receipt_handle().unwrap().to_owned();
    for handle in ["nonsense".to_owned(), foreign] {
        let request = bench.client.delete_message().queue_url(url("q")).receipt_handle(handle);
        let error = request.send().await.unwrap_err().into_service_error();
        assert!(error.is_receipt_handle_is_invalid(), "{error:?}");
    }
}

#[tokio::test]
async fn a_delay_holds_a_message_back_per_message_or_per_queue() {
    let delayed = Queue { delay_seconds: 60, ..queue("delayed") };
    let bench = Bench::new(&[queue("q"), delayed]);
    let request = bench.client.send_message().queue_url(url("q")).message_body("a").delay_seconds(900);
    request.send().await.unwrap();
    bench.send("delayed", "b").await;
    let request = bench.client.send_message().queue_url(url("delayed")).message_body("now").delay_seconds(0);
    request.send().await.unwrap();
    assert_eq!(bench.bodies("delayed", 10).await, ["now"]);
    assert_eq!(bench.sqs.counts(&url("delayed")).unwrap(), Counts { visible: 0, in_flight: 1, delayed: 1 });
    bench.pass(60);
    assert!(bench.bodies("delayed", 10).await.contains(&"b".to_owned()));
    bench.pass(839);
    assert!(bench.bodies("q", 10).await.is_empty());
    bench.pass(1);
    assert_eq!(bench.bodies("q", 10).await, ["a"]);
}

#[tokio::test]
async fn visibility_can_be_given_up_or_prolonged_while_in_flight_for_twelve_hours_in_all() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    let handle = bench.receive("q", 1).await[0].receipt_handle().unwrap().to_owned();
    let change = async |seconds: i32| {
        let request = bench.client.change_message_visibility().queue_url(url("q"));
        let result = request.receipt_handle(&handle).visibility_timeout(seconds).send().await;
        result.map_err(|error| error.into_service_error())
    };
    bench.pass(20);
    change(43_180).await.unwrap();
    assert_eq!(change(43_181).await.unwrap_err().code(), Some("InvalidParameterValue"));
    bench.pass(43_179);
    assert!(bench.receive("q", 1).await.is_empty());
    change(0).await.unwrap();
    let late = change(5).await.unwrap_err();
    assert!(late.is_message_not_inflight(), "{late:?}");
    assert_eq!(bench.bodies("q", 1).await, ["a"]);
    assert_eq!(change(5).await.unwrap_err().code(), Some("InvalidParameterValue"), "an older handle");
}

#[tokio::test]
async fn a_message_is_dropped_when_its_retention_ends() {
    let bench = Bench::new(&[Queue { retention_seconds: 60, ..queue("q") }]);
    bench.send("q", "a").await;
    bench.pass(59);
    assert_eq!(bench.sqs.counts(&url("q")).unwrap().visible, 1);
    bench.pass(1);
    assert_eq!(bench.sqs.counts(&url("q")).unwrap(), Counts::default());
    assert!(bench.receive("q", 1).await.is_empty());
}

#[tokio::test]
async fn a_message_that_was_received_too_often_moves_to_the_dead_letter_queue() {
    let bench = Bench::new(&with_dead_letters("q", "dead", 2));
    bench.send("q", "a").await;
    for _ in 0..2 {
        assert_eq!(bench.bodies("q", 1).await, ["a"]);
        bench.pass(30);
    }
    assert!(bench.receive("q", 1).await.is_empty());
    let dead = bench.receive("dead", 1).await;
    assert_eq!(dead[0].body(), Some("a"));
    assert_eq!(dead[0].attributes().unwrap()[&Name::DeadLetterQueueSourceArn], queue("q").arn());
    bench.delete("dead", &dead[0]).await;
    assert_eq!(bench.sqs.counts(&url("dead")).unwrap(), Counts::default());
}

#[tokio::test]
async fn a_receiver_that_waits_for_dead_letters_is_woken_by_the_move() {
    let bench = Bench::new(&with_dead_letters("q", "dead", 1));
    bench.send("q", "a").await;
    assert_eq!(bench.bodies("q", 1).await, ["a"]);
    bench.pass(30);
    let (waiting, looked) = tokio::join!(waiting(&bench, "dead"), bench.bodies("q", 1));
    assert!(looked.is_empty());
    assert_eq!(waiting, ["a"]);
}

#[tokio::test]
async fn a_waiting_receive_returns_as_soon_as_a_message_arrives() {
    let bench = Bench::new(&[queue("q")]);
    let send = async {
        asleep(&bench).await;
        bench.send("q", "a").await;
    };
    let (received, ()) = tokio::join!(waiting(&bench, "q"), send);
    assert_eq!(received, ["a"]);
}

#[tokio::test]
async fn a_waiting_receive_returns_when_a_visibility_ends_or_a_handle_is_given_back() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    let handle = bench.receive("q", 1).await[0].receipt_handle().unwrap().to_owned();
    let give_back = async {
        asleep(&bench).await;
        bench.sqs.change_visibility(&url("q"), &handle, 10).unwrap();
        tokio::task::yield_now().await;
        asleep(&bench).await;
        bench.clock.advance(Duration::from_secs(10));
    };
    let (received, ()) = tokio::join!(waiting(&bench, "q"), give_back);
    assert_eq!(received, ["a"]);
}

#[tokio::test]
async fn a_waiting_receive_gives_up_after_its_time() {
    let bench = Bench::new(&[queue("q")]);
    let request = bench.client.receive_message().queue_url(url("q")).wait_time_seconds(20).send();
    let pass = async {
        asleep(&bench).await;
        bench.pass(20);
    };
    let (received, ()) = tokio::join!(request, pass);
    assert!(received.unwrap().messages.is_none());
}

#[tokio::test]
async fn a_purge_empties_the_queue_once_a_minute() {
    let bench = Bench::new(&[queue("q")]);
    bench.send("q", "a").await;
    bench.send("q", "b").await;
    bench.receive("q", 1).await;
    let purge = async || bench.client.purge_queue().queue_url(url("q")).send().await;
    purge().await.unwrap();
    assert_eq!(bench.sqs.counts(&url("q")).unwrap(), Counts::default());
    bench.clock.advance(Duration::from_millis(PURGE_INTERVAL_MS as u64 - 1));
    assert!(purge().await.unwrap_err().into_service_error().is_purge_queue_in_progress());
    bench.clock.advance(Duration::from_millis(1));
    purge().await.unwrap();
}
