//! Every word of an index: from a stem to its term, and from the beginning of a word to the terms it may become.

use std::collections::HashMap;

use super::count;
use crate::tokenize::Token;

/// Gives numbers to terms while an index is built. Each different word is stemmed once.
#[derive(Debug, Default)]
pub(super) struct LexiconBuilder {
    words: HashMap<Box<str>, u32>,
    terms: HashMap<Box<str>, u32>,
}

impl LexiconBuilder {
    pub(super) fn term(&mut self, token: Token<'_>) -> u32 {
        if let Some(term) = self.words.get(token.text) {
            return *term;
        }
        let stem = token.term();
        let next = count(self.terms.len());
        let term = match self.terms.get(stem.as_ref()) {
            Some(term) => *term,
            None => *self.terms.entry(stem.into()).or_insert(next),
        };
        self.words.insert(token.text.into(), term);
        term
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    pub(super) fn finish(self) -> Lexicon {
        Lexicon { words: sorted(self.words), terms: sorted(self.terms) }
    }
}

fn sorted(map: HashMap<Box<str>, u32>) -> Vec<(Box<str>, u32)> {
    let mut list: Vec<_> = map.into_iter().collect();
    list.sort_unstable();
    list
}

/// The words and terms of a finished index, sorted.
#[derive(Debug)]
pub(crate) struct Lexicon {
    words: Vec<(Box<str>, u32)>,
    terms: Vec<(Box<str>, u32)>,
}

impl Lexicon {
    /// The term with this stem.
    pub(super) fn find(&self, stem: &str) -> Option<u32> {
        let at = self.terms.binary_search_by(|(term, _)| term.as_ref().cmp(stem)).ok()?;
        Some(self.terms[at].1)
    }

    /// The terms of words that begin with `prefix`, in the order of these words.
    pub(super) fn beginning_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = u32> + 'a {
        let from = self.words.partition_point(|(word, _)| word.as_ref() < prefix);
        self.words[from..].iter().take_while(move |(word, _)| word.starts_with(prefix)).map(|(_, term)| *term)
    }

    /// The terms of pairs that hold the character `single`, in the order of these pairs.
    pub(super) fn pairs_with<'a>(&'a self, single: &'a str) -> impl Iterator<Item = u32> + 'a {
        let pair = move |word: &str| {
            word.len() > single.len() && word.contains(single) && word.chars().nth(2).is_none()
        };
        self.words.iter().filter(move |(word, _)| pair(word)).map(|(_, term)| *term)
    }

    /// Bytes held on the heap, roughly.
    pub(super) fn memory_bytes(&self) -> usize {
        let entries = self.words.iter().chain(&self.terms);
        entries.map(|(word, _)| size_of::<(Box<str>, u32)>() + word.len()).sum()
    }
}
