//! Real processes over a data directory: killed with SIGKILL, stopped with SIGTERM, started twice.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::learning::LearningKind;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::chance::Chance;
use crate::support::check::run_until_quiet;
use crate::support::clock::VirtualClock;
use crate::support::publish::Publish;
use crate::support::world::{World, hash, keys, org};

/// Longest that a process may take to stop, with nothing under way.
const STOP_MAX: Duration = Duration::from_secs(5);
/// Lives that end with SIGKILL.
const ROUNDS: u64 = 4;
/// Calls that are under way at once.
const CLIENTS: usize = 6;
/// Calls that each life is killed amid.
const CALLS_OF_ROUND: u64 = 24;

/// A running `retrospect serve`.
struct Server {
    child: Child,
    base: String,
    http: reqwest::Client,
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retrospect"));
    // No provider of this machine's environment is to be asked.
    command.env_clear().args(["serve", "--port", "0", "--data-dir"]).arg(data);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut child = command(data).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let base = lines.find_map(|line| Some(line.split_once("listens on ")?.1.to_owned())).unwrap();
        // The rest is read, so that the process never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, base, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    async fn post(&self, path: &str, body: &Value) -> Option<Value> {
        let response = self.http.post(format!("{}{path}", self.base)).json(body).send().await.ok()?;
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.json().await.ok()
    }

    async fn get(&self, path: &str) -> Option<Value> {
        let response = self.http.get(format!("{}{path}", self.base)).send().await.ok()?;
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.json().await.ok()
    }

    /// Whether a publish was answered with success.
    async fn publish(&self, call: &Publish) -> bool {
        let Some(answer) = self.post("/api/publish_interaction", &call_body(call)).await else {
            return false;
        };
        assert_eq!(answer["success"], true, "{answer}");
        true
    }

    /// SIGKILL: nothing is flushed, closed or rolled back.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// How the process ended, if it did in time.
    async fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        while began.elapsed() < within {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Of a failed test; a process that ended already is no matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Statements that the built-in rules learn from, each with its mark.
fn call_body(call: &Publish) -> Value {
    let turns = (0..call.size)
        .map(|index| json!({ "role": "User", "content": format!("I like the song {}.", call.mark(index)) }));
    call.body_with(turns.collect())
}

/// Sends calls, some at once, and kills the process when `answered` of them are answered. The calls that were.
async fn publish_and_kill(server: Server, calls: &[Publish], answered: usize) -> Vec<Publish> {
    let mut done = Vec::new();
    {
        let mut waiting = calls.iter();
        let send = |call| {
            let server = &server;
            async move { (call, server.publish(call).await) }
        };
        let mut flying: FuturesUnordered<_> = waiting.by_ref().take(CLIENTS).map(send).collect();
        while let Some((call, acknowledged)) = flying.next().await {
            assert!(acknowledged, "the server is alive");
            done.push(call.clone());
            if done.len() == answered {
                break;
            }
            flying.extend(waiting.next().map(send));
        }
    }
    server.kill();
    done
}

#[tokio::test]
async fn what_a_killed_process_acknowledged_is_there_and_learned_once() {
    let data = TempDir::new().unwrap();
    let users = ["ana", "bo", "cy"];
    let mut chance = Chance::new(11);
    let (mut acknowledged, mut sent) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let calls: Vec<Publish> = (0..CALLS_OF_ROUND)
            .map(|n| {
                let user = users[usize::try_from(chance.between(0, 2)).unwrap()];
                let number = usize::try_from(round * CALLS_OF_ROUND + n).unwrap();
                let size = usize::try_from(chance.between(1, 12)).unwrap();
                Publish { force: chance.percent(20), ..Publish::new(user, number, size) }
            })
            .collect();
        let answered = usize::try_from(chance.between(2, CALLS_OF_ROUND - 2)).unwrap();
        println!("round {round}: killed after {answered} answers");
        acknowledged.extend(publish_and_kill(Server::start(data.path()), &calls, answered).await);
        sent.extend(calls);
    }
    let server = Server::start(data.path());
    for call in &acknowledged {
        let status = server.get(&format!("/api/learning_status?request_id={}", call.request)).await;
        assert!(status.is_some(), "{} is lost", call.request);
    }
    // All calls once more, in the same words, whether they were answered or not.
    for call in &sent {
        assert!(server.publish(call).await);
    }
    server.kill();
    check_directory(data.path(), &users, &sent).await;
}

