//! FIFO queues: order within a group, blocked groups, duplicates, dead letters.

use std::time::Duration;

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::MessageSystemAttributeName as Name;

use super::{Bench, asleep, queue, url, waiting, with_dead_letters};
use crate::cloud::sqs::DEDUPLICATION_MS;
use crate::cloud::template::{DeduplicationScope, Queue};

const Q: &str = "q.fifo";

#[tokio::test]
async fn a_group_is_delivered_in_order_and_blocked_while_one_of_it_is_in_flight() {
    let bench = Bench::new(&[queue(Q)]);
    for (group, body) in [("g", "1"), ("g", "2"), ("h", "3"), ("g", "4")] {
        bench.send_fifo(Q, group, body).await;
    }
    let first = bench.receive(Q, 1).await;
    assert_eq!(first[0].body(), Some("1"));
    assert_eq!(bench.bodies(Q, 10).await, ["3"], "only the other group");
    bench.delete(Q, &first[0]).await;
    assert_eq!(bench.bodies(Q, 10).await, ["2", "4"]);
}

#[tokio::test]
async fn a_receive_takes_as_much_of_one_group_as_it_can() {
    let bench = Bench::new(&[queue(Q)]);
    for (group, body) in [("g", "1"), ("h", "2"), ("g", "3"), ("h", "4")] {
        bench.send_fifo(Q, group, body).await;
    }
    assert_eq!(bench.bodies(Q, 3).await, ["1", "3", "2"]);
    assert!(bench.bodies(Q, 3).await.is_empty(), "the rest of h waits for its first");
}

#[tokio::test]
async fn a_message_whose_visibility_ended_comes_before_the_later_ones_of_its_group() {
    let bench = Bench::new(&[queue(Q)]);
    bench.send_fifo(Q, "g", "1").await;
    bench.send_fifo(Q, "g", "2").await;
    assert_eq!(bench.bodies(Q, 1).await, ["1"]);
    bench.pass(30);
    assert_eq!(bench.bodies(Q, 10).await, ["1", "2"]);
}

#[tokio::test]
async fn after_a_partial_success_the_rest_of_a_batch_comes_again_in_order() {
    let bench = Bench::new(&[queue(Q)]);
    for body in ["1", "2", "3"] {
        bench.send_fifo(Q, "g", body).await;
    }
    let batch = bench.receive(Q, 10).await;
    bench.delete(Q, &batch[0]).await;
    assert!(bench.receive(Q, 10).await.is_empty());
    bench.pass(30);
    assert_eq!(bench.bodies(Q, 10).await, ["2", "3"]);
}

#[tokio::test]
async fn sequence_numbers_grow_and_travel_with_group_and_deduplication_id() {
    let bench = Bench::new(&[queue(Q)]);
    bench.send_fifo(Q, "g", "1").await;
    bench.send_fifo(Q, "h", "2").await;
    let received = bench.receive(Q, 10).await;
    let attribute = |index: usize, name: &Name| received[index].attributes().unwrap()[name].clone();
    assert!(attribute(0, &Name::SequenceNumber) < attribute(1, &Name::SequenceNumber));
    assert_eq!(attribute(0, &Name::SequenceNumber).len(), 20);
    assert_eq!(attribute(1, &Name::MessageGroupId), "h");
    assert_eq!(attribute(1, &Name::MessageDeduplicationId), "2");
    assert_eq!(attribute(0, &Name::SentTimestamp), super::START_MS.to_string());
}

#[tokio::test]
async fn a_duplicate_within_five_minutes_gets_the_first_receipt_and_is_not_delivered() {
    let bench = Bench::new(&[queue(Q)]);
    let send = async || {
        let request = bench.client.send_message().queue_url(url(Q)).message_body("text");
        request.message_group_id("g").message_deduplication_id("d").send().await.unwrap()
    };
    let first = send().await;
    let received = bench.receive(Q, 10).await;
    bench.delete(Q, &received[0]).await;
    bench.clock.advance(Duration::from_millis(DEDUPLICATION_MS as u64 - 1));
    let duplicate = send().await;
    assert_eq!(duplicate.message_id(), first.message_id());
    assert_eq!(duplicate.sequence_number(), first.sequence_number());
    assert!(bench.receive(Q, 10).await.is_empty(), "also after the first was processed and deleted");
    bench.clock.advance(Duration::from_millis(1));
    let later = send().await;
    assert_ne!(later.message_id(), first.message_id());
    assert_eq!(bench.bodies(Q, 10).await, ["text"]);
}

#[tokio::test]
async fn the_window_counts_from_the_first_message_and_not_from_its_duplicates() {
    let bench = Bench::new(&[queue(Q)]);
    bench.send_fifo(Q, "g", "d").await;
    bench.pass(200);
    bench.send_fifo(Q, "g", "d").await;
    bench.pass(100);
    bench.send_fifo(Q, "g", "d").await;
    assert_eq!(bench.bodies(Q, 10).await, ["d", "d"]);
}

#[tokio::test]
async fn a_deduplication_id_is_unique_in_its_group_or_in_the_queue() {
    let whole = Queue { deduplication_scope: DeduplicationScope::Queue, ..queue("whole.fifo") };
    let bench = Bench::new(&[queue(Q), whole]);
    for name in [Q, "whole.fifo"] {
        bench.send_fifo(name, "g", "d").await;
        bench.send_fifo(name, "h", "d").await;
    }
    assert_eq!(bench.bodies(Q, 10).await.len(), 2);
    assert_eq!(bench.bodies("whole.fifo", 10).await.len(), 1);
}

