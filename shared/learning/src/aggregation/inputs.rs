//! The clusters of now: rows, their vectors, and which of them belong together.

use std::collections::BTreeSet;

use clustering::{MAX_ROWS, Settings, cluster};
use domain::entities::UserPlaybook;
use domain::ids::UserId;
use llm::{EmbedError, EmbeddingModel, EmbeddingPurpose};
use search::QuantizedVector;
use store::UserPlaybookRow;

use super::cluster::{Cluster, distinct_users};
use super::settings::AggregationSettings;

/// Texts of one call to the embedder.
const TEXTS_PER_CALL: usize = 256;

/// Finds the clusters. Of more rows than can be clustered the newest are taken.
pub(super) async fn clusters_of(
    rows: &[UserPlaybookRow],
    model: &dyn EmbeddingModel,
    settings: &AggregationSettings,
) -> Result<Vec<Cluster>, String> {
    let rows = &rows[rows.len().saturating_sub(MAX_ROWS)..];
    let vectors = vectors_of(rows, model).await.map_err(|error| error.to_string())?;
    let clustering_settings =
        Settings { min_cluster_size: settings.min_cluster_size, similarity: settings.similarity_for(model) };
    let found = cluster(&vectors, &clustering_settings).map_err(|error| error.to_string())?;
    if !found.left_out.is_empty() {
        tracing::warn!(event = "aggregation_rows_left_out", rows = found.left_out.len());
    }
    let members = found
        .clusters
        .iter()
        .map(|places| places.iter().map(|place| &rows[*place].playbook).collect::<Vec<&UserPlaybook>>());
    let wide_enough = members.filter(|members| distinct_users(members) >= settings.min_distinct_users);
    Ok(wide_enough.map(|members| Cluster::of(&members)).collect())
}

/// Vectors of rows. That some are not to be had fails all: without them clusters would seem to have vanished.
async fn vectors_of(
    rows: &[UserPlaybookRow],
    model: &dyn EmbeddingModel,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let stored = |row: &UserPlaybookRow| {
        let vector = row.vector.as_ref().filter(|vector| vector.model == model.model_name())?;
        QuantizedVector::from_bytes(&vector.bytes).ok().map(|vector| vector.dequantize())
    };
    let mut vectors: Vec<Vec<f32>> = rows.iter().map(|row| stored(row).unwrap_or_default()).collect();
    let missing: Vec<usize> = (0..rows.len()).filter(|place| vectors[*place].is_empty()).collect();
    for places in missing.chunks(TEXTS_PER_CALL) {
        let texts: Vec<String> =
            places.iter().map(|place| rows[*place].playbook.embedding_text().to_owned()).collect();
        let made = model.embed(&texts, EmbeddingPurpose::Document).await?;
        places.iter().zip(made).for_each(|(place, vector)| vectors[*place] = vector);
    }
    Ok(vectors)
}

/// Users whose ids a rule made of these playbooks must not name. An id that another user's playbook holds as well is
/// a word of the language.
pub(super) fn unnamed_users(members: &[&UserPlaybook]) -> Vec<UserId> {
    let users: BTreeSet<&UserId> = members.iter().filter_map(|member| member.user_id.as_ref()).collect();
    let is_word = |user: &UserId| {
        let others = members.iter().filter(|member| member.user_id.as_ref() != Some(user));
        others.flat_map(|member| texts(member)).any(|text| text.contains(user.as_str()))
    };
    users.into_iter().filter(|user| !is_word(user)).cloned().collect()
}

fn texts(playbook: &UserPlaybook) -> impl Iterator<Item = &str> {
    [Some(playbook.content.as_str()), playbook.trigger.as_deref(), playbook.rationale.as_deref()]
        .into_iter()
        .flatten()
}
