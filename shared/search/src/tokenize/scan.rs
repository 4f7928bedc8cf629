//! Cuts a chunk without white space into words, identifiers and runs.

use unicode_segmentation::UnicodeSegmentation;

use super::script::is_unsegmented;
use super::{MAX_TOKEN_CHARS, Token, TokenKind};

/// Longest run of joining characters inside one identifier, in bytes (`https://` has three).
const MAX_JOINT_BYTES: usize = 3;
/// What may follow an apostrophe inside one English word. After any other the word is an elision (`l'hotel`).
const CONTRACTIONS: [&str; 7] = ["s", "t", "d", "m", "ll", "re", "ve"];

/// A piece of a chunk: a byte range, and whether its script is written without spaces.
pub(super) struct Atom {
    start: usize,
    end: usize,
    unsegmented: bool,
}

/// Calls `visit` with the tokens of `chunk`. `atoms` is scratch space that is reused between chunks.
pub(super) fn scan_chunk(chunk: &str, atoms: &mut Vec<Atom>, visit: &mut impl FnMut(Token<'_>)) {
    atoms.clear();
    if chunk.is_ascii() {
        ascii_atoms(chunk, 0, atoms);
    } else {
        unicode_atoms(chunk, atoms);
    }
    let mut rest = atoms.as_slice();
    while let Some(first) = rest.first() {
        if first.unsegmented {
            bigrams(&chunk[first.start..first.end], visit);
            rest = &rest[1..];
            continue;
        }
        let count = compound_length(chunk, rest);
        let (compound, after) = rest.split_at(count);
        words(chunk, compound, visit);
        rest = after;
    }
}

/// How many of `atoms`, which is not empty, belong to one identifier with the first.
fn compound_length(chunk: &str, atoms: &[Atom]) -> usize {
    let joined = |pair: &&[Atom]| {
        let gap = &chunk[pair[0].end..pair[1].start];
        let joins = !gap.is_empty() && gap.len() <= MAX_JOINT_BYTES && gap.bytes().all(is_joint);
        joins && !pair[1].unsegmented
    };
    1 + atoms.windows(2).take_while(joined).count()
}

fn is_joint(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b'#' | b'+' | b'\\' | b'&' | b'=' | b'?')
}

fn words(chunk: &str, compound: &[Atom], visit: &mut impl FnMut(Token<'_>)) {
    if let [only] = compound {
        return visit(Token { text: cut(&chunk[only.start..only.end]), kind: TokenKind::Word });
    }
    let (Some(first), Some(last)) = (compound.first(), compound.last()) else { return };
    let whole = &chunk[first.start..last.end];
    if cut(whole).len() == whole.len() {
        visit(Token { text: whole, kind: TokenKind::Whole });
    }
    for part in compound {
        visit(Token { text: cut(&chunk[part.start..part.end]), kind: TokenKind::Part });
    }
}

fn cut(word: &str) -> &str {
    if word.len() <= MAX_TOKEN_CHARS {
        return word;
    }
    word.char_indices().nth(MAX_TOKEN_CHARS).map_or(word, |(end, _)| &word[..end])
}

/// Every pair of neighbours of a run; the character itself when it stands alone.
fn bigrams(run: &str, visit: &mut impl FnMut(Token<'_>)) {
    let mut starts = run.char_indices().map(|(at, _)| at);
    let (Some(mut first), Some(mut second)) = (starts.next(), starts.next()) else {
        return visit(Token { text: run, kind: TokenKind::Single });
    };
    for next in starts.chain([run.len()]) {
        visit(Token { text: &run[first..next], kind: TokenKind::Bigram });
        (first, second) = (second, next);
    }
}

/// Runs of ASCII letters and digits in `text`, which begins at byte `offset` of its chunk. Bytes of other
/// characters count as letters: the caller has already decided that they belong to a word.
fn ascii_atoms(text: &str, offset: usize, atoms: &mut Vec<Atom>) {
    let bytes = text.as_bytes();
    let mut start = None;
    for at in 0..=bytes.len() {
        let inside = bytes.get(at).is_some_and(|b| {
            b.is_ascii_alphanumeric() || !b.is_ascii() || (*b == b'\'' && is_contraction(bytes, start, at))
        });
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                atoms.push(Atom { start: offset + from, end: offset + at, unsegmented: false });
                start = None;
            }
            _ => {}
        }
    }
}

fn is_contraction(bytes: &[u8], start: Option<usize>, apostrophe: usize) -> bool {
    let after = &bytes[apostrophe + 1..];
    let length = after.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    start.is_some() && CONTRACTIONS.iter().any(|suffix| suffix.as_bytes() == &after[..length])
}

fn unicode_atoms(chunk: &str, atoms: &mut Vec<Atom>) {
    let mut start = 0;
    while let Some(first) = chunk[start..].chars().next() {
        let unsegmented = is_unsegmented(first);
        let length = chunk[start..].find(|c| is_unsegmented(c) != unsegmented).unwrap_or(chunk.len() - start);
        let run = &chunk[start..start + length];
        if unsegmented {
            atoms.push(Atom { start, end: start + length, unsegmented });
        } else {
            for (at, word) in run.unicode_word_indices() {
                ascii_atoms(word, start + at, atoms);
            }
        }
        start += length;
    }
}
