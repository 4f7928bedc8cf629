//! What is compared of a text: its content words, its polarity, its numbers, its vector.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use crate::embed::{StaticEmbedder, cosine};
use crate::pattern::patterns;
use crate::text::fold;

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// Words that say nothing about the subject of a memory.
const STOP: &str = " a an the of to in on at for with by from and or as is are was were be been being am has have had do does did it its this that these those their theirs them they themselves he she his her user users my me i we our you your will would can could should may might also very really just currently now so too more most some any all what which who when where about into over than then there here mostly generally usually always often ";
/// Words of a removal request that name the request, not its subject.
const FILLER: &str = " fact statement memory memories information info detail details everything anything thing things preference preferences interest mention note record records data stuff said told remember regarding ";
const NEGATIVE: &str = " not no never without don't doesn't cannot can't won't isn't aren't dislike dislikes hate hates avoid avoids detest loathe neither nor stop longer ";
const TASTE: &str = " like likes liked liking love loves loved enjoy enjoys prefer prefers preferred preferring adore adores favourite favorite favor favour fan dislike dislikes hate hates detest loathe appreciate rather would ";

patterns! {
    NEGATIVE_JA = r"ない$|ません|嫌い|苦手|不要|避け|ないで|やめ|禁止|なく";
    TASTE_JA = r"好き|好み|嫌い|苦手|お気に入り|得意";
}

/// The features of one text.
#[derive(Debug, Clone)]
pub(super) struct Features {
    /// Folded text.
    pub(super) folded: String,
    /// Stems of content words; runs of one script in Japanese.
    pub(super) words: BTreeSet<String>,
    /// Whether the text denies or refuses.
    pub(super) negative: bool,
    /// Whether the text says what is liked or disliked.
    pub(super) taste: bool,
    /// Words with digits: what differs in these is not the same fact.
    pub(super) numbers: BTreeSet<String>,
    vector: Vec<f32>,
}

impl Features {
    /// Reads a text.
    pub(super) fn of(text: &str) -> Self {
        let folded = fold(text);
        let vector = StaticEmbedder::get().embed(&folded);
        let (mut words, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        let (mut negative, mut taste) = (NEGATIVE_JA.is_match(&folded), TASTE_JA.is_match(&folded));
        for run in runs(&folded) {
            negative |= listed(NEGATIVE, run);
            taste |= listed(TASTE, run);
            if run.chars().any(|c| c.is_ascii_digit()) {
                numbers.insert(run.to_owned());
            }
            if let Some(word) = content_word(run) {
                words.insert(word);
            }
        }
        Self { folded, words, negative, taste, numbers, vector }
    }

    /// The share of words that both have, from 0 to 1; 0 when neither has any.
    pub(super) fn overlap(&self, other: &Self) -> f64 {
        let common = self.words.intersection(&other.words).count();
        let all = self.words.union(&other.words).count();
        if all == 0 { 0.0 } else { ratio(common, all) }
    }

    /// The share of this text's words that the other has, from 0 to 1; 0 when this has none.
    pub(super) fn contained_in(&self, other: &Self) -> f64 {
        let common = self.words.intersection(&other.words).count();
        if self.words.is_empty() { 0.0 } else { ratio(common, self.words.len()) }
    }

    /// Closeness of meaning, from -1 to 1.
    pub(super) fn cosine(&self, other: &Self) -> f32 {
        cosine(&self.vector, &other.vector)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words in one text")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn listed(list: &str, word: &str) -> bool {
    list.contains(&format!(" {word} "))
}

fn content_word(run: &str) -> Option<String> {
    let bare = run.strip_suffix("'s").unwrap_or(run);
    if bare.chars().all(is_hiragana)
        || listed(STOP, bare)
        || listed(FILLER, bare)
        || listed(TASTE, bare)
        || listed(NEGATIVE, bare)
    {
        return None;
    }
    if bare.is_ascii() { Some(STEMMER.stem(bare).into_owned()) } else { Some(bare.to_owned()) }
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Script {
    Word,
    Hiragana,
    Katakana,
    Ideograph,
    None,
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

fn script(c: char) -> Script {
    match c {
        _ if is_hiragana(c) => Script::Hiragana,
        '\u{30a0}'..='\u{30ff}' if c != '・' => Script::Katakana,
        '\u{3400}'..='\u{9fff}' | '々' => Script::Ideograph,
        '\'' | '_' => Script::Word,
        _ if c.is_alphanumeric() => Script::Word,
        _ => Script::None,
    }
}

/// Stretches of one script; blanks and marks fall away.
fn runs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut current = Script::None;
    for (at, c) in text.char_indices() {
        let next = script(c);
        if next != current {
            if current != Script::None {
                found.push(&text[start..at]);
            }
            (start, current) = (at, next);
        }
    }
    if current != Script::None {
        found.push(&text[start..]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_words_are_stemmed_and_filler_is_dropped() {
        let words = |text: &str| Features::of(text).words.into_iter().collect::<Vec<_>>();
        assert_eq!(words("The user likes hiking trips"), ["hike", "trip"]);
        assert_eq!(words("コーヒーが好き"), ["コーヒー", "好"]);
        assert!(Features::of("Does not eat pork").negative);
        assert!(Features::of("肉を食べない").negative);
        assert!(Features::of("Prefers tea").taste && !Features::of("Drinks tea").taste);
    }
}
