//! How a query is compared: its words, its vector if one is to be had, its threshold.

use std::sync::Arc;

use domain::ids::OrgId;
use domain::requests::SearchMode;
use llm::EmbeddingModel;
use recall::QueryVector;
use runtime::App;
use search::{MemoryIndex, SearchQuery};

/// A query, ready for any number of indexes of one organisation.
pub(super) struct Plan {
    text: Option<String>,
    vector: Option<QueryVector>,
    mode: search::SearchMode,
    threshold: f32,
    /// Whether the vector was wanted and could not be had.
    pub(super) degraded: bool,
    /// Whether the caller wants to see scores.
    pub(super) scores: bool,
}

impl Plan {
    /// Asks the embedder unless words are enough. That it fails makes the search one by words, not an error.
    pub(super) async fn new(
        app: &App,
        org: &OrgId,
        model: &Arc<dyn EmbeddingModel>,
        query: Option<&str>,
        mode: SearchMode,
        threshold: Option<f64>,
    ) -> Self {
        let text = query.map(str::trim).filter(|query| !query.is_empty()).map(str::to_owned);
        let mode = match mode {
            SearchMode::Vector => search::SearchMode::Vector,
            SearchMode::Fts => search::SearchMode::Fts,
            SearchMode::Hybrid => search::SearchMode::Hybrid,
        };
        let mut plan = Self {
            scores: false,
            text,
            vector: None,
            mode,
            threshold: model.similarity_threshold(),
            degraded: false,
        };
        if let Some(threshold) = threshold {
            #[expect(clippy::cast_possible_truncation, reason = "0 to 1")]
            let threshold = threshold as f32;
            plan.threshold = threshold;
        }
        let Some(text) = plan.text.as_deref().filter(|_| mode != search::SearchMode::Fts) else {
            return plan;
        };
        match app.query_vectors.get(org, model.as_ref(), text, app.services.clock.now()).await {
            Ok(vector) => plan.vector = Some(vector),
            Err(error) => {
                tracing::warn!(event = "query_embedding_failed", %error);
                plan.degraded = true;
            }
        }
        plan
    }

    /// Whether there is anything to look for; without, lists are by time.
    pub(super) fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// The best `limit` rows among those that the filter lets through.
    pub(super) fn run<K: Ord>(
        &self,
        index: &MemoryIndex<K>,
        limit: usize,
        filter: impl Fn(usize) -> bool,
    ) -> Vec<Found> {
        let query = SearchQuery {
            text: self.text.as_deref(),
            vector: self.vector.as_ref().map(QueryVector::as_slice),
            mode: self.mode,
            threshold: Some(self.threshold),
            limit,
            ..SearchQuery::default()
        };
        let outcome = index.search(&query, filter);
        let found = |hit: search::Hit| Found { place: hit.index, score: self.scores.then_some(hit.score) };
        outcome.hits.into_iter().map(found).collect()
    }
}

/// A row that was found, and how well it fits; `None` in a list by time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) place: usize,
    pub(super) score: Option<f32>,
}

impl Found {
    /// Rows of a list by time.
    pub(super) fn unscored(places: Vec<usize>) -> Vec<Self> {
        places.into_iter().map(|place| Self { place, score: None }).collect()
    }
}

/// Whether the caller wants to see scores: `?scores=true`.
pub(super) fn wants_scores(query: Option<&str>) -> bool {
    query.is_some_and(|query| query.split('&').any(|pair| pair == "scores=true"))
}

/// The rows in `order` of their places, cut to `limit`.
pub(super) fn newest_first<T>(
    rows: &[T],
    keep: impl Fn(&T) -> bool,
    at: impl Fn(&T) -> (i64, i64),
    limit: usize,
) -> Vec<usize> {
    let mut places: Vec<usize> = (0..rows.len()).filter(|&place| keep(&rows[place])).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(at(&rows[place])));
    places.truncate(limit);
    places
}
