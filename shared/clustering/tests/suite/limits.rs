//! The boundaries: of algorithms, of settings, of rows that can be used.

use clustering::{
    CLUSTERING_ALGORITHM_THRESHOLD, Clustering, ClusteringError, LeftOut, MAX_ROWS, MIN_CLUSTER_SIZE_MIN,
    Settings, Unusable, cluster,
};

use crate::common::clusters;

const SETTINGS: Settings = Settings { min_cluster_size: 2, similarity: 0.3 };

#[test]
fn hdbscan_begins_with_fifty_rows() {
    assert_eq!(CLUSTERING_ALGORITHM_THRESHOLD, 50);
    // Rows around one direction: one cluster by average linkage; HDBSCAN never takes the whole.
    let crowd = |rows: u8| -> Vec<_> { (0..rows).map(|at| vec![1.0, f32::from(at) / 200.0]).collect() };
    for few in [2, 48, 49] {
        assert_eq!(clusters(&crowd(few), 2, 0.3), [(0..usize::from(few)).collect::<Vec<_>>()]);
    }
    for many in [50, 51] {
        assert_ne!(clusters(&crowd(many), 2, 0.3), [(0..usize::from(many)).collect::<Vec<_>>()]);
    }
    // Rows that are left out do not count.
    let mut rows = crowd(49);
    rows.extend([vec![0.0, 0.0], vec![1.0]]);
    let found = cluster(&rows, &SETTINGS).unwrap();
    assert_eq!(found.clusters, [(0..49).collect::<Vec<_>>()]);
    assert_eq!(found.left_out.len(), 2);
}

#[test]
fn at_most_20000_rows_are_clustered() {
    assert_eq!(MAX_ROWS, 20_000);
    // Rows without a direction count too; they are quick to compare.
    let rows = vec![[0f32; 1]; MAX_ROWS + 1];
    for count in [MAX_ROWS - 1, MAX_ROWS] {
        assert_eq!(cluster(&rows[..count], &SETTINGS).unwrap().left_out.len(), count);
    }
    assert_eq!(cluster(&rows, &SETTINGS), Err(ClusteringError::TooManyRows(MAX_ROWS + 1)));
    assert!(ClusteringError::TooManyRows(0).to_string().contains(&MAX_ROWS.to_string()));
}

#[test]
fn a_cluster_has_at_least_two_rows() {
    assert_eq!(MIN_CLUSTER_SIZE_MIN, 2);
    let rows = [[1.0, 0.0], [1.0, 0.1]];
    for (min_cluster_size, answer) in [
        (0, Err(ClusteringError::MinClusterSize(0))),
        (1, Err(ClusteringError::MinClusterSize(1))),
        (2, Ok(vec![vec![0, 1]])),
        (3, Ok(vec![])),
        (usize::MAX, Ok(vec![])),
    ] {
        let found = cluster(&rows, &Settings { min_cluster_size, ..SETTINGS });
        assert_eq!(found.map(|found| found.clusters), answer);
    }
}

#[test]
fn a_similarity_is_from_0_to_1() {
    for (similarity, accepted) in [
        (-f64::MIN_POSITIVE, false),
        (0.0, true),
        (1.0, true),
        (1.0 + f64::EPSILON, false),
        (f64::NAN, false),
        (f64::INFINITY, false),
    ] {
        let found = cluster(&[[1.0f32]], &Settings { similarity, ..SETTINGS });
        assert_eq!(found.is_ok(), accepted, "{similarity}");
    }
}

#[test]
fn no_rows_and_one_row_make_no_cluster() {
    let rows: [[f32; 2]; 1] = [[1.0, 0.0]];
    for count in [0, 1] {
        assert_eq!(cluster(&rows[..count], &SETTINGS), Ok(Clustering::default()));
    }
}

#[test]
fn rows_that_cannot_be_compared_are_left_out_and_told() {
    let bad: [(&[f32], Unusable); 5] = [
        (&[0.0, 0.0], Unusable::Zero),
        (&[f32::NAN, 1.0], Unusable::NotFinite),
        (&[1.0, f32::INFINITY], Unusable::NotFinite),
        (&[1.0, 2.0, 3.0], Unusable::Dimension),
        (&[], Unusable::Dimension),
    ];
    // With few rows and with many; a bad one after every two good ones.
    for good in [10usize, 60] {
        let (mut rows, mut left_out, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for at in 0..good {
            let side = if at % 2 == 0 { &mut left } else { &mut right };
            side.push(rows.len());
            rows.push(if at % 2 == 0 { vec![1.0, at as f32 / 1e3] } else { vec![at as f32 / 1e3, 1.0] });
            if let Some((values, reason)) = bad.get(at / 2).filter(|_| at % 2 == 1) {
                left_out.push(LeftOut { row: rows.len(), reason: *reason });
                rows.push(values.to_vec());
            }
        }
        let settings = Settings { min_cluster_size: 5, similarity: 0.7 };
        assert_eq!(cluster(&rows, &settings), Ok(Clustering { clusters: vec![left, right], left_out }));
    }
}
