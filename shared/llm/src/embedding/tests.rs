use proptest::prelude::*;

use super::*;

#[test]
fn prefixes_and_thresholds_belong_to_the_model() {
    let query = EmbeddingPurpose::Query;
    assert_eq!(prefix("nomic-embed-text:latest", query), "search_query: ");
    assert_eq!(prefix("intfloat/multilingual-e5-large", EmbeddingPurpose::Document), "passage: ");
    assert_eq!(prefix("text-embedding-3-small", query), "");
    assert!((similarity_threshold("local/minilm-l6-v2") - 0.30).abs() < 1e-6);
    assert!((similarity_threshold("nomic-embed-text") - 0.70).abs() < 1e-6);
    assert!((similarity_threshold("e5-small-v2") - 0.799_381_5).abs() < 1e-6);
    assert!((similarity_threshold("text-embedding-3-small") - 0.45).abs() < 1e-6);
    assert!((clustering_threshold("nomic-embed-text") - 0.85).abs() < 1e-6);
    assert!((clustering_threshold("other") - 0.30).abs() < 1e-6);
}

#[test]
fn a_missing_vector_an_uneven_one_and_a_number_that_is_none_are_refused() {
    let good = vec![1.0, 0.0];
    assert_eq!(checked(vec![good.clone()], 2, 2), Err(EmbedError::Count { expected: 2, actual: 1 }));
    assert_eq!(
        checked(vec![good.clone(), vec![1.0]], 2, 2),
        Err(EmbedError::Dimension { expected: 2, actual: 1 })
    );
    assert_eq!(checked(vec![vec![]], 1, 2), Err(EmbedError::Dimension { expected: 1, actual: 0 }));
    for bad in [f32::NAN, f32::INFINITY] {
        assert_eq!(
            checked(vec![good.clone(), vec![bad, 0.0]], 2, 2),
            Err(EmbedError::NotFinite { index: 1 })
        );
    }
    assert_eq!(checked(vec![vec![0.0, 0.0]], 1, 2), Err(EmbedError::NotFinite { index: 0 }));
    assert_eq!(checked(vec![], 0, 2), Ok(vec![]));
}

#[test]
fn a_short_vector_is_padded_and_a_long_one_cut_and_scaled() {
    assert_eq!(checked(vec![vec![3.0, 4.0]], 1, 4).unwrap(), vec![vec![0.6, 0.8, 0.0, 0.0]]);
    assert_eq!(checked(vec![vec![3.0, 4.0, 12.0]], 1, 2).unwrap(), vec![vec![0.6, 0.8]]);
}

proptest! {
    #[test]
    fn every_accepted_vector_has_the_asked_length_and_norm_one(vector in proptest::collection::vec(-1e6f32..1e6, 1..40), dimensions in 1usize..48) {
        if let Ok(fitted) = checked(vec![vector], 1, dimensions) {
            prop_assert_eq!(fitted[0].len(), dimensions);
            let norm: f32 = fitted[0].iter().map(|n| n * n).sum::<f32>().sqrt();
            prop_assert!((norm - 1.0).abs() < 1e-3);
        }
    }
}
