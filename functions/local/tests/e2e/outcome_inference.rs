//! A verdict stands for an outcome until somebody reports one.

use domain::entities::{AGENT_SUCCESS, EvaluationResult};
use domain::ids::{OrgId, RequestId, SessionId, UserId};
use domain::views::OutcomeFailureReason;
use evaluation::outcomes::{InferredOutcome, infer_outcome};
use serde_json::{Value, json};

use crate::outcomes::{digest, report, send};
use crate::support::{Site, request, with};

/// A site where outcomes are inferred, with two requests of Ana's in a session.
async fn site() -> Site {
    let site = Site::offline().await;
    site.set_site_var("feature_flags", &json!({ "infer_session_outcomes": { "enabled": true } })).await;
    site.acme
        .publish(&with(request("ana", "s1", "r1", &["hello", "there"]), json!({ "source": "api" })))
        .await;
    site.advance(5);
    site.acme.publish(&request("ana", "s1", "r2", &["bye"])).await;
    site
}

/// A verdict on the session up to a request.
fn verdict(site: &Site, is_success: bool, through: &str, interactions: i64) -> EvaluationResult {
    let now = site.deployment.app.services.clock.now();
    EvaluationResult {
        result_id: 1,
        user_id: UserId::new("ana").unwrap(),
        session_id: SessionId::new("s1").unwrap(),
        agent_version: "agent-v0".into(),
        evaluation_name: AGENT_SUCCESS.into(),
        is_success,
        failure_type: None,
        failure_reason: String::new(),
        created_at: now,
        number_of_correction_per_session: 0,
        user_turns_to_resolution: None,
        is_escalated: false,
        tags: None,
        trajectory_through_request_id: RequestId::new(through).unwrap(),
        trajectory_interaction_count: interactions,
        judged_at: now,
        is_windowed: false,
    }
}

async fn infer(site: &Site, result: &EvaluationResult) -> InferredOutcome {
    let org: OrgId = "acme".parse().unwrap();
    infer_outcome(&site.deployment.app.services, &org, result).await.unwrap()
}

/// The outcome of the session; `None` when there is none.
async fn stored(site: &Site) -> Option<Value> {
    let answer = site.acme.ok("/api/get_session_outcomes", &json!({ "session_ids": ["s1"] })).await;
    answer["session_outcomes"].as_array().unwrap().first().cloned()
}

fn is_prefix_changed(outcome: &InferredOutcome) -> bool {
    *outcome
        == InferredOutcome::Refused(
            OutcomeFailureReason::ConflictingFinalization,
            "Judged trajectory prefix changed; outcome was not recorded",
        )
}

#[tokio::test]
async fn no_outcome_is_inferred_unless_somebody_asked_for_it() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    assert_eq!(infer(&site, &verdict(&site, true, "r1", 1)).await, InferredOutcome::Off);
    assert_eq!(stored(&site).await, None);
}

#[tokio::test]
async fn a_verdict_becomes_the_outcome_at_the_time_of_the_last_request_that_was_judged() {
    for (is_success, outcome) in [(true, "success"), (false, "failure")] {
        let site = site().await;
        let now = site.deployment.app.services.clock.now();
        let whole = digest(&site, &["ana"], "s1").await;
        site.advance(60);
        assert_eq!(infer(&site, &verdict(&site, is_success, "r2", 3)).await, InferredOutcome::Recorded);
        let row = stored(&site).await.unwrap();
        let expected = json!({
            "outcome_id": row["outcome_id"], "outcome_revision": 1, "user_id": "ana", "session_id": "s1",
            "outcome": outcome, "occurred_at": now, "source": "api",
            "outcome_contract_digest": "a2a236f159eae9f59df97d5a286569c954de502375c7d138dde3e983a1312b47",
            "finalized_trajectory_digest": whole, "created_at": now + 60, "is_inferred": true,
            "trajectory_through_request_id": "r2",
        });
        assert_eq!(row, expected);
    }
}

#[tokio::test]
async fn an_inferred_outcome_covers_what_was_judged_though_the_session_goes_on() {
    let site = site().await;
    let judged = digest(&site, &["ana"], "s1").await;
    let result = verdict(&site, true, "r2", 3);
    site.advance(1);
    site.acme.publish(&request("ana", "s1", "r3", &["one more thing"])).await;
    assert_eq!(infer(&site, &result).await, InferredOutcome::Recorded);
    assert_eq!(stored(&site).await.unwrap()["finalized_trajectory_digest"], judged);
}

#[tokio::test]
async fn a_verdict_on_something_else_than_the_beginning_of_the_session_is_no_outcome() {
    let site = site().await;
    for result in [
        verdict(&site, true, "r2", 2),
        verdict(&site, true, "r2", 4),
        verdict(&site, true, "r1", 3),
        verdict(&site, true, "nope", 3),
        EvaluationResult { user_id: UserId::new("bo").unwrap(), ..verdict(&site, true, "r2", 3) },
    ] {
        let outcome = infer(&site, &result).await;
        assert!(is_prefix_changed(&outcome), "{outcome:?} {result:?}");
    }
    assert_eq!(stored(&site).await, None);
    // Another user's turn among those that were judged.
    site.acme.publish(&request("bo", "s1", "r1b", &["hello"])).await;
    let outcome = infer(&site, &verdict(&site, true, "r2", 3)).await;
    assert!(is_prefix_changed(&outcome), "{outcome:?}");
}

