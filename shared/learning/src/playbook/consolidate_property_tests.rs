//! Whatever a model decides: no new rule is lost or doubled, and no stored one goes without a survivor.

use std::collections::HashSet;

use proptest::prelude::*;

use super::tests::{RUN, existing, row};
use super::*;

fn decisions() -> impl Strategy<Value = Vec<Decision>> {
    let new =
        || prop::collection::btree_set(0usize..6, 1..3).prop_map(|rows| rows.into_iter().collect::<Vec<_>>());
    let text = || prop::sample::select(vec!["a", "b", "as NEW-1"]).prop_map(str::to_owned);
    let decision = prop_oneof![
        (new(), prop::collection::vec(0i64..5, 0..3), text()).prop_map(|(new, archive_existing, content)| {
            Decision::Unify { new, archive_existing, content, trigger: None, rationale: None }
        }),
        (new(), 0i64..5)
            .prop_map(|(new, superseded_by_existing)| Decision::RejectNew { new, superseded_by_existing }),
        (0usize..6, 0i64..5, text(), text()).prop_map(
            |(new, existing, refined_new_trigger, refined_existing_trigger)| Decision::Differentiate {
                new,
                existing,
                refined_new_trigger,
                refined_existing_trigger,
            }
        ),
        new().prop_map(|new| Decision::Independent { new }),
    ];
    prop::collection::vec(decision, 0..7)
}

proptest! {
    #[test]
    fn every_new_rule_is_handled_exactly_once_and_every_retired_one_has_a_survivor(
        new_count in 0usize..5, decisions in decisions(), unreadable in 0usize..3,
    ) {
        let new: Vec<UserPlaybook> = (0..new_count).map(|n| row(1_000 + n as i64, &format!("n{n}"))).collect();
        let stored = existing();
        let answer = ConsolidationAnswer { decisions: decisions.clone(), unreadable };
        let outcome = apply_consolidation(&new, &stored, Some(&answer), RUN);

        for (n, row) in new.iter().enumerate() {
            let id = row.source_interaction_ids[0];
            let homes = outcome.insert.iter().filter(|row| row.source_interaction_ids.contains(&id)).count();
            let may_be_rejected = decisions.iter().any(|decision| {
                matches!(decision, Decision::RejectNew { new, .. } if new.contains(&n))
            });
            prop_assert!(homes == 1 || (homes == 0 && may_be_rejected), "NEW-{} is in {} rows", n, homes);
        }
        let mut retired = HashSet::new();
        for RetiredPlaybook { user_playbook_id, retirement } in &outcome.retire {
            prop_assert!(retired.insert(*user_playbook_id), "a row is retired once");
            let old = stored.iter().find(|row| row.user_playbook_id == *user_playbook_id).unwrap();
            let survivor = &outcome.insert[retirement.survivor()];
            prop_assert!(survivor.source_interaction_ids.contains(&old.source_interaction_ids[0]));
            let named = decisions.iter().any(|decision| {
                given_up(decision, &stored).iter().any(|place| stored[*place].user_playbook_id == *user_playbook_id)
            });
            prop_assert!(named, "a row is retired only when it was named");
        }
        let counted = outcome.counters.unhandled_new + outcome.counters.unify + outcome.counters.independent
            + 2 * outcome.counters.differentiate;
        prop_assert_eq!(counted, outcome.insert.len());
    }
}
