//! The log of what aggregations changed: what of it is shown.

use domain::entities::PlaybookStatus;
use domain::ids::OrgId;
use serde_json::{Value, json};
use store::{AgentKeys, AgentPlaybookSnapshot, AggregationChange, RunMode};

use crate::support::Site;

/// Entries of one answer at most, in bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Logs a run that added a playbook of this name and content.
async fn log(site: &Site, run: i64, name: &str, content: &str) {
    let added = AgentPlaybookSnapshot {
        agent_playbook_id: run,
        playbook_name: name.to_owned(),
        agent_version: "v1".to_owned(),
        content: content.to_owned(),
        trigger: None,
        rationale: None,
        blocking_issue: None,
        playbook_status: PlaybookStatus::Pending,
        playbook_metadata: String::new(),
    };
    let change = AggregationChange {
        id: 0,
        created_at: 1_750_000_000 + run,
        playbook_name: name.to_owned(),
        agent_version: "v1".to_owned(),
        run_mode: RunMode::Incremental,
        added_agent_playbooks: vec![added],
        removed_agent_playbooks: Vec::new(),
        updated_agent_playbooks: Vec::new(),
    };
    let org: OrgId = "acme".parse().unwrap();
    let keys = AgentKeys { org: &org, agent_version: "v1" };
    site.deployment.app.services.store.log_aggregation(&keys, run, &change).await.unwrap();
}

/// The runs that are shown of a name.
async fn runs(site: &Site, name: &str) -> Vec<i64> {
    let path = format!("/api/playbook_aggregation_change_logs?playbook_name={name}&agent_version=v1");
    let answer = site.acme.get(&path).await;
    assert_eq!(answer["success"], json!(true), "{answer}");
    let run = |change: &Value| change["added_agent_playbooks"][0]["agent_playbook_id"].as_i64().unwrap();
    answer["change_logs"].as_array().unwrap().iter().map(run).collect()
}

#[tokio::test]
async fn it_ends_before_it_is_too_large_to_be_carried() {
    let site = Site::offline().await;
    log(&site, 0, "other", "tea").await;
    let text = "x".repeat(100_000);
    for run in 1..=50 {
        log(&site, run, "playbook", &text).await;
    }
    let shown = runs(&site, "playbook").await;
    assert!((35..=42).contains(&shown.len()), "{shown:?}");
    assert_eq!(shown[0], 50);
    // What is not shown takes no room.
    assert_eq!(runs(&site, "other").await, [0]);
}

#[tokio::test]
async fn an_entry_that_no_answer_can_carry_hides_no_others() {
    let site = Site::offline().await;
    log(&site, 1, "playbook", "tea").await;
    log(&site, 2, "playbook", &"x".repeat(BYTES_MAX)).await;
    log(&site, 3, "playbook", "jazz").await;
    assert_eq!(runs(&site, "playbook").await, [3, 1]);
}

#[tokio::test]
async fn entries_that_are_lost_or_damaged_are_left_out() {
    let site = Site::offline().await;
    for run in 1..=4 {
        log(&site, run, "playbook", "tea").await;
    }
    let s3 = aws_sdk_s3::Client::new(&site.deployment.hub.sdk_config());
    let bucket = &site.deployment.app.settings.bucket;
    let listed = s3.list_objects_v2().bucket(bucket).send().await.unwrap();
    let key_of = |run: i64| {
        let end = format!("/changes/{run}.json");
        listed.contents().iter().filter_map(|object| object.key()).find(|key| key.ends_with(&end)).unwrap()
    };
    s3.delete_object().bucket(bucket).key(key_of(2)).send().await.unwrap();
    s3.put_object().bucket(bucket).key(key_of(3)).body(b"{".to_vec().into()).send().await.unwrap();
    assert_eq!(runs(&site, "playbook").await, [4, 1]);
}