#[tokio::test]
async fn the_same_verdict_again_writes_nothing_and_a_later_one_keeps_the_identity() {
    let site = site().await;
    let first = verdict(&site, false, "r1", 2);
    assert_eq!(infer(&site, &first).await, InferredOutcome::Recorded);
    let row = stored(&site).await.unwrap();
    let items = site.stored().await;
    site.advance(9);
    assert_eq!(infer(&site, &first).await, InferredOutcome::Unchanged);
    assert_eq!(site.stored().await, items);
    let second = verdict(&site, true, "r2", 3);
    assert_eq!(infer(&site, &second).await, InferredOutcome::Recorded);
    let refreshed = stored(&site).await.unwrap();
    for kept in ["outcome_id", "outcome_revision", "outcome_contract_digest"] {
        assert_eq!(refreshed[kept], row[kept], "{kept}");
    }
    assert_ne!(refreshed["finalized_trajectory_digest"], row["finalized_trajectory_digest"]);
    assert_eq!((&refreshed["outcome"], &refreshed["is_inferred"]), (&json!("success"), &json!(true)));
    // The earlier one comes once more, late.
    let late = infer(&site, &first).await;
    assert!(
        matches!(late, InferredOutcome::Refused(OutcomeFailureReason::ConflictingFinalization, _)),
        "{late:?}"
    );
    assert_eq!(stored(&site).await.unwrap(), refreshed);
}

#[tokio::test]
async fn a_report_takes_the_place_of_an_inferred_outcome_which_is_kept_and_not_shown() {
    let site = site().await;
    infer(&site, &verdict(&site, true, "r1", 2)).await;
    let inferred = stored(&site).await.unwrap();
    let now = site.deployment.app.services.clock.now();
    let body = report("s1", "failure", now);
    let answer = send(&site.acme, &body).await;
    assert_eq!((&answer["success"], &answer["recorded"]), (&json!(true), &json!(true)), "{answer}");
    assert_eq!((&answer["outcome_revision"], &answer["message"]), (&json!(2), &json!("Outcome recorded")));
    assert_ne!(answer["outcome_id"], inferred["outcome_id"]);
    assert_eq!(answer["finalized_trajectory_digest"], digest(&site, &["ana"], "s1").await);
    let shown = stored(&site).await.unwrap();
    assert_eq!((&shown["outcome"], &shown["is_inferred"]), (&json!("failure"), &json!(false)));
    assert!(
        shown.get("superseded_outcome").is_none() && shown.get("trajectory_through_request_id").is_none()
    );
    let items = site.items().await;
    let item = items.iter().find(|item| item["SK"].as_s().unwrap() == "OUT").unwrap();
    let row: Value = serde_json::from_str(item["doc"].as_s().unwrap()).unwrap();
    let archived = &row["superseded_outcome"];
    for kept in ["outcome_id", "outcome_revision", "outcome", "occurred_at", "source", "created_at"] {
        assert_eq!(archived[kept], inferred[kept], "{kept}");
    }
    assert_eq!(archived["finalized_trajectory_digest"], inferred["finalized_trajectory_digest"]);
    assert_eq!(archived["displaced_at"], now);
    // From now on it stands.
    assert_eq!(send(&site.acme, &body).await["message"], "Outcome already exists");
    assert_eq!(send(&site.acme, &report("s1", "success", now)).await["reason"], "conflicting_finalization");
    let refused = infer(&site, &verdict(&site, true, "r2", 3)).await;
    assert!(
        matches!(refused, InferredOutcome::Refused(OutcomeFailureReason::ConflictingFinalization, _)),
        "{refused:?}"
    );
    assert_eq!(stored(&site).await.unwrap(), shown);
}

#[tokio::test]
async fn a_report_on_a_session_that_has_become_another_users_does_not_take_the_place() {
    let site = site().await;
    infer(&site, &verdict(&site, true, "r1", 2)).await;
    let items = site.items().await;
    let mut item = items.into_iter().find(|item| item["SK"].as_s().unwrap() == "OUT").unwrap();
    let other = item["doc"].as_s().unwrap().replace(r#""user_id":"ana""#, r#""user_id":"bo""#);
    item.insert("doc".into(), aws_sdk_dynamodb::types::AttributeValue::S(other));
    crate::outcomes::put_item(&site, item).await;
    let now = site.deployment.app.services.clock.now();
    let answer = send(&site.acme, &report("s1", "failure", now)).await;
    assert_eq!((&answer["reason"], &answer["user_id"]), (&json!("conflicting_finalization"), &json!("bo")));
}
