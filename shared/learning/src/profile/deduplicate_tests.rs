//! Deduplication, case by case.

use domain::ids::UserId;
use domain::time::NEVER_EXPIRES;
use serde_json::json;

use super::*;
use crate::provenance::SPANS_HEADER;

const NOW: i64 = 1_750_000_000;

pub(in crate::profile) fn row(id: &str, content: &str) -> UserProfile {
    UserProfile {
        profile_id: ProfileId::new(id).unwrap(),
        user_id: UserId::new("ana").unwrap(),
        content: content.into(),
        last_modified_timestamp: NOW - 100,
        generated_from_request_id: format!("request of {id}"),
        profile_time_to_live: ProfileTimeToLive::OneWeek,
        expiration_timestamp: NOW + 1,
        custom_features: None,
        source: Some("web".into()),
        status: None,
        extractor_names: None,
        expanded_terms: Some("words".into()),
        tags: Some(vec!["tag".into()]),
        source_interaction_ids: vec![],
        source_span: None,
        notes: None,
        reader_angle: None,
        merged_into: None,
        superseded_by: None,
        created_at: NOW - 100,
    }
}

pub(super) fn run() -> DedupRun {
    DedupRun { request_id: RequestId::new("r9").unwrap(), now: NOW }
}

fn apply(new: &[&str], existing: &[&str], answer: Value) -> DedupOutcome {
    let rows = |prefix: &str, contents: &[&str]| -> Vec<UserProfile> {
        contents.iter().enumerate().map(|(n, content)| row(&format!("{prefix}{n}"), content)).collect()
    };
    apply_rows(rows("n", new), &rows("e", existing), answer)
}

fn apply_rows(new: Vec<UserProfile>, existing: &[UserProfile], answer: Value) -> DedupOutcome {
    let answer: Option<DedupAnswer> = serde_json::from_value(answer).ok();
    let mut n = 0;
    apply_deduplication(new, existing, answer.as_ref(), &run(), || {
        n += 1;
        ProfileId::new(&format!("m{n}")).unwrap()
    })
}

fn ids(outcome: &DedupOutcome) -> Vec<&str> {
    outcome.insert.iter().map(|row| row.profile_id.as_str()).collect()
}

fn retired(outcome: &DedupOutcome) -> Vec<String> {
    let text = |retirement: &Retirement| match retirement {
        Retirement::MergedInto(id) => format!("merged into {id}"),
        Retirement::SupersededBy(id) => format!("superseded by {id}"),
        Retirement::Deleted => "deleted".into(),
    };
    outcome.retire.iter().map(|(id, retirement)| format!("{id} {}", text(retirement))).collect()
}

fn group(items: &[&str], content: &str) -> Value {
    json!({"item_ids": items, "merged_content": content, "merged_time_to_live": "infinity"})
}

#[test]
fn duplicates_become_one_row_and_the_stored_one_points_to_it() {
    let mut new = row("n0", "likes tea");
    new.custom_features = json!({"a": 1}).as_object().cloned();
    new.source_interaction_ids = vec![7, 8];
    new.source_span = Some("tea please".into());
    new.extractor_names = Some(vec!["x".into()]);
    let mut old = row("e0", "likes green tea");
    old.source_interaction_ids = vec![3, 7];
    old.source_span = Some("green tea".into());
    old.extractor_names = Some(vec!["y".into(), "x".into()]);
    old.notes = Some("said twice".into());
    let answer = json!({"duplicate_groups": [group(&["NEW-0", "EXISTING-0"], " likes green tea a lot ")]});
    let outcome = apply_rows(vec![new], &[old], answer);
    assert_eq!(retired(&outcome), ["e0 merged into m1"]);
    let merged = &outcome.insert[0];
    assert_eq!((merged.profile_id.as_str(), merged.content.as_str()), ("m1", "likes green tea a lot"));
    assert_eq!((merged.last_modified_timestamp, merged.expiration_timestamp), (NOW, NEVER_EXPIRES));
    assert_eq!(merged.generated_from_request_id, "r9");
    assert_eq!(merged.source_interaction_ids, [7, 8, 3]);
    assert_eq!(merged.source_span.as_deref(), Some(&*format!("{SPANS_HEADER}\n- tea please\n- green tea")));
    assert_eq!(merged.extractor_names.as_deref(), Some(&["x".to_owned(), "y".to_owned()][..]));
    assert_eq!(
        (merged.custom_features.as_ref().unwrap().len(), merged.notes.as_deref()),
        (1, Some("said twice"))
    );
    assert_eq!((&merged.expanded_terms, &merged.tags), (&None, &None));
}

#[test]
fn a_merged_row_keeps_the_extra_data_of_its_members_unless_it_replaces_them() {
    for (relation, expected) in
        [("duplicate", json!({"a": 1, "b": 2, "c": 3})), ("contradiction", json!({"b": 2, "c": 3}))]
    {
        let mut new = row("n0", "lives in Oslo");
        new.custom_features = json!({"b": 2, "c": 3}).as_object().cloned();
        let mut old = row("e0", "lives in Rome");
        old.custom_features = json!({"a": 1, "b": 1}).as_object().cloned();
        let mut answer = group(&["NEW-0", "EXISTING-0"], "lives in Oslo");
        answer["relation"] = relation.into();
        let outcome = apply_rows(vec![new], &[old], json!({"duplicate_groups": [answer]}));
        assert_eq!(outcome.insert[0].custom_features, expected.as_object().cloned(), "{relation}");
    }
}

