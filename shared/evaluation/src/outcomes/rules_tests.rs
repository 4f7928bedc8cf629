//! When a report is the one that is stored.

use domain::entities::{OutcomeIdentity, SessionOutcome};
use domain::ids::RequestId;
use domain::requests::outcomes::SetSessionOutcome;
use serde_json::{Value, json};

use super::rules::{SessionFacts, reported_row, same_payload, same_session};

fn report(changes: &Value) -> SetSessionOutcome {
    let mut body = json!({
        "session_id": "s1", "outcome": "success", "occurred_at": 5, "label": "done", "value": 1,
        "metadata": { "b": 1, "a": [2.5] },
    });
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    SetSessionOutcome::parse(&body).unwrap()
}

fn facts() -> SessionFacts {
    SessionFacts {
        user_id: domain::ids::UserId::new("ana").unwrap(),
        source: "api".into(),
        trajectory_digest: "t".into(),
    }
}

fn stored() -> SessionOutcome {
    reported_row(&report(&json!({})), &facts(), None, "id".into(), 9).unwrap()
}

#[test]
fn a_payload_is_the_same_however_it_is_written() {
    for same in [
        json!({}),
        json!({ "label": "  done " }),
        json!({ "value": 1.0 }),
        json!({ "value": "1" }),
        json!({ "metadata": { "a": [2.5], "b": 1 } }),
        json!({ "more": 1 }),
    ] {
        assert!(same_payload(&stored(), &report(&same)), "{same}");
    }
}

#[test]
fn a_payload_is_another_one_when_any_member_is() {
    for other in [
        json!({ "outcome": "failure" }),
        json!({ "occurred_at": 6 }),
        json!({ "label": "Done" }),
        json!({ "label": null }),
        json!({ "value": 1.5 }),
        json!({ "value": null }),
        json!({ "metadata": { "a": [2.5], "b": 1.0 } }),
        json!({ "metadata": {} }),
        json!({ "metadata": null }),
    ] {
        assert!(!same_payload(&stored(), &report(&other)), "{other}");
    }
}

#[test]
fn a_session_is_the_same_with_the_same_user_source_and_digest() {
    assert!(same_session(&stored(), Some(&facts())).unwrap());
    for other in [
        SessionFacts { user_id: domain::ids::UserId::new("bo").unwrap(), ..facts() },
        SessionFacts { source: String::new(), ..facts() },
        SessionFacts { trajectory_digest: "u".into(), ..facts() },
    ] {
        assert!(!same_session(&stored(), Some(&other)).unwrap(), "{other:?}");
    }
}

#[test]
fn of_a_session_without_requests_only_the_rules_are_compared() {
    assert!(same_session(&stored(), None).unwrap());
    let identity = OutcomeIdentity { outcome_contract_digest: "other".into(), ..stored().identity.unwrap() };
    assert!(!same_session(&SessionOutcome { identity: Some(identity), ..stored() }, None).unwrap());
}

#[test]
fn a_row_without_identity_is_compared_without_digests_and_with_the_session() {
    let old = SessionOutcome { identity: None, ..stored() };
    let later = SessionFacts { trajectory_digest: "u".into(), ..facts() };
    assert!(same_session(&old, Some(&later)).unwrap());
    assert!(same_session(&old, None).unwrap());
    assert!(!same_session(&old, Some(&SessionFacts { source: "web".into(), ..later })).unwrap());
}

#[test]
fn a_row_that_covers_a_part_of_the_session_is_never_a_retry() {
    let through = Some(RequestId::new("r1").unwrap());
    let part = SessionOutcome { trajectory_through_request_id: through, ..stored() };
    assert!(!same_session(&part, Some(&facts())).unwrap());
}

#[test]
fn a_report_takes_the_place_of_an_inferred_outcome_as_its_next_revision() {
    let inferred = SessionOutcome { is_inferred: true, created_at: 7, ..stored() };
    let row = reported_row(&report(&json!({})), &facts(), Some(&inferred), "new".into(), 9).unwrap();
    let identity = row.identity.unwrap();
    assert_eq!((identity.outcome_id.as_str(), identity.outcome_revision), ("new", 2));
    let old = row.superseded_outcome.unwrap();
    assert_eq!((old.outcome_id.as_deref(), old.outcome_revision), (Some("id"), Some(1)));
    assert_eq!((old.created_at, old.displaced_at), (7, 9));
}
