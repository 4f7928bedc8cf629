//! Which rows say the same: clusters of embedding vectors, for the aggregation of playbooks.
//!
//! Below [`CLUSTERING_ALGORITHM_THRESHOLD`] rows, agglomerative clustering with average linkage; from there on
//! HDBSCAN with `min_samples = 1`. Both over the cosine distance `1 − cos`, which runs from 0 to 2. The answers
//! are those of scikit-learn (`tests/fixtures`), and the same input gives the same clusters: where distances
//! tie, the row that comes first wins. Give rows in the order of their ids.
//!
//! *Architecture invariant:* no I/O, no AWS types, no clock, no randomness, no environment, no threads.

mod agglomerative;
mod hdbscan;
mod rows;

use rows::Rows;
pub use rows::{LeftOut, Unusable};

/// From so many usable rows on HDBSCAN takes over.
pub const CLUSTERING_ALGORITHM_THRESHOLD: usize = 50;
/// Most rows of a call. Time grows with their square: 10,000 rows of 512 dimensions take two to three seconds (at
/// worst, when almost all of them are almost equal, seven), this many four times as long. Memory is a copy of the rows
/// and some hundred bytes a row, since no matrix of distances is kept.
pub const MAX_ROWS: usize = 20_000;
/// Smallest `min_cluster_size`: one row alone is no cluster.
pub const MIN_CLUSTER_SIZE_MIN: usize = 2;

/// What counts as a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Rows that a cluster has at least; [`MIN_CLUSTER_SIZE_MIN`] or more.
    pub min_cluster_size: usize,
    /// Cosine similarity, 0 to 1, above which rows belong together. Agglomerative clustering joins clusters whose
    /// average distance is *below* `1 − similarity`. HDBSCAN does not split clusters below that distance.
    pub similarity: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clustering {
    /// Indexes of rows; ascending within a cluster, clusters in the order of their first members. A row is in one
    /// cluster at most; those in none resemble too few others.
    pub clusters: Vec<Vec<usize>>,
    /// Rows that could not be compared, in ascending order.
    pub left_out: Vec<LeftOut>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ClusteringError {
    /// More rows than [`MAX_ROWS`].
    #[error("at most 20000 rows can be clustered, not {0}")]
    TooManyRows(usize),
    /// A smaller cluster than [`MIN_CLUSTER_SIZE_MIN`] was asked for.
    #[error("a cluster has at least 2 rows, not {0}")]
    MinClusterSize(usize),
    /// Not a similarity from 0 to 1.
    #[error("a similarity is from 0 to 1, not {0}")]
    Similarity(f64),
}

/// Finds the clusters among rows, whose vectors need not be of length one.
///
/// Rows that are not made of finite numbers, that are zero, or that have another dimension than most rows are
/// left out and reported; the others are clustered as if those were not there.
///
/// # Errors
/// [`ClusteringError`]; nothing about the rows themselves is one, but their number.
pub fn cluster<R: AsRef<[f32]>>(rows: &[R], settings: &Settings) -> Result<Clustering, ClusteringError> {
    if rows.len() > MAX_ROWS {
        return Err(ClusteringError::TooManyRows(rows.len()));
    }
    if settings.min_cluster_size < MIN_CLUSTER_SIZE_MIN {
        return Err(ClusteringError::MinClusterSize(settings.min_cluster_size));
    }
    if !(0.0..=1.0).contains(&settings.similarity) {
        return Err(ClusteringError::Similarity(settings.similarity));
    }
    let (usable, left_out) = Rows::select(rows);
    let labels = if usable.len() < settings.min_cluster_size {
        Vec::new()
    } else if usable.len() < CLUSTERING_ALGORITHM_THRESHOLD {
        agglomerative::labels(&usable, 1.0 - settings.similarity)
    } else {
        hdbscan::labels(&usable, settings.min_cluster_size, 1.0 - settings.similarity)
    };
    let mut clusters = members(&labels);
    clusters.retain(|cluster| cluster.len() >= settings.min_cluster_size);
    for row in clusters.iter_mut().flatten() {
        *row = usable.origin(*row);
    }
    Ok(Clustering { clusters, left_out })
}

/// The rows of each label, in the order in which labels first occur.
fn members(labels: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut place = vec![None; labels.iter().flatten().max().map_or(0, |largest| largest + 1)];
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    for (row, label) in labels.iter().enumerate().filter_map(|(row, label)| Some((row, (*label)?))) {
        let place = *place[label].get_or_insert_with(|| {
            clusters.push(Vec::new());
            clusters.len() - 1
        });
        clusters[place].push(row);
    }
    clusters
}