#[test]
fn a_later_statement_supersedes_the_stored_one() {
    let mut answer = group(&["EXISTING-0", "NEW-0"], "Is called Anna-Lena");
    answer["relation"] = "contradiction".into();
    let outcome = apply(&["Is called Anna-Lena"], &["Is called Ana"], json!({"duplicate_groups": [answer]}));
    assert_eq!((ids(&outcome), retired(&outcome)), (vec!["m1"], vec!["e0 superseded by m1".to_owned()]));
}

#[test]
fn two_facts_of_one_batch_become_one() {
    let outcome = apply(
        &["likes tea", "tea lover"],
        &[],
        json!({"duplicate_groups": [group(&["NEW-0", "NEW-1"], "likes tea")]}),
    );
    assert_eq!((ids(&outcome), outcome.retire.len()), (vec!["m1"], 0));
}

#[test]
fn a_group_of_stored_rows_alone_is_merged_and_not_lost() {
    let answer =
        json!({"duplicate_groups": [group(&["EXISTING-0", "EXISTING-1"], "tea")], "unique_ids": ["NEW-0"]});
    let outcome = apply(&["x"], &["tea", "Tea!"], answer);
    assert_eq!(ids(&outcome), ["m1", "n0"]);
    assert_eq!(outcome.insert[0].source.as_deref(), Some("web"));
    assert_eq!(retired(&outcome), ["e0 merged into m1", "e1 merged into m1"]);
}

#[test]
fn what_is_to_be_forgotten_is_erased_and_the_wish_is_not_stored() {
    let answer =
        json!({"deletions": [{"new_id": "new-0", "existing_ids": ["[EXISTING-1]", "EXISTING-7", "x"]}]});
    let outcome = apply(&["Requested removal of jazz"], &["tea", "likes jazz"], answer);
    assert_eq!((ids(&outcome).len(), retired(&outcome)), (0, vec!["e1 deleted".to_owned()]));
    let nothing_found = json!({"deletions": [{"new_id": "NEW-0", "existing_ids": []}]});
    assert_eq!(apply(&["Requested removal of jazz"], &[], nothing_found).insert, []);
}

#[test]
fn a_merge_cannot_bring_back_what_is_to_be_forgotten() {
    let answer = json!({
        "duplicate_groups": [group(&["NEW-1", "EXISTING-0"], "likes jazz clubs"), group(&["NEW-0", "NEW-2"], "jazz")],
        "deletions": [{"new_id": "NEW-0", "existing_ids": ["EXISTING-0"]}],
    });
    let outcome = apply(&["Requested removal of jazz", "likes clubs", "likes rock"], &["likes jazz"], answer);
    assert_eq!(ids(&outcome), ["n1", "n2"]);
    assert_eq!(retired(&outcome), ["e0 deleted"]);
    assert_eq!(outcome.counters.skipped_groups, 2);
}

#[test]
fn a_new_row_that_states_what_is_to_be_forgotten_is_never_stored() {
    let answer =
        json!({"unique_ids": ["NEW-1"], "deletions": [{"new_id": "NEW-0", "existing_ids": ["NEW-1"]}]});
    assert_eq!(apply(&["Requested removal of jazz", "likes jazz"], &[], answer).insert, []);
}

#[test]
fn a_wish_to_forget_is_never_stored_whatever_the_answer_says() {
    for answer in [
        Value::Null,
        json!({}),
        json!({"unique_ids": ["NEW-0"]}),
        json!({"duplicate_groups": [group(&["NEW-0", "EXISTING-0"], "jazz")]}),
        json!({"duplicate_groups": [group(&["NEW-1", "EXISTING-0"], "Requested removal of jazz")]}),
    ] {
        let outcome = apply(&[" requested removal of jazz", "x"], &["likes jazz"], answer.clone());
        assert_eq!((ids(&outcome), outcome.retire.len()), (vec!["n1"], 0), "{answer}");
        assert_eq!(outcome.counters.removals_unresolved, 1, "{answer}");
    }
}

#[test]
fn a_group_that_cannot_be_applied_leaves_its_members_alone() {
    for faulty in [
        group(&["NEW-0"], "x"),
        group(&["NEW-0", "NEW-0"], "x"),
        group(&["NEW-0", "EXISTING-9"], "x"),
        group(&["EXISTING-0"], "x"),
        group(&["NEW-0", "EXISTING-0"], "  "),
        group(&["NEW-0", "EXISTING-0"], "same as NEW-0"),
        group(&["NEW-0", "EXISTING-0"], &"x".repeat(PROFILE_CONTENT_CHARS_MAX + 1)),
        json!("prose"),
    ] {
        let outcome = apply(&["a"], &["b"], json!({"duplicate_groups": [faulty.clone()]}));
        assert_eq!((ids(&outcome), outcome.retire.len()), (vec!["n0"], 0), "{faulty}");
        assert_eq!(outcome.counters.skipped_groups, 1, "{faulty}");
    }
}

#[test]
fn of_two_groups_that_claim_the_same_row_the_first_wins() {
    let groups = [group(&["NEW-0", "EXISTING-0"], "a"), group(&["NEW-1", "EXISTING-0"], "b")];
    let outcome = apply(&["a", "b"], &["c"], json!({"duplicate_groups": groups}));
    assert_eq!((ids(&outcome), retired(&outcome)), (vec!["m1", "n1"], vec!["e0 merged into m1".to_owned()]));
}

#[test]
fn an_unknown_time_to_live_falls_back_to_that_of_the_template() {
    let answer =
        json!({"item_ids": ["EXISTING-0", "NEW-0"], "merged_content": "x", "merged_time_to_live": "ages"});
    let outcome = apply(&["a"], &["b"], json!({"duplicate_groups": [answer]}));
    assert_eq!(outcome.insert[0].profile_time_to_live, ProfileTimeToLive::OneWeek);
    assert_eq!(outcome.insert[0].expiration_timestamp, NOW + 7 * 86_400);
}
