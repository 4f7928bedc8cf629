//! Vectors of turns by a hosted embedder. Publishing never waits for one: until the worker has been here, turns
//! are found by their words.

use llm::EmbeddingPurpose;
use search::QuantizedVector;
use store::{
    Head, Lease, RequestDocument, StoreError, TurnVectorProgress, TurnVectors, UserKeys, VECTORS_PER_ITEM_MAX,
};

use crate::services::Services;

/// Positions whose vectors are made at a time.
const BATCH_POSITIONS: i64 = 256; // with the largest document on top, 10 items and 650 KB

/// Makes what is missing. That it fails is logged and left for the next worker: what was learned stands.
pub(super) async fn embed_turns(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
    head: &Head,
    stop_at_ms: i64,
) {
    if let Err(error) = try_embed_turns(services, keys, lease, head, stop_at_ms).await {
        tracing::warn!(event = "turn_embedding_deferred", %error);
    }
}

async fn try_embed_turns(
    services: &Services,
    keys: &UserKeys<'_>,
    lease: &Lease,
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
        services.store.put_turn_vectors(keys, lease, &all, &progress).await?;
    }
    Ok(())
}

/// Hands the vectors back to the documents that their texts came from.
fn by_document(documents: &[RequestDocument], vectors: &[Vec<f32>], model: &str) -> Vec<TurnVectors> {
    let mut rest = vectors;
    let mut all = Vec::new();
    for document in documents {
        let (own, others) = rest.split_at(document.interactions.len().min(rest.len()));
        all.extend(items(document.first_position, own, model));
        rest = others;
    }
    all
}

/// Cuts the vectors of consecutive turns into items.
fn items(first_position: i64, vectors: &[Vec<f32>], model: &str) -> Vec<TurnVectors> {
    let starts = (first_position..).step_by(VECTORS_PER_ITEM_MAX);
    starts
        .zip(vectors.chunks(VECTORS_PER_ITEM_MAX))
        .map(|(first_position, chunk)| TurnVectors {
            first_position,
            model: model.to_owned(),
            vectors: chunk
                .iter()
                .map(|vector| Some(QuantizedVector::quantize(vector).ok()?.to_bytes()))
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_cut_at_the_limit_of_an_item_and_keep_their_positions() {
        let limit = VECTORS_PER_ITEM_MAX;
        for (count, sizes) in [(limit - 1, vec![255]), (limit, vec![256]), (limit + 1, vec![256, 1])] {
            let cut = items(7, &vec![vec![1.0, 0.0]; count], "m");
            assert_eq!(cut.iter().map(|item| item.vectors.len()).collect::<Vec<_>>(), sizes);
            assert_eq!(cut.last().unwrap().first_position, 7 + 256 * (cut.len() as i64 - 1));
        }
    }
}
