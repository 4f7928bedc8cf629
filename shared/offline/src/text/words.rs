//! Small operations on text that keep character boundaries.

use unicode_normalization::UnicodeNormalization;

/// The first `limit` characters.
pub(crate) fn cut_chars(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Compatibility form, lower case, single spaces, no full stop at the end: equal for texts that say the same.
pub(crate) fn fold(text: &str) -> String {
    let lower = text.nfkc().flat_map(char::to_lowercase).collect::<String>().replace('\u{2019}', "'");
    let words: Vec<&str> = lower.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '!', '。']).to_owned()
}

/// The text with its first letter in upper case.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The text with its first letter in lower case, unless the first word is an acronym or `I`.
pub(crate) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_keep_whole_characters() {
        assert_eq!(cut_chars("日本語", 2), "日本");
        assert_eq!(cut_chars("日本語", 3), "日本語");
        assert_eq!(cut_chars("日本語", 4), "日本語");
    }

    #[test]
    fn folding_joins_what_says_the_same() {
        assert_eq!(fold("  It’s  ＡＢＣ. "), "it's abc");
        assert_eq!(capitalised("élan vital"), "Élan vital");
        assert_eq!(lower_first("Likes tea"), "likes tea");
        assert_eq!(lower_first("USB is broken"), "USB is broken");
    }
}
