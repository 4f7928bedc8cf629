//! Variables of the deployment: flags and default models. They fail open.

use std::collections::BTreeMap;

use retrospect::cloud::faults::{Action, Failure, FaultPlan, Rule};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive_model, provider};
use crate::support::{Site, request, with};

fn flags(value: Value) -> Value {
    json!({ "deduplicator": value })
}

/// Learns the same fact and rule twice; returns what is stored then.
async fn learned_twice(site: &Site) -> (Vec<String>, Vec<String>) {
    for (session, id) in [("s1", "r1"), ("s2", "r2")] {
        let turns = ["fact: Ana likes tea", "rule: be brief"];
        let body = with(request("ana", session, id, &turns), json!({ "session_finished": true }));
        site.acme.publish(&body).await;
        site.learn().await;
    }
    (site.acme.profiles("ana").await, site.acme.playbooks("ana").await)
}

#[tokio::test]
async fn a_variable_is_read_back_as_it_was_set() {
    let site = Site::offline().await;
    assert_eq!(site.admin(&["site-vars", "get", "motto"]).await, Err("motto is not set".to_owned()));
    let printed = site.admin(&["site-vars", "set", "motto", "be kind"]).await.unwrap();
    assert_eq!(printed, "motto is set (nothing in this version reads it)\n");
    assert_eq!(site.admin(&["site-vars", "get", "motto"]).await.unwrap(), "be kind\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{\"deduplicator\": {\"enabled\": true}}\n").unwrap();
    let path = file.path().to_str().unwrap();
    let printed = site.admin(&["site-vars", "set", "feature_flags", "--file", path]).await.unwrap();
    assert_eq!(printed, "feature_flags is set\n");
    let list = site.admin(&["site-vars", "list"]).await.unwrap();
    let keys: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(keys, ["feature_flags", "motto"]);
}

