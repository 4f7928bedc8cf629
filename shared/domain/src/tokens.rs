//! How long a text is for a model, by an estimate that errs upwards.

/// Tokens are estimated in quarters, so that four ASCII characters make one.
pub const QUARTERS_PER_TOKEN: usize = 4;

/// The estimated length of a text in tokens, rounded up: four ASCII characters, two of other alphabets or one of
/// Chinese, Japanese or Korean make a token.
#[must_use]
pub fn estimated_tokens(text: &str) -> usize {
    text.chars().map(quarters).sum::<usize>().div_ceil(QUARTERS_PER_TOKEN)
}

/// What a character adds to a text, in quarters of a token.
#[must_use]
pub fn quarters(character: char) -> usize {
    match u32::from(character) {
        0..=0x7F => 1,
        // Hangul Jamo, CJK with kana and Hangul syllables, compatibility forms, full-width forms, supplements.
        0x1100..=0x11FF | 0x2E80..=0xD7FF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF => 4,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_four_latin_two_greek_or_one_chinese_character() {
        for (text, tokens) in [("", 0), ("tea", 1), ("teas", 1), ("teas!", 2), ("λόγος", 3), ("茶道", 2)]
        {
            assert_eq!(estimated_tokens(text), tokens, "{text}");
        }
    }
}
