//! User playbooks of many users become agent playbooks.
//!
//! Over 400 lines: one story from the first playbook to what sets runs off, on the same helpers.

use llm::testing::{ModelServer, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive, attentive_model, members, provider, purpose};
use crate::support::{Caller, Site, contents, request, with};

const RUN: &str = "/api/run_playbook_aggregation";
const LOGS: &str = "/api/playbook_aggregation_change_logs?playbook_name=playbook&agent_version=v1";

/// A deployment in which playbooks with the same trigger belong together, and one new playbook starts a run.
async fn site(model: &ModelServer) -> Site {
    let site = Site::with(provider(model)).await;
    eager(&site.acme).await;
    site
}

async fn eager(caller: &Caller) {
    configure(caller, json!({ "clustering_similarity": 0.95, "reaggregation_trigger_count": 1 })).await;
}

async fn configure(caller: &Caller, aggregation: Value) {
    let mut extractor =
        caller.get("/api/get_config").await["user_playbook_extractor_config"].as_object().unwrap().clone();
    let merged = with(extractor["aggregation_config"].clone(), aggregation);
    extractor.insert("aggregation_config".to_owned(), merged);
    caller.ok("/api/update_config", &json!({ "user_playbook_extractor_config": extractor })).await;
}

/// Playbooks of users about a topic: `about <topic>: rule <user>`.
async fn teach(caller: &Caller, topic: &str, users: &[&str]) {
    let row = |user: &&str| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": "r1", "playbook_name": "playbook",
            "content": format!("about {topic}: rule {user}"), "trigger": format!("when it comes to {topic}"),
        })
    };
    let rows: Vec<Value> = users.iter().map(row).collect();
    caller.ok("/api/add_user_playbook", &json!({ "user_playbooks": rows })).await;
}

async fn agent_contents(caller: &Caller) -> Vec<String> {
    contents(&Value::Array(caller.agent_playbooks(json!({ "agent_version": "v1" })).await))
}

/// Asks for an aggregation and runs it meanwhile.
async fn rerun(site: &Site, caller: &Caller) -> Value {
    let body = json!({ "agent_version": "v1" });
    let asking = caller.ok(RUN, &body);
    let running = async {
        while site.aggregate().await == 0 {
            tokio::task::yield_now().await;
        }
    };
    futures::future::join(asking, running).await.0
}

#[tokio::test]
async fn what_several_users_taught_becomes_a_rule_for_all() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    assert_eq!(site.aggregate().await, 1);
    let rows = site.acme.agent_playbooks(json!({})).await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["content"], "about invoices: rule");
    assert_eq!(rows[0]["playbook_name"], "playbook");
    assert_eq!(rows[0]["agent_version"], "v1");
    assert_eq!(rows[0]["playbook_status"], "pending");
    assert_eq!(asked(&model, Purpose::Aggregation), 1);
    let found = site.acme.ok("/api/search_agent_playbooks", &json!({ "query": "invoices" })).await;
    assert_eq!(contents(&found["agent_playbooks"]), ["about invoices: rule"]);
    // What it was made of is not shown beside it.
    let found = site.acme.ok("/api/search", &json!({ "query": "invoices" })).await;
    assert_eq!(contents(&found["agent_playbooks"]), ["about invoices: rule"]);
    assert_eq!(found["user_playbooks"], json!([]));
    let log = site.acme.get(LOGS).await;
    let change = &log["change_logs"][0];
    assert_eq!(change["run_mode"], "full_archive");
    assert_eq!(change["added_agent_playbooks"][0]["content"], "about invoices: rule");
    assert_eq!(change["removed_agent_playbooks"], json!([]));
}

#[tokio::test]
async fn learning_sets_the_aggregation_off_by_itself() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    configure(&site.acme, json!({ "clustering_similarity": 0.5 })).await;
    for user in ["ana", "bo"] {
        let said = format!("rule: answer in short bullet points, says {user}");
        let more = json!({ "session_finished": true, "agent_version": "v1" });
        site.acme.publish(&with(request(user, user, user, &[&said]), more)).await;
        site.learn().await;
        // The default count is two.
        assert_eq!(site.aggregate().await, usize::from(user == "bo"));
    }
    assert_eq!(agent_contents(&site.acme).await, ["answer in short bullet points, says"]);
}

#[tokio::test]
async fn a_publish_can_keep_its_window_out_of_an_aggregation() {
    let model = attentive_model().await;
    let site = site(&model).await;
    let more = json!({ "session_finished": true, "agent_version": "v1", "skip_aggregation": true });
    site.acme.publish(&with(request("ana", "s1", "r1", &["rule: answer briefly"]), more)).await;
    site.learn().await;
    assert_eq!(site.acme.playbooks("ana").await.len(), 1);
    assert_eq!(site.aggregate().await, 0);
    site.pass_minutes(3).await;
    assert_eq!(site.aggregate().await, 0);
}