#[tokio::test]
async fn a_value_that_would_not_be_read_is_refused_and_changes_nothing() {
    let site = Site::offline().await;
    for (key, value) in [
        ("Feature-Flags", "{}"),
        ("feature_flags", "[]"),
        ("feature_flags", r#"{"deduplicator": {"enabled": "false"}}"#),
        ("llm_model_setting", r#"{"generation_model": "x"}"#),
        ("motto", " "),
    ] {
        assert!(site.admin(&["site-vars", "set", key, value]).await.is_err(), "{key} {value}");
    }
    assert!(site.admin(&["site-vars", "set", "motto", "--file", "/nowhere/motto.txt"]).await.is_err());
    assert_eq!(site.admin(&["site-vars", "list"]).await.unwrap().lines().count(), 1);
}

#[tokio::test]
async fn flags_are_shown_as_they_are_for_an_organisation() {
    let site = Site::offline().await;
    let printed = site.admin(&["flags", "--org", "acme"]).await.unwrap();
    assert_eq!(printed, "no flag is set: every feature is on\n");
    let value = json!({ "deduplicator": { "enabled": false, "enabled_org_ids": ["acme"] }, "x": { "enabled": false } });
    site.set_site_var("feature_flags", &value).await;
    let words = |printed: String| -> Vec<String> {
        printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(words(site.admin(&["flags", "--org", "acme"]).await.unwrap()), ["deduplicator on", "x off"]);
    assert_eq!(words(site.admin(&["flags", "--org", "beta"]).await.unwrap()), ["deduplicator off", "x off"]);
}

#[tokio::test]
async fn without_the_deduplicator_every_new_row_is_kept_and_nothing_is_compared() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.set_site_var("feature_flags", &flags(json!({ "enabled": false }))).await;
    let (profiles, playbooks) = learned_twice(&site).await;
    assert_eq!(profiles, ["Ana likes tea", "Ana likes tea"]);
    assert_eq!(playbooks.len(), 2, "{playbooks:?}");
    assert_eq!(asked(&model, Purpose::Deduplication) + asked(&model, Purpose::Consolidation), 0);
}

#[tokio::test]
async fn without_the_deduplicator_a_wish_to_forget_is_carried_out_all_the_same() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.set_site_var("feature_flags", &flags(json!({ "enabled": false }))).await;
    learned_twice(&site).await;
    let turns = ["forget: likes tea", "fact: Ana likes rain"];
    let body = with(request("ana", "s3", "r3", &turns), json!({ "session_finished": true }));
    site.acme.publish(&body).await;
    site.learn().await;
    assert_eq!(site.acme.profiles("ana").await, ["Ana likes rain"]);
}

#[tokio::test]
async fn the_deduplicator_works_where_it_is_listed_malformed_or_not_set() {
    for value in [
        json!({ "enabled": false, "enabled_org_ids": ["acme"] }),
        json!({ "enabled": true }),
        json!({ "enabled": "false" }),
    ] {
        let model = attentive_model().await;
        let site = Site::with(provider(&model)).await;
        // Past the check of the command, as another version may have stored it.
        let key = "feature_flags".parse().unwrap();
        site.deployment
            .app
            .services
            .store
            .put_site_var(&key, &flags(value.clone()).to_string())
            .await
            .unwrap();
        learned_twice(&site).await;
        assert!(asked(&model, Purpose::Deduplication) > 0, "{value}");
        assert!(asked(&model, Purpose::Consolidation) > 0, "{value}");
    }
}

#[tokio::test]
async fn a_variable_is_followed_within_a_minute() {
    let site = Site::offline().await;
    let app = &site.deployment.app;
    let acme = "acme".parse().unwrap();
    let is_on = async || app.site.read().await.flags.of(&acme).deduplicator;
    assert!(is_on().await);
    site.admin(&["site-vars", "set", "feature_flags", &flags(json!({ "enabled": false })).to_string()])
        .await
        .unwrap();
    site.advance(59);
    let before = site.cost();
    assert!(is_on().await);
    assert_eq!(site.cost_since(&before).all_calls(), 0, "kept for a minute");
    site.advance(1);
    assert!(!is_on().await);
}

#[tokio::test]
async fn variables_that_cannot_be_read_count_as_not_set() {
    let site = Site::offline().await;
    site.set_site_var("feature_flags", &flags(json!({ "enabled": false }))).await;
    let app = &site.deployment.app;
    let acme = "acme".parse().unwrap();
    let down = Rule::new(Action::FailBefore(Failure::InternalError));
    site.deployment.hub.set_faults(FaultPlan::new(1).rule(down.service("dynamodb").operation("Query")));
    assert!(app.site.read().await.flags.of(&acme).deduplicator);
    site.deployment.hub.set_faults(FaultPlan::new(1));
    assert!(
        app.site.read().await.flags.of(&acme).deduplicator,
        "a table that is down is not asked each time"
    );
    site.advance(5);
    assert!(!app.site.read().await.flags.of(&acme).deduplicator);
}

#[tokio::test]
async fn the_deployments_model_serves_organisations_that_name_none() {
    let model = attentive_model().await;
    let mut variables = provider(&model);
    variables.insert("RETROSPECT_LLM_MODEL".to_owned(), "operators-model".to_owned());
    let site = Site::with(variables).await;
    let models = async |session: &str| -> BTreeMap<String, usize> {
        let before = model.requests().len();
        let body = with(
            request("ana", session, session, &["fact: Ana likes tea"]),
            json!({ "session_finished": true }),
        );
        site.acme.publish(&body).await;
        site.learn().await;
        let mut used = BTreeMap::new();
        for request in &model.requests()[before..] {
            *used.entry(request.body["model"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        used
    };
    let names = |used: BTreeMap<String, usize>| used.into_keys().collect::<Vec<_>>();
    assert_eq!(names(models("s1").await), ["operators-model"]);
    let setting =
        json!({ "default_generation_model_name": "site-model", "should_run_model_name": "site-gate" });
    site.set_site_var("llm_model_setting", &setting).await;
    assert_eq!(names(models("s2").await), ["site-gate", "site-model"]);
    let own = json!({ "llm_config": { "generation_model_name": "own-model" } });
    site.acme.ok("/api/update_config", &own).await;
    assert_eq!(names(models("s3").await), ["own-model", "site-gate"]);
    site.set_site_var("llm_model_setting", &json!({ "should_run_model_name": "" })).await;
    assert_eq!(names(models("s4").await), ["operators-model", "own-model"]);
}
