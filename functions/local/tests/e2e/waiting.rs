//! Waiting for learning, and how far it is.

use domain::ids::{UserHash, UserId};
use serde_json::json;

use crate::script::{attentive_model, provider};
use crate::support::{Site, request, with};

const WAIT: &str = "/api/publish_interaction?wait_for_response=true";

/// Deletes the documents of a user, as if each request had been deleted.
async fn delete_documents(site: &Site, user: &str) {
    let dynamodb = aws_sdk_dynamodb::Client::new(&site.deployment.hub.sdk_config());
    let hash = UserHash::of(&UserId::new(user).unwrap());
    let partition = format!("O#acme#U#{}", hash.as_str());
    for item in site.items().await {
        if item["PK"].as_s().unwrap() == &partition && item["SK"].as_s().unwrap().starts_with("R#") {
            let delete = dynamodb.delete_item().table_name(&site.deployment.app.settings.table);
            delete.key("PK", item["PK"].clone()).key("SK", item["SK"].clone()).send().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_waiting_caller_is_told_what_the_windows_over_its_request_produced_and_nothing_of_others() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let said = ["fact: tea", "fact: jazz", "rule: answer briefly"];
    site.acme.publish(&with(request("bo", "s1", "r0", &said), json!({ "session_finished": true }))).await;
    let _functions = site.start();
    site.acme.learned("r0").await;
    let body = with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }));
    let answer = site.acme.ok(WAIT, &body).await;
    assert_eq!((&answer["learning_status"], &answer["learning_reason"]), (&json!("done"), &json!("covered")));
    assert_eq!((&answer["profiles_added"], &answer["playbooks_added"]), (&json!(2), &json!(1)), "{answer}");
    let answer = site.acme.ok(WAIT, &request("ana", "s1", "r2", &["hello"])).await;
    let expected = (&json!("deferred"), &json!("waiting_for_window"));
    assert_eq!((&answer["learning_status"], &answer["learning_reason"]), expected);
    assert_eq!((&answer["profiles_added"], &answer["playbooks_added"]), (&json!(0), &json!(0)), "{answer}");
}

#[tokio::test]
async fn a_request_that_was_deleted_before_it_was_learned_says_so() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    assert_eq!(site.acme.status("r1").await, ("pending".into(), "waiting_for_window".into(), None));
    delete_documents(&site, "ana").await;
    assert_eq!(site.acme.status("r1").await, ("done".into(), "inputs_erased".into(), None));
    // The same words again: they were published once, and are not published anew.
    let answer = site.acme.ok(WAIT, &request("ana", "s1", "r1", &["hello"])).await;
    assert_eq!(
        (&answer["learning_status"], &answer["learning_reason"]),
        (&json!("done"), &json!("inputs_erased"))
    );
    let unknown = site.acme.send("GET", "/api/learning_status?request_id=nope", None).await;
    assert_eq!((unknown.status, unknown.body), (404, json!({ "detail": "request not found" })));
}

#[tokio::test]
async fn a_session_all_of_whose_requests_were_deleted_cannot_be_declared_over() {
    let site = Site::offline().await;
    site.acme.publish(&request("ana", "s1", "r1", &["hello"])).await;
    site.acme.publish(&request("ana", "s2", "r2", &["hello"])).await;
    delete_documents(&site, "ana").await;
    let body = json!({ "user_id": "ana", "session_id": "s1" });
    let answer = site.acme.ok("/api/finalize_session", &body).await;
    assert_eq!(answer["accepted"], false, "{answer}");
}
