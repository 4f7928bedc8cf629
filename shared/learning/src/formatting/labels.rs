//! Labels of turns mean nothing outside the prompt that they stand in: they must not get into what is stored.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::evidence::{EvidenceMap, Resolved};

static BRACKETED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\s*[\[(]((?:see |turns? |and |comparisons? )*[tc]\d+(?:(?:,| and|;)? *[tc]\d+)*)[\])]").ok()
});
static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[tc]\d+\b").ok());

/// The text without labels in brackets, such as `[t3]` or `(see t1, t2)`.
///
/// A word that looks like a label but stands in the cited turns themselves (an instance type, a visa class) is
/// content and stays. `None` when a label is woven into the prose, so that it cannot be taken out.
#[must_use]
pub fn without_labels(text: &str, shown: &EvidenceMap, cited: &Resolved<'_>) -> Option<String> {
    let (Some(bracketed), Some(label)) = (BRACKETED.as_ref(), LABEL.as_ref()) else {
        return Some(text.to_owned());
    };
    let said = |word: &str| {
        let mut texts = cited.turns.iter().flat_map(|turn| &turn.texts);
        texts.any(|text| label.find_iter(text).any(|found| found.as_str() == word))
    };
    let leaks = |word: &str| shown.get(word).is_some() && !said(word);
    let cleaned = bracketed.replace_all(text, |found: &Captures<'_>| {
        let all_leak = label.find_iter(&found[1]).all(|word| leaks(word.as_str()));
        if all_leak { String::new() } else { found[0].to_owned() }
    });
    let woven_in = label.find_iter(&cleaned).any(|word| leaks(word.as_str()));
    (!woven_in).then(|| cleaned.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use domain::entities::Interaction;

    use super::*;
    use crate::formatting::EvidenceTurn;

    fn clean(text: &str, said: &str) -> Option<String> {
        let mut shown = EvidenceMap::default();
        for label in ["t1", "t2", "t3", "c1"] {
            let interaction =
                Interaction { content: said.into(), role: "User".into(), ..Interaction::default() };
            shown.push(EvidenceTurn::of(label.into(), &interaction, true));
        }
        let cited = shown.resolve(&["t1".into()]);
        without_labels(text, &shown, &cited)
    }

    #[test]
    fn labels_in_brackets_are_taken_out() {
        for text in [
            "Prefers euros [t3].",
            "Prefers euros (t1, t2).",
            "Prefers euros (see turns t1 and t3).",
            "Prefers euros[c1].",
        ] {
            assert_eq!(clean(text, "no, euros").as_deref(), Some("Prefers euros."), "{text}");
        }
    }

    #[test]
    fn a_label_woven_into_the_prose_spoils_the_text() {
        assert_eq!(clean("As said in t2 the user prefers euros", "euros"), None);
    }

    #[test]
    fn a_word_that_only_looks_like_a_label_stays() {
        let text = "Runs everything on t3 instances (t3)";
        assert_eq!(clean(text, "we run t3 boxes").as_deref(), Some(text));
        assert_eq!(clean("Owns a t9 and a T1 visa", "x").as_deref(), Some("Owns a t9 and a T1 visa"));
    }
}
