//! "It's X, not Y": corrections whose subject was said before.

use crate::pattern::patterns;
use crate::text::Language;

use super::{en, ja};

/// A value and the one that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    /// What is right.
    pub(super) new: String,
    /// What was wrong.
    pub(super) old: String,
}

patterns! {
    NOT_LAST = r"^(?:it's|it is|that's|that is|that should be|it should be|should be|i meant|i mean|i said|make (?:that|it)|read|it was) ?(?P<new>[^,]{1,60}?),? (?:and |rather than |instead of )?(?:not|rather than|instead of) (?P<old>[^,.]{1,60})$";
    NOT_FIRST = r"^(?:it's |it is |i said |i'm )?not (?P<old>[^,.]{1,60}?)(?:,| but|;| -| —|\.)+ ?(?:but |it's |it is |rather |i meant |i mean )*(?P<new>[^,.]{1,60})$";
    JAPANESE = r"^(?P<old>[^、。]{1,30}?)(?:ではなくて?|じゃなくて?|でなく)、?(?P<new>[^、。]{1,30}?)(?:です|だ|でした|なんです|だよ|が正しいです|にしてください)?$";
    ARTICLE = r"^(?:an?|the|my|on|in|at|from|to) ";
}

/// Reads a correction, if the sentence is one.
pub(super) fn replacement(sentence: &str, language: Language) -> Option<Replacement> {
    let found = match language {
        Language::English => {
            let text = en::trimmed(en::without_lead(sentence));
            NOT_LAST.captures(text).or_else(|| NOT_FIRST.captures(text))?
        }
        Language::Japanese => JAPANESE.captures(ja::trimmed(ja::without_lead(sentence)))?,
    };
    let (new, old) = (bare(&found["new"]), bare(&found["old"]));
    (!new.is_empty() && !old.is_empty() && new != old).then_some(Replacement { new, old })
}

impl Replacement {
    /// The fact with the wrong value replaced, if the fact holds it as a whole word.
    pub(super) fn apply(&self, fact: &str) -> Option<String> {
        let at = find_word(fact, &self.old)?;
        Some(format!("{}{}{}", &fact[..at], self.new, &fact[at + self.old.len()..]))
    }

    /// Whether both values look like names of people.
    pub(super) fn is_of_names(&self) -> bool {
        [&self.new, &self.old].into_iter().all(|value| {
            value.chars().next().is_some_and(char::is_uppercase)
                && value.split(' ').count() <= 3
                && value.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '.'))
        })
    }
}

fn bare(value: &str) -> String {
    ARTICLE.replace(value.trim().trim_matches(['"', '“', '”', '「', '」']), "").trim().to_owned()
}

/// Where `word` stands in `text` between characters that are no letters; case is ignored in ASCII.
pub(super) fn find_word(text: &str, word: &str) -> Option<usize> {
    let (lower, wanted) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let joins = |c: char| c.is_alphanumeric() && (c.is_ascii() || !is_cjk(c));
    lower.match_indices(&wanted).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + wanted.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

fn is_cjk(c: char) -> bool {
    matches!(u32::from(c), 0x3041..=0x30ff | 0x3400..=0x9fff)
}
