//! What must hold for an answer of the deduplication, so that the model can be asked to mend it.

use domain::entities::UserProfile;

use super::schema::DedupAnswer;
use crate::candidates::RowId;

/// Whether a comparison can change anything.
#[must_use]
pub fn needs_deduplication(new: &[UserProfile], existing: &[UserProfile]) -> bool {
    new.len() > 1 || (!new.is_empty() && !existing.is_empty())
}

/// What is wrong with an answer, in words for the model that gave it; empty when nothing is.
#[must_use]
pub fn dedup_problems(answer: &DedupAnswer, new_count: usize, existing_count: usize) -> Vec<String> {
    let deletions = answer.deletions.iter();
    let named = answer
        .duplicate_groups
        .iter()
        .flat_map(|group| group.item_ids.iter())
        .chain(&answer.unique_ids)
        .chain(deletions.clone().flat_map(|deletion| deletion.new_id.iter().chain(&deletion.existing_ids)));
    let mut new_mentions = vec![0usize; new_count];
    let mut existing_mentions = vec![0usize; existing_count];
    let mut problems = Vec::new();
    for name in named {
        match RowId::parse(name) {
            Some(RowId::New(n)) if n < new_count => new_mentions[n] += 1,
            Some(RowId::Existing(n)) if n < existing_count => existing_mentions[n] += 1,
            _ => problems.push(format!("{name:?} is not the id of a row")),
        }
    }
    let news = new_mentions.iter().enumerate().filter(|(_, mentions)| **mentions != 1);
    problems
        .extend(news.map(|(n, mentions)| format!("NEW-{n} must occur exactly once, not {mentions} times")));
    let existing = existing_mentions.iter().enumerate().filter(|(_, mentions)| **mentions > 1);
    problems.extend(existing.map(|(n, _)| format!("EXISTING-{n} must occur at most once")));
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::profile::deduplicate::tests::row;

    #[test]
    fn a_lone_new_row_beside_nothing_needs_no_comparison() {
        let rows = [row("a", "a"), row("b", "b")];
        assert!(!needs_deduplication(&rows[..1], &[]) && !needs_deduplication(&[], &rows));
        assert!(needs_deduplication(&rows, &[]) && needs_deduplication(&rows[..1], &rows[1..]));
    }

    #[test]
    fn the_faults_of_an_answer_are_named_for_its_repair() {
        let group = json!({"item_ids": ["NEW-0", "EXISTING-0"], "merged_content": "x"});
        let answer: DedupAnswer = serde_json::from_value(json!({
            "duplicate_groups": [group, group],
            "unique_ids": ["NEW-5", "all"],
        }))
        .unwrap();
        assert_eq!(
            dedup_problems(&answer, 2, 1),
            [
                "\"NEW-5\" is not the id of a row",
                "\"all\" is not the id of a row",
                "NEW-0 must occur exactly once, not 2 times",
                "NEW-1 must occur exactly once, not 0 times",
                "EXISTING-0 must occur at most once",
            ]
        );
    }
}
