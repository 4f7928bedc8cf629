//! Vectors of turns by a hosted embedder. Publishing never waits for one: until the worker has been here, turns
//! are found by their words.

use llm::EmbeddingPurpose;
use search::QuantizedVector;
use store::{Head, RequestDocument, StoreError, TurnVectorProgress, TurnVectors, UserKeys};

use crate::services::Services;

/// Positions whose vectors are made at a time.
const BATCH_POSITIONS: i64 = 256;

/// Makes what is missing. That the embedder fails is logged and left for the next worker.
pub(super) async fn embed_turns(
    services: &Services,
    keys: &UserKeys<'_>,
    head: &Head,
    stop_at_ms: i64,
) -> Result<(), StoreError> {
    let model = match services.orgs.embedding(keys.org).await {
        Ok(model) if !model.is_local() => model,
        Ok(_) => return Ok(()),
        Err(error) => {
            tracing::warn!(event = "turn_embedding_deferred", %error);
            return Ok(());
        }
    };
    let mut progress = services.store.turn_vector_progress(keys).await?;
    if progress.model != model.model_name() {
        progress = TurnVectorProgress { model: model.model_name().to_owned(), position: 0 };
    }
    while progress.position < head.count && services.clock.now_ms() < stop_at_ms {
        let end = head.count.min(progress.position + BATCH_POSITIONS);
        let documents = services.store.documents(keys, progress.position, end).await?;
        let texts: Vec<String> =
            documents.iter().flat_map(|d| &d.interactions).map(|i| i.searchable_text()).collect();
        let vectors = match model.embed(&texts, EmbeddingPurpose::Document).await {
            Ok(vectors) => vectors,
            Err(error) => {
                tracing::warn!(event = "turn_embedding_deferred", turns = texts.len(), %error);
                return Ok(());
            }
        };
        progress.position = documents.last().map_or(end, RequestDocument::end_position).max(end);
        let all = by_document(&documents, &vectors, model.model_name());
        services.store.put_turn_vectors(keys, &all, &progress).await?;
    }
    Ok(())
}

/// Hands the vectors back to the documents that their texts came from.
fn by_document(documents: &[RequestDocument], vectors: &[Vec<f32>], model: &str) -> Vec<TurnVectors> {
    let mut rest = vectors.iter();
    documents
        .iter()
        .map(|document| TurnVectors {
            first_position: document.first_position,
            model: model.to_owned(),
            vectors: document
                .interactions
                .iter()
                .map(|_| Some(QuantizedVector::quantize(rest.next()?).ok()?.to_bytes()))
                .collect(),
        })
        .collect()
}
