//! Boolean queries. `NOT` binds closest, then `AND` and mere neighbourhood, then `OR`.

use super::lexemes::Lexeme;
use super::{Leaf, MAX_NESTING, MAX_QUERY_TERMS, Term, terms};
use crate::tokenize::TokenKind;

/// A condition over the leaves of a query, named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// The leaf matches.
    Leaf(usize),
    /// All match.
    And(Vec<Expression>),
    /// At least one matches.
    Or(Vec<Expression>),
    /// The first matches and the second does not.
    Not(Box<Expression>, Box<Expression>),
}

impl Expression {
    /// Marks in `positive` the leaves that make a text match; those under the right side of `NOT` do not.
    pub fn mark_positive(&self, positive: &mut [bool]) {
        match self {
            Self::Leaf(leaf) => {
                if let Some(mark) = positive.get_mut(*leaf) {
                    *mark = true;
                }
            }
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.mark_positive(positive)),
            Self::Not(wanted, _) => wanted.mark_positive(positive),
        }
    }
}

/// The leaves and the expression of a Boolean query; `None` when it is malformed or beyond the limits.
pub(super) fn parse(lexemes: &[Lexeme]) -> Option<(Vec<Leaf>, Expression)> {
    let mut parser = Parser { rest: lexemes, leaves: Vec::new(), terms: 0 };
    let expression = parser.alternatives(0)?;
    parser.rest.is_empty().then_some((parser.leaves, expression))
}

struct Parser<'a> {
    rest: &'a [Lexeme],
    leaves: Vec<Leaf>,
    terms: usize,
}

impl Parser<'_> {
    fn take(&mut self, expected: &Lexeme) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if first == expected => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn alternatives(&mut self, depth: usize) -> Option<Expression> {
        let mut all = vec![self.neighbours(depth)?];
        while self.take(&Lexeme::Or) {
            all.push(self.neighbours(depth)?);
        }
        Some(single_or(all, Expression::Or))
    }

    fn neighbours(&mut self, depth: usize) -> Option<Expression> {
        let mut all = vec![self.exclusion(depth)?];
        loop {
            let explicit = self.take(&Lexeme::And);
            let more = matches!(self.rest.first(), Some(Lexeme::Word(_) | Lexeme::Phrase(_) | Lexeme::Open));
            if !explicit && !more {
                return Some(single_or(all, Expression::And));
            }
            all.push(self.exclusion(depth)?);
        }
    }

    fn exclusion(&mut self, depth: usize) -> Option<Expression> {
        let mut wanted = self.operand(depth)?;
        loop {
            // `a AND NOT b` is how people write `a NOT b`.
            if let [Lexeme::And, Lexeme::Not, ..] = self.rest {
                self.rest = &self.rest[1..];
            }
            if !self.take(&Lexeme::Not) {
                return Some(wanted);
            }
            wanted = Expression::Not(Box::new(wanted), Box::new(self.operand(depth)?));
        }
    }

    fn operand(&mut self, depth: usize) -> Option<Expression> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        match first {
            Lexeme::Word(word) => self.leaf(word, rest.is_empty()),
            Lexeme::Phrase(words) => self.leaf(words, false),
            Lexeme::Open if depth < MAX_NESTING => {
                let inner = self.alternatives(depth + 1)?;
                self.take(&Lexeme::Close).then_some(inner)
            }
            _ => None,
        }
    }

    /// A word of several tokens (an identifier, a run of Han characters) is a phrase of them.
    fn leaf(&mut self, text: &str, last: bool) -> Option<Expression> {
        let mut words: Vec<Term> = terms(text);
        words.retain(|term| term.kind != TokenKind::Whole);
        self.terms += words.len();
        if self.terms > MAX_QUERY_TERMS {
            return None;
        }
        let leaf = match <[Term; 1]>::try_from(words) {
            Ok([term]) => Leaf::Term { term, prefix: last },
            Err(words) if words.is_empty() => return None,
            Err(words) => Leaf::Phrase(words),
        };
        let known = self.leaves.iter().position(|earlier| *earlier == leaf);
        Some(Expression::Leaf(known.unwrap_or_else(|| {
            self.leaves.push(leaf);
            self.leaves.len() - 1
        })))
    }
}

fn single_or(mut all: Vec<Expression>, join: impl FnOnce(Vec<Expression>) -> Expression) -> Expression {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            join(all)
        }
        None => join(all),
    }
}