#[tokio::test]
async fn a_queue_may_take_the_digest_of_the_body_as_deduplication_id() {
    let bench = Bench::new(&[Queue { content_based_deduplication: true, ..queue(Q) }, queue("strict.fifo")]);
    let send = async |name: &str, body: &str| {
        let request = bench.client.send_message().queue_url(url(name)).message_body(body);
        request.message_group_id("g").send().await
    };
    for body in ["a", "a", "b"] {
        send(Q, body).await.unwrap();
    }
    let received = bench.receive(Q, 10).await;
    assert_eq!(received.len(), 2);
    let digest = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
    assert_eq!(received[0].attributes().unwrap()[&Name::MessageDeduplicationId], digest);
    let error = send("strict.fifo", "a").await.unwrap_err().into_service_error();
    assert_eq!(error.code(), Some("InvalidParameterValue"));
}

#[tokio::test]
async fn a_delayed_queue_holds_every_message_back_in_order() {
    let bench = Bench::new(&[Queue { delay_seconds: 10, ..queue(Q) }]);
    bench.send_fifo(Q, "g", "1").await;
    bench.pass(5);
    bench.send_fifo(Q, "g", "2").await;
    assert!(bench.receive(Q, 10).await.is_empty());
    bench.pass(5);
    assert_eq!(bench.bodies(Q, 1).await, ["1"]);
    bench.pass(30);
    assert_eq!(bench.bodies(Q, 10).await, ["1", "2"]);
}

#[tokio::test]
async fn a_dead_letter_keeps_its_group_and_lets_the_next_of_the_group_pass() {
    let bench = Bench::new(&with_dead_letters(Q, "dead.fifo", 1));
    bench.send_fifo(Q, "g", "poison").await;
    bench.send_fifo(Q, "g", "next").await;
    assert_eq!(bench.bodies(Q, 1).await, ["poison"]);
    bench.pass(30);
    assert_eq!(bench.bodies(Q, 1).await, ["next"]);
    let dead = bench.receive("dead.fifo", 10).await;
    assert_eq!(dead[0].body(), Some("poison"));
    assert_eq!(dead[0].attributes().unwrap()[&Name::MessageGroupId], "g");
    assert_eq!(dead[0].attributes().unwrap()[&Name::MessageDeduplicationId], "poison");
}

#[tokio::test]
async fn the_same_message_may_die_twice_within_the_window() {
    let bench = Bench::new(&with_dead_letters(Q, "dead.fifo", 1));
    for _ in 0..2 {
        bench.send_fifo(Q, "g", "poison").await;
        assert_eq!(bench.bodies(Q, 1).await, ["poison"]);
        bench.pass(300);
        assert!(bench.receive(Q, 1).await.is_empty());
    }
    assert_eq!(bench.sqs.counts(&url("dead.fifo")).unwrap().visible, 2);
}

#[tokio::test]
async fn a_fifo_queue_refuses_to_delete_by_a_handle_whose_visibility_ended() {
    let bench = Bench::new(&[queue(Q)]);
    bench.send_fifo(Q, "g", "1").await;
    let stale = bench.receive(Q, 1).await;
    let delete = async || {
        let request = bench.client.delete_message().queue_url(url(Q));
        request.receipt_handle(stale[0].receipt_handle().unwrap()).send().await
    };
    bench.pass(30);
    let error = delete().await.unwrap_err().into_service_error();
    assert_eq!(error.code(), Some("InvalidParameterValue"));
    let current = bench.receive(Q, 1).await;
    assert!(delete().await.is_err());
    bench.delete(Q, &current[0]).await;
    delete().await.expect("what is gone is deleted");
}

#[tokio::test]
async fn a_dead_letter_blocks_no_later_message_of_its_deduplication_id() {
    let bench = Bench::new(&with_dead_letters(Q, "dead.fifo", 1));
    bench.send_fifo(Q, "g", "d").await;
    bench.receive(Q, 1).await;
    bench.pass(30);
    assert!(bench.receive(Q, 1).await.is_empty());
    bench.send_fifo("dead.fifo", "g", "d").await;
    assert_eq!(bench.sqs.counts(&url("dead.fifo")).unwrap().visible, 2);
}

#[tokio::test]
async fn a_dead_letter_is_kept_as_long_from_its_move_as_the_dead_letter_queue_says() {
    let mut queues = with_dead_letters(Q, "dead.fifo", 1);
    queues[1].retention_seconds = 60;
    let bench = Bench::new(&queues);
    bench.send_fifo(Q, "g", "d").await;
    bench.receive(Q, 1).await;
    bench.pass(100);
    assert!(bench.receive(Q, 1).await.is_empty());
    bench.pass(59);
    assert_eq!(bench.sqs.counts(&url("dead.fifo")).unwrap().visible, 1);
    bench.pass(1);
    assert_eq!(bench.sqs.counts(&url("dead.fifo")).unwrap().visible, 0);
}

#[tokio::test]
async fn other_messages_make_the_queue_forget_no_deduplication_id_early() {
    let bench = Bench::new(&[queue(Q)]);
    bench.send_fifo(Q, "g", "d").await;
    bench.clock.advance(Duration::from_millis(DEDUPLICATION_MS as u64 - 1));
    bench.send_fifo(Q, "g", "other").await;
    bench.send_fifo(Q, "g", "d").await;
    assert_eq!(bench.bodies(Q, 10).await, ["d", "other"]);
}

#[tokio::test]
async fn a_waiting_receiver_is_woken_when_the_group_is_free_again() {
    let bench = Bench::new(&[queue(Q)]);
    bench.send_fifo(Q, "g", "1").await;
    bench.send_fifo(Q, "g", "2").await;
    let first = bench.receive(Q, 1).await;
    let delete = async {
        asleep(&bench).await;
        bench.delete(Q, &first[0]).await;
    };
    let (received, ()) = tokio::join!(waiting(&bench, Q), delete);
    assert_eq!(received, ["2"]);
}
