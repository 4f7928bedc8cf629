//! From a text to the token ids of the uncased BERT vocabulary: lower case, no accents, words, pieces of words.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A longer word is unknown as a whole, as in BERT.
const WORD_CHARS_MAX: usize = 100;
/// How the vocabulary marks a piece that continues a word.
const CONTINUES: &str = "##";

static PUNCTUATION: LazyLock<Regex> = LazyLock::new(|| regex(r"^\p{P}$"));
static NONSPACING_MARK: LazyLock<Regex> = LazyLock::new(|| regex(r"^\p{Mn}$"));
static INVISIBLE: LazyLock<Regex> = LazyLock::new(|| regex(r"^[\p{Cc}\p{Cf}]$"));

#[expect(clippy::unwrap_used, reason = "the patterns are constants of this file, compiled by its tests")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// FNV-1a: the vocabulary is ours, so that nobody can choose colliding keys, and its words are short.
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Pieces = HashMap<&'static str, u16, BuildHasherDefault<Fnv>>;

/// The vocabulary, split into pieces that begin a word and pieces that continue one.
pub(super) struct Vocabulary {
    begins: Pieces,
    continues: Pieces,
    /// Bytes of the longest piece: no longer slice is looked up.
    piece_bytes_max: usize,
}

impl Vocabulary {
    /// Reads `vocab.txt`: one token a line, its id is its line number from zero.
    pub(super) fn read(text: &'static str) -> Self {
        let mut begins = Pieces::with_capacity_and_hasher(32_768, BuildHasherDefault::default());
        let mut continues = Pieces::with_capacity_and_hasher(8_192, BuildHasherDefault::default());
        let mut piece_bytes_max = 0;
        for (line, id) in text.lines().zip(0u16..) {
            let (pieces, piece) = match line.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => (&mut continues, rest),
                _ => (&mut begins, line),
            };
            piece_bytes_max = piece_bytes_max.max(piece.len());
            pieces.entry(piece).or_insert(id);
        }
        Self { begins, continues, piece_bytes_max }
    }

    /// Hands the ids of at most `limit` tokens to `take`; unknown words are left out.
    pub(super) fn tokens(&self, text: &str, limit: usize, mut take: impl FnMut(u16)) {
        let mut left = limit;
        let mut ids = Vec::new();
        for_each_word(text, |word| {
            self.pieces(word, &mut ids);
            ids.truncate(left);
            left -= ids.len();
            ids.drain(..).for_each(&mut take);
            left > 0
        });
    }

    /// Greedy longest match; a word with a part that no piece covers has no ids.
    fn pieces(&self, word: &str, ids: &mut Vec<u16>) {
        if let Some(id) = self.begins.get(word) {
            ids.push(*id);
            return;
        }
        if word.len() > WORD_CHARS_MAX && word.chars().count() > WORD_CHARS_MAX {
            return;
        }
        let mut start = 0;
        while start < word.len() {
            let pieces = if start == 0 { &self.begins } else { &self.continues };
            match self.longest(&word[start..], pieces) {
                Some((id, bytes)) => {
                    ids.push(id);
                    start += bytes;
                }
                None => return ids.clear(),
            }
        }
    }

    fn longest(&self, rest: &str, pieces: &Pieces) -> Option<(u16, usize)> {
        let mut end = rest.len().min(self.piece_bytes_max);
        while end > 0 {
            if rest.is_char_boundary(end)
                && let Some(id) = pieces.get(&rest[..end])
            {
                return Some((*id, end));
            }
            end -= 1;
        }
        None
    }
}

