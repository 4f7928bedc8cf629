//! Asks a parsed query of an index.

use super::{K1, LexicalIndex, LexicalMatch, MAX_PREFIX_WORDS, MIN_WORTHY_COVERAGE, PREFIX_WEIGHT};
use crate::query::{Expression, Leaf, ParsedQuery, Rule, Term};
use crate::tokenize::TokenKind;

/// Slack for sums of weights that are equal but for the order of addition.
const ROUNDING: f32 = 1e-4;

/// What a leaf means in this index.
struct Resolved {
    /// Inverse document frequencies of its terms, summed.
    weight: f32,
    /// The documents that match, ascending.
    matches: Vec<LeafMatch>,
}

struct LeafMatch {
    document: usize,
    /// BM25 of the leaf.
    score: f32,
    /// The part of the leaf's weight that speaks for the document's worth.
    covered: f32,
}

pub(super) fn evaluate(index: &LexicalIndex, query: &ParsedQuery) -> Vec<LexicalMatch> {
    let resolved: Vec<Resolved> = query.leaves.iter().map(|leaf| resolve(index, leaf)).collect();
    let (allowed, positive) = match &query.rule {
        Rule::Nothing => return Vec::new(),
        Rule::Any => (None, vec![true; resolved.len()]),
        Rule::Expression(expression) => {
            let mut positive = vec![false; resolved.len()];
            expression.mark_positive(&mut positive);
            (Some(mask(index, expression, &resolved)), positive)
        }
    };
    let mut scores = vec![0f32; index.len()];
    let mut covered = vec![0f32; index.len()];
    let mut weight = 0.0;
    for (leaf, _) in resolved.iter().zip(positive).filter(|(_, positive)| *positive) {
        weight += leaf.weight;
        for found in &leaf.matches {
            scores[found.document] += found.score;
            covered[found.document] += found.covered;
        }
    }
    // Whatever the words are, a caller who wrote an expression wants what satisfies it; and stop words alone
    // say something only when they all match.
    let needed = match (&query.rule, query.stop_words_only) {
        (Rule::Expression(_), _) => 0.0,
        (_, true) => 1.0 - ROUNDING,
        (_, false) => MIN_WORTHY_COVERAGE,
    };
    let ideal = weight * (K1 + 1.0);
    let matching = |document: &usize| allowed.as_ref().is_none_or(|allowed| allowed[*document]);
    (0..index.len())
        .filter(|document| scores[*document] > 0.0)
        .filter(matching)
        .map(|document| LexicalMatch {
            document,
            share: (scores[document] / ideal).min(1.0),
            worthy: covered[document] >= needed * weight,
        })
        .collect()
}

fn mask(index: &LexicalIndex, expression: &Expression, leaves: &[Resolved]) -> Vec<bool> {
    let all = |parts: &[Expression], join: fn(bool, bool) -> bool| {
        let masks = parts.iter().map(|part| mask(index, part, leaves));
        masks.reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| join(a, b)).collect())
    };
    match expression {
        Expression::Leaf(leaf) => {
            let mut mask = vec![false; index.len()];
            let matches = leaves.get(*leaf).map_or(&[][..], |leaf| &leaf.matches);
            matches.iter().for_each(|found| mask[found.document] = true);
            mask
        }
        Expression::And(parts) => all(parts, |a, b| a && b).unwrap_or_default(),
        Expression::Or(parts) => all(parts, |a, b| a || b).unwrap_or_default(),
        Expression::Not(wanted, unwanted) => {
            let unwanted = mask(index, unwanted, leaves);
            mask(index, wanted, leaves).into_iter().zip(unwanted).map(|(a, b)| a && !b).collect()
        }
    }
}

fn resolve(index: &LexicalIndex, leaf: &Leaf) -> Resolved {
    match leaf {
        Leaf::Term { term, prefix } => resolve_term(index, term, *prefix),
        Leaf::Phrase(terms) => resolve_phrase(index, terms),
    }
}

/// BM25 of one term in one document, without its inverse document frequency.
fn saturation(index: &LexicalIndex, document: usize, frequency: f32) -> f32 {
    frequency * (K1 + 1.0) / (frequency + index.norms[document])
}

