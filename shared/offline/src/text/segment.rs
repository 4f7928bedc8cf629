//! Sentences of a turn, in English and Japanese.

use super::cut_chars;
use super::mask::own_words;
use crate::turn::TURN_CHARS_MAX;

/// Sentences of a turn that are read.
const SENTENCES_MAX: usize = 200;
/// A longer sentence is pasted text or noise, not a statement.
const SENTENCE_CHARS_MAX: usize = 400;
/// Words after whose full stop a sentence goes on.
const ABBREVIATIONS: [&str; 15] =
    ["mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "a.m", "p.m", "approx", "dept", "jr", "sr"];

/// The language of a sentence, as far as the rules tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Kana or a majority of ideographs.
    Japanese,
    /// Everything else.
    English,
}

/// One sentence.
#[derive(Debug, Clone)]
pub(crate) struct Sentence<'a> {
    /// As written, without surrounding blanks.
    pub(crate) original: &'a str,
    /// Without what is not the user's own, straight apostrophes, single spaces.
    pub(crate) words: String,
    /// In which language.
    pub(crate) language: Language,
}

/// The sentences of the user's own words, at most [`SENTENCES_MAX`], in order.
pub(crate) fn sentences(content: &str) -> Vec<Sentence<'_>> {
    let content = cut_chars(content, TURN_CHARS_MAX);
    let masked = own_words(content);
    let mut found = Vec::new();
    let mut start = 0;
    for end in boundaries(&masked) {
        let words = tidy(&masked[start..end]);
        let length = words.chars().count();
        if (2..=SENTENCE_CHARS_MAX).contains(&length) && words.chars().any(char::is_alphanumeric) {
            let language = language(&words);
            found.push(Sentence { original: content[start..end].trim(), words, language });
            if found.len() == SENTENCES_MAX {
                break;
            }
        }
        start = end;
    }
    found
}

/// Byte offsets after which a new sentence begins; the last one is the end.
fn boundaries(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = text.char_indices().peekable();
    let mut word_start = 0;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let after = at + c.len_utf8();
        match c {
            '\n' | '。' | '！' | '？' => {
                if !matches!(next, Some('」' | '』' | '。' | '！' | '？')) {
                    ends.push(after);
                }
                word_start = after;
            }
            '.' | '!' | '?' => {
                let closes = next.is_none_or(|next| next.is_whitespace() || next == '#');
                let word = text[word_start..at].to_ascii_lowercase();
                let goes_on =
                    c == '.' && ABBREVIATIONS.contains(&word.as_str()) && !after_ends_line(text, after);
                if closes && !goes_on {
                    ends.push(after);
                }
            }
            c if c.is_whitespace() || c == '(' => word_start = after,
            _ => {}
        }
    }
    if ends.last() != Some(&text.len()) {
        ends.push(text.len());
    }
    ends
}

fn after_ends_line(text: &str, after: usize) -> bool {
    text[after..].trim_start_matches([' ', '\t']).chars().next().is_none_or(|c| c == '\n')
}

/// Straight apostrophes, single blanks; control marks such as `###STOP###` are dropped.
fn tidy(text: &str) -> String {
    let straight = text.replace(['\u{2019}', '\u{2018}'], "'").replace('\u{3000}', " ");
    let words = straight.split_whitespace().filter(|word| !word.starts_with("###"));
    words.map(contracted).collect::<Vec<_>>().join(" ")
}

/// A contraction that was typed without its apostrophe.
fn contracted(word: &str) -> &str {
    match word {
        "im" | "Im" => "I'm",
        "ive" | "Ive" => "I've",
        "dont" => "don't",
        "Dont" => "Don't",
        "doesnt" => "doesn't",
        "didnt" => "didn't",
        "cant" | "Cant" => "can't",
        "wont" => "won't",
        "isnt" => "isn't",
        _ => word,
    }
}

fn language(text: &str) -> Language {
    let (mut kana, mut ideographs, mut letters) = (0, 0, 0);
    for c in text.chars() {
        match c {
            '\u{3041}'..='\u{30ff}' => kana += 1,
            '\u{4e00}'..='\u{9fff}' => ideographs += 1,
            c if c.is_alphabetic() => letters += 1,
            _ => {}
        }
    }
    if kana > 1 && (kana + ideographs) * 2 > letters || ideographs > letters {
        Language::Japanese
    } else {
        Language::English
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(content: &str) -> Vec<String> {
        sentences(content).into_iter().map(|sentence| sentence.words).collect()
    }

    #[test]
    fn sentences_end_where_a_reader_would_end_them() {
        assert_eq!(
            split("I saw Dr. Lee at 3.30 p.m. today. Fine!"),
            ["I saw Dr. Lee at 3.30 p.m. today.", "Fine!"]
        );
        assert_eq!(split("Thanks! ###STOP###"), ["Thanks!"]);
        assert_eq!(split("猫が好きです。犬は苦手です！"), ["猫が好きです。", "犬は苦手です！"]);
    }

    #[test]
    fn the_original_is_verbatim() {
        let content = "Well,  I’m   here. 「はい」と言った。";
        for sentence in sentences(content) {
            assert!(content.contains(sentence.original));
        }
    }

    #[test]
    fn long_sentences_and_long_turns_are_bounded() {
        for (length, kept) in [(399, 1), (400, 1), (401, 0)] {
            assert_eq!(sentences(&"a".repeat(length)).len(), kept, "{length}");
        }
        for (count, kept) in [(199, 199), (200, 200), (201, 200)] {
            assert_eq!(sentences(&"Fine.\n".repeat(count)).len(), kept, "{count}");
        }
        let beyond = format!("{}\nI live in Rome.", " ".repeat(TURN_CHARS_MAX));
        assert!(sentences(&beyond).is_empty());
    }

    #[test]
    fn languages_are_told_apart() {
        for (text, expected) in [
            ("I like sushi (寿司).", Language::English),
            ("GitHubをよく使います。", Language::Japanese),
            ("東京都港区", Language::Japanese),
        ] {
            assert_eq!(sentences(text)[0].language, expected, "{text}");
        }
    }
}
