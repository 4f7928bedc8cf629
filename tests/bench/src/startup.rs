//! How soon a server answers, and what it takes up at rest.

use std::time::Duration;

use crate::BenchError;
use crate::report::Report;
use crate::server::Binary;
use crate::targets::{IDLE_MB_MAX, PEER_IDLE_MB, PEER_START_SECONDS, START_SECONDS_MAX};

/// Starts over the same data; the median counts.
const STARTS: usize = 5;
/// How long a server rests before its memory is looked at.
const REST: Duration = Duration::from_secs(1);

/// Measures a first start, further starts, and memory at rest.
///
/// # Errors
/// When the server does not start.
pub(crate) async fn measure(binary: &Binary, report: &mut Report) -> Result<(), BenchError> {
    let data = tempfile::tempdir()?;
    let first = binary.start(data.path()).await?.started_in;
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(binary.start(data.path()).await?.started_in);
    }
    starts.sort_unstable();
    report.told("first start, with a new data directory", "s", first.as_secs_f64());
    let median = starts[STARTS / 2].as_secs_f64();
    report.process("start to first /health", "s", median, PEER_START_SECONDS, START_SECONDS_MAX);
    let server = binary.start(data.path()).await?;
    tokio::time::sleep(REST).await;
    report.process("resident memory at rest", "MB", server.resident_mb()?, PEER_IDLE_MB, IDLE_MB_MAX);
    Ok(())
}
