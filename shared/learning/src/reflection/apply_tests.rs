use serde_json::json;

use super::*;

const NOW: EpochSeconds = 1_750_000_000;
const RUN: ReflectionRun = ReflectionRun { now: NOW, revisions_max: 8, bytes_max: 100_000 };

fn profile(id: &str, content: &str) -> UserProfile {
    serde_json::from_value(json!({
        "profile_id": id, "user_id": "ana", "content": content, "last_modified_timestamp": 5,
        "generated_from_request_id": "r0", "profile_time_to_live": "one_week", "expiration_timestamp": 604_805,
        "custom_features": {"k": 1}, "source": "web", "extractor_names": ["x"], "expanded_terms": "old, words",
        "tags": ["food"], "source_interaction_ids": [3], "source_span": "span", "notes": "note",
        "reader_angle": "angle", "created_at": 4,
    }))
    .unwrap()
}

fn playbook(id: i64, content: &str) -> UserPlaybook {
    serde_json::from_value(json!({
        "user_playbook_id": id, "user_id": "ana", "agent_version": "v7", "request_id": "r0",
        "playbook_name": "playbook", "created_at": 5, "content": content, "trigger": "When asked",
        "rationale": "Told so", "blocking_issue": {"kind": "missing_tool", "details": "no mail"},
        "source": "web", "source_interaction_ids": [3], "expanded_terms": "old", "tags": ["style"],
        "source_span": "span", "notes": "note", "reader_angle": "correction",
    }))
    .unwrap()
}

fn apply(decisions: serde_json::Value, run: ReflectionRun) -> Outcome {
    let answer = serde_json::from_value(json!({ "decisions": decisions })).unwrap();
    let profiles = [profile("p1", "Likes tea"), profile("p2", "Lives in Oslo")];
    let playbooks = [playbook(7, "Answer briefly"), playbook(9, "Use metric units")];
    let mut next = 0;
    apply_reflection(&answer, &profiles, &playbooks, run, || {
        next += 1;
        ProfileId::new(&format!("new{next}")).unwrap()
    })
}

fn of(kind: &str, id: &str, more: serde_json::Value) -> serde_json::Value {
    let mut decision = json!({ "target_kind": kind, "target_id": id, "reason": "r" });
    decision.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    decision
}

#[test]
fn a_revised_profile_keeps_all_that_is_known_of_it_and_its_time_begins_anew() {
    let outcome = apply(json!([of("profile", "p1", json!({ "new_content": "Likes oolong" }))]), RUN);
    let expected = UserProfile {
        profile_id: ProfileId::new("new1").unwrap(),
        content: "Likes oolong".into(),
        last_modified_timestamp: NOW,
        expiration_timestamp: NOW + 7 * 86_400,
        expanded_terms: None,
        created_at: NOW,
        ..profile("p1", "")
    };
    assert_eq!(outcome.profiles, [Revised { place: 0, row: expected }]);
    let counters =
        Counters { considered: 4, no_change: 3, revised: 1, content_revised: 1, ..Counters::default() };
    assert_eq!(outcome.counters, counters);
}

#[test]
fn a_new_time_to_live_moves_the_expiration_and_nothing_else() {
    for (ttl, expires) in [("one_year", NOW + 365 * 86_400), ("INFINITY", domain::time::NEVER_EXPIRES)] {
        let outcome = apply(json!([of("profile", "p2", json!({ "new_profile_time_to_live": ttl }))]), RUN);
        let row = &outcome.profiles[0].row;
        assert_eq!((row.expiration_timestamp, row.content.as_str()), (expires, "Lives in Oslo"));
        assert_eq!(row.expanded_terms.as_deref(), Some("old, words"));
        assert_eq!((outcome.counters.ttl_changed, outcome.counters.content_revised), (1, 0));
    }
}

#[test]
fn a_revised_playbook_keeps_all_that_is_known_of_it() {
    let more = json!({ "new_content": "Answer in bullets", "new_rationale": "Asked twice", "new_trigger": "Always" });
    let outcome = apply(json!([of("playbook", "7", more)]), RUN);
    let expected = UserPlaybook {
        user_playbook_id: 0,
        created_at: NOW,
        content: "Answer in bullets".into(),
        trigger: Some("Always".into()),
        rationale: Some("Asked twice".into()),
        expanded_terms: None,
        ..playbook(7, "")
    };
    assert_eq!(outcome.playbooks, [Revised { place: 0, row: expected }]);
    assert_eq!((outcome.counters.trigger_revised, outcome.counters.content_revised), (1, 1));
}

