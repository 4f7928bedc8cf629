//! Many calls on several connections, and how long they took.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::BenchError;
use crate::client::{Call, Client};
use crate::server::Server;

/// How often `/health` is asked for under load.
const HEALTH_INTERVAL: Duration = Duration::from_millis(20);

/// How calls went.
#[derive(Debug)]
pub(crate) struct Load {
    /// Ascending.
    latencies: Vec<Duration>,
    wall: Duration,
    cpu: Duration,
}

impl Load {
    /// The latency that `share` (0 to 1) of the calls did not exceed.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        percentile(&self.latencies, share)
    }

    /// Calls a second.
    pub(crate) fn per_second(&self) -> f64 {
        count(&self.latencies) / self.wall.as_secs_f64()
    }

    /// Processor time of the server, in milliseconds a call.
    pub(crate) fn cpu_ms(&self) -> f64 {
        self.cpu.as_secs_f64() * 1_000.0 / count(&self.latencies)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn count(latencies: &[Duration]) -> f64 {
    latencies.len() as f64
}

/// The nearest rank: the smallest value that at least `share` of all do not exceed.
fn percentile(ascending: &[Duration], share: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the number of values")]
    let rank = (count(ascending) * share).ceil() as usize;
    ascending.get(rank.max(1) - 1).copied().unwrap_or_default()
}

/// Makes all calls, in order, each on the next connection that is free.
///
/// # Errors
/// The first failure of any call.
pub(crate) async fn run(server: &Server, connections: usize, calls: Vec<Call>) -> Result<Load, BenchError> {
    let (calls, next) = (Arc::new(calls), Arc::new(AtomicUsize::new(0)));
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(Client::connect(server.address).await?);
    }
    let (cpu, begun) = (server.cpu()?, Instant::now());
    let mut tasks = JoinSet::new();
    for client in clients {
        tasks.spawn(work(client, Arc::clone(&calls), Arc::clone(&next)));
    }
    let mut latencies = Vec::with_capacity(calls.len());
    while let Some(done) = tasks.join_next().await {
        latencies.extend(done??);
    }
    let wall = begun.elapsed();
    latencies.sort_unstable();
    Ok(Load { latencies, wall, cpu: server.cpu()? - cpu })
}

/// Makes calls until none is left; returns how long each took.
async fn work(
    mut client: Client,
    calls: Arc<Vec<Call>>,
    next: Arc<AtomicUsize>,
) -> Result<Vec<Duration>, BenchError> {
    let mut latencies = Vec::new();
    while let Some(call) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
        let begun = Instant::now();
        client.call(call).await?;
        latencies.push(begun.elapsed());
    }
    Ok(latencies)
}

/// As [`run`], while `/health` is asked for all the time on a connection of its own; returns its latencies too.
///
/// # Errors
/// The first failure of any call, `/health` among them.
pub(crate) async fn run_watching_health(
    server: &Server,
    connections: usize,
    calls: Vec<Call>,
) -> Result<(Load, Vec<Duration>), BenchError> {
    let mut watcher = Client::connect(server.address).await?;
    let mut latencies = Vec::new();
    let watch = async {
        loop {
            let begun = Instant::now();
            if let Err(error) = watcher.call(&Call::get("/health")).await {
                return error;
            }
            latencies.push(begun.elapsed());
            tokio::time::sleep(HEALTH_INTERVAL).await;
        }
    };
    let load = tokio::select! {
        load = run(server, connections, calls) => load?,
        error = watch => return Err(error),
    };
    latencies.sort_unstable();
    Ok((load, latencies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let ascending: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(percentile(&ascending, 0.5), Duration::from_millis(50));
        assert_eq!(percentile(&ascending, 0.99), Duration::from_millis(99));
        assert_eq!(percentile(&ascending, 1.0), Duration::from_millis(100));
        assert_eq!(percentile(&ascending[..1], 0.01), Duration::from_millis(1));
        assert_eq!(percentile(&[], 0.5), Duration::ZERO);
    }
}
