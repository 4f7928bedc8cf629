//! Consolidation, case by case.

use domain::entities::{BlockingIssue, BlockingIssueKind};
use serde_json::{Value, json};

use super::*;
use crate::playbook::{candidate_query, consolidation_problems, format_new, needs_consolidation, tools_text};
use crate::provenance::SPANS_HEADER;

pub(super) const RUN: ConsolidationRun =
    ConsolidationRun { now: 900, max_unified_content_chars: UNIFIED_CONTENT_CHARS };

pub(super) fn row(id: i64, content: &str) -> UserPlaybook {
    serde_json::from_value(json!({
        "user_playbook_id": id, "agent_version": "v", "request_id": "r", "content": content,
        "trigger": format!("when {content}"), "rationale": format!("because {content}"), "created_at": id,
        "source_interaction_ids": [id + 100], "expanded_terms": "words",
    }))
    .unwrap()
}

pub(super) fn existing() -> Vec<UserPlaybook> {
    vec![row(301, "e0"), row(302, "e1"), row(1, "e2")]
}

fn news(count: usize) -> Vec<UserPlaybook> {
    (0..count).map(|n| UserPlaybook { user_playbook_id: 0, ..row(n as i64, &format!("n{n}")) }).collect()
}

fn apply(new_count: usize, decisions: Value) -> ConsolidationOutcome {
    let answer: ConsolidationAnswer = serde_json::from_value(json!({ "decisions": decisions })).unwrap();
    apply_consolidation(&news(new_count), &existing(), Some(&answer), RUN)
}

fn contents(outcome: &ConsolidationOutcome) -> Vec<&str> {
    outcome.insert.iter().map(|row| row.content.as_str()).collect()
}

fn retired(outcome: &ConsolidationOutcome) -> Vec<(i64, PlaybookRetirement)> {
    outcome.retire.iter().map(|retired| (retired.user_playbook_id, retired.retirement)).collect()
}

fn unify(new: Value, archive: Value, content: &str) -> Value {
    json!({"kind": "unify", "new_id": new, "archive_existing_ids": archive, "content": content, "trigger": "t",
           "rationale": "r"})
}

