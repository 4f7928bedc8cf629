//! Vectors from the table of crate `offline`.

use async_trait::async_trait;
use offline::{OFFLINE_DIMENSIONS, StaticEmbedder};

use super::OFFLINE;
use crate::embedding::{EmbedError, EmbeddingModel, EmbeddingPurpose};

/// The cosine above which two texts count as similar: measured on the table, not on the model it was distilled from.
const SIMILARITY_THRESHOLD: f32 = 0.35;

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
    }
}
