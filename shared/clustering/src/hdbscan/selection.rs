//! Which clusters of the hierarchy count.

use super::condensed::Cluster;

/// Whether each cluster is selected: by excess of mass, then raised until it was born beyond `epsilon`, a distance.
/// The first cluster, that of all rows, never is.
pub(crate) fn select(clusters: &[Cluster], epsilon: f64) -> Vec<bool> {
    let chosen = by_excess_of_mass(clusters);
    if epsilon <= 0.0 {
        return chosen;
    }
    let mut raised = vec![false; clusters.len()];
    for cluster in (0..clusters.len()).filter(|cluster| chosen[*cluster]) {
        raised[raise(clusters, cluster, epsilon)] = true;
    }
    raised
}

/// The clusters that are more stable than what they split into, and lie in none that is.
fn by_excess_of_mass(clusters: &[Cluster]) -> Vec<bool> {
    let mut chosen = vec![false; clusters.len()];
    let mut stability_of_parts = vec![0.0; clusters.len()];
    // Parts come after what they are parts of.
    for (at, cluster) in clusters.iter().enumerate().rev() {
        let Some(parent) = cluster.parent else { continue };
        let is_better_split = stability_of_parts[at] > cluster.stability;
        chosen[at] = !is_better_split;
        stability_of_parts[parent] +=
            if is_better_split { stability_of_parts[at] } else { cluster.stability };
    }
    let mut is_covered = vec![false; clusters.len()];
    for (at, cluster) in clusters.iter().enumerate() {
        if let Some(parent) = cluster.parent {
            is_covered[at] = is_covered[parent] || chosen[parent];
        }
    }
    chosen.iter().zip(is_covered).map(|(is_chosen, is_covered)| *is_chosen && !is_covered).collect()
}

/// The cluster itself when it was born at `epsilon` or beyond; else the nearest above it that was born beyond, or the
/// last below the first cluster.
fn raise(clusters: &[Cluster], cluster: usize, epsilon: f64) -> usize {
    let distance_at_birth = |cluster: usize| 1.0 / clusters[cluster].birth;
    if distance_at_birth(cluster) >= epsilon {
        return cluster;
    }
    let mut at = cluster;
    while let Some(parent) = clusters[at].parent.filter(|parent| *parent != 0) {
        at = parent;
        if distance_at_birth(at) > epsilon {
            break;
        }
    }
    at
}
