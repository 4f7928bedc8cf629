//! HDBSCAN (Campello, Moulavi, Sander 2013) with `min_samples = 1`, excess of mass and a selection epsilon.
//!
//! With `min_samples = 1` the mutual reachability of two rows is their distance, so the hierarchy is that of single
//! linkage: a minimum [spanning] tree, its [dendrogram], which is [condensed] to clusters of a size, of which some
//! are [selected](selection). Chains are therefore followed: what is near to its neighbour is in its cluster.
//! The whole set is never selected: one homogeneous crowd comes out as noise, or as its parts.

mod condensed;
mod dendrogram;
mod panels;
mod selection;
mod spanning;

use crate::rows::Rows;
use condensed::CondensedTree;
use dendrogram::Dendrogram;

/// A label for each row that is no noise. There are at least as many rows as a cluster needs, and that is two at
/// least.
pub(crate) fn labels(rows: &Rows<'_>, min_cluster_size: usize, epsilon: f64) -> Vec<Option<usize>> {
    let edges = spanning::minimum_spanning_tree(rows);
    let condensed = CondensedTree::of(&Dendrogram::of(rows.len(), &edges), min_cluster_size);
    let selected = selection::select(&condensed.clusters, epsilon);

    // Clusters follow their parents, so that a parent's label is known.
    let mut labels: Vec<Option<usize>> = Vec::with_capacity(selected.len());
    for (cluster, is_selected) in selected.into_iter().enumerate() {
        let inherited = condensed.clusters[cluster].parent.and_then(|parent| labels[parent]);
        labels.push(if is_selected { Some(cluster) } else { inherited });
    }
    condensed.home.into_iter().map(|cluster| labels[cluster]).collect()
}
