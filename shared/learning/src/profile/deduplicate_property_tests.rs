//! Whatever a model answers: nothing is lost, doubled, or retired without being named.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::tests::{row, run};
use super::*;

fn ids() -> impl Strategy<Value = Vec<String>> {
    let id = (prop::sample::select(vec!["NEW-", "EXISTING-", "existing_", "x"]), 0usize..7);
    prop::collection::vec(id.prop_map(|(prefix, n)| format!("{prefix}{n}")), 0..4)
}

fn answers() -> impl Strategy<Value = Option<DedupAnswer>> {
    let content = prop::sample::select(vec!["", "merged", "Requested removal of x", "as NEW-1"]);
    let group = (ids(), content, any::<bool>()).prop_map(|(item_ids, content, contradicts)| DuplicateGroup {
        item_ids,
        relation: if contradicts { Relation::Contradiction } else { Relation::Duplicate },
        merged_content: Some(content.to_owned()),
        merged_time_to_live: None,
    });
    let deletion = (0usize..7, ids()).prop_map(|(n, existing_ids)| Deletion {
        reasoning: None,
        new_id: Some(format!("NEW-{n}")),
        existing_ids,
    });
    let answer = (prop::collection::vec(group, 0..4), ids(), prop::collection::vec(deletion, 0..2)).prop_map(
        |(duplicate_groups, unique_ids, deletions)| DedupAnswer { duplicate_groups, unique_ids, deletions },
    );
    prop::option::weighted(0.9, answer)
}

proptest! {
    #[test]
    fn every_new_row_is_handled_exactly_once_and_only_named_rows_are_retired(
        removals in prop::collection::vec(prop::bool::weighted(0.2), 0..6),
        stored in 0usize..6,
        answer in answers(),
    ) {
        let new: Vec<UserProfile> = removals
            .iter()
            .enumerate()
            .map(|(n, removal)| {
                let content = if *removal { format!("Requested removal of {n}") } else { format!("fact {n}") };
                UserProfile { source_interaction_ids: vec![n as i64], ..row(&format!("n{n}"), &content) }
            })
            .collect();
        let existing: Vec<UserProfile> = (0..stored).map(|n| row(&format!("e{n}"), "stored")).collect();
        let mut made = 0;
        let outcome = apply_deduplication(new.clone(), &existing, answer.as_ref(), &run(), || {
            made += 1;
            ProfileId::new(&format!("m{made}")).unwrap()
        });

        // Each new row is in exactly one inserted row, or was forgotten.
        let mut homes: BTreeMap<i64, usize> = BTreeMap::new();
        for id in outcome.insert.iter().flat_map(|row| &row.source_interaction_ids) {
            *homes.entry(*id).or_default() += 1;
        }
        let forgotten = |n: usize| {
            let names = |text: &String| RowId::parse(text) == Some(RowId::New(n));
            removals[n] || answer.iter().flat_map(|a| &a.deletions).any(|d| {
                d.new_id.iter().chain(&d.existing_ids).any(names)
            })
        };
        for (n, is_removal) in removals.iter().enumerate() {
            let count = homes.get(&(n as i64)).copied().unwrap_or(0);
            prop_assert!(count == 1 || (count == 0 && forgotten(n)), "NEW-{} is in {} rows", n, count);
            prop_assert!(!(*is_removal && count > 0), "a wish to forget was stored");
        }

        let inserted: Vec<&str> = outcome.insert.iter().map(|row| row.profile_id.as_str()).collect();
        let unique: HashSet<&str> = inserted.iter().copied().collect();
        prop_assert_eq!(unique.len(), inserted.len(), "a row is inserted once");
        prop_assert!(outcome.insert.iter().all(|row| !is_removal(&row.content) && !row.content.is_empty()));

        let named: HashSet<RowId> = answer.iter().flat_map(|a| {
            let groups = a.duplicate_groups.iter().flat_map(|group| &group.item_ids);
            groups.chain(a.deletions.iter().flat_map(|deletion| &deletion.existing_ids)).filter_map(|id| RowId::parse(id))
        }).collect();
        let mut retired = HashSet::new();
        for (id, retirement) in &outcome.retire {
            prop_assert!(retired.insert(id.as_str()), "a row is retired once");
            let n = existing.iter().position(|row| &row.profile_id == id);
            prop_assert!(n.is_some_and(|n| named.contains(&RowId::Existing(n))), "{} was not named", id);
            prop_assert!(!inserted.contains(&id.as_str()), "never both inserted and retired");
            if let Retirement::MergedInto(survivor) | Retirement::SupersededBy(survivor) = retirement {
                prop_assert!(inserted.contains(&survivor.as_str()), "a link leads to a row");
            }
        }
    }
}
