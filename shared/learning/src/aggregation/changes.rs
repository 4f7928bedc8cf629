//! Which clusters changed since the last run.

use store::{ClusterRecord, ClusterRecords};

use super::cluster::Cluster;

/// How the clusters of now relate to those of the last run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether everything is made anew: the first run, or one that somebody asked for.
    pub is_full: bool,
    /// Places of clusters that a model must be asked about.
    pub changed: Vec<usize>,
    /// Places of clusters that are as they were.
    pub unchanged: Vec<usize>,
    /// Clusters of the last run that are no more, or not as they were, by their fingerprints.
    pub disappeared: ClusterRecords,
}

impl Changes {
    /// Compares.
    #[must_use]
    pub fn between(clusters: &[Cluster], stored: Option<&ClusterRecords>, rerun: bool) -> Self {
        let empty = ClusterRecords::new();
        let stored = stored.unwrap_or(&empty);
        let is_full = rerun || stored.is_empty();
        let is_known = |cluster: &Cluster| {
            !is_full && stored.get(&cluster.fingerprint).is_some_and(|record| says_the_same(record, cluster))
        };
        let (unchanged, changed): (Vec<usize>, Vec<usize>) =
            (0..clusters.len()).partition(|place| is_known(&clusters[*place]));
        let is_kept =
            |fingerprint: &String| unchanged.iter().any(|place| clusters[*place].fingerprint == *fingerprint);
        let disappeared = stored
            .iter()
            .filter(|(fingerprint, _)| !is_kept(fingerprint))
            .map(|(fingerprint, record)| (fingerprint.clone(), record.clone()))
            .collect();
        Self { is_full, changed, unchanged, disappeared }
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.disappeared.is_empty()
    }

    /// The former cluster that shares most members with a cluster; of equals the one with the lowest ids.
    #[must_use]
    pub fn partner(&self, cluster: &Cluster) -> Option<&ClusterRecord> {
        let candidates = self.disappeared.values().filter(|record| overlaps(record, cluster));
        candidates.min_by(|a, b| {
            let shared = |record: &ClusterRecord| cluster.overlap(&record.user_playbook_ids);
            shared(b).cmp(&shared(a)).then_with(|| a.user_playbook_ids.cmp(&b.user_playbook_ids))
        })
    }
}

/// Whether a former cluster shares members with one of now.
#[must_use]
pub fn overlaps(record: &ClusterRecord, cluster: &Cluster) -> bool {
    cluster.overlap(&record.user_playbook_ids) > 0
}

/// Records that were written before contents were compared hold no hash.
fn says_the_same(record: &ClusterRecord, cluster: &Cluster) -> bool {
    record.content_hash.is_empty() || record.content_hash == cluster.content_hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregation::cluster::fingerprint;

    fn cluster(ids: &[i64], content: &str) -> Cluster {
        Cluster { ids: ids.to_vec(), fingerprint: fingerprint(ids), content_hash: content.to_owned() }
    }

    fn stored(clusters: &[(&[i64], &str, i64)]) -> ClusterRecords {
        let record = |(ids, content, agent): &(&[i64], &str, i64)| ClusterRecord {
            agent_playbook_id: Some(*agent),
            user_playbook_ids: ids.to_vec(),
            content_hash: (*content).to_owned(),
        };
        clusters.iter().map(|entry| (fingerprint(entry.0), record(entry))).collect()
    }

    #[test]
    fn everything_is_new_on_the_first_run_and_on_demand() {
        let clusters = [cluster(&[1, 2], "a"), cluster(&[3, 4], "b")];
        assert_eq!(Changes::between(&clusters, None, false).changed, [0, 1]);
        let known = stored(&[(&[1, 2], "a", 1), (&[3, 4], "b", 2)]);
        let again = Changes::between(&clusters, Some(&known), true);
        assert!(again.is_full && again.changed == [0, 1] && again.disappeared == known);
    }

    #[test]
    fn only_clusters_with_other_members_or_words_changed() {
        let clusters = [cluster(&[1, 2], "a"), cluster(&[3, 4, 5], "b"), cluster(&[6, 7], "edited")];
        let known = stored(&[(&[1, 2], "a", 1), (&[3, 4], "b", 2), (&[6, 7], "c", 3), (&[8, 9], "d", 4)]);
        let changes = Changes::between(&clusters, Some(&known), false);
        assert!(!changes.is_full);
        assert_eq!((&changes.unchanged[..], &changes.changed[..]), (&[0][..], &[1, 2][..]));
        let gone: Vec<_> =
            changes.disappeared.values().filter_map(|record| record.agent_playbook_id).collect();
        assert_eq!(gone.len(), 3);
        assert!(!gone.contains(&1));
        assert_eq!(changes.partner(&clusters[1]).unwrap().agent_playbook_id, Some(2));
        assert_eq!(changes.partner(&clusters[2]).unwrap().agent_playbook_id, Some(3));
    }

    #[test]
    fn nothing_changed_is_nothing_to_do() {
        let clusters = [cluster(&[1, 2], "a")];
        let known = stored(&[(&[1, 2], "a", 1)]);
        assert!(Changes::between(&clusters, Some(&known), false).is_empty());
        let mut without_hash = known;
        without_hash.values_mut().for_each(|record| record.content_hash.clear());
        assert!(Changes::between(&clusters, Some(&without_hash), false).is_empty());
    }

    #[test]
    fn a_partner_shares_most_members_and_of_equals_has_the_lowest_ids() {
        let known = stored(&[(&[5, 6], "a", 1), (&[1, 2], "b", 2), (&[3, 4, 7], "c", 3)]);
        let changes = Changes::between(&[], Some(&known), false);
        let partner =
            |ids: &[i64]| changes.partner(&cluster(ids, "x")).and_then(|record| record.agent_playbook_id);
        assert_eq!(partner(&[1, 2, 5, 6]), Some(2));
        assert_eq!(partner(&[1, 3, 4]), Some(3));
        assert_eq!(partner(&[100]), None);
    }
}
