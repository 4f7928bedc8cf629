//! Whatever a model answers: what was not shown stays, nothing is revised twice, and every memory is accounted for.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn profiles() -> Vec<UserProfile> {
    let row = |n: usize| {
        serde_json::from_value(json!({
            "profile_id": format!("p{n}"), "user_id": "ana", "content": format!("fact {n}"),
            "last_modified_timestamp": 1, "generated_from_request_id": "r",
        }))
        .unwrap()
    };
    (0..3).map(row).collect()
}

fn playbooks() -> Vec<UserPlaybook> {
    let row = |n: i64| {
        serde_json::from_value(json!({
            "user_playbook_id": n, "agent_version": "v", "request_id": "r", "content": format!("rule {n}"),
        }))
        .unwrap()
    };
    (0..3).map(row).collect()
}

fn decision() -> impl Strategy<Value = ReflectionDecision> {
    let text = || prop::option::weighted(0.5, prop_oneof!["[a-z]{1,8}", Just("fact 1".to_owned())]);
    let kind = prop_oneof![Just("profile"), Just("playbook"), Just("Profile"), Just("other")];
    let id = prop_oneof!["p[0-4]", "[0-4]", "[a-z]{0,3}"];
    let ttl = prop::option::of(prop_oneof![Just("one_day".to_owned()), Just("soon".to_owned())]);
    (kind, id, text(), text(), text(), ttl).prop_map(|(kind, id, content, trigger, rationale, ttl)| {
        ReflectionDecision {
            reason: None,
            target_kind: Some(kind.to_owned()),
            target_id: Some(id),
            new_content: content,
            new_trigger: trigger,
            new_rationale: rationale,
            new_profile_time_to_live: ttl,
        }
    })
}

proptest! {
    #[test]
    fn every_memory_is_accounted_for_and_revised_at_most_once(
        decisions in prop::collection::vec(decision(), 0..12),
        revisions_max in 0usize..5,
    ) {
        let (profiles, playbooks) = (profiles(), playbooks());
        let run = ReflectionRun { now: 9, revisions_max, bytes_max: usize::MAX / 2 };
        let mut next = 0;
        let many = decisions.len();
        let answer = ReflectionAnswer { decisions };
        let outcome = apply_reflection(&answer, &profiles, &playbooks, run, || {
            next += 1;
            ProfileId::new(&format!("new{next}")).unwrap()
        });
        let counters = outcome.counters;
        prop_assert!(counters.revised <= revisions_max);
        prop_assert_eq!(counters.revised, outcome.profiles.len() + outcome.playbooks.len());
        prop_assert_eq!(counters.considered, 6);
        let settled = counters.no_change + counters.revised + counters.capped;
        prop_assert!(settled <= 6 && settled + counters.failed >= 6);
        prop_assert!(counters.failed <= many);
        prop_assert_eq!(counters.failed, outcome.rejected.len());
        let places: HashSet<_> = outcome.profiles.iter().map(|revised| revised.place).collect();
        prop_assert_eq!(places.len(), outcome.profiles.len());
        for revised in &outcome.profiles {
            let old = &profiles[revised.place];
            prop_assert!(revised.row.profile_id.as_str().starts_with("new"));
            prop_assert_eq!(&revised.row.user_id, &old.user_id);
            prop_assert!(revised.row.content != old.content || revised.row.profile_time_to_live != old.profile_time_to_live);
            prop_assert_eq!(revised.row.expiration_timestamp, revised.row.profile_time_to_live.expiration(9));
        }
    }
}
