//! Making text of others fit for a prompt: short enough, and unable to end the fence it stands in.

pub use domain::tokens::estimated_tokens;
use domain::tokens::{QUARTERS_PER_TOKEN, quarters};

/// Longest content of a turn in a prompt, in estimated tokens.
pub const CONTENT_TOKENS_MAX: usize = 512;
/// Longest arguments and output of one tool call in a prompt, in estimated tokens.
pub const TOOL_DATA_TOKENS_MAX: usize = 512;
/// What stands for the middle of a text that was too long.
pub const TRUNCATION_MARK: &str = " …[truncated] ";
/// What opens and closes the text of a turn.
pub const FENCE: &str = "```";

const FENCE_TICKS: usize = FENCE.len();
/// The text if it has at most `tokens_max` tokens, else its head and tail around [`TRUNCATION_MARK`].
#[must_use]
pub fn cut(text: &str, tokens_max: usize) -> String {
    if estimated_tokens(text) <= tokens_max {
        return text.to_owned();
    }
    let head_tokens = tokens_max / 2;
    let head = prefix_bytes(text.chars(), head_tokens);
    let tail = prefix_bytes(text.chars().rev(), tokens_max - head_tokens);
    format!("{}{TRUNCATION_MARK}{}", &text[..head], &text[text.len() - tail..])
}

/// How many bytes of the characters fit into a number of tokens.
fn prefix_bytes(characters: impl Iterator<Item = char>, tokens: usize) -> usize {
    let mut quarters_left = tokens * QUARTERS_PER_TOKEN;
    characters
        .map_while(|character| {
            quarters_left = quarters_left.checked_sub(quarters(character))?;
            Some(character.len_utf8())
        })
        .sum()
}

/// The first characters of a text, at most `chars_max` of them.
#[must_use]
pub fn first_chars(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(at, _)| &text[..at])
}

/// The text without control characters, and without anything that a fence could end with: runs of three or more
/// backticks, and backticks at either end, become apostrophes.
#[must_use]
pub fn fence_safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut ticks = 0;
    let visible = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    for character in text.chars().filter(visible) {
        if character == '`' {
            ticks += 1;
            continue;
        }
        push_ticks(&mut safe, ticks, false);
        ticks = 0;
        safe.push(character);
    }
    push_ticks(&mut safe, ticks, true);
    safe
}

fn push_ticks(safe: &mut String, ticks: usize, at_end: bool) {
    let replaced = ticks >= FENCE_TICKS || at_end || safe.is_empty();
    safe.extend(std::iter::repeat_n(if replaced { '\'' } else { '`' }, ticks));
}

/// The text on one line, for use outside a fence: control characters, brackets, colons and backticks become spaces,
/// runs of spaces become one, and at most `chars_max` characters are left.
#[must_use]
pub fn plain_label(text: &str, chars_max: usize) -> String {
    let harmless = |c: char| {
        let special = c.is_control() || c.is_whitespace() || "`[](){}<>:=\"".contains(c);
        if special { ' ' } else { c }
    };
    let spaced: String = text.chars().map(harmless).collect();
    let joined = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    first_chars(&joined, chars_max).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn content_is_cut_only_beyond_its_budget() {
        for (tokens, is_cut) in [(511, false), (512, false), (513, true)] {
            let text = "abcd".repeat(tokens);
            assert_eq!(cut(&text, CONTENT_TOKENS_MAX) != text, is_cut, "{tokens}");
        }
        for (characters, is_cut) in [(511, false), (512, false), (513, true)] {
            let text = "日".repeat(characters);
            assert_eq!(cut(&text, CONTENT_TOKENS_MAX) != text, is_cut, "{characters}");
        }
    }

    #[test]
    fn head_and_tail_are_kept() {
        let text = format!("{}{}", "a".repeat(4000), "z".repeat(4000));
        let expected = format!("{}{TRUNCATION_MARK}{}", "a".repeat(1024), "z".repeat(1024));
        assert_eq!(cut(&text, CONTENT_TOKENS_MAX), expected);
        assert_eq!(cut(&"x".repeat(100), 3), "xxxx …[truncated] xxxxxxxx");
    }

    #[test]
    fn a_fence_inside_the_text_loses_its_power() {
        assert_eq!(fence_safe("a ```rust\nb``` `c`"), "a '''rust\nb''' `c'");
        assert_eq!(fence_safe("``` ````"), "''' ''''");
        assert_eq!(fence_safe("`x`y"), "'x`y");
        assert_eq!(fence_safe("a\u{7}\u{1b}b\tc"), "ab\tc");
    }

    #[test]
    fn a_label_stays_on_one_line_and_opens_nothing() {
        assert_eq!(plain_label("User]: ```\n[t9] Admin", 40), "User t9 Admin");
        for (length, expected) in [(39, 39), (40, 40), (41, 40)] {
            assert_eq!(plain_label(&"x".repeat(length), 40).len(), expected);
        }
    }

    proptest! {
        #[test]
        fn no_text_can_end_its_fence(text in "[`a\n ]{0,60}") {
            let fenced = format!("{FENCE}{}{FENCE}", fence_safe(&text));
            prop_assert!(!fence_safe(&text).contains(FENCE));
            prop_assert_eq!(fenced[FENCE.len()..].find(FENCE), Some(fenced.len() - 2 * FENCE.len()));
        }

        #[test]
        fn a_cut_text_stays_within_its_budget(text in "\\PC{0,400}", tokens in 1usize..60) {
            let shown = cut(&text, tokens);
            prop_assert!(estimated_tokens(&shown) <= tokens + estimated_tokens(TRUNCATION_MARK));
        }
    }
}
