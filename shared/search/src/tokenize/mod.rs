//! From text to the tokens that are indexed and searched.
//!
//! Text is NFKC-normalised, lower-cased and freed of Latin accents. Words follow Unicode segmentation and are
//! stemmed lightly; an identifier (`ERR_TIMEOUT-42`, `v1.2.3`, `user_id`) is kept whole beside its parts; runs
//! of a script that is written without spaces become bigrams.

mod normalise;
mod scan;
mod script;
mod stop_words;

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

pub use normalise::normalise;
pub use stop_words::is_stop_word;

/// Longest token, in characters. A longer word is cut here (at index and at query time alike), a longer
/// identifier is known by its parts only.
pub const MAX_TOKEN_CHARS: usize = 128;
/// Shortest English word that is stemmed, in characters.
const MIN_STEM_CHARS: usize = 3;

/// What a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A word by itself.
    Word,
    /// One part of an identifier.
    Part,
    /// A whole identifier; its parts follow.
    Whole,
    /// Two neighbouring characters of a run without spaces.
    Bigram,
    /// The only character of a run without spaces.
    Single,
}

/// One token of a text, normalised but not stemmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The normalised text.
    pub text: &'a str,
    /// What it stands for.
    pub kind: TokenKind,
}

impl<'a> Token<'a> {
    /// The form under which the token is indexed: stemmed when it is an English-looking word.
    #[must_use]
    pub fn term(&self) -> Cow<'a, str> {
        match self.kind {
            TokenKind::Word | TokenKind::Part => stem(self.text),
            TokenKind::Whole | TokenKind::Bigram | TokenKind::Single => Cow::Borrowed(self.text),
        }
    }

    /// Whether the token takes a place of its own in the text. A whole identifier does not: its parts do.
    #[must_use]
    pub fn has_position(&self) -> bool {
        self.kind != TokenKind::Whole
    }

    /// Whether the token is an English word that says little about a text.
    #[must_use]
    pub fn is_stop_word(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Part) && is_stop_word(self.text)
    }
}

/// Calls `visit` with every token of `text`, in order.
pub fn for_each_token(text: &str, mut visit: impl FnMut(Token<'_>)) {
    let normalised = normalise(text);
    let mut atoms = Vec::new();
    for chunk in normalised.split_whitespace() {
        scan::scan_chunk(chunk, &mut atoms, &mut visit);
    }
}

/// The index terms of a text, in order: what a full-text search compares.
#[must_use]
pub fn tokenize(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_token(text, |token| terms.push(token.term().into_owned()));
    terms
}

/// The English stem of a normalised word; words with anything but ASCII letters in them stay as they are.
fn stem(word: &str) -> Cow<'_, str> {
    let english = word.len() >= MIN_STEM_CHARS && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'');
    if english { Stemmer::create(Algorithm::English).stem(word) } else { Cow::Borrowed(word) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn english_words_are_lower_cased_and_stemmed() {
        assert_eq!(tokenize("Prefers Window SEATS on flights"), ["prefer", "window", "seat", "on", "flight"]);
        assert_eq!(tokenize("the user's preferences"), ["the", "user", "prefer"]);
    }

    #[test]
    fn identifiers_are_kept_whole_and_split() {
        assert_eq!(tokenize("ERR_TIMEOUT-42"), ["err_timeout-42", "err", "timeout", "42"]);
        assert_eq!(tokenize("v1.2.3"), ["v1.2.3", "v1", "2", "3"]);
        assert_eq!(tokenize("(user_id)"), ["user_id", "user", "id"]);
        assert_eq!(tokenize("src/main.rs:12,"), ["src/main.rs:12", "src", "main", "rs", "12"]);
    }

    #[test]
    fn a_full_stop_or_a_bracket_ends_a_word_and_joins_nothing() {
        assert_eq!(tokenize("It works. (Really!)"), ["it", "work", "realli"]);
        assert_eq!(tokenize("— ... -- !"), Vec::<String>::new());
    }

    #[test]
    fn scripts_without_spaces_become_bigrams() {
        assert_eq!(tokenize("東京タワー"), ["東京", "京タ", "タワ", "ワー"]);
        assert_eq!(tokenize("我喜欢 茶"), ["我喜", "喜欢", "茶"]);
        assert_eq!(tokenize("한국어 책"), ["한국", "국어", "책"]);
        assert_eq!(tokenize("AI研究2024"), ["ai", "研究", "2024"]);
    }

    #[test]
    fn compatibility_forms_and_accents_compare_equal() {
        assert_eq!(tokenize("Ｃａｆé ﬁne"), tokenize("cafe fine"));
        assert_eq!(tokenize("ﾃｽﾄ"), tokenize("テスト"));
        assert_eq!(tokenize("ガ"), tokenize("カ\u{3099}"));
        assert_eq!(tokenize("don’t"), tokenize("don't"));
    }

    #[test]
    fn elided_articles_leave_the_noun_alone() {
        assert_eq!(tokenize("l'hôtel d'Orsay"), ["l", "hotel", "d", "orsay"]);
    }

    #[test]
    fn words_with_combining_vowels_stay_whole() {
        assert_eq!(tokenize("हिन्दी भाषा").len(), 2);
    }

    #[test]
    fn a_token_is_cut_at_its_longest_length() {
        for (length, kept) in [
            (MAX_TOKEN_CHARS - 1, MAX_TOKEN_CHARS - 1),
            (MAX_TOKEN_CHARS, MAX_TOKEN_CHARS),
            (MAX_TOKEN_CHARS + 1, MAX_TOKEN_CHARS),
        ] {
            let terms = tokenize(&"9".repeat(length));
            assert_eq!(terms.iter().map(String::len).collect::<Vec<_>>(), [kept]);
            let accented = tokenize(&"ж".repeat(length));
            assert_eq!(accented[0].chars().count(), kept);
        }
    }

    #[test]
    fn an_identifier_beyond_the_longest_length_is_known_by_its_parts() {
        let identifier = |length: usize| format!("a_{}", "9".repeat(length - 2));
        assert_eq!(tokenize(&identifier(MAX_TOKEN_CHARS - 1)).len(), 3);
        assert_eq!(tokenize(&identifier(MAX_TOKEN_CHARS)).len(), 3);
        assert_eq!(tokenize(&identifier(MAX_TOKEN_CHARS + 1)).len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_gives_no_empty_token(text in "\\PC{0,80}|[a-z_.\u{0}\"'’ -]{0,60}|[一-十あ-んア-ンa-c가-깋 ]{0,40}") {
            for term in tokenize(&text) {
                prop_assert!(!term.is_empty());
                prop_assert!(!term.contains(char::is_whitespace));
            }
        }

        #[test]
        fn case_does_not_matter(text in "[a-zA-Z_ -]{0,60}") {
            prop_assert_eq!(tokenize(&text), tokenize(&text.to_uppercase()));
        }
    }
}
