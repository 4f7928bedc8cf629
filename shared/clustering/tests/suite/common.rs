//! Fixtures, and the comparison of clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clustering::{Clustering, Settings, cluster};
use serde::Deserialize;

/// Sets of rows and how a library clusters them.
#[derive(Deserialize)]
pub(crate) struct Fixtures {
    /// The sets.
    pub(crate) sets: Vec<Set>,
}

/// Rows with several settings.
#[derive(Deserialize)]
pub(crate) struct Set {
    /// What they are.
    pub(crate) name: String,
    /// The rows.
    pub(crate) rows: Vec<Vec<f32>>,
    /// The settings, each with labels.
    pub(crate) cases: Vec<Case>,
}

/// Labels under some settings; -1 is noise.
#[derive(Deserialize)]
pub(crate) struct Case {
    /// Not set where every row gets a label.
    pub(crate) min_cluster_size: Option<usize>,
    /// The similarity.
    pub(crate) similarity: f64,
    /// The labels of scikit-learn.
    pub(crate) sklearn: Vec<i64>,
    /// The labels of hdbscan, where there are any.
    #[serde(default)]
    pub(crate) hdbscan: Vec<i64>,
}

/// Reads a file of fixtures.
pub(crate) fn fixtures(name: &str) -> Fixtures {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The clusters of rows, none of which is left out.
pub(crate) fn clusters(rows: &[Vec<f32>], min_cluster_size: usize, similarity: f64) -> Vec<Vec<usize>> {
    let Clustering { clusters, left_out } =
        cluster(rows, &Settings { min_cluster_size, similarity }).unwrap();
    assert_eq!(left_out, []);
    clusters
}

/// The rows of each label, as clusters are told.
pub(crate) fn clusters_of_labels(labels: &[i64], min_cluster_size: usize) -> Vec<Vec<usize>> {
    let mut clusters: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (row, label) in labels.iter().enumerate().filter(|(_, label)| **label >= 0) {
        clusters.entry(*label).or_default().push(row);
    }
    let mut clusters: Vec<_> =
        clusters.into_values().filter(|cluster| cluster.len() >= min_cluster_size).collect();
    clusters.sort();
    clusters
}

/// The adjusted Rand index of two clusterings of so many rows: 1 for equal ones, about 0 for unrelated ones. Rows
/// in no cluster count as a cluster, as the libraries' own label -1 does.
pub(crate) fn adjusted_rand_index(rows: usize, a: &[Vec<usize>], b: &[Vec<usize>]) -> f64 {
    let label = |clusters: &[Vec<usize>]| {
        let mut labels = vec![clusters.len(); rows];
        for (label, cluster) in clusters.iter().enumerate() {
            cluster.iter().for_each(|row| labels[*row] = label);
        }
        labels
    };
    let (a, b) = (label(a), label(b));
    let pairs = |keys: Vec<(usize, usize)>| {
        let mut counts: BTreeMap<_, f64> = BTreeMap::new();
        keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1.0);
        counts.into_values().map(|count| count * (count - 1.0) / 2.0).sum::<f64>()
    };
    let together = pairs(a.iter().copied().zip(b.iter().copied()).collect());
    let [in_a, in_b] = [&a, &b].map(|labels| pairs(labels.iter().map(|label| (*label, 0)).collect()));
    let expected = in_a * in_b / (rows as f64 * (rows as f64 - 1.0) / 2.0);
    let best = f64::midpoint(in_a, in_b);
    if best > expected { (together - expected) / (best - expected) } else { 1.0 }
}

/// Fails unless clusters are told as promised.
pub(crate) fn check_form(clusters: &[Vec<usize>], rows: usize, min_cluster_size: usize) {
    let mut seen = BTreeSet::new();
    for cluster in clusters {
        assert!(cluster.len() >= min_cluster_size, "{cluster:?} is too small");
        assert!(cluster.is_sorted(), "{cluster:?} is not in order");
        for row in cluster {
            assert!(*row < rows && seen.insert(*row), "row {row} does not exist or is in two clusters");
        }
    }
    assert!(clusters.is_sorted_by_key(|cluster| cluster[0]), "clusters are not in order");
}

#[test]
fn the_adjusted_rand_index_is_that_of_the_books() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(adjusted_rand_index(4, &[vec![0, 1], vec![2, 3]], &[vec![2, 3], vec![0, 1]]), 1.0);
    close(adjusted_rand_index(4, &[vec![0, 1], vec![2, 3]], &[vec![0, 2], vec![1, 3]]), -0.5);
    close(adjusted_rand_index(4, &[vec![0, 1], vec![2, 3]], &[vec![0, 1], vec![2]]), 4.0 / 7.0);
}
