//! One search: what qualifies, in which order.

use std::cmp::Ordering;

use super::{Hit, MemoryIndex, Outcome, SearchMode, SearchQuery};
use crate::fusion::{Fusion, RrfParameters, convex, rrf};
use crate::lexical::LexicalMatch;
use crate::query::ParsedQuery;
use crate::vector::QuantizedVector;

/// Each list that reciprocal rank fusion joins holds this many times the limit.
const RRF_LIST_FACTOR: usize = 5;

/// A visible row and all that is known of it.
struct Candidate {
    hit: Hit,
    /// Whether its words alone are worth showing.
    worthy: bool,
}

/// What can be said of meaning.
struct Meaning {
    /// The cosine of each row; `None` for rows that are hidden or cannot be compared.
    cosines: Vec<Option<f32>>,
    /// Whether visible rows have vectors of another dimension.
    mixed: bool,
}

pub(super) fn run<K: Ord>(index: &MemoryIndex<K>, query: &SearchQuery<'_>, visible: &[bool]) -> Outcome {
    let meaning = match query.mode {
        SearchMode::Fts => None,
        SearchMode::Vector | SearchMode::Hybrid => meaning(index, query, visible),
    };
    let (effective_mode, degraded) = match &meaning {
        Some(meaning) => (query.mode, meaning.mixed),
        None => (SearchMode::Fts, query.mode != SearchMode::Fts),
    };
    let matches = match (effective_mode, query.text) {
        (SearchMode::Vector, _) | (_, None) => Vec::new(),
        (_, Some(text)) => index.lexical.search(&ParsedQuery::parse(text)),
    };
    let cosines = meaning.map(|meaning| meaning.cosines).unwrap_or_default();
    let candidates = candidates(&cosines, &matches, visible);
    let mut hits = match (effective_mode, query.fusion) {
        (SearchMode::Vector, _) => by_cosine(&candidates, query.threshold()),
        (SearchMode::Fts, _) => by_share(&candidates),
        (SearchMode::Hybrid, Fusion::Convex { lexical_weight }) => {
            by_sum(&candidates, query.threshold(), lexical_weight)
        }
        (SearchMode::Hybrid, Fusion::Rrf(parameters)) => {
            let mut hits = by_ranks(index, &candidates, query, &parameters);
            hits.truncate(query.limit);
            return Outcome { hits, effective_mode, degraded };
        }
    };
    hits.sort_by(|a, b| best_first(index, a, b));
    hits.truncate(query.limit);
    Outcome { hits, effective_mode, degraded }
}

/// `None` when the query has no usable vector, or none that any of the visible vectors can be compared with.
fn meaning<K: Ord>(index: &MemoryIndex<K>, query: &SearchQuery<'_>, visible: &[bool]) -> Option<Meaning> {
    let vector = QuantizedVector::quantize(query.vector?).ok().filter(|vector| !vector.is_zero())?;
    let norm = vector.norm();
    let mut cosines = vec![None; visible.len()];
    let (mut comparable, mut foreign) = (false, false);
    for row in (0..visible.len()).filter(|row| visible[*row]) {
        match index.vectors.row(row).len() {
            0 => {}
            dimension if dimension == vector.dimension() => {
                comparable = true;
                cosines[row] = index.vectors.cosine(row, &vector, norm);
            }
            _ => foreign = true,
        }
    }
    (comparable || !foreign).then_some(Meaning { cosines, mixed: foreign })
}

fn candidates(cosines: &[Option<f32>], matches: &[LexicalMatch], visible: &[bool]) -> Vec<Candidate> {
    let mut matches = matches.iter().peekable();
    let mut candidates = Vec::new();
    for (index, is_visible) in visible.iter().enumerate() {
        let found = matches.next_if(|found| found.document == index);
        let cosine = cosines.get(index).copied().flatten();
        if !is_visible || (found.is_none() && cosine.is_none()) {
            continue;
        }
        let lexical = found.map_or(0.0, |found| found.share);
        let worthy = found.is_some_and(|found| found.worthy);
        candidates.push(Candidate { hit: Hit { index, score: 0.0, cosine, lexical }, worthy });
    }
    candidates
}

/// Greatest score first, then newest, then by key.
fn best_first<K: Ord>(index: &MemoryIndex<K>, a: &Hit, b: &Hit) -> Ordering {
    b.score.total_cmp(&a.score).then_with(|| newest_first(index, a.index, b.index))
}

fn newest_first<K: Ord>(index: &MemoryIndex<K>, a: usize, b: usize) -> Ordering {
    let by_time = index.newest[b].cmp(&index.newest[a]);
    by_time.then_with(|| index.keys[a].cmp(&index.keys[b])).then(a.cmp(&b))
}

fn by_cosine(candidates: &[Candidate], threshold: f32) -> Vec<Hit> {
    let similar = candidates.iter().filter_map(|candidate| Some((candidate.hit, candidate.hit.cosine?)));
    similar.filter(|(_, cosine)| *cosine > threshold).map(|(hit, score)| Hit { score, ..hit }).collect()
}

fn by_share(candidates: &[Candidate]) -> Vec<Hit> {
    let matching = candidates.iter().map(|candidate| candidate.hit).filter(|hit| hit.lexical > 0.0);
    matching.map(|hit| Hit { score: hit.lexical, ..hit }).collect()
}

fn by_sum(candidates: &[Candidate], threshold: f32, lexical_weight: f32) -> Vec<Hit> {
    candidates
        .iter()
        .filter(|candidate| candidate.worthy || candidate.hit.cosine.is_some_and(|cosine| cosine > threshold))
        .map(|Candidate { hit, .. }| Hit { score: convex(hit.cosine, hit.lexical, lexical_weight), ..*hit })
        .collect()
}

fn by_ranks<K: Ord>(
    index: &MemoryIndex<K>,
    candidates: &[Candidate],
    query: &SearchQuery<'_>,
    parameters: &RrfParameters,
) -> Vec<Hit> {
    let list = |mut hits: Vec<Hit>| -> Vec<usize> {
        hits.sort_by(|a, b| best_first(index, a, b));
        hits.truncate(query.limit.saturating_mul(RRF_LIST_FACTOR));
        hits.iter().map(|hit| hit.index).collect()
    };
    let worthy = candidates.iter().filter(|candidate| candidate.worthy);
    let full_text = list(worthy.map(|Candidate { hit, .. }| Hit { score: hit.lexical, ..*hit }).collect());
    let vector = list(by_cosine(candidates, query.threshold()));
    let mut fused = rrf(&full_text, &vector, parameters);
    fused.sort_by(|a, b| {
        let by_rank = b.score.total_cmp(&a.score).then(a.vector_rank.cmp(&b.vector_rank));
        by_rank.then_with(|| newest_first(index, a.index, b.index))
    });
    let known = |row: usize| candidates.binary_search_by_key(&row, |candidate| candidate.hit.index).ok();
    fused
        .iter()
        .filter_map(|row| Some((row, candidates[known(row.index)?].hit)))
        .map(|(row, hit)| Hit { score: row.score as f32, ..hit })
        .collect()
}