/// Calls `visit` with every word in order until it returns `false`.
fn for_each_word(text: &str, mut visit: impl FnMut(&str) -> bool) {
    let mut word = String::with_capacity(32);
    let flush = |word: &mut String, visit: &mut dyn FnMut(&str) -> bool| {
        let go_on = word.is_empty() || visit(word);
        word.clear();
        go_on
    };
    for original in text.chars() {
        if original.is_ascii() {
            let kept = original.to_ascii_lowercase();
            let go_on = match kind_of_ascii(kept) {
                Kind::Inside => {
                    word.push(kept);
                    true
                }
                Kind::Apart => flush(&mut word, &mut visit) && visit(kept.encode_utf8(&mut [0; 4])),
                Kind::Between => flush(&mut word, &mut visit),
                Kind::Nothing => true,
            };
            if !go_on {
                return;
            }
            continue;
        }
        // The kind that separates is that of the character as written; folding cannot join what it parted.
        match kind_of(original) {
            Kind::Nothing => continue,
            Kind::Between => {
                if !flush(&mut word, &mut visit) {
                    return;
                }
                continue;
            }
            Kind::Apart | Kind::Inside => {}
        }
        let alone = is_ideograph(original);
        if alone && !flush(&mut word, &mut visit) {
            return;
        }
        for folded in original.to_lowercase().nfd().filter(|c| !is_nonspacing(*c)) {
            if kind_of(folded) == Kind::Apart {
                if !flush(&mut word, &mut visit) || !visit(folded.encode_utf8(&mut [0; 4])) {
                    return;
                }
            } else {
                word.push(folded);
            }
        }
        if alone && !flush(&mut word, &mut visit) {
            return;
        }
    }
    flush(&mut word, &mut visit);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Part of a word.
    Inside,
    /// A token of its own.
    Apart,
    /// White space.
    Between,
    /// Not there at all.
    Nothing,
}

fn kind_of_ascii(c: char) -> Kind {
    match c {
        ' ' | '\t' | '\n' | '\r' => Kind::Between,
        c if c.is_ascii_punctuation() => Kind::Apart,
        c if c.is_ascii_control() => Kind::Nothing,
        _ => Kind::Inside,
    }
}

fn kind_of(c: char) -> Kind {
    if c.is_ascii() {
        return kind_of_ascii(c);
    }
    if c.is_alphanumeric() {
        return Kind::Inside;
    }
    if c.is_whitespace() && c != '\u{85}' {
        return Kind::Between;
    }
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    if PUNCTUATION.is_match(text) {
        Kind::Apart
    } else if c == '\u{fffd}' || INVISIBLE.is_match(text) {
        Kind::Nothing
    } else {
        Kind::Inside
    }
}

fn is_nonspacing(c: char) -> bool {
    is_combining_mark(c) && NONSPACING_MARK.is_match(c.encode_utf8(&mut [0; 4]))
}

/// The blocks that BERT splits into single characters (kana and hangul form words).
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x2_0000..=0x2_A6DF | 0x2_A700..=0x2_CEAF
        | 0xF900..=0xFAFF | 0x2_F800..=0x2_FA1F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for_each_word(text, |word| {
            words.push(word.to_owned());
            true
        });
        words
    }

    #[test]
    fn words_are_folded_and_parted() {
        assert_eq!(words("Zürich's CAFÉ—2.5"), ["zurich", "'", "s", "cafe", "—", "2", ".", "5"]);
        assert_eq!(words("東京に住む。"), ["東", "京", "に", "住", "む", "。"]);
        assert_eq!(words("a\u{200b}b \u{0}c"), ["ab", "c"]);
        assert_eq!(words(" \n\t"), Vec::<String>::new());
    }

    #[test]
    fn a_word_of_more_than_a_hundred_characters_is_unknown() {
        let vocabulary = Vocabulary::read("a\n##a\n");
        for (length, tokens) in [(99, 99), (100, 100), (101, 0)] {
            let mut count = 0;
            vocabulary.tokens(&"a".repeat(length), 1_000, |_| count += 1);
            assert_eq!(count, tokens, "{length}");
        }
    }

    #[test]
    fn the_token_limit_cuts_inside_a_word() {
        let vocabulary = Vocabulary::read("a\n##a\n");
        for (limit, expected) in [(5, 5), (6, 6), (7, 6)] {
            let mut count = 0;
            vocabulary.tokens("aaa a aa", limit, |_| count += 1);
            assert_eq!(count, expected, "{limit}");
        }
    }
}