#[tokio::test]
async fn a_run_without_changes_asks_no_model() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    site.aggregate().await;
    let before = (site.acme.agent_playbooks(json!({})).await, asked(&model, Purpose::Aggregation));
    // One that resembles no other makes a run due, and changes no cluster.
    teach(&site.acme, "volcanoes", &["ana"]).await;
    assert_eq!(site.aggregate().await, 1);
    assert_eq!((site.acme.agent_playbooks(json!({})).await, asked(&model, Purpose::Aggregation)), before);
}

#[tokio::test]
async fn a_new_playbook_changes_its_own_cluster_only() {
    let model = attentive_model().await;
    let site = site(&model).await;
    for topic in ["invoices", "volcanoes", "penguins"] {
        teach(&site.acme, topic, &["ana", "bo"]).await;
    }
    site.aggregate().await;
    let before = site.acme.agent_playbooks(json!({})).await;
    assert_eq!((before.len(), asked(&model, Purpose::Aggregation)), (3, 3));
    teach(&site.acme, "volcanoes", &["cy"]).await;
    site.aggregate().await;
    assert_eq!(asked(&model, Purpose::Aggregation), 4);
    let after = site.acme.agent_playbooks(json!({})).await;
    let of = |rows: &[Value], topic: &str| {
        rows.iter().find(|row| row["content"] == format!("about {topic}: rule")).cloned().unwrap()
    };
    for topic in ["invoices", "penguins"] {
        assert_eq!(of(&after, topic), of(&before, topic));
    }
    assert_ne!(of(&after, "volcanoes")["agent_playbook_id"], of(&before, "volcanoes")["agent_playbook_id"]);
    assert_eq!(after.len(), 3);
    let log = site.acme.get(LOGS).await;
    let newest = &log["change_logs"][0];
    assert_eq!(newest["run_mode"], "incremental");
    let update = &newest["updated_agent_playbooks"][0];
    assert_eq!(update["before"]["agent_playbook_id"], of(&before, "volcanoes")["agent_playbook_id"]);
    assert_eq!(update["after"]["agent_playbook_id"], of(&after, "volcanoes")["agent_playbook_id"]);
}

#[tokio::test]
async fn a_cluster_whose_model_call_fails_keeps_what_it_had_and_is_tried_again() {
    let model = attentive_model().await;
    let site = site(&model).await;
    let topics = ["ants", "books", "cars", "dunes", "eggs", "flutes", "geese", "hats", "inks", "jars"];
    for topic in topics {
        teach(&site.acme, topic, &["ana", "bo"]).await;
    }
    site.aggregate().await;
    let before = site.acme.agent_playbooks(json!({})).await;
    assert_eq!(before.len(), topics.len());
    // All change, and one of them fails.
    model.otherwise(Scripted::with(|request| {
        let fails = purpose(request) == Purpose::Aggregation && request.prompt().contains("dunes");
        if fails { Scripted::text("no JSON") } else { attentive(request) }
    }));
    for topic in topics {
        teach(&site.acme, topic, &["cy"]).await;
    }
    site.aggregate().await;
    let after = site.acme.agent_playbooks(json!({})).await;
    let kept: Vec<&Value> = after.iter().filter(|row| before.contains(row)).collect();
    assert_eq!(after.len(), topics.len());
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0]["content"], "about dunes: rule");
    // Later it succeeds; the others are not asked again.
    model.otherwise(Scripted::with(attentive));
    let calls = asked(&model, Purpose::Aggregation);
    for _ in 0..3 {
        site.advance(120);
        site.sweep().await;
        site.aggregate().await;
    }
    assert_eq!(asked(&model, Purpose::Aggregation), calls + 1);
    let last = site.acme.agent_playbooks(json!({})).await;
    assert!(last.iter().all(|row| !before.contains(row)) && last.len() == topics.len());
}

#[tokio::test]
async fn what_people_approved_survives_whatever_comes() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    site.aggregate().await;
    approve(&site.acme, "approved").await;
    let approved = site.acme.agent_playbooks(json!({})).await;
    // Its cluster changes, and everything is made anew.
    teach(&site.acme, "invoices", &["cy"]).await;
    site.aggregate().await;
    assert_eq!(site.acme.agent_playbooks(json!({ "playbook_status_filter": "approved" })).await, approved);
    rerun(&site, &site.acme).await;
    assert_eq!(site.acme.agent_playbooks(json!({})).await, approved);
}

