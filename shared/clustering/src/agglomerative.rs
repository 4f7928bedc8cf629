//! Agglomerative clustering with average linkage, for few rows.

use kodama::{Method, linkage};

use crate::rows::Rows;

/// A label for each row: clusters are joined while their average distance is below `distance_max` (exclusive).
/// Every row gets one, be it alone.
pub(crate) fn labels(rows: &Rows<'_>, distance_max: f64) -> Vec<Option<usize>> {
    let count = rows.len();
    let mut distances: Vec<f64> = (0..count)
        .flat_map(|row| (row + 1..count).map(move |other| (row, other)))
        .map(|(row, other)| rows.distance(row, other))
        .collect();
    let tree = linkage(&mut distances, count, Method::Average);

    // A step joins two nodes to the node `count + step`. Joined nodes stand for what they became.
    let mut became: Vec<usize> = (0..count + tree.steps().len()).collect();
    for (step, joined) in tree.steps().iter().enumerate() {
        if joined.dissimilarity < distance_max {
            became[joined.cluster1] = count + step;
            became[joined.cluster2] = count + step;
        }
    }
    // A node becomes only later ones: backwards, the end of its way is known already.
    for node in (0..became.len()).rev() {
        became[node] = became[became[node]];
    }
    became.truncate(count);
    became.into_iter().map(Some).collect()
}
