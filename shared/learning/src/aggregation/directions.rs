//! Rules of one cluster may point in several directions; they are shown apart.

use std::collections::BTreeSet;

/// Groups of places: a row joins the first group with a member whose words it shares to at least `threshold`.
/// The largest group comes first.
#[must_use]
pub fn group_directions(contents: &[&str], threshold: f64) -> Vec<Vec<usize>> {
    let words: Vec<BTreeSet<String>> = contents.iter().map(|content| words(content)).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in 0..words.len() {
        let near = |group: &&mut Vec<usize>| {
            group
                .iter()
                .any(|member| share(&words[*member], &words[place]).is_some_and(|share| share >= threshold))
        };
        match groups.iter_mut().find(near) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

/// The words of a text, in lower case.
#[must_use]
pub fn words(text: &str) -> BTreeSet<String> {
    text.to_lowercase().split_whitespace().map(str::to_owned).collect()
}

/// The larger share that the common words are of either text; `None` when one of them has no words.
fn share(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Option<f64> {
    let smaller = a.len().min(b.len());
    #[expect(clippy::cast_precision_loss, reason = "numbers of words")]
    let share = a.intersection(b).count() as f64 / smaller.max(1) as f64;
    (smaller > 0).then_some(share)
}

/// Common words of two texts as a share of all their words, 0 to 1.
#[must_use]
pub fn likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (plain_words(a), plain_words(b));
    let all = a.union(&b).count();
    if all == 0 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of words")]
    let likeness = a.intersection(&b).count() as f64 / all as f64;
    likeness
}

/// Words without punctuation.
fn plain_words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_join_the_first_group_that_shares_enough_words() {
        let contents = [
            "answer in bullet points",
            "never apologise",
            "Answer in bullet points please",
            "answer in short",
        ];
        assert_eq!(group_directions(&contents, 0.6), [vec![0, 2, 3], vec![1]]);
        assert_eq!(group_directions(&contents, 0.7), [vec![0, 2], vec![1], vec![3]]);
    }

    #[test]
    fn a_share_at_the_threshold_joins() {
        assert_eq!(group_directions(&["a b", "a c"], 0.5), [vec![0, 1]]);
        assert_eq!(group_directions(&["a b", "a c"], 0.51), [vec![0], vec![1]]);
    }

    #[test]
    fn empty_texts_share_nothing() {
        assert_eq!(group_directions(&["", "", "a"], 0.0), [vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn likeness_looks_at_words_only() {
        assert!((likeness("Use bullet points!", "use, bullet POINTS") - 1.0).abs() < f64::EPSILON);
        assert!(likeness("use bullet points", "never apologise first") < 0.1);
    }
}
