//! Which documents hold a term, and how often: compressed sparse rows, one row a term.

use super::count;

/// Collects postings document by document.
#[derive(Debug, Default)]
pub(super) struct PostingsBuilder {
    /// Terms of the document in hand with their weights.
    pending: Vec<(u32, f32)>,
    /// (term, document, weighted frequency), documents ascending.
    entries: Vec<(u32, u32, f32)>,
    documents: u32,
}

impl PostingsBuilder {
    pub(super) fn add(&mut self, term: u32, weight: f32) {
        self.pending.push((term, weight));
    }

    pub(super) fn end_document(&mut self) {
        // A stable sort: weights are summed in the order of the text, so that the sum never depends on it.
        self.pending.sort_by_key(|(term, _)| *term);
        for same in self.pending.chunk_by(|a, b| a.0 == b.0) {
            let frequency = same.iter().map(|(_, weight)| weight).sum();
            self.entries.push((same[0].0, self.documents, frequency));
        }
        self.pending.clear();
        self.documents += 1;
    }

    pub(super) fn finish(self, terms: usize) -> Postings {
        let mut starts = vec![0u32; terms + 1];
        for (term, _, _) in &self.entries {
            starts[*term as usize + 1] += 1;
        }
        for term in 0..terms {
            starts[term + 1] += starts[term];
        }
        let mut next = starts.clone();
        let mut documents = vec![0u32; self.entries.len()];
        let mut frequencies = vec![0f32; self.entries.len()];
        for (term, document, frequency) in self.entries {
            let at = &mut next[term as usize];
            documents[*at as usize] = document;
            frequencies[*at as usize] = frequency;
            *at += 1;
        }
        debug_assert_eq!(starts.last().copied(), Some(count(documents.len())));
        Postings { starts, documents, frequencies }
    }
}

/// The finished postings.
#[derive(Debug)]
pub(super) struct Postings {
    starts: Vec<u32>,
    documents: Vec<u32>,
    frequencies: Vec<f32>,
}

impl Postings {
    /// The documents of a term, ascending, with its weighted frequency in each.
    pub(super) fn of(&self, term: u32) -> impl Iterator<Item = (usize, f32)> + '_ {
        let row = self.row(term);
        let documents = self.documents[row.clone()].iter().map(|document| *document as usize);
        documents.zip(self.frequencies[row].iter().copied())
    }

    /// In how many documents a term stands.
    pub(super) fn documents_with(&self, term: u32) -> usize {
        self.row(term).len()
    }

    /// How often a term stands in a document, weighted; 0 when it does not.
    pub(super) fn frequency(&self, term: u32, document: usize) -> f32 {
        let row = self.row(term);
        let found = self.documents[row.clone()].binary_search_by_key(&document, |d| *d as usize);
        found.map_or(0.0, |at| self.frequencies[row.start + at])
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.starts.len() + self.documents.len() + self.frequencies.len()) * size_of::<u32>()
    }

    fn row(&self, term: u32) -> std::ops::Range<usize> {
        let term = term as usize;
        match self.starts.get(term..term + 2) {
            Some([from, to]) => *from as usize..*to as usize,
            _ => 0..0,
        }
    }
}