#[tokio::test]
async fn what_people_rejected_does_not_come_back() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    site.aggregate().await;
    approve(&site.acme, "rejected").await;
    let rejected = site.acme.agent_playbooks(json!({})).await;
    teach(&site.acme, "invoices", &["cy"]).await;
    site.aggregate().await;
    let prompt = model.requests().last().unwrap().prompt();
    assert!(prompt.contains("- \"about invoices: rule\""), "{prompt}");
    assert_eq!(site.acme.agent_playbooks(json!({})).await, rejected);
    rerun(&site, &site.acme).await;
    assert_eq!(site.acme.agent_playbooks(json!({})).await, rejected);
    // It is not found unless it is asked for.
    let found = site.acme.ok("/api/search", &json!({ "query": "invoices" })).await;
    assert_eq!(found["agent_playbooks"], json!([]));
}

async fn approve(caller: &Caller, status: &str) {
    let rows = caller.agent_playbooks(json!({})).await;
    let body = json!({ "agent_playbook_id": rows[0]["agent_playbook_id"], "playbook_status": status });
    let answer = caller.put("/api/update_agent_playbook_status", &body).await;
    assert_eq!((answer.status, &answer.body["success"]), (200, &json!(true)), "{}", answer.body);
}

#[tokio::test]
async fn an_aggregation_on_demand_makes_everything_anew_and_says_what_it_did() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    site.aggregate().await;
    let before = site.acme.agent_playbooks(json!({})).await;
    let answer = rerun(&site, &site.acme).await;
    assert_eq!(answer["success"], true);
    assert_eq!(
        answer["message"],
        "Processed 2 user playbooks, found 1 clusters, generated 1 agent playbooks"
    );
    let after = site.acme.agent_playbooks(json!({})).await;
    assert_eq!(after.len(), 1);
    assert_ne!(after[0]["agent_playbook_id"], before[0]["agent_playbook_id"]);
}

#[tokio::test]
async fn an_aggregation_that_is_not_worth_it_says_why() {
    let model = attentive_model().await;
    let site = site(&model).await;
    configure(&site.acme, json!({ "reaggregation_trigger_count": 3 })).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    let answer = rerun(&site, &site.acme).await;
    assert_eq!(answer["message"], "Skipped: not enough new playbooks (2 < 3)");
    configure(&site.acme, json!({ "min_cluster_size": 1 })).await;
    site.advance(10);
    let answer = rerun(&site, &site.acme).await;
    assert_eq!(answer["message"], "Skipped: no aggregator config or min_cluster_size < 2");
    assert_eq!(asked(&model, Purpose::Aggregation), 0);
}

#[tokio::test]
async fn an_aggregation_that_takes_longer_than_callers_may_wait_goes_on() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    let (body, waits) = (json!({ "agent_version": "v1" }), site.deployment.app.settings.wait_seconds_max);
    let asking = site.acme.ok(RUN, &body);
    let time = async {
        while site.clock.jumped().is_empty() {
            tokio::task::yield_now().await;
        }
        site.advance(waits);
    };
    let (answer, ()) = futures::future::join(asking, time).await;
    assert_eq!(answer["success"], true);
    let message = answer["message"].as_str().unwrap();
    let id = message.strip_prefix("Playbook aggregation continues in the background as operation ").unwrap();
    site.aggregate().await;
    let operation = site.acme.get(&format!("/api/playbook_aggregation_operations/{id}")).await;
    assert_eq!(
        (&operation["status"], &operation["result"]["playbooks_generated"]),
        (&json!("succeeded"), &json!(1))
    );
}

#[tokio::test]
async fn playbooks_that_are_saved_while_it_runs_are_aggregated_too() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    // The first answer does not come before more was saved.
    model.push(Scripted::Hang);
    let later = async {
        while asked(&model, Purpose::Aggregation) == 0 {
            tokio::task::yield_now().await;
        }
        teach(&site.acme, "volcanoes", &["ana", "bo"]).await;
        loop {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            site.advance(5);
        }
    };
    tokio::select! {
        _ = site.aggregate() => {}
        () = later => {}
    }
    assert_eq!(agent_contents(&site.acme).await, ["about invoices: rule", "about volcanoes: rule"]);
}

#[tokio::test]
async fn organisations_with_the_same_agent_version_are_aggregated_apart() {
    let model = attentive_model().await;
    let site = site(&model).await;
    let beta = site.caller("beta").await;
    eager(&beta).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    teach(&beta, "volcanoes", &["ana", "bo"]).await;
    assert_eq!(site.aggregate().await, 2);
    assert_eq!(agent_contents(&site.acme).await, ["about invoices: rule"]);
    assert_eq!(agent_contents(&beta).await, ["about volcanoes: rule"]);
    let log = beta.get(LOGS).await.to_string();
    assert!(log.contains("volcanoes") && !log.contains("invoices"), "{log}");
    let ours = site.acme.agent_playbooks(json!({})).await[0]["agent_playbook_id"].clone();
    let body = json!({ "agent_playbook_id": ours.as_i64().unwrap() + 100, "playbook_status": "approved" });
    let answer = beta.put("/api/update_agent_playbook_status", &body).await;
    assert_eq!(answer.body["success"], false);
}