/// Opens what the processes left behind a day later, lets it come to rest, and checks it.
async fn check_directory(data: &Path, users: &[&str], calls: &[Publish]) {
    tokio::time::pause();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(86_400);
    let clock = VirtualClock::at(i64::try_from(now.as_millis()).unwrap());
    let world = World::in_directory(data, Arc::new(clock));
    let process = world.start();
    run_until_quiet(&process, users).await;
    let org = org();
    for user in users {
        let user_hash = hash(user);
        let keys = keys(&org, &user_hash);
        let store = &process.app.services.store;
        let head = store.head(&keys).await.unwrap().unwrap();
        let mine: Vec<&Publish> = calls.iter().filter(|call| call.user == *user).collect();
        let size: usize = mine.iter().map(|call| call.size).sum();
        assert_eq!(head.count, i64::try_from(size).unwrap(), "{user}: each call is stored once");
        let documents = store.documents(&keys, 0, head.count).await.unwrap();
        assert_eq!(documents.len(), mine.len(), "{user}");
        for call in mine {
            let status = process.learning_status(&call.request).await;
            assert_eq!(status["status"], "done", "{}: {status}", call.request);
        }
        let profiles = store.profiles(&keys).await.unwrap().len();
        let playbooks = store.user_playbooks(&keys).await.unwrap().len();
        for (kind, rows) in [(LearningKind::Profile, profiles), (LearningKind::Playbook, playbooks)] {
            let receipts = store.window_receipts(&keys, kind, 0).await.unwrap();
            let mut end = 0;
            for receipt in &receipts {
                assert_eq!(receipt.start, end, "{user} {kind:?}: each position is in one window");
                assert_eq!(receipt.new_interactions, receipt.end - receipt.start, "{user} {kind:?}");
                end = receipt.end;
            }
            assert_eq!(end, head.count, "{user} {kind:?}");
            let added: u32 = receipts.iter().map(|receipt| receipt.added).sum();
            assert_eq!(usize::try_from(added).unwrap(), rows, "{user} {kind:?}: rows are there once");
        }
    }
}

#[tokio::test]
async fn a_second_process_on_the_same_data_is_refused_and_says_why() {
    let data = TempDir::new().unwrap();
    let first = Server::start(data.path());
    let mut second = command(data.path()).spawn().unwrap();
    let mut said = String::new();
    second.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(1));
    let expected = format!("{} is in use by another retrospect process.", data.path().display());
    assert!(said.contains(&expected), "{said}");
    assert!(first.get("/health").await.is_some(), "the first goes on");
    first.kill();
    // A killed process leaves no lock behind.
    assert!(Server::start(data.path()).get("/health").await.is_some());
}

#[tokio::test]
async fn a_process_that_is_told_to_stop_answers_what_is_under_way_and_stops() {
    let data = TempDir::new().unwrap();
    let mut server = Server::start(data.path());
    // A connection on which nothing was asked, and one that is kept alive.
    let address = server.base.trim_start_matches("http://").to_owned();
    let idle = tokio::net::TcpStream::connect(&address).await.unwrap();
    let call = Publish { force: true, ..Publish::new("ana", 0, 3) };
    assert!(server.publish(&call).await);
    server.terminate();
    let status = server.ended(STOP_MAX).await.expect("it stops in time");
    assert!(status.success(), "{status}");
    drop(idle);
    let server = Server::start(data.path());
    let status = server.get("/api/learning_status?request_id=ana-0").await.unwrap();
    assert_ne!(status["status"], "failed", "{status}");
}
