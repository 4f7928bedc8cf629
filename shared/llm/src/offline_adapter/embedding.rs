//! Vectors from the table of crate `offline`.

use async_trait::async_trait;
use offline::{OFFLINE_DIMENSIONS, StaticEmbedder};

use super::OFFLINE;
use crate::embedding::{EmbedError, EmbeddingModel, EmbeddingPurpose};

/// The cosine above which two texts count as similar: measured on the table, not on the model it was distilled from.
const SIMILARITY_THRESHOLD: f32 = 0.35;
/// The cosine above which two triggers count as the same. A mean of token vectors cannot tell the words that all triggers
/// begin with from those that matter: any two share 0.4 to 0.8 of their direction, those of one matter about 0.9.
const CLUSTERING_THRESHOLD: f32 = 0.85;

/// Embeds without a provider. A text without a known token gets zeros, which are similar to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineEmbedding;

impl OfflineEmbedding {
    /// The model; all of them are alike.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

#[async_trait]
impl EmbeddingModel for OfflineEmbedding {
    async fn embed(&self, texts: &[String], _: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let embedder = StaticEmbedder::get();
        Ok(texts.iter().map(|text| embedder.embed(text)).collect())
    }

    fn model_name(&self) -> &str {
        OFFLINE
    }

    fn dimensions(&self) -> usize {
        OFFLINE_DIMENSIONS
    }

    fn similarity_threshold(&self) -> f32 {
        SIMILARITY_THRESHOLD
    }

    fn clustering_threshold(&self) -> f32 {
        CLUSTERING_THRESHOLD
    }

    fn is_local(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queries_and_documents_are_embedded_alike_and_unknown_text_as_zeros() {
        let model = OfflineEmbedding::new();
        let texts = ["The parcel arrived late.".to_owned(), "\u{1F9EC}".to_owned(), String::new()];
        let documents = model.embed(&texts, EmbeddingPurpose::Document).await.unwrap();
        assert_eq!(documents, model.embed(&texts, EmbeddingPurpose::Query).await.unwrap());
        assert!(documents.iter().all(|vector| vector.len() == model.dimensions()));
        let norms: Vec<f32> = documents.iter().map(|vector| vector.iter().map(|x| x * x).sum()).collect();
        assert!((norms[0] - 1.0).abs() < 1e-5);
        assert_eq!(norms[1..], [0.0, 0.0]);
    }

    #[test]
    fn the_model_says_what_it_is() {
        let model = OfflineEmbedding::new();
        assert_eq!((model.model_name(), model.dimensions(), model.is_local()), ("offline", 256, true));
        assert!((model.similarity_threshold() - 0.35).abs() < f32::EPSILON);
        assert!((model.clustering_threshold() - 0.85).abs() < f32::EPSILON);
    }

    #[test]
    fn triggers_of_one_matter_are_told_from_others_that_begin_alike() {
        let cosine = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|text| StaticEmbedder::get().embed(text));
            offline::cosine(&a, &b)
        };
        for (a, b) in [
            ("When the user asks for a refund", "When the user asks to refund an order"),
            ("When the user asks to cancel a booking", "When the user asks to cancel their reservation"),
            ("When send_mail fails with “bad address”", "When send_mail fails with “address is bad”"),
        ] {
            assert!(cosine(a, b) > CLUSTERING_THRESHOLD, "{a} / {b}: {}", cosine(a, b));
        }
        for (a, b) in [
            ("When the user asks for a refund", "When the user asks to book a flight"),
            ("When the user asks to cancel a booking", "When the user asks to change the seat"),
            ("When send_mail fails with “bad address”", "When create_invoice fails with “unknown currency”"),
        ] {
            assert!(cosine(a, b) < CLUSTERING_THRESHOLD, "{a} / {b}: {}", cosine(a, b));
        }
    }
}
