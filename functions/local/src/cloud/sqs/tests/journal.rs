//! The journal: what was acknowledged survives the process, what was not leaves no trace.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Bench, START_MS, queue, url, with_dead_letters};
use crate::cloud::clock::ManualClock;
use crate::cloud::sqs::{Counts, OpenError, Sqs};
use crate::cloud::template::Queue;

const Q: &str = "q.fifo";

/// A journal in a directory of its own, and a clock that outlives the process.
struct Disk {
    _directory: tempfile::TempDir,
    path: PathBuf,
    clock: Arc<ManualClock>,
}

impl Disk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("queues.journal");
        Self { _directory: directory, path, clock: Arc::new(ManualClock::new(START_MS)) }
    }

    /// A new process. The one before is simply dropped: nothing is written on the way out.
    fn open(&self, queues: &[Queue]) -> Bench {
        Bench::open(queues, Some(&self.path), self.clock.clone())
    }
}

#[tokio::test]
async fn messages_receives_and_deletes_survive_a_kill() {
    let (disk, queues) = (Disk::new(), [queue(Q)]);
    let bench = disk.open(&queues);
    for body in ["1", "2", "3"] {
        bench.send_fifo(Q, "g", body).await;
    }
    let received = bench.receive(Q, 2).await;
    bench.delete(Q, &received[0]).await;
    let bench = disk.open(&queues);
    assert_eq!(bench.sqs.counts(&url(Q)).unwrap(), Counts { visible: 1, in_flight: 1, delayed: 0 });
    assert!(bench.receive(Q, 10).await.is_empty(), "the second is still in flight");
    bench.pass(30);
    let again = bench.receive(Q, 10).await;
    let bodies: Vec<_> = again.iter().filter_map(|message| message.body()).collect();
    assert_eq!(bodies, ["2", "3"]);
    use aws_sdk_sqs::types::MessageSystemAttributeName::ApproximateReceiveCount as Count;
    assert_eq!(again[0].attributes().unwrap()[&Count], "2", "the receive before the kill counts");
}

#[tokio::test]
async fn a_handle_from_before_a_kill_still_holds() {
    let (disk, queues) = (Disk::new(), [queue(Q)]);
    let bench = disk.open(&queues);
    bench.send_fifo(Q, "g", "1").await;
    let received = bench.receive(Q, 1).await;
    let bench = disk.open(&queues);
    bench.delete(Q, &received[0]).await;
    assert_eq!(bench.sqs.counts(&url(Q)).unwrap(), Counts::default());
}

#[tokio::test]
async fn a_duplicate_is_recognised_and_numbers_go_on_after_several_kills() {
    let (disk, queues) = (Disk::new(), [queue(Q)]);
    let bench = disk.open(&queues);
    bench.send_fifo(Q, "g", "1").await;
    let received = bench.receive(Q, 1).await;
    bench.delete(Q, &received[0]).await;
    for _ in 0..2 {
        let bench = disk.open(&queues);
        bench.send_fifo(Q, "g", "1").await;
        assert_eq!(bench.sqs.counts(&url(Q)).unwrap(), Counts::default());
    }
    let bench = disk.open(&queues);
    let request = bench.client.send_message().queue_url(url(Q)).message_body("2");
    let sent = request.message_group_id("g").message_deduplication_id("2").send().await.unwrap();
    assert_eq!(sent.sequence_number(), Some("00000000000000000002"));
}

#[tokio::test]
async fn a_dead_letter_survives_a_kill() {
    let (disk, queues) = (Disk::new(), with_dead_letters(Q, "dead.fifo", 1));
    let bench = disk.open(&queues);
    bench.send_fifo(Q, "g", "poison").await;
    bench.receive(Q, 1).await;
    bench.pass(30);
    assert!(bench.receive(Q, 1).await.is_empty());
    for _ in 0..2 {
        let bench = disk.open(&queues);
        assert_eq!(bench.sqs.counts(&url(Q)).unwrap(), Counts::default());
        assert_eq!(bench.sqs.counts(&url("dead.fifo")).unwrap().visible, 1);
    }
}

