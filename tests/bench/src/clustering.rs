//! How long many rows take to be clustered, and how much memory: no server, only the library.

use std::time::Instant;

use clustering::{Settings, cluster};

use crate::BenchError;
use crate::data::Texts;
use crate::report::Report;
use crate::server::peak_resident_mb;
use crate::targets::{CLUSTERING_MANY_SECONDS_MAX, CLUSTERING_MB_MAX, CLUSTERING_SECONDS_MAX};

/// Values of a row, as embeddings have.
const DIMENSION: usize = 512;
/// Rows around one direction.
const ROWS_PER_TOPIC: usize = 20;
/// Runs over the same few rows; the median counts.
const RUNS: usize = 5;
/// What an organisation is clustered with unless it says otherwise.
const SETTINGS: Settings = Settings { min_cluster_size: 2, similarity: 0.3 };

/// Measures 1,000 and 10,000 rows. Comes before whatever else takes memory: the peak is that of the process.
///
/// # Errors
/// When the rows are refused, or the clusters are not the topics.
pub(crate) fn measure(report: &mut Report) -> Result<(), BenchError> {
    let mut seconds = Vec::new();
    for _ in 0..RUNS {
        seconds.push(time(1_000)?);
    }
    seconds.sort_by(f64::total_cmp);
    report.limited("clustering 1,000 rows of 512", "s", seconds[RUNS / 2], CLUSTERING_SECONDS_MAX);
    report.limited("clustering 10,000 rows of 512", "s", time(10_000)?, CLUSTERING_MANY_SECONDS_MAX);
    report.limited("  peak memory, rows included", "MB", peak_resident_mb()?, CLUSTERING_MB_MAX);
    Ok(())
}

/// Clusters rows about topics; returns the seconds.
fn time(count: usize) -> Result<f64, BenchError> {
    let mut texts = Texts::new(count as u64);
    let topics: Vec<Vec<f32>> = (0..count / ROWS_PER_TOPIC).map(|_| texts.vector(DIMENSION)).collect();
    let mut rows = Vec::with_capacity(count);
    for topic in topics.iter().cycle().take(count) {
        rows.push(topic.iter().zip(texts.vector(DIMENSION)).map(|(a, b)| a + b).collect::<Vec<_>>());
    }
    let begun = Instant::now();
    let found = cluster(&rows, &SETTINGS)?;
    let seconds = begun.elapsed().as_secs_f64();
    if found.clusters.len() != topics.len() {
        return Err(format!("{} clusters of {} topics", found.clusters.len(), topics.len()).into());
    }
    Ok(seconds)
}
