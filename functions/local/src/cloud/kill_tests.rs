//! Real processes, really killed: what was answered stays, what was under way is whole or absent.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use aws_sdk_s3::primitives::ByteStream;
use tempfile::TempDir;

use super::testing::{BUCKET, TABLE, TestCloud, number, text};

/// Tells the child where to write; without it the child does nothing.
const FOLDER_VARIABLE: &str = "RETROSPECT_KILL_TEST_FOLDER";
const OBJECT_BYTES: usize = 300_000;
const ANSWERED: &str = "answered ";

/// Not a test by itself: the process that the next one kills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_writes_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER_VARIABLE) else { return };
    let cloud = TestCloud::open(Some(&PathBuf::from(folder)));
    for count in 1_u8.. {
        let put = cloud.dynamodb.put_item().table_name(TABLE).item("PK", text("u")).item("SK", text("HEAD"));
        put.item("count", number(count.into())).send().await.unwrap();
        let body = ByteStream::from(vec![count; OBJECT_BYTES]);
        cloud.s3.put_object().bucket(BUCKET).key("k").body(body).send().await.unwrap();
        println!("\n{ANSWERED}{count}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_keeps_every_answer_and_leaves_nothing_by_halves() {
    for answers in [1, 7, 20] {
        let folder = TempDir::new().unwrap();
        let answered = run_and_kill(&folder, answers);
        let cloud = TestCloud::open(Some(folder.path()));
        let get = cloud.dynamodb.get_item().table_name(TABLE).key("PK", text("u")).key("SK", text("HEAD"));
        let count: u8 = get.send().await.unwrap().item.unwrap()["count"].as_n().unwrap().parse().unwrap();
        assert!(count >= answered, "{count} is there and {answered} was answered");
        let object = cloud.s3.get_object().bucket(BUCKET).key("k").send().await.unwrap();
        let content = object.body.collect().await.unwrap().to_vec();
        assert_eq!(content.len(), OBJECT_BYTES);
        assert!(content[0] >= answered && content.iter().all(|byte| *byte == content[0]));
    }
}

/// Lets a child run until it has been answered so often, kills it, and returns its last count.
fn run_and_kill(folder: &TempDir, answers: usize) -> u8 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cloud::kill_tests::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER_VARIABLE, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let counts = lines.filter_map(|line| line.strip_prefix(ANSWERED).and_then(|count| count.parse().ok()));
    let last = counts.take(answers).last().unwrap();
    // SIGKILL on Unix: nothing is flushed, closed or rolled back.
    child.kill().unwrap();
    child.wait().unwrap();
    last
}