fn resolve_term(index: &LexicalIndex, term: &Term, prefix: bool) -> Resolved {
    let exact = index.lexicon.find(&term.stem);
    let longer = longer_terms(index, term, prefix, exact);
    if exact.is_none() && longer.is_empty() && term.kind == TokenKind::Whole {
        // Nobody wrote the identifier in one piece: its parts speak for it.
        return Resolved { weight: 0.0, matches: Vec::new() };
    }
    let frequent = |terms: &[u32]| terms.iter().map(|term| index.postings.documents_with(*term)).max();
    let documents = exact.map(|term| index.postings.documents_with(term)).or_else(|| frequent(&longer));
    let weight = index.idf(documents.unwrap_or(0));
    // Where the word itself is known, a longer one (`car`, `carpet`) is not what was meant: it may be found,
    // but not shown for that alone. A single Han character stands inside its pairs.
    let longer_counts = exact.is_none() || term.kind == TokenKind::Single;
    let longer_covers = if longer_counts { PREFIX_WEIGHT } else { 0.0 };
    let mut matches: Vec<LeafMatch> = Vec::new();
    let known = exact.into_iter().map(|term| (term, 1.0, 1.0));
    for (term, boost, covers) in known.chain(longer.iter().map(|term| (*term, PREFIX_WEIGHT, longer_covers)))
    {
        matches.extend(index.postings.of(term).map(|(document, frequency)| LeafMatch {
            document,
            score: weight * boost * saturation(index, document, frequency),
            covered: weight * covers,
        }));
    }
    Resolved { weight, matches: best_of_each(matches) }
}

fn longer_terms(index: &LexicalIndex, term: &Term, prefix: bool, exact: Option<u32>) -> Vec<u32> {
    let mut longer: Vec<u32> = if term.kind == TokenKind::Single {
        index.lexicon.pairs_with(&term.surface).take(MAX_PREFIX_WORDS).collect()
    } else if prefix && term.kind != TokenKind::Bigram && term.surface.chars().nth(1).is_some() {
        index.lexicon.beginning_with(&term.surface).take(MAX_PREFIX_WORDS).collect()
    } else {
        return Vec::new();
    };
    longer.sort_unstable();
    longer.dedup();
    longer.retain(|term| Some(*term) != exact);
    longer
}

/// One match a document, with the best score and the best cover of its alternatives.
fn best_of_each(mut matches: Vec<LeafMatch>) -> Vec<LeafMatch> {
    matches.sort_by_key(|found| found.document);
    matches.dedup_by(|later, first| {
        let same = later.document == first.document;
        if same {
            first.score = first.score.max(later.score);
            first.covered = first.covered.max(later.covered);
        }
        same
    });
    matches
}

fn resolve_phrase(index: &LexicalIndex, terms: &[Term]) -> Resolved {
    let known: Vec<Option<u32>> = terms.iter().map(|term| index.lexicon.find(&term.stem)).collect();
    let idf = |term: &Option<u32>| index.idf(term.map_or(0, |term| index.postings.documents_with(term)));
    let weights: Vec<f32> = known.iter().map(idf).collect();
    let weight = weights.iter().sum();
    let Some(wanted) = known.into_iter().collect::<Option<Vec<u32>>>() else {
        return Resolved { weight, matches: Vec::new() };
    };
    let rarest = wanted.iter().min_by_key(|term| index.postings.documents_with(**term));
    let candidates = rarest.into_iter().flat_map(|term| index.postings.of(*term));
    let matches = candidates
        .map(|(document, _)| document)
        .filter(|document| index.sequence_of(*document).windows(wanted.len()).any(|window| window == wanted))
        .map(|document| {
            let of_term = |(term, weight): (&u32, &f32)| {
                weight * saturation(index, document, index.postings.frequency(*term, document))
            };
            let score = wanted.iter().zip(&weights).map(of_term).sum();
            LeafMatch { document, score, covered: weight }
        })
        .collect();
    Resolved { weight, matches }
}
