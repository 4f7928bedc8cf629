//! The configuration of an organisation: round trips, secrets, conflicts.

use std::time::Duration;

use futures::future::join;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use serde_json::{Value, json};

use crate::script::attentive_model;
use crate::support::{Site, request, with};

const SECRET: &str = "sk-tenant-secret-4711";
const MASKED: &str = "********4711";

fn endpoint(base: &str) -> Value {
    json!({ "api_key_config": { "custom_endpoint": { "model": "tenant-model", "api_key": SECRET, "api_base": base } } })
}

fn key_of(config: &Value) -> &Value {
    &config["api_key_config"]["custom_endpoint"]["api_key"]
}

#[tokio::test]
async fn a_configuration_that_was_read_can_be_written_back() {
    let site = Site::offline().await;
    let defaults = site.acme.get("/api/get_config").await;
    let changed = with(defaults.clone(), json!({ "window_size": 20, "agent_context_prompt": "a tea shop" }));
    let answer = site.acme.ok("/api/set_config", &changed).await;
    assert_eq!(answer, json!({ "success": true, "msg": "Configuration set successfully" }));
    let read = site.acme.get("/api/get_config").await;
    assert_eq!(read["window_size"], 20);
    assert_eq!(read["agent_context_prompt"], "a tea shop");
    site.acme.ok("/api/set_config", &read).await;
    assert_eq!(site.acme.get("/api/get_config").await, read);
    let answer = site.acme.ok("/api/update_config", &json!({ "window_size": 20 })).await;
    assert_eq!(answer, json!({ "success": true, "msg": "Configuration unchanged" }));
}

#[tokio::test]
async fn a_secret_is_masked_when_read_and_kept_when_the_mask_is_written_back() {
    let model = attentive_model().await;
    let site = Site::offline().await;
    site.acme.ok("/api/update_config", &endpoint(&model.base_url())).await;
    let read = site.acme.get("/api/get_config").await;
    assert_eq!(key_of(&read), MASKED);
    let changed = with(read, json!({ "agent_context_prompt": "a tea shop" }));
    site.acme.ok("/api/set_config", &changed).await;
    let body =
        with(request("ana", "s1", "r1", &["fact: Ana likes tea"]), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana likes tea"]);
    let requests = model.requests();
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!(request.headers["authorization"], format!("Bearer {SECRET}"));
        assert_eq!(request.body["model"], "tenant-model");
    }
}

#[tokio::test]
async fn a_mask_of_nothing_is_refused() {
    let site = Site::offline().await;
    let body = json!({ "api_key_config": { "openai": { "api_key": MASKED } } });
    let answer = site.acme.post("/api/update_config", &body).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
}

#[tokio::test]
async fn a_secret_stands_nowhere_in_the_table_in_plain_text() {
    let site = Site::offline().await;
    site.acme.ok("/api/update_config", &endpoint("https://models.example.com/v1")).await;
    let plain = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    let items = site.items().await;
    assert!(items.iter().any(|item| item["SK"].as_s().unwrap() == "CONFIG"));
    for item in items {
        assert!(!format!("{item:?}").contains(SECRET), "{:?}", item["SK"]);
        let blobs = item.values().filter_map(|value| value.as_b().ok());
        assert!(!blobs.into_iter().any(|blob| plain(blob.as_ref())), "{:?}", item["SK"]);
    }
}

#[tokio::test]
async fn of_two_changes_at_once_one_is_told_to_look_again() {
    let site = Site::offline().await;
    let before = site.cost();
    // The first write is held up until the second one is done.
    let held =
        Rule::new(Action::Delay(Duration::from_secs(60))).service("dynamodb").operation("PutItem").first(1);
    site.deployment.hub.set_faults(FaultPlan::new(1).rule(held));
    let wider = json!({ "window_size": 30 });
    let late = site.acme.post("/api/update_config", &wider);
    let early = async {
        while site.cost_since(&before).calls("dynamodb", "PutItem") < 1 {
            tokio::task::yield_now().await;
        }
        let answer = site.acme.post("/api/update_config", &json!({ "stride_size": 9 })).await;
        site.advance(60);
        answer
    };
    let (late, early) = join(late, early).await;
    assert_eq!((early.status, late.status), (200, 409), "{} {}", early.body, late.body);
    assert_eq!(late.body["detail"]["error"], "config_write_conflict");
    let read = site.acme.get("/api/get_config").await;
    assert_eq!((&read["stride_size"], &read["window_size"]), (&json!(9), &json!(10)));
}

#[tokio::test]
async fn two_changes_that_are_invalid_together_do_not_both_succeed() {
    let site = Site::offline().await;
    site.acme.ok("/api/update_config", &json!({ "stride_size": 10 })).await;
    let answer = site.acme.post("/api/update_config", &json!({ "window_size": 9 })).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert_eq!(site.acme.get("/api/get_config").await["window_size"], 10);
}

#[tokio::test]
async fn a_bad_configuration_changes_nothing_and_repeats_no_secret() {
    let site = Site::offline().await;
    site.acme.ok("/api/update_config", &endpoint("https://models.example.com/v1")).await;
    let items = site.items().await;
    let wrong = [
        json!({ "window_size": 0 }),
        json!({ "stride_size": 11 }),
        json!({ "no_such_member": 1 }),
        json!({ "extraction_preset": "endless" }),
        json!({ "api_key_config": { "openai": { "api_key": 7, "note": SECRET } } }),
        json!({ "api_key_config": { "custom_endpoint": { "model": "m", "api_key": SECRET, "api_base": "nowhere" } } }),
        json!({ "profile_extractor_config": { "extraction_definition_prompt": " " } }),
    ];
    for body in wrong {
        let answer = site.acme.post("/api/update_config", &body).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.body);
        assert!(!answer.body.to_string().contains(SECRET), "{}", answer.body);
        let whole = with(json!({ "storage_config": null }), body.clone());
        assert_eq!(site.acme.post("/api/set_config", &whole).await.status, 422, "{body}");
    }
    assert_eq!(site.items().await, items);
}
