//! The one form in which texts are compared.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Combining accents of the Latin, Greek and Cyrillic scripts. Kana voicing marks lie elsewhere and are kept.
const ACCENTS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// NFKC, lower case, without accents, with a plain apostrophe. ASCII text in lower case is borrowed.
#[must_use]
pub fn normalise(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        // Decompose, drop accents, compose again: this is NFKC, and `café` is found by `cafe`. Case goes last
        // since compatibility forms such as `℡` unfold into capitals.
        let folded: String =
            text.nfkd().filter(|c| !ACCENTS.contains(c)).map(plain_apostrophe).nfc().collect();
        return Cow::Owned(folded.to_lowercase());
    }
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    Cow::Borrowed(text)
}

fn plain_apostrophe(c: char) -> char {
    if matches!(c, '\u{2018}' | '\u{2019}' | '\u{2bc}') { '\'' } else { c }
}
