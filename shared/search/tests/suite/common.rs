//! Builders shared by the suites.

use search::{Document, MemoryIndex, QuantizedVector, SearchMode, SearchQuery};

/// A document without a vector; newer with its place.
pub(crate) fn text(at: usize, text: &str) -> Document<String> {
    Document {
        key: format!("k{at:03}"),
        lexical: vec![(text.to_owned(), 1.0)],
        vector: None,
        newest: at as i64,
    }
}

/// A document with a vector.
pub(crate) fn with_vector(at: usize, words: &str, vector: &[f32]) -> Document<String> {
    Document { vector: Some(QuantizedVector::quantize(vector).unwrap()), ..text(at, words) }
}

/// An index of plain texts.
pub(crate) fn index_of(texts: &[&str]) -> MemoryIndex<String> {
    MemoryIndex::build(texts.iter().enumerate().map(|(at, words)| text(at, words)).collect())
}

/// The rows found for a query, best first.
pub(crate) fn rows(index: &MemoryIndex<String>, query: &SearchQuery<'_>) -> Vec<usize> {
    index.search(query, |_| true).hits.iter().map(|hit| hit.index).collect()
}

/// A query of words, with a vector that resembles no row of two dimensions.
pub(crate) fn hybrid(words: &str) -> SearchQuery<'_> {
    SearchQuery {
        text: Some(words),
        vector: Some(&[0.0, -1.0]),
        mode: SearchMode::Hybrid,
        ..SearchQuery::default()
    }
}
