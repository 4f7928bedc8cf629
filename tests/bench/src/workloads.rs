//! The calls that agents make, on a server with its data on disk.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::BenchError;
use crate::client::{Call, Client};
use crate::data::{SEARCHED_USER, Texts};
use crate::load::{run, run_watching_health};
use crate::report::Report;
use crate::server::{Binary, Server};
use crate::targets::{HEALTH_MAX, LIST_PROFILES, PUBLISH, Peer, SEARCH_ALL, SEARCH_PLAYBOOKS};

/// Connections that each kind of call is measured with.
const CONNECTIONS: [usize; 2] = [1, 16];
/// Connections that publish while `/health` is watched.
const CONNECTIONS_MAX: usize = 64;
/// Calls of one measurement: the processor time of all is then many ticks of the system's clock.
const CALLS: usize = 2_000;
/// Users who publish by turns, each in a session that exists.
const PUBLISHERS: usize = 128;
/// Playbooks of the user searched, and as many of others.
const PLAYBOOKS: usize = 1_000;
/// Profiles of the user searched.
const PROFILES: usize = 200;
/// More turns than are published here: publishes alone are measured, not what is learned of them.
const NO_WINDOW: i64 = 1_000_000;
/// A server that takes no more than [`RUSTLE`] of processor time for this long has no more to do.
const QUIET: Duration = Duration::from_secs(2);
/// What a server takes while it does nothing: its timers.
const RUSTLE: Duration = Duration::from_millis(20);
/// How often it is looked.
const POLL: Duration = Duration::from_millis(50);

/// Measures all calls.
///
/// # Errors
/// When any call fails.
pub(crate) async fn measure(binary: &Binary, report: &mut Report) -> Result<(), BenchError> {
    let data = tempfile::tempdir()?;
    publish(&binary.start(data.path()).await?, report).await?;
    let data = tempfile::tempdir()?;
    publish_and_learn(&binary.start(data.path()).await?, report).await?;
    let data = tempfile::tempdir()?;
    read(binary, data.path(), report).await
}

/// Publishes of which nothing is learned yet, at all numbers of connections.
async fn publish(server: &Server, report: &mut Report) -> Result<(), BenchError> {
    let mut client = Client::connect(server.address).await?;
    let windows = json!({ "window_size": NO_WINDOW, "stride_size": NO_WINDOW });
    client.call_json(&Call::post("/api/update_config", &windows)).await?;
    let mut texts = Texts::new(1);
    for call in publishes(&mut texts, PUBLISHERS) {
        client.call_json(&call).await?;
    }
    for connections in CONNECTIONS {
        let load = run(server, connections, publishes(&mut texts, CALLS)).await?;
        report.load("publish two turns of 200 characters", connections, &load, Some(PUBLISH));
    }
    let calls = publishes(&mut texts, CALLS);
    let (load, health) = run_watching_health(server, CONNECTIONS_MAX, calls).await?;
    report.load("publish two turns of 200 characters", CONNECTIONS_MAX, &load, Some(PUBLISH));
    report.health(&health, HEALTH_MAX);
    Ok(())
}

/// Publishes with the default windows, and what is learned of them in the same process by the built-in rules.
/// Only told: what learning takes depends on the model.
async fn publish_and_learn(server: &Server, report: &mut Report) -> Result<(), BenchError> {
    let mut texts = Texts::new(2);
    let before = server.cpu()?;
    let load = run(server, 1, publishes(&mut texts, CALLS)).await?;
    report.load("  as windows of turns are learned", 1, &load, None);
    let after = cpu_at_rest(server).await?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let each = (after - before).as_secs_f64() * 1_000.0 / CALLS as f64;
    report.told("  CPU of each until all was learned", "ms", each);
    Ok(())
}

/// The processor time of a server once it has no more to do.
async fn cpu_at_rest(server: &Server) -> Result<Duration, BenchError> {
    let mut seen = server.cpu()?;
    let mut quiet_since = Instant::now();
    while quiet_since.elapsed() < QUIET {
        tokio::time::sleep(POLL).await;
        let now = server.cpu()?;
        if now > seen + RUSTLE {
            (seen, quiet_since) = (now, Instant::now());
        }
    }
    server.cpu()
}

/// Lists and searches of what callers wrote.
async fn read(binary: &Binary, data: &Path, report: &mut Report) -> Result<(), BenchError> {
    let server = binary.start(data).await?;
    let mut client = Client::connect(server.address).await?;
    let mut texts = Texts::new(3);
    for of_searched_user in [true, false] {
        let rows = texts.playbooks(PLAYBOOKS, of_searched_user);
        client.call_json(&Call::post("/api/add_user_playbook", &rows)).await?;
    }
    client.call_json(&Call::post("/api/add_user_profile", &texts.profiles(PROFILES))).await?;
    drop((client, server));

    let server = binary.start(data).await?;
    let cold = run(&server, 1, calls(Kind::SearchPlaybooks, &mut texts, 1)).await?;
    report.load("first search after a start", 1, &cold, None);
    for (kind, name, peer) in READS {
        check(&server, kind, &mut texts).await?;
        for connections in CONNECTIONS {
            let load = run(&server, connections, calls(kind, &mut texts, CALLS)).await?;
            report.load(name, connections, &load, Some(peer));
        }
    }
    report.told("resident memory after that", "MB", server.resident_mb()?);
    Ok(())
}

/// A call that reads.
#[derive(Debug, Clone, Copy)]
enum Kind {
    SearchPlaybooks,
    SearchAll,
    ListProfiles,
}

/// What is read, as it is called in the report, and the peer's figure.
const READS: [(Kind, &str, Peer); 3] = [
    (Kind::SearchPlaybooks, "search_user_playbooks, 1,000 + 1,000 rows", SEARCH_PLAYBOOKS),
    (Kind::SearchAll, "search of all kinds", SEARCH_ALL),
    (Kind::ListProfiles, "get_profiles, 200 rows", LIST_PROFILES),
];

/// Makes one call and looks whether the answer holds what it must: an empty answer is a fast one.
async fn check(server: &Server, kind: Kind, texts: &mut Texts) -> Result<(), BenchError> {
    let mut client = Client::connect(server.address).await?;
    let answer = client.call_json(&calls(kind, texts, 1)[0]).await?;
    let rows = |name: &str| answer[name].as_array().map_or(0, Vec::len);
    let is_full = match kind {
        Kind::SearchPlaybooks => rows("user_playbooks") > 0,
        Kind::SearchAll => rows("user_playbooks") > 0 && rows("profiles") > 0,
        Kind::ListProfiles => rows("user_profiles") == PROFILES,
    };
    if is_full { Ok(()) } else { Err(format!("{kind:?} found too little: {answer}").into()) }
}

fn publishes(texts: &mut Texts, count: usize) -> Vec<Call> {
    let publish = |number: usize| Call::post("/api/publish_interaction", &texts.publish(number % PUBLISHERS));
    (0..count).map(publish).collect()
}

fn calls(kind: Kind, texts: &mut Texts, count: usize) -> Vec<Call> {
    let mut call = || match kind {
        Kind::SearchPlaybooks => {
            let body = json!({ "user_id": SEARCHED_USER, "query": texts.query() });
            Call::post("/api/search_user_playbooks", &body)
        }
        Kind::SearchAll => {
            Call::post("/api/search", &json!({ "user_id": SEARCHED_USER, "query": texts.query() }))
        }
        Kind::ListProfiles => {
            Call::post("/api/get_profiles", &json!({ "user_id": SEARCHED_USER, "top_k": PROFILES }))
        }
    };
    (0..count).map(|_| call()).collect()
}
