//! Rules that hold for any rows.

use clustering::{Settings, cluster};
use proptest::prelude::*;

use crate::common::{check_form, clusters};

/// Rows of whole numbers: groups around some directions, with ties and equal rows among them when coarse.
fn rows(scale: f32, count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<f32>>> {
    let value = (-1.0f32..1.0).prop_map(move |value| (value * scale).round());
    prop::collection::vec(prop::collection::vec(value, 3), count).prop_map(|mut rows| {
        rows.retain(|row| row.iter().any(|value| *value != 0.0));
        rows
    })
}

fn settings() -> impl Strategy<Value = (usize, f64)> {
    (2usize..6, prop_oneof![Just(0.3), 0.0f64..=1.0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_row_is_in_one_cluster_at_most_and_clusters_are_large_enough(
        rows in prop_oneof![rows(3.0, 0..120), rows(1e4, 0..120)],
        (min_cluster_size, similarity) in settings(),
    ) {
        let found = clusters(&rows, min_cluster_size, similarity);
        check_form(&found, rows.len(), min_cluster_size);
        prop_assert_eq!(&found, &clusters(&rows, min_cluster_size, similarity));
    }

    /// With so fine a scale, distances do not tie.
    #[test]
    fn the_order_of_rows_does_not_matter(
        (rows, order) in rows(1e6, 2..120).prop_flat_map(|rows| {
            let order: Vec<usize> = (0..rows.len()).collect();
            (Just(rows), Just(order).prop_shuffle())
        }),
        (min_cluster_size, similarity) in settings(),
    ) {
        let shuffled: Vec<_> = order.iter().map(|row| rows[*row].clone()).collect();
        let mut found = clusters(&shuffled, min_cluster_size, similarity);
        for cluster in &mut found {
            cluster.iter_mut().for_each(|row| *row = order[*row]);
            cluster.sort_unstable();
        }
        found.sort();
        prop_assert_eq!(found, clusters(&rows, min_cluster_size, similarity));
    }

    #[test]
    fn equal_rows_may_change_places(
        rows in rows(3.0, 2..120),
        (min_cluster_size, similarity) in settings(),
        (a, b) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        prop_assume!(!rows.is_empty());
        let (a, b) = (a.index(rows.len()), b.index(rows.len()));
        let mut equal = rows;
        equal[a] = equal[b].clone();
        let mut swapped = equal.clone();
        swapped.swap(a, b);
        prop_assert_eq!(
            clusters(&equal, min_cluster_size, similarity),
            clusters(&swapped, min_cluster_size, similarity)
        );
    }

    #[test]
    fn the_length_of_rows_does_not_matter(
        rows in rows(1e4, 2..120),
        (min_cluster_size, similarity) in settings(),
    ) {
        let longer: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|value| value * 1024.0).collect()).collect();
        prop_assert_eq!(
            clusters(&rows, min_cluster_size, similarity),
            clusters(&longer, min_cluster_size, similarity)
        );
    }

    #[test]
    fn no_input_panics(
        rows in prop::collection::vec(prop::collection::vec(any::<f32>(), 0..4), 0..120),
        min_cluster_size: usize,
        similarity: f64,
    ) {
        if let Ok(found) = cluster(&rows, &Settings { min_cluster_size, similarity }) {
            check_form(&found.clusters, rows.len(), min_cluster_size);
            for left_out in found.left_out {
                prop_assert!(found.clusters.iter().flatten().all(|row| *row != left_out.row));
            }
        }
        // With settings that are always accepted.
        let found = cluster(&rows, &Settings { min_cluster_size: 2, similarity: 0.3 });
        prop_assert!(found.is_ok());
    }
}
