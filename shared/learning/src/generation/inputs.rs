//! What a batch reads of one user: the newest interactions that its filters let through.

use std::collections::HashSet;

use domain::config::Config;
use domain::entities::{Interaction, Request};
use domain::learning::LearningKind;
use domain::operations::GenerationFilter;
use store::{RequestDocument, Store, StoreError, UserKeys};

use crate::gate::{SourceFilter, source_filter};
use crate::worker::inputs::InputTurn;

/// Documents that are read at a time.
const PAGE_DOCUMENTS: usize = 64;

/// Which interactions a batch reads.
#[derive(Debug)]
pub(crate) struct Matcher<'a> {
    filter: &'a GenerationFilter,
    sources: SourceFilter,
}

/// The interactions of one user in the order in which a model is shown them, and their positions.
#[derive(Debug, Default)]
pub(crate) struct BatchInputs {
    pub(crate) turns: Vec<InputTurn>,
    pub(crate) positions: HashSet<i64>,
}

impl<'a> Matcher<'a> {
    /// By the filter of the batch and the sources that the configuration allows.
    pub(crate) fn new(config: &Config, kind: LearningKind, filter: &'a GenerationFilter) -> Self {
        let sources = if config.has_extractor(kind) {
            source_filter(config.sources(kind), filter.source.as_deref())
        } else {
            SourceFilter::Skip
        };
        Self { filter, sources }
    }

    fn takes_request(&self, request: &Request) -> bool {
        let from_source = match &self.sources {
            SourceFilter::Any => true,
            SourceFilter::Only(sources) => sources.contains(&request.source),
            SourceFilter::Skip => false,
        };
        let equals = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        from_source
            && !request.evaluation_only
            && equals(&self.filter.source, &request.source)
            && equals(&self.filter.agent_version, &request.agent_version)
    }

    fn takes(&self, interaction: &Interaction) -> bool {
        self.filter.start_time.is_none_or(|start| interaction.created_at >= start)
            && self.filter.end_time.is_none_or(|end| interaction.created_at <= end)
    }

    /// Whether it takes any interaction of a document.
    fn takes_any(&self, document: &RequestDocument) -> bool {
        self.takes_request(&document.request) && document.interactions.iter().any(|turn| self.takes(turn))
    }

    /// Whether a user has any interaction that it takes.
    pub(crate) async fn matches(&self, store: &Store, keys: &UserKeys<'_>) -> Result<bool, StoreError> {
        if self.sources == SourceFilter::Skip {
            return Ok(false);
        }
        let mut before = i64::MAX;
        loop {
            let page = store.documents_page(keys, before, PAGE_DOCUMENTS).await?;
            if page.iter().any(|document| self.takes_any(document)) {
                return Ok(true);
            }
            let Some(last) = page.last() else { return Ok(false) };
            before = last.first_position;
        }
    }

    /// The newest `limit` interactions by the time at which they were said. All of the user's documents are looked
    /// at, since callers may date interactions back; no more than `limit` interactions and a page are held at a time.
    pub(crate) async fn newest(
        &self,
        store: &Store,
        keys: &UserKeys<'_>,
        limit: usize,
    ) -> Result<BatchInputs, StoreError> {
        let mut found: Vec<(i64, InputTurn)> = Vec::new();
        let mut before = if self.sources == SourceFilter::Skip { 0 } else { i64::MAX };
        loop {
            let page = store.documents_page(keys, before, PAGE_DOCUMENTS).await?;
            let Some(last) = page.last() else { break };
            before = last.first_position;
            for document in page.iter().filter(|document| self.takes_request(&document.request)) {
                let turns = (document.first_position..).zip(&document.interactions);
                found.extend(
                    turns.filter(|(_, interaction)| self.takes(interaction)).map(
                        |(position, interaction)| (position, input_turn(interaction, &document.request)),
                    ),
                );
            }
            found.sort_by_key(|(position, turn)| std::cmp::Reverse((turn.interaction.created_at, *position)));
            found.truncate(limit);
        }
        Ok(in_order(found))
    }
}

fn input_turn(interaction: &Interaction, request: &Request) -> InputTurn {
    InputTurn { interaction: interaction.clone(), request: request.clone(), is_new: true }
}

/// By request, the request that began first coming first; within one by position.
fn in_order(mut found: Vec<(i64, InputTurn)>) -> BatchInputs {
    let mut begins = std::collections::HashMap::new();
    for (position, turn) in &found {
        let at = (turn.interaction.created_at, *position);
        let begin = begins.entry(turn.request.request_id.clone()).or_insert(at);
        *begin = (*begin).min(at);
    }
    found.sort_by_key(|(position, turn)| (begins.get(&turn.request.request_id).copied(), *position));
    BatchInputs {
        positions: found.iter().map(|(position, _)| *position).collect(),
        turns: found.into_iter().map(|(_, turn)| turn).collect(),
    }
}