#[tokio::test]
async fn a_rule_that_names_a_user_is_sent_back_once_and_then_fails() {
    let model = attentive_model().await;
    let site = site(&model).await;
    model.otherwise(Scripted::with(|request| {
        let content = format!("do as user-77 says about {}", members(&request.prompt()).len());
        Scripted::json(&json!({ "playbook": {
            "rationale": "r", "trigger": null, "content": content, "blocking_issue": null,
        } }))
    }));
    teach(&site.acme, "invoices", &["user-77", "user-78"]).await;
    site.aggregate().await;
    assert_eq!(asked(&model, Purpose::Aggregation), 2);
    assert!(site.acme.agent_playbooks(json!({})).await.is_empty());
}

#[tokio::test]
async fn a_deployment_without_a_provider_aggregates_by_its_own_rules() {
    let site = Site::offline().await;
    eager(&site.acme).await;
    // Ids so short are words: no rule is refused for them.
    teach(&site.acme, "invoices", &["u1", "u2", "u3"]).await;
    site.aggregate().await;
    assert_eq!(agent_contents(&site.acme).await, ["about invoices: rule u1"]);
}

async fn ids_of(caller: &Caller, content: &str) -> Vec<i64> {
    let found =
        caller.ok("/api/get_user_playbooks", &json!({ "limit": 1_000, "status_filter": [null] })).await;
    let rows = found["user_playbooks"].as_array().unwrap().iter();
    rows.filter(|row| row["content"] == content)
        .map(|row| row["user_playbook_id"].as_i64().unwrap())
        .collect()
}

#[tokio::test]
async fn deleting_and_editing_user_playbooks_sets_an_aggregation_off_when_enough_changed() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    teach(&site.acme, "volcanoes", &["ana", "bo", "cy"]).await;
    site.aggregate().await;
    assert_eq!(agent_contents(&site.acme).await, ["about invoices: rule", "about volcanoes: rule"]);
    configure(&site.acme, json!({ "reaggregation_trigger_count": 2 })).await;
    let delete = async |content: &str| {
        let ids = ids_of(&site.acme, content).await;
        let body = json!({ "user_playbook_ids": ids }).to_string().into_bytes();
        let path = "/api/delete_user_playbooks_by_ids";
        let answer = site.acme.send("DELETE", path, Some(("application/json", body))).await;
        assert_eq!((answer.status, &answer.body["deleted_count"]), (200, &json!(1)), "{}", answer.body);
    };
    delete("about invoices: rule ana").await;
    assert_eq!(site.aggregate().await, 0, "one is not enough");
    delete("about invoices: rule bo").await;
    assert_eq!(site.aggregate().await, 1);
    assert_eq!(agent_contents(&site.acme).await, ["about volcanoes: rule"]);
    configure(&site.acme, json!({ "reaggregation_trigger_count": 1 })).await;
    let asked_before = asked(&model, Purpose::Aggregation);
    let id = ids_of(&site.acme, "about volcanoes: rule cy").await[0];
    let edit = json!({ "user_playbook_id": id, "content": "about volcanoes: rule dee" });
    let answer = site.acme.put("/api/update_user_playbook", &edit).await;
    assert_eq!((answer.status, &answer.body["success"]), (200, &json!(true)), "{}", answer.body);
    assert_eq!(site.aggregate().await, 1);
    assert_eq!(asked(&model, Purpose::Aggregation), asked_before + 1);
}

#[tokio::test]
async fn a_change_of_versions_sets_the_aggregations_off_whose_playbooks_it_changed() {
    let model = attentive_model().await;
    let site = site(&model).await;
    teach(&site.acme, "invoices", &["ana", "bo"]).await;
    site.aggregate().await;
    let pending = |user: &str| {
        json!({
            "user_id": user, "agent_version": "v1", "request_id": "r2", "playbook_name": "playbook",
            "content": format!("about penguins: rule {user}"), "trigger": "when it comes to penguins",
            "status": "pending",
        })
    };
    let rows = json!({ "user_playbooks": [pending("ana"), pending("bo")] });
    site.acme.ok("/api/add_user_playbook", &rows).await;
    while site.aggregate().await > 0 {}
    for (path, content) in [
        ("/api/upgrade_all_user_playbooks", "about penguins: rule"),
        ("/api/downgrade_all_user_playbooks", "about invoices: rule"),
    ] {
        let answer = site.acme.ok(path, &json!({})).await;
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!(site.aggregate().await, 1, "{path}");
        assert_eq!(agent_contents(&site.acme).await, [content], "{path}");
    }
}
