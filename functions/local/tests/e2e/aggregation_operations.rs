//! Aggregations as operations with a receipt.

use llm::testing::Scripted;
use serde_json::{Value, json};

use crate::script::{attentive_model, provider};
use crate::support::{Answer, Caller, Site};

const OPERATIONS: &str = "/api/playbook_aggregation_operations";

async fn submit(caller: &Caller, request_id: &str, agent_version: &str) -> Answer {
    caller.post(OPERATIONS, &json!({ "request_id": request_id, "agent_version": agent_version })).await
}

async fn state(caller: &Caller, id: &Value) -> Value {
    caller.get(&format!("{OPERATIONS}/{}", id.as_str().unwrap())).await
}

async fn teach(caller: &Caller) {
    let row = |user: &str| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": "r1",
            "content": format!("about invoices: rule {user}"), "trigger": "when it comes to invoices",
        })
    };
    caller.ok("/api/add_user_playbook", &json!({ "user_playbooks": [row("ana"), row("bo")] })).await;
}

#[tokio::test]
async fn an_operation_is_accepted_carried_out_and_found_by_its_id() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    teach(&site.acme).await;
    let accepted = submit(&site.acme, "agg-1", "v1").await;
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    assert_eq!((&accepted.body["status"], &accepted.body["attempts"]), (&json!("queued"), &json!(0)));
    for absent in ["started_at", "completed_at", "error", "result"] {
        assert_eq!(accepted.body[absent], Value::Null);
        assert!(accepted.body.as_object().unwrap().contains_key(absent));
    }
    site.aggregate().await;
    let done = state(&site.acme, &accepted.body["operation_id"]).await;
    assert_eq!((&done["status"], &done["attempts"]), (&json!("succeeded"), &json!(1)));
    let expected = json!({
        "clusters_found": 1, "user_playbooks_processed": 2, "playbooks_generated": 1, "skipped": null,
    });
    assert_eq!(done["result"], expected);
}

#[tokio::test]
async fn a_repeated_request_id_is_the_same_operation() {
    let site = Site::offline().await;
    let first = submit(&site.acme, "agg-1", "v1").await;
    let again = submit(&site.acme, "agg-1", "v1").await;
    assert_eq!((again.status, &again.body), (202, &first.body));
    let other = submit(&site.acme, "agg-1", "v2").await;
    let expected = json!({ "detail": {
        "message": "request_id parameters changed", "operation_id": first.body["operation_id"],
    } });
    assert_eq!((other.status, &other.body), (409, &expected));
    // Another organisation may use the same id, and does not see this one.
    let beta = site.caller("beta").await;
    assert_eq!(submit(&beta, "agg-1", "v2").await.status, 202);
    let path = format!("{OPERATIONS}/{}", first.body["operation_id"].as_str().unwrap());
    let unseen = beta.send("GET", &path, None).await;
    assert_eq!((unseen.status, &unseen.body), (404, &json!({ "detail": "Aggregation operation not found" })));
}

#[tokio::test]
async fn ids_have_a_length_and_are_not_blank() {
    let site = Site::offline().await;
    for (chars, status) in [(199, 202), (200, 202), (201, 422)] {
        assert_eq!(submit(&site.acme, &"i".repeat(chars), "v1").await.status, status, "{chars}");
        let id = format!("id-{chars}");
        assert_eq!(submit(&site.acme, &id, &"v".repeat(chars)).await.status, status, "{chars}");
    }
    let before = site.stored().await;
    let refused = submit(&site.acme, "   ", "").await;
    assert_eq!(refused.status, 422);
    let fields: Vec<_> =
        refused.body["detail"].as_array().unwrap().iter().map(|fault| fault["loc"][1].clone()).collect();
    assert_eq!(fields, ["request_id", "agent_version"]);
    assert_eq!(site.stored().await, before);
}

#[tokio::test]
async fn an_operation_that_keeps_failing_is_given_up_after_five_attempts() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    model.otherwise(Scripted::text("no JSON"));
    teach(&site.acme).await;
    let accepted = submit(&site.acme, "agg-1", "v1").await;
    let mut seen = Vec::new();
    for _ in 0..12 {
        site.aggregate().await;
        let now = state(&site.acme, &accepted.body["operation_id"]).await;
        seen.push((now["status"].as_str().unwrap().to_owned(), now["attempts"].as_i64().unwrap()));
        site.advance(400);
        site.sweep().await;
    }
    assert_eq!(seen[0], ("retrying".to_owned(), 1));
    assert_eq!(seen.last().unwrap(), &("failed".to_owned(), 5));
    let failed = state(&site.acme, &accepted.body["operation_id"]).await;
    assert!(failed["error"].as_str().unwrap().starts_with("retryable_failure: 1 of 1"), "{failed}");
    assert!(failed["completed_at"].is_i64() && failed["next_attempt_at"].is_null());
    // Whatever could not be aggregated is still there, and is tried on.
    assert_eq!(site.acme.playbooks("ana").await.len(), 1);
}
