//! Finds the stored rows that new ones may repeat or contradict.

use llm::{EmbeddingModel, EmbeddingPurpose};
use search::{Document, MemoryIndex, QuantizedVector, SearchMode, SearchQuery};
use store::StoredVector;

use super::Run;
use crate::worker::WindowFailure;

impl Run<'_> {
    /// An index over the texts of stored rows. Vectors that stand beside the rows are used; only the others are
    /// asked for. When the embedder does not answer, words must do.
    pub(super) async fn candidate_index(
        &self,
        texts: &[String],
        stored: &[Option<&StoredVector>],
    ) -> Result<MemoryIndex<usize>, WindowFailure> {
        let model = self.services.orgs.embedding(self.keys.org).await?;
        let mut vectors = known_vectors(stored, model.model_name());
        add_missing(model.as_ref(), texts, &mut vectors).await;
        let documents = texts.iter().zip(vectors).enumerate().map(|(place, (text, vector))| Document {
            key: place,
            lexical: vec![(text.clone(), 1.0)],
            vector,
            newest: 0,
        });
        Ok(MemoryIndex::build(documents.collect()))
    }

    /// Places of the rows that a query finds.
    pub(super) async fn candidate_places(
        &self,
        index: &MemoryIndex<usize>,
        query: &str,
        limit: usize,
        threshold: f32,
    ) -> Result<Vec<usize>, WindowFailure> {
        if index.is_empty() {
            return Ok(Vec::new());
        }
        let model = self.services.orgs.embedding(self.keys.org).await?;
        let vector = match model.embed(&[query.to_owned()], EmbeddingPurpose::Query).await {
            Ok(vectors) => vectors.into_iter().next(),
            Err(error) => {
                tracing::warn!(event = "candidate_embedding_failed", texts = 1, %error);
                None
            }
        };
        let search = SearchQuery {
            text: Some(query),
            vector: vector.as_deref(),
            mode: SearchMode::Hybrid,
            threshold: Some(threshold),
            limit,
            ..SearchQuery::default()
        };
        Ok(index.search(&search, |_| true).hits.into_iter().map(|hit| hit.index).collect())
    }
}

/// The vectors that the model in use made.
fn known_vectors(stored: &[Option<&StoredVector>], model: &str) -> Vec<Option<QuantizedVector>> {
    let of_model = |vector: &Option<&StoredVector>| {
        let vector = vector.filter(|vector| vector.model == model)?;
        QuantizedVector::from_bytes(&vector.bytes).ok()
    };
    stored.iter().map(of_model).collect()
}

/// Asks for the vectors that are not known, if there are any.
async fn add_missing(model: &dyn EmbeddingModel, texts: &[String], vectors: &mut [Option<QuantizedVector>]) {
    let missing: Vec<usize> = (0..vectors.len()).filter(|place| vectors[*place].is_none()).collect();
    if missing.is_empty() {
        return;
    }
    let asked: Vec<String> = missing.iter().map(|place| texts[*place].clone()).collect();
    match model.embed(&asked, EmbeddingPurpose::Document).await {
        Ok(made) => {
            for (place, vector) in missing.into_iter().zip(&made) {
                vectors[place] = QuantizedVector::quantize(vector).ok();
            }
        }
        Err(error) => {
            tracing::warn!(event = "candidate_embedding_failed", texts = asked.len(), %error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use llm::EmbedError;

    use super::*;

    /// Notes what it is asked.
    #[derive(Default)]
    struct Noting(Mutex<Vec<String>>);

    #[async_trait]
    impl EmbeddingModel for Noting {
        async fn embed(&self, texts: &[String], _: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.0.lock().unwrap().extend(texts.iter().cloned());
            Ok(vec![vec![0.0, 1.0]; texts.len()])
        }

        fn model_name(&self) -> &'static str {
            "noting"
        }

        fn dimensions(&self) -> usize {
            2
        }

        fn is_local(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn only_vectors_that_the_model_did_not_make_yet_are_asked_for() {
        let bytes = QuantizedVector::quantize(&[1.0, 0.0]).unwrap().to_bytes();
        let own = StoredVector { model: "noting".to_owned(), bytes: bytes.clone() };
        let foreign = StoredVector { model: "another".to_owned(), bytes };
        let texts = ["tea", "jazz", "rain"].map(str::to_owned);
        let mut vectors = known_vectors(&[Some(&own), Some(&foreign), None], "noting");
        let model = Noting::default();
        add_missing(&model, &texts, &mut vectors).await;
        assert!(vectors.iter().all(Option::is_some));
        assert_eq!(*model.0.lock().unwrap(), ["jazz", "rain"]);
        add_missing(&model, &texts, &mut vectors).await;
        assert_eq!(model.0.lock().unwrap().len(), 2, "nothing is missing any more");
    }
}