#[test]
fn a_trigger_or_a_rationale_alone_is_a_revision_too() {
    let outcome = apply(
        json!([
            of("user_playbook", "7", json!({ "new_trigger": "When asked for a summary" })),
            of("playbook", "9", json!({ "new_rationale": "She moved" })),
        ]),
        RUN,
    );
    assert_eq!(outcome.playbooks.len(), 2);
    assert_eq!(outcome.playbooks[0].row.content, "Answer briefly");
    assert_eq!(outcome.playbooks[1].row.expanded_terms.as_deref(), Some("old"));
    let counters = outcome.counters;
    assert_eq!((counters.revised, counters.trigger_revised, counters.content_revised), (2, 1, 0));
}

#[test]
fn a_decision_that_does_not_hold_costs_only_itself() {
    let long = "x".repeat(PROFILE_CONTENT_CHARS_MAX + 1);
    let outcome = apply(
        json!([
            of("profile", "p3", json!({ "new_content": "x" })),
            of("profile", "7", json!({ "new_content": "x" })),
            of("agent_playbook", "7", json!({ "new_content": "x" })),
            of("playbook", "7", json!({ "new_content": "Answer at length" })),
            of("profile", "p1", json!({ "new_content": long })),
            of("profile", "p1", json!({ "new_content": "Likes rum" })),
            of("profile", "p2", json!({ "new_profile_time_to_live": "forever" })),
            of("playbook", "9", json!({ "new_trigger": "When measuring" })),
        ]),
        RUN,
    );
    use ReflectionRejection::{MissingRationale, RepeatedTarget, TooLong, UnknownTarget, UnknownTimeToLive};
    let expected = [
        UnknownTarget,
        UnknownTarget,
        UnknownTarget,
        MissingRationale,
        TooLong,
        RepeatedTarget,
        UnknownTimeToLive,
    ];
    assert_eq!(outcome.rejected, expected);
    assert_eq!((outcome.counters.failed, outcome.counters.revised), (7, 1));
    assert_eq!(outcome.playbooks[0].place, 1);
}

#[test]
fn a_fact_does_not_become_a_wish_to_forget() {
    let more = json!({ "new_content": "Requested removal of tea" });
    let outcome = apply(json!([of("profile", "p1", more)]), RUN);
    assert_eq!((outcome.rejected, outcome.profiles), (vec![ReflectionRejection::RemovalMarker], vec![]));
}

#[test]
fn what_says_the_same_or_is_about_another_kind_changes_nothing() {
    let outcome = apply(
        json!([
            of(
                "profile",
                "p1",
                json!({ "new_content": "Likes tea", "new_profile_time_to_live": "one_week" })
            ),
            of("profile", "p2", json!({ "new_trigger": "x", "new_rationale": "y" })),
            of("playbook", "7", json!({ "new_profile_time_to_live": "one_day" })),
        ]),
        RUN,
    );
    assert_eq!((outcome.counters.no_change, outcome.counters.revised, outcome.counters.failed), (4, 0, 0));
}

#[test]
fn revisions_beyond_the_bounds_are_counted_and_left() {
    let decisions = json!([
        of("profile", "p1", json!({ "new_content": "a" })),
        of("playbook", "7", json!({ "new_trigger": "b" })),
        of("profile", "p2", json!({ "new_content": "c" })),
    ]);
    for (revisions_max, revised, capped) in [(2, 2, 1), (3, 3, 0), (4, 3, 0)] {
        let outcome = apply(decisions.clone(), ReflectionRun { revisions_max, ..RUN });
        assert_eq!((outcome.counters.revised, outcome.counters.capped), (revised, capped));
        assert_eq!(outcome.profiles.len() + outcome.playbooks.len(), revised);
    }
    let outcome = apply(decisions, ReflectionRun { bytes_max: 10, ..RUN });
    assert_eq!((outcome.counters.revised, outcome.counters.capped), (0, 3));
}

#[test]
fn a_memory_that_cannot_be_shown_whole_cannot_be_revised() {
    for (chars, fits) in [
        (PROFILE_CONTENT_CHARS_MAX - 1, true),
        (PROFILE_CONTENT_CHARS_MAX, true),
        (PROFILE_CONTENT_CHARS_MAX + 1, false),
    ] {
        assert_eq!(is_revisable_profile(&profile("p", &"é".repeat(chars))), fits, "{chars}");
    }
    for (chars, fits) in [(TRIGGER_CHARS_MAX, true), (TRIGGER_CHARS_MAX + 1, false)] {
        let row = UserPlaybook { trigger: Some("é".repeat(chars)), ..playbook(1, "x") };
        assert_eq!(is_revisable_playbook(&row), fits, "{chars}");
    }
}
