//! What a caller's full-text query asks for.
//!
//! Words are alternatives to each other and the last one also matches as a prefix. A quoted phrase must stand
//! in the text as it is. `AND`, `OR`, `NOT` in capitals, with brackets, make the query a Boolean expression in
//! which neighbouring words must all match. `NEAR` is dropped. A query that cannot be parsed finds nothing.

mod expression;
mod lexemes;

use crate::tokenize::{Token, TokenKind, for_each_token};

pub use expression::Expression;
use lexemes::{Lexeme, lexemes};

/// Most terms of a query, counting those of its phrases; a plain query ignores what comes after, a Boolean one
/// with more finds nothing.
pub const MAX_QUERY_TERMS: usize = 64;
/// Deepest nesting of brackets in a Boolean query.
pub const MAX_NESTING: usize = 32;

/// One term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The normalised word as written.
    pub surface: String,
    /// The form under which it is indexed.
    pub stem: String,
    /// What it stands for.
    pub kind: TokenKind,
    /// Whether it is an English word that says little.
    pub stop_word: bool,
}

/// The smallest thing that matches or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    /// A word; with `prefix` also every word that begins with it.
    Term {
        /// The word.
        term: Term,
        /// Whether longer words count as well.
        prefix: bool,
    },
    /// Terms that must follow one another.
    Phrase(Vec<Term>),
}

/// Which texts match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Nothing: the query is empty or cannot be parsed.
    Nothing,
    /// Any leaf is enough.
    Any,
    /// The expression over the leaves decides.
    Expression(Expression),
}

/// A query, ready to be asked of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    /// What may match, each once.
    pub leaves: Vec<Leaf>,
    /// Which of it must.
    pub rule: Rule,
    /// Whether the query has nothing but stop words in it.
    pub stop_words_only: bool,
}

impl ParsedQuery {
    /// Reads a query. There are no errors: what cannot be parsed matches nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (lexemes, balanced) = lexemes(text);
        if !lexemes.iter().any(Lexeme::is_operator) {
            return Self::any(&lexemes);
        }
        let parsed = if balanced { expression::parse(&lexemes) } else { None };
        match parsed {
            Some((leaves, expression)) => {
                Self { leaves, rule: Rule::Expression(expression), stop_words_only: false }
            }
            None => Self::nothing(),
        }
    }

    fn nothing() -> Self {
        Self { leaves: Vec::new(), rule: Rule::Nothing, stop_words_only: false }
    }

    fn any(lexemes: &[Lexeme]) -> Self {
        let mut leaves = Vec::new();
        let mut room = MAX_QUERY_TERMS;
        for (at, lexeme) in lexemes.iter().enumerate() {
            match lexeme {
                Lexeme::Word(word) => {
                    let last = at + 1 == lexemes.len();
                    push_words(word, last, &mut room, &mut leaves);
                }
                Lexeme::Phrase(words) => push_phrase(words, &mut room, &mut leaves),
                // Without operators brackets are mere punctuation.
                _ => {}
            }
        }
        let stop_words_only = leaves.iter().all(is_stop_leaf);
        if !stop_words_only {
            leaves.retain(|leaf| !is_stop_leaf(leaf));
        }
        let rule = if leaves.is_empty() { Rule::Nothing } else { Rule::Any };
        Self { leaves, rule, stop_words_only }
    }
}

fn is_stop_leaf(leaf: &Leaf) -> bool {
    matches!(leaf, Leaf::Term { term, .. } if term.stop_word)
}

fn push_words(word: &str, last: bool, room: &mut usize, leaves: &mut Vec<Leaf>) {
    let all = terms(word);
    // The single characters of an identifier's parts (`v1.2.3`) would match everywhere.
    let telling = |term: &&Term| term.kind != TokenKind::Part || term.surface.chars().nth(1).is_some();
    let count = all.len();
    for (at, term) in all.into_iter().enumerate().filter(|(_, term)| telling(&term)) {
        // The last part and the whole identifier may both be unfinished.
        let prefix = last && (at + 1 == count || term.kind == TokenKind::Whole);
        push(Leaf::Term { term, prefix }, 1, room, leaves);
    }
}

fn push_phrase(words: &str, room: &mut usize, leaves: &mut Vec<Leaf>) {
    let mut words = terms(words);
    words.retain(|term| term.kind != TokenKind::Whole);
    let size = words.len();
    let leaf = match words.pop() {
        None => return,
        Some(term) if words.is_empty() => Leaf::Term { term, prefix: false },
        Some(term) => {
            words.push(term);
            Leaf::Phrase(words)
        }
    };
    push(leaf, size, room, leaves);
}

/// Adds a leaf that is not there yet while there is room for it. A repeated word that is last lends its prefix.
fn push(leaf: Leaf, size: usize, room: &mut usize, leaves: &mut Vec<Leaf>) {
    if let Leaf::Term { term, prefix } = &leaf {
        let same = leaves.iter_mut().find_map(|known| match known {
            Leaf::Term { term: earlier, prefix } if earlier.stem == term.stem => Some(prefix),
            _ => None,
        });
        if let Some(earlier) = same {
            *earlier |= prefix;
            return;
        }
    } else if leaves.contains(&leaf) {
        return;
    }
    if size <= *room {
        *room -= size;
        leaves.push(leaf);
    }
}

fn terms(text: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    for_each_token(text, |token: Token<'_>| {
        terms.push(Term {
            surface: token.text.to_owned(),
            stem: token.term().into_owned(),
            kind: token.kind,
            stop_word: token.is_stop_word(),
        });
    });
    terms
}

#[cfg(test)]
mod tests;
