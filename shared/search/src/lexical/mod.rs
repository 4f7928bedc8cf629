//! Full-text search: flat BM25 over postings that are built once per index.

mod evaluate;
mod lexicon;
mod postings;

use crate::query::ParsedQuery;
use crate::tokenize::for_each_token;
pub(crate) use lexicon::Lexicon;
use lexicon::LexiconBuilder;
use postings::Postings;

/// BM25's saturation of term frequency.
pub const K1: f32 = 1.2;
/// BM25's share of length normalisation.
pub const B: f32 = 0.75;
/// Smallest number of documents that BM25's term weights assume: a user with three memories says nothing on
/// how common a word is.
pub const MIN_CORPUS_DOCUMENTS: usize = 10;
/// Weight of a word that only begins with a query word, against the word itself.
pub const PREFIX_WEIGHT: f32 = 0.5;
/// Most words that one unfinished query word stands for.
pub const MAX_PREFIX_WORDS: usize = 128;
/// Share of a query's weight (the inverse document frequencies of its terms) that a text must match to be worth
/// showing for its words alone. A stray word of a longer question stays below it, one of two words does not
/// unless it is common.
pub const MIN_WORTHY_COVERAGE: f32 = 0.2;

/// Separates the fields of a document in the sequence of its terms.
const FIELD_BREAK: u32 = u32::MAX;

/// A document that matches a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LexicalMatch {
    /// The document's place in the index.
    pub document: usize,
    /// BM25 over its ideal, the score of a document that is full of every query term: 0 to 1.
    pub share: f32,
    /// Whether the match is worth showing by itself, see [`MIN_WORTHY_COVERAGE`].
    pub worthy: bool,
}

/// The words of a set of documents.
#[derive(Debug)]
pub struct LexicalIndex {
    lexicon: Lexicon,
    postings: Postings,
    /// Terms in the order of the texts, for phrases; document `d` owns `sequence_starts[d]..[d + 1]`.
    sequence: Vec<u32>,
    sequence_starts: Vec<u32>,
    /// `k1 · (1 - b + b · length / average length)` of each document.
    norms: Vec<f32>,
}

impl LexicalIndex {
    /// Indexes documents, each a list of texts with the weight of their words. Texts whose weight is not a
    /// positive number are left out.
    #[must_use]
    pub fn build<'a>(documents: impl IntoIterator<Item = &'a [(String, f32)]>) -> Self {
        let mut lexicon = LexiconBuilder::default();
        let mut postings = postings::PostingsBuilder::default();
        let mut sequence = Vec::new();
        let mut sequence_starts = vec![0];
        let mut lengths: Vec<u32> = Vec::new();
        for fields in documents {
            let mut length = 0;
            for (text, weight) in fields.iter().filter(|(_, weight)| weight.is_finite() && *weight > 0.0) {
                for_each_token(text, |token| {
                    let term = lexicon.term(token);
                    postings.add(term, *weight);
                    if token.has_position() {
                        sequence.push(term);
                        length += 1;
                    }
                });
                sequence.push(FIELD_BREAK);
            }
            postings.end_document();
            lengths.push(length);
            sequence_starts.push(count(sequence.len()));
        }
        sequence.shrink_to_fit();
        let terms = lexicon.len();
        Self {
            lexicon: lexicon.finish(),
            postings: postings.finish(terms),
            sequence,
            sequence_starts,
            norms: norms(&lengths),
        }
    }

    /// How many documents there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.norms.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.norms.is_empty()
    }

    /// The documents that match, in their order in the index.
    #[must_use]
    pub fn search(&self, query: &ParsedQuery) -> Vec<LexicalMatch> {
        evaluate::evaluate(self, query)
    }

    /// Bytes held on the heap, roughly.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let words = self.sequence.len() + self.sequence_starts.len() + self.norms.len();
        self.lexicon.memory_bytes() + self.postings.memory_bytes() + words * size_of::<u32>()
    }

    fn sequence_of(&self, document: usize) -> &[u32] {
        match self.sequence_starts.get(document..document + 2) {
            Some([from, to]) => &self.sequence[*from as usize..*to as usize],
            _ => &[],
        }
    }

    /// Inverse document frequency of a term that `documents` hold.
    fn idf(&self, documents: usize) -> f32 {
        let all = self.len().max(MIN_CORPUS_DOCUMENTS) as f32;
        let with = documents as f32;
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

fn norms(lengths: &[u32]) -> Vec<f32> {
    let total: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let average = (total as f64 / lengths.len().max(1) as f64).max(1.0) as f32;
    lengths.iter().map(|length| K1 * (1.0 - B + B * *length as f32 / average)).collect()
}

/// Positions are kept in 32 bits: an index of more than four billion words does not fit a process.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
mod tests;
