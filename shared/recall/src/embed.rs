//! Vectors: of rows as they are loaded, and of queries.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::{OrgId, hash_hex};
use domain::time::EpochSeconds;
use llm::{EmbedError, EmbeddingModel, EmbeddingPurpose};
use parking_lot::Mutex;
use search::QuantizedVector;
use store::StoredVector;

/// Texts of one call to an embedder that runs in this process.
const LOCAL_BATCH_TEXTS: usize = 512;
/// Queries whose vectors are remembered.
pub(crate) const QUERIES_MAX: usize = 1_024;
/// How long a query's vector is remembered, in seconds.
pub(crate) const QUERY_SECONDS_MAX: i64 = 300;

/// The vectors of rows. A local embedder makes them as rows are loaded; those of a hosted one stand beside the
/// rows, and one of another model is as good as none.
pub(crate) async fn row_vectors(
    model: &dyn EmbeddingModel,
    texts: &[String],
    stored: &[Option<StoredVector>],
) -> Vec<Option<QuantizedVector>> {
    if !model.is_local() {
        return stored
            .iter()
            .map(|vector| {
                let vector = vector.as_ref().filter(|vector| vector.model == model.model_name())?;
                QuantizedVector::from_bytes(&vector.bytes).ok()
            })
            .collect();
    }
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(LOCAL_BATCH_TEXTS) {
        match model.embed(batch, EmbeddingPurpose::Document).await {
            Ok(batch) => vectors.extend(batch.iter().map(|vector| QuantizedVector::quantize(vector).ok())),
            Err(error) => {
                // A local embedder fails only by a defect; words still find the rows.
                tracing::error!(event = "local_embedding_failed", %error);
                vectors.extend(std::iter::repeat_n(None, batch.len()));
            }
        }
    }
    vectors
}

/// A query's vector.
#[derive(Debug, Clone)]
pub struct QueryVector(Arc<Vec<f32>>);

impl QueryVector {
    /// The numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }
}

#[derive(Debug)]
struct Remembered {
    vector: QueryVector,
    at: EpochSeconds,
}

/// Vectors of recent queries, so that a repeated search does not ask a provider again.
#[derive(Debug, Default)]
pub struct QueryVectors(Mutex<HashMap<(OrgId, String, String), Remembered>>);

impl QueryVectors {
    /// The vector of a query. Local models are asked each time: that is cheaper than remembering.
    ///
    /// # Errors
    /// [`EmbedError`] when the provider fails: the search is then by words, and says so.
    pub async fn get(
        &self,
        org: &OrgId,
        model: &dyn EmbeddingModel,
        query: &str,
        now: EpochSeconds,
    ) -> Result<QueryVector, EmbedError> {
        if model.is_local() {
            return embed(model, query).await;
        }
        let words: Vec<&str> = query.split_whitespace().collect();
        // Of each organisation its own: one may have brought an endpoint of its own under a common model name.
        let query_hash = hash_hex(&words.join(" ").to_lowercase());
        let key = (org.clone(), model.model_name().to_owned(), query_hash);
        if let Some(known) = self.0.lock().get(&key).filter(|known| now - known.at < QUERY_SECONDS_MAX) {
            return Ok(known.vector.clone());
        }
        let vector = embed(model, query).await?;
        let mut known = self.0.lock();
        if known.len() >= QUERIES_MAX {
            known.retain(|_, entry| now - entry.at < QUERY_SECONDS_MAX);
            if known.len() >= QUERIES_MAX {
                known.clear();
            }
        }
        known.insert(key, Remembered { vector: vector.clone(), at: now });
        Ok(vector)
    }
}

async fn embed(model: &dyn EmbeddingModel, query: &str) -> Result<QueryVector, EmbedError> {
    let vectors = model.embed(&[query.to_owned()], EmbeddingPurpose::Query).await?;
    let count = vectors.len();
    let vector = vectors.into_iter().next().ok_or(EmbedError::Count { expected: 1, actual: count })?;
    Ok(QueryVector(Arc::new(vector)))
}
