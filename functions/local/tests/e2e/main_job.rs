//! Publish, learn, search.

use serde_json::json;

use crate::script::{Purpose, asked, attentive_model, provider};
use crate::support::{Site, contents, request, with};

#[tokio::test]
async fn what_is_published_is_learned_and_found() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let _running = site.start();
    let said = ["fact: Ana drinks oolong tea", "rule: answer in short bullet points", "hello"];
    let body = with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }));
    let published = site.acme.publish(&body).await;
    assert_eq!(published["request_id"], "r1");
    assert_eq!((&published["learning_status"], &published["learning_reason"]), (&json!("deferred"), &json!("queued")));
    site.acme.learned("r1").await;
    assert_eq!(site.acme.status("r1").await, ("done".into(), "covered".into(), None));
    let found = site.acme.ok("/api/search", &json!({ "user_id": "ana", "query": "which tea does she drink" })).await;
    assert_eq!(contents(&found["profiles"]), ["Ana drinks oolong tea"]);
    let found = site.acme.ok("/api/search_user_playbooks", &json!({ "user_id": "ana", "query": "bullet points" })).await;
    assert_eq!(contents(&found["user_playbooks"]), ["answer in short bullet points"]);
    assert_eq!(asked(&model, Purpose::Profiles), 1);
    assert_eq!(asked(&model, Purpose::Playbooks), 1);
}
