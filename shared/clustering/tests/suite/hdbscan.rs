//! Many rows: HDBSCAN, as scikit-learn and hdbscan have it.

use crate::common::{adjusted_rand_index, check_form, clusters, clusters_of_labels, fixtures};

/// How much alike ours and the reference must be. Where distances tie the libraries leave the order to their sorts.
const ADJUSTED_RAND_INDEX_MIN: f64 = 0.95;

/// Rows on an arc, so close to the next that cosines of neighbours are above 0.999.
fn arc(rows: u8, from: f32) -> Vec<Vec<f32>> {
    (0..rows).map(|at| from + f32::from(at) / 30.0).map(|angle| vec![angle.cos(), angle.sin(), 0.0]).collect()
}

#[test]
fn many_rows_are_clustered_as_the_reference_libraries_do() {
    let fixtures = fixtures("hdbscan.json");
    assert_eq!(fixtures.sets.len(), 6);
    for set in fixtures.sets {
        assert!(set.rows.len() >= clustering::CLUSTERING_ALGORITHM_THRESHOLD);
        for case in set.cases {
            let min = case.min_cluster_size.unwrap();
            let ours = clusters(&set.rows, min, case.similarity);
            check_form(&ours, set.rows.len(), min);
            let against = |labels: &[i64]| {
                let theirs = clusters_of_labels(labels, min);
                assert!(!theirs.is_empty(), "{}: the reference finds something", set.name);
                adjusted_rand_index(set.rows.len(), &ours, &theirs)
            };
            let (sklearn, hdbscan) = (against(&case.sklearn), against(&case.hdbscan));
            println!(
                "{:24} at least {min:2} rows, similarity {:.2}: {:2} clusters, ARI {sklearn:.4} {hdbscan:.4}",
                set.name,
                case.similarity,
                ours.len()
            );
            assert!(sklearn.min(hdbscan) >= ADJUSTED_RAND_INDEX_MIN, "{}: {sklearn} {hdbscan}", set.name);
        }
    }
}

#[test]
fn a_chain_is_followed_however_far_it_leads() {
    // From one end of the first arc to the other the cosine is negative; the second arc is far from both.
    let mut rows = arc(60, 0.0);
    let far = arc(20, 0.0).into_iter().map(|row| vec![row[0] / 4.0, row[1] / 4.0, 1.0]);
    rows.extend(far);
    let ends: f32 = rows[0].iter().zip(&rows[59]).map(|(a, b)| a * b).sum();
    assert!(ends < -0.3, "{ends}");
    let found = clusters(&rows, 5, 0.9);
    assert_eq!(found, [(0..60).collect::<Vec<_>>(), (60..80).collect()]);
}

#[test]
fn one_crowd_is_never_a_cluster_as_a_whole() {
    let rows = arc(60, 0.0);
    assert!(clusters(&rows, 2, 0.3).iter().all(|cluster| cluster.len() < rows.len()));
    let same = vec![vec![0.6f32, 0.8]; 60];
    assert_eq!(clusters(&same, 40, 0.3), Vec::<Vec<usize>>::new());
}

#[test]
fn equal_rows_are_together() {
    let mut rows = Vec::new();
    for at in 0..20u8 {
        let angle = f32::from(at) * 0.3;
        rows.extend(vec![vec![angle.cos(), angle.sin(), f32::from(at % 3)]; 3]);
    }
    let found = clusters(&rows, 3, 0.999_999);
    assert_eq!(found, (0..20).map(|at| vec![3 * at, 3 * at + 1, 3 * at + 2]).collect::<Vec<_>>());
}
