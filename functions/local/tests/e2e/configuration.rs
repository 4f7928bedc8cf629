//! The configuration of an organisation: round trips, secrets, conflicts.

use std::time::Duration;

use futures::future::join;
use retrospect::cloud::faults::{Action, FaultPlan, Rule};
use serde_json::{Value, json};

use crate::script::attentive_model;
use crate::support::{Answer, Site, request, with};

const SECRET: &str = "sk-tenant-secret-4711";
const MASKED: &str = "********4711";
/// The call by which a configuration is written.
const WRITE: &str = "TransactWriteItems";

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
        Rule::new(Action::Delay(Duration::from_secs(60))).service("dynamodb").operation(WRITE).first(1);
    site.deployment.hub.set_faults(FaultPlan::new(1).rule(held));
    let wider = json!({ "window_size": 30 });
    let late = site.acme.post("/api/update_config", &wider);
    let early = async {
        while site.cost_since(&before).calls("dynamodb", WRITE) < 1 {
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

/// Changes the configuration on the condition that it has this tag.
async fn change_if(site: &Site, tag: &str, body: &Value) -> Answer {
    site.acme.post_with("/api/update_config", body, &[("if-match", tag)]).await
}

#[tokio::test]
async fn a_change_on_condition_of_a_version_is_made_only_to_that_version() {
    let site = Site::offline().await;
    let tag = async || {
        let answer = site.acme.send("GET", "/api/get_config", None).await;
        answer.headers["etag"].to_str().unwrap().to_owned()
    };
    assert_eq!(tag().await, "\"0\"");
    assert_eq!(change_if(&site, "\"0\"", &json!({ "window_size": 20 })).await.status, 200);
    assert_eq!(tag().await, "\"1\"");
    let items = site.items().await;
    for stale in ["\"0\"", "1", "W/\"1\"", "nonsense", "\"2\", \"0\""] {
        let refused = change_if(&site, stale, &json!({ "window_size": 30 })).await;
        assert_eq!(refused.status, 409, "{stale}: {}", refused.body);
        assert_eq!(refused.body["detail"]["error"], "config_write_conflict");
    }
    let whole = json!({ "storage_config": null, "window_size": 30 });
    let refused = site.acme.post_with("/api/set_config", &whole, &[("if-match", "\"0\"")]).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert_eq!(site.items().await, items);
    for fresh in ["\"1\"", "*", "\"7\", \"3\""] {
        let more = json!({ "window_size": 20 + tag().await.len() + fresh.len() });
        assert_eq!(change_if(&site, fresh, &more).await.status, 200, "{fresh}");
    }
}

#[tokio::test]
async fn what_is_loaded_is_forgotten_on_request_of_its_organisation_only() {
    let site = Site::offline().await;
    let invalidate = async |body: &Value| site.acme.post("/api/admin/cache/invalidate", body).await;
    site.acme.get("/api/get_config").await;
    assert_eq!(invalidate(&json!({})).await.body, json!({ "invalidated": true, "org_id": "acme" }));
    for body in [json!({ "org_id": "acme" }), json!({ "org_id": null, "more": 1 })] {
        let answer = invalidate(&body).await;
        assert_eq!((answer.status, &answer.body["invalidated"]), (200, &json!(false)), "{body}");
    }
    site.acme.get("/api/get_config").await;
    let refused = invalidate(&json!({ "org_id": "beta" })).await;
    assert_eq!((refused.status, refused.body["detail"].is_string()), (403, true), "{}", refused.body);
    for body in [json!([]), json!({ "org_id": 7 })] {
        assert_eq!(invalidate(&body).await.status, 422, "{body}");
    }
    assert_eq!(invalidate(&json!({})).await.body["invalidated"], true, "what was refused forgot nothing");
}

#[tokio::test]
async fn twenty_versions_before_the_current_one_are_kept_and_can_be_restored() {
    let model = attentive_model().await;
    let site = Site::offline().await;
    site.acme.ok("/api/update_config", &endpoint(&model.base_url())).await;
    for window in 21..=41 {
        site.acme.ok("/api/update_config", &json!({ "window_size": window })).await;
    }
    let history = site.admin(&["config", "history", "--org", "acme"]).await.unwrap();
    let versions: Vec<i64> =
        history.lines().skip(1).map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(versions, (2..=22).rev().collect::<Vec<_>>());
    assert!(!history.contains(SECRET), "{history}");
    let restore =
        async |version: &str| site.admin(&["config", "restore", "--org", "acme", "--version", version]).await;
    assert_eq!(restore("1").await, Err("version 1 of acme is not kept".to_owned()));
    site.acme.ok("/api/update_config", &json!({ "api_key_config": null })).await;
    assert_eq!(restore("3").await, Ok("version 3 is restored as version 24\n".to_owned()));
    let read = site.acme.get("/api/get_config").await;
    assert_eq!((&read["window_size"], key_of(&read)), (&json!(22), &json!(MASKED)), "secrets come back too");
}

#[tokio::test]
async fn a_setting_of_ours_stays_when_a_client_that_does_not_know_it_writes() {
    let site = Site::offline().await;
    let read = site.acme.get("/api/get_config").await;
    let least = |config: &Value| {
        config["user_playbook_extractor_config"]["aggregation_config"]["min_distinct_users"].clone()
    };
    assert_eq!(least(&read), Value::Null, "not shown to clients that do not know it until somebody set it");
    let mut changed = read.clone();
    changed["user_playbook_extractor_config"]["aggregation_config"]["min_distinct_users"] = 3.into();
    site.acme.ok("/api/set_config", &changed).await;
    assert_eq!(least(&site.acme.get("/api/get_config").await), 3);
    let mut unaware = changed.clone();
    let aggregation = &mut unaware["user_playbook_extractor_config"]["aggregation_config"];
    aggregation.as_object_mut().unwrap().remove("min_distinct_users");
    site.acme.ok("/api/set_config", &with(unaware.clone(), json!({ "window_size": 20 }))).await;
    let extractor = json!({ "user_playbook_extractor_config": unaware["user_playbook_extractor_config"] });
    site.acme.ok("/api/update_config", &extractor).await;
    assert_eq!(least(&site.acme.get("/api/get_config").await), 3);
    for (number, status) in [(0, 422), (1, 200), (2, 200)] {
        changed["user_playbook_extractor_config"]["aggregation_config"]["min_distinct_users"] = number.into();
        assert_eq!(site.acme.post("/api/set_config", &changed).await.status, status, "{number}");
    }
}