#[test]
fn unified_rules_carry_everything_of_their_members_over() {
    let issue =
        |details: &str| Some(BlockingIssue { kind: BlockingIssueKind::MissingTool, details: details.into() });
    let mut stored = existing();
    stored[0].blocking_issue = issue("old");
    stored[1].blocking_issue = issue("newer");
    stored[0].notes = Some("note".into());
    stored[0].source_span = Some("said once".into());
    stored[1].tags = Some(vec!["b".into(), "a".into()]);
    let mut new = news(2);
    new[0].source_span = Some("said again".into());
    new[0].tags = Some(vec!["a".into()]);
    new[0].reader_angle = Some("correction".into());
    new[0].user_id = domain::ids::UserId::new("ana").ok();
    let decisions =
        json!({"decisions": [unify(json!(["NEW-0", "NEW-1"]), json!([0, "EXISTING-1"]), "both")]});
    let answer: ConsolidationAnswer = serde_json::from_value(decisions).unwrap();
    let outcome = apply_consolidation(&new, &stored, Some(&answer), RUN);
    let unified = &outcome.insert[0];
    assert_eq!(
        retired(&outcome),
        [(301, PlaybookRetirement::MergedInto(0)), (302, PlaybookRetirement::MergedInto(0))]
    );
    assert_eq!(
        (outcome.insert.len(), unified.content.as_str(), unified.trigger.as_deref()),
        (1, "both", Some("t"))
    );
    assert_eq!(unified.source_interaction_ids, [100, 101, 401, 402]);
    assert_eq!(unified.blocking_issue, issue("newer"));
    assert_eq!(unified.source_span.as_deref(), Some(&*format!("{SPANS_HEADER}\n- said again\n- said once")));
    assert_eq!(unified.tags.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
    assert_eq!(
        (unified.notes.as_deref(), unified.reader_angle.as_deref()),
        (Some("note"), Some("correction"))
    );
    assert_eq!((unified.created_at, unified.user_playbook_id, &unified.expanded_terms), (900, 0, &None));
    assert!(unified.user_id.is_some());
}

#[test]
fn a_rule_that_is_known_already_is_not_stored_even_if_nothing_else_is_left() {
    let reject = |n: usize| json!({"kind": "reject_new", "new_id": format!("NEW-{n}"), "superseded_by_existing_id": 0});
    let outcome = apply(2, json!([reject(0), reject(1)]));
    assert_eq!((outcome.insert.len(), outcome.retire.len(), outcome.counters.reject_new), (0, 0, 2));
}

#[test]
fn a_rejection_in_favour_of_nothing_keeps_the_new_rule() {
    let outcome =
        apply(1, json!([{"kind": "reject_new", "new_id": "NEW-0", "superseded_by_existing_id": 7}]));
    assert_eq!(contents(&outcome), ["n0"]);
    let counters = outcome.counters;
    assert_eq!((counters.reject_new_invalid, counters.failed, counters.unhandled_new), (1, 1, 1));
}

#[test]
fn two_rules_that_are_told_apart_are_both_current_with_exact_triggers() {
    let outcome = apply(
        1,
        json!([{"kind": "differentiate", "new_id": "NEW-0", "existing_id": "EXISTING-2",
                "refined_new_trigger": "refunds", "refined_existing_trigger": "bookings"}]),
    );
    let triggers: Vec<_> = outcome.insert.iter().map(|row| row.trigger.as_deref().unwrap()).collect();
    assert_eq!((contents(&outcome), triggers), (vec!["n0", "e2"], vec!["refunds", "bookings"]));
    assert_eq!(retired(&outcome), [(1, PlaybookRetirement::SupersededBy(1))]);
    assert!(outcome.insert.iter().all(|row| row.user_playbook_id == 0));
}

#[test]
fn independent_rules_are_stored_unchanged() {
    let outcome = apply(2, json!([{"kind": "independent", "new_id": ["NEW-1", "NEW-0"], "reason": "x"}]));
    assert_eq!(outcome.insert, [news(2)[1].clone(), news(2)[0].clone()]);
}

#[test]
fn numbers_are_places_first_and_ids_only_when_they_are_no_place() {
    let outcome = apply(
        2,
        json!([unify(json!("NEW-0"), json!([1]), "a"), unify(json!("NEW-1"), json!([301, 999]), "b")]),
    );
    let ids: Vec<i64> = outcome.retire.iter().map(|retired| retired.user_playbook_id).collect();
    assert_eq!(ids, [302, 301], "1 is EXISTING-1 although a row has the id 1");
}

#[test]
fn a_decision_that_contradicts_an_earlier_one_is_passed_over_alone() {
    let differentiate = json!({"kind": "differentiate", "new_id": "NEW-1", "existing_id": 0,
        "refined_new_trigger": "a", "refined_existing_trigger": "b"});
    let outcome = apply(
        3,
        json!([
            unify(json!("NEW-0"), json!([0]), "u"),
            differentiate,
            unify(json!("NEW-0"), json!([1]), "again"),
            unify(json!(["NEW-2", "NEW-0"]), json!([]), "mixed"),
        ]),
    );
    assert_eq!(contents(&outcome), ["u", "n1", "n2"]);
    assert_eq!(retired(&outcome), [(301, PlaybookRetirement::MergedInto(0))]);
    assert_eq!((outcome.counters.failed, outcome.counters.unhandled_new), (3, 2));
}

#[test]
fn texts_that_cannot_be_stored_leave_the_rows_alone() {
    let same_trigger = json!({"kind": "differentiate", "new_id": "NEW-0", "existing_id": 0,
        "refined_new_trigger": "Same", "refined_existing_trigger": "same"});
    let unknown = json!({"kind": "differentiate", "new_id": "NEW-0", "existing_id": 9,
        "refined_new_trigger": "a", "refined_existing_trigger": "b"});
    for faulty in [
        unify(json!("NEW-0"), json!([0]), "as EXISTING-0 says"),
        unify(json!("NEW-0"), json!([0]), &"x".repeat(PLAYBOOK_CONTENT_CHARS_MAX + 1)),
        unify(json!("NEW-7"), json!([0]), "x"),
        same_trigger,
        unknown,
    ] {
        let outcome = apply(1, json!([faulty.clone()]));
        assert_eq!((contents(&outcome), outcome.retire.len()), (vec!["n0"], 0), "{faulty}");
        assert_eq!(outcome.counters.failed, 1, "{faulty}");
    }
}

#[test]
fn a_unified_rule_over_the_budget_is_reported_and_applied() {
    for (length, over) in [(1_199, 0), (1_200, 0), (1_201, 1)] {
        let outcome = apply(1, json!([unify(json!("NEW-0"), json!([0]), &"x".repeat(length))]));
        assert_eq!((outcome.counters.over_budget, outcome.counters.unify), (over, 1), "{length}");
    }
}

#[test]
fn without_a_usable_answer_every_new_rule_is_kept() {
    let outcome = apply_consolidation(&news(2), &existing(), None, RUN);
    assert_eq!((contents(&outcome), outcome.retire.len()), (vec!["n0", "n1"], 0));
    assert_eq!(contents(&apply(2, json!([]))), ["n0", "n1"]);
}

#[test]
fn the_faults_of_an_answer_are_named_for_its_repair() {
    let answer: ConsolidationAnswer = serde_json::from_value(json!({"decisions": [
        "x",
        unify(json!(["NEW-0", "NEW-4"]), json!([0]), "u"),
        unify(json!("NEW-0"), json!([0, 77]), "u"),
        {"kind": "reject_new", "new_id": "NEW-1", "superseded_by_existing_id": 88},
    ]}))
    .unwrap();
    assert_eq!(
        consolidation_problems(&answer, 3, &existing()),
        [
            "1 decisions lack a field or name no row",
            "NEW-4 is not a row",
            "EXISTING-77 is not a row",
            "EXISTING-88 is not a row",
            "NEW-0 must be handled exactly once, not 2 times",
            "NEW-2 must be handled exactly once, not 0 times",
            "EXISTING-0 may be archived or refined once, not 2 times",
        ]
    );
}

#[test]
fn rows_are_shown_one_a_line() {
    let shown =
        format_new(&[UserPlaybook { trigger: None, playbook_name: "playbook".into(), ..row(0, "a\n\"b\"") }]);
    assert_eq!(
        shown,
        "[NEW-0] Content: \"a\\n\\\"b\\\"\" | Trigger: \"\" | Rationale: \"because a\\n\\\"b\\\"\" | Name: playbook | \
         Source: unknown | Last Modified: 1970-01-01 00:00 UTC"
    );
    assert_eq!(tools_text([("book", "books"), ("pay", "pays")]), "book: books\npay: pays");
    assert_eq!(tools_text([]), "");
}

#[test]
fn a_rule_is_compared_by_its_trigger_and_alone_with_nothing() {
    let blank = UserPlaybook { trigger: Some(" ".into()), ..row(0, "c") };
    assert_eq!((candidate_query(&row(0, "c")), candidate_query(&blank)), (Some("when c"), Some("c")));
    assert!(!needs_consolidation(&news(1), &[]) && !needs_consolidation(&[], &existing()));
    assert!(needs_consolidation(&news(2), &[]) && needs_consolidation(&news(1), &existing()));
}
