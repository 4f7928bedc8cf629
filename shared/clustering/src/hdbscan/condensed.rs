//! The hierarchy of clusters of a size: rows that split off in smaller numbers fall out of their cluster.

use std::collections::VecDeque;

use super::dendrogram::Dendrogram;

/// A cluster of the hierarchy.
///
/// Densities are inverse distances; rows that coincide have an infinite one. Where it meets itself (a cluster that is
/// born at an infinite density), stability is not a number, and compares as nothing: selection depends on that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cluster {
    /// The cluster that it split from; nothing for the first.
    pub(crate) parent: Option<usize>,
    /// The density at which it split from its parent.
    pub(crate) birth: f64,
    /// The excess of mass: how much longer than its birth its rows stay in it, over all rows.
    pub(crate) stability: f64,
}

/// Clusters, each after its parent, and where each row fell out.
pub(crate) struct CondensedTree {
    /// The clusters; the first one holds every row.
    pub(crate) clusters: Vec<Cluster>,
    /// The smallest cluster of each row.
    pub(crate) home: Vec<usize>,
}

impl CondensedTree {
    /// Walks down the dendrogram, level by level.
    pub(crate) fn of(dendrogram: &Dendrogram, min_cluster_size: usize) -> Self {
        let mut tree = Self { clusters: Vec::new(), home: vec![0; dendrogram.rows()] };
        tree.clusters.push(Cluster { parent: None, birth: 0.0, stability: 0.0 });
        let mut nodes = VecDeque::from([(dendrogram.root(), 0)]);
        while let Some((node, cluster)) = nodes.pop_front() {
            // Single rows are smaller than any cluster, so none is queued.
            let Some(merge) = dendrogram.merge(node) else { continue };
            let density = if merge.distance > 0.0 { 1.0 / merge.distance } else { f64::INFINITY };
            let stays = |child: &usize| dendrogram.size(*child) >= min_cluster_size;
            let is_split = merge.children.iter().all(stays);
            for child in merge.children {
                if is_split {
                    nodes.push_back((child, tree.split(cluster, density, dendrogram.size(child))));
                } else if stays(&child) {
                    nodes.push_back((child, cluster));
                } else {
                    dendrogram.for_each_row(child, |row| {
                        tree.home[row] = cluster;
                        tree.lose(cluster, density, 1);
                    });
                }
            }
        }
        tree
    }

    /// A new cluster of so many rows of another.
    fn split(&mut self, parent: usize, density: f64, rows: usize) -> usize {
        self.lose(parent, density, rows);
        self.clusters.push(Cluster { parent: Some(parent), birth: density, stability: 0.0 });
        self.clusters.len() - 1
    }

    fn lose(&mut self, cluster: usize, density: f64, rows: usize) {
        let cluster = &mut self.clusters[cluster];
        cluster.stability += (density - cluster.birth) * rows as f64;
    }
}