#[tokio::test]
async fn a_purge_survives_a_kill() {
    let (disk, queues) = (Disk::new(), [queue("q")]);
    let bench = disk.open(&queues);
    bench.send("q", "a").await;
    bench.sqs.purge(&url("q")).unwrap();
    assert_eq!(disk.open(&queues).sqs.counts(&url("q")).unwrap(), Counts::default());
}

#[tokio::test]
async fn a_last_line_that_was_cut_off_never_happened_at_whatever_byte_it_was_cut() {
    let (disk, queues) = (Disk::new(), [queue("q")]);
    let bench = disk.open(&queues);
    bench.send("q", "first").await;
    let whole = fs::read(&disk.path).unwrap();
    bench.send("q", "second").await;
    let both = fs::read(&disk.path).unwrap();
    for cut in whole.len()..both.len() {
        fs::write(&disk.path, &both[..cut]).unwrap();
        let bench = disk.open(&queues);
        assert_eq!(bench.bodies("q", 10).await, ["first"], "cut at {cut}");
    }
    fs::write(&disk.path, &both).unwrap();
    assert_eq!(disk.open(&queues).sqs.counts(&url("q")).unwrap().visible, 2);
}

#[tokio::test]
async fn a_damaged_line_in_the_middle_is_reported_and_not_skipped() {
    let (disk, queues) = (Disk::new(), [queue("q")]);
    disk.open(&queues).send("q", "a").await;
    let mut file = fs::OpenOptions::new().append(true).open(&disk.path).unwrap();
    file.write_all(b"[{\"change\":\"no\n[]\n").unwrap();
    let error = Sqs::open(&queues, disk.clock.clone(), Some(&disk.path)).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { line: 3, .. }), "{error}");
}

#[tokio::test]
async fn opening_compacts_the_journal() {
    let (disk, queues) = (Disk::new(), [queue("q")]);
    let bench = disk.open(&queues);
    for _ in 0..50 {
        bench.send("q", "a").await;
        let received = bench.receive("q", 1).await;
        bench.delete("q", &received[0]).await;
    }
    let before = fs::metadata(&disk.path).unwrap().len();
    disk.open(&queues);
    let after = fs::metadata(&disk.path).unwrap().len();
    assert!(after < 100 && before > 5_000, "{before} bytes became {after}");
}

#[tokio::test]
async fn messages_of_a_queue_that_the_template_no_longer_has_are_skipped() {
    let disk = Disk::new();
    let bench = disk.open(&[queue("gone"), queue("q")]);
    bench.send("gone", "a").await;
    bench.send("q", "b").await;
    assert_eq!(disk.open(&[queue("q")]).bodies("q", 10).await, ["b"]);
}

#[tokio::test]
async fn without_a_journal_nothing_is_written_and_nothing_survives() {
    let disk = Disk::new();
    let bench = Bench::open(&[queue("q")], None, disk.clock.clone());
    bench.send("q", "a").await;
    assert!(!disk.path.exists());
    assert_eq!(disk.open(&[queue("q")]).sqs.counts(&url("q")).unwrap(), Counts::default());
}

/// A full disk: every write fails.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_cannot_be_written_is_not_acknowledged_and_does_not_happen() {
    use aws_sdk_sqs::error::ProvideErrorMetadata;
    let (disk, queues) = (Disk::new(), [queue("q")]);
    let bench = disk.open(&queues);
    bench.send("q", "a").await;
    let file = fs::OpenOptions::new().append(true).open("/dev/full").unwrap();
    bench.sqs.state.lock().break_journal(file);
    let request = bench.client.send_message().queue_url(url("q")).message_body("b");
    let error = request.send().await.unwrap_err().into_service_error();
    assert_eq!(error.code(), Some("InternalFailure"));
    assert!(bench.client.receive_message().queue_url(url("q")).send().await.is_err());
    assert_eq!(bench.sqs.counts(&url("q")).unwrap(), Counts { visible: 1, in_flight: 0, delayed: 0 });
}
