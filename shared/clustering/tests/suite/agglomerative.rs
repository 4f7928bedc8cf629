//! Few rows: average linkage, as scikit-learn has it.

use crate::common::{clusters, clusters_of_labels, fixtures};

#[test]
fn few_rows_are_clustered_exactly_as_scikit_learn_does() {
    let fixtures = fixtures("agglomerative.json");
    assert_eq!(fixtures.sets.len(), 11);
    for set in fixtures.sets {
        assert!(set.rows.len() < clustering::CLUSTERING_ALGORITHM_THRESHOLD);
        for case in set.cases {
            for min_cluster_size in [2, 3, 5] {
                let ours = clusters(&set.rows, min_cluster_size, case.similarity);
                let theirs = clusters_of_labels(&case.sklearn, min_cluster_size);
                assert_eq!(ours, theirs, "{} at {}", set.name, case.similarity);
            }
        }
    }
}

#[test]
fn rows_at_a_distance_equal_to_the_threshold_stay_apart() {
    // A cosine of exactly 0.6.
    let rows = [vec![1.0, 0.0], vec![3.0, 4.0]];
    assert_eq!(clusters(&rows, 2, 0.6), Vec::<Vec<usize>>::new());
    assert_eq!(clusters(&rows, 2, 0.6 - 1e-9), [[0, 1]]);
    // Even equal rows, when nothing less than equal is asked for.
    let rows = [vec![1.0, 0.0], vec![2.0, 0.0]];
    assert_eq!(clusters(&rows, 2, 1.0), Vec::<Vec<usize>>::new());
    assert_eq!(clusters(&rows, 2, 1.0 - 1e-9), [[0, 1]]);
}

#[test]
fn a_chain_is_cut_where_its_average_distance_grows() {
    let chain: Vec<_> =
        (0..40u8).map(|at| f32::from(at) / 25.0).map(|angle| vec![angle.cos(), angle.sin()]).collect();
    let cut = clusters(&chain, 2, 0.9);
    assert!(cut.len() > 1, "{cut:?}");
    assert_eq!(cut.concat(), (0..40).collect::<Vec<_>>(), "in pieces that hang together");
}
