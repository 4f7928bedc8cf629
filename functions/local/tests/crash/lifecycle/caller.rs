//! The steps as HTTP calls, and what callers see afterwards.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use super::reference::{Kind, Step, Verdict, Versions};
use crate::support::world::Process;

/// The agent version of all requests and rows.
const AGENT_VERSION: &str = "agent-v0";

/// Sends a step; `n` makes ids of its own for it. `true` when it was answered: what it did is then done, or will be.
pub(super) async fn send(process: &Process, step: &Step, n: usize) -> bool {
    // A read on the way may not be answered.
    let Some((method, path, body)) = request(process, step, n).await else { return false };
    let (status, answer) = process.call(method, &path, Some(&body)).await;
    if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::INTERNAL_SERVER_ERROR {
        return false;
    }
    assert_eq!(status, StatusCode::OK, "{step:?}: {answer}");
    true
}

async fn request(process: &Process, step: &Step, n: usize) -> Option<(&'static str, String, Value)> {
    let (method, path, body) = match step {
        Step::Publish { user, marks } => {
            let turns: Vec<_> = marks.iter().map(|mark| json!({ "role": "User", "content": mark })).collect();
            let body = json!({
                "user_id": user, "request_id": format!("request-{n}"), "session_id": format!("{user}-session"),
                "interaction_data_list": turns, "force_extraction": true, "agent_version": AGENT_VERSION,
            });
            ("POST", "/api/publish_interaction", body)
        }
        Step::Rerun { kind: Kind::Profile } => ("POST", "/api/rerun_profile_generation", json!({})),
        Step::Rerun { kind: Kind::Playbook } => {
            ("POST", "/api/rerun_playbook_generation", json!({ "agent_version": AGENT_VERSION }))
        }
        Step::Manual { kind: Kind::Profile } => ("POST", "/api/manual_profile_generation", json!({})),
        Step::Manual { kind: Kind::Playbook } => {
            ("POST", "/api/manual_playbook_generation", json!({ "agent_version": AGENT_VERSION }))
        }
        Step::Upgrade { kind: Kind::Profile, only_affected_users, .. } => {
            ("POST", "/api/upgrade_all_profiles", json!({ "only_affected_users": only_affected_users }))
        }
        Step::Upgrade { kind: Kind::Playbook, archive_current, .. } => {
            let body = json!({ "agent_version": AGENT_VERSION, "archive_current": archive_current });
            ("POST", "/api/upgrade_all_user_playbooks", body)
        }
        Step::Downgrade { kind: Kind::Profile, only_affected_users } => {
            ("POST", "/api/downgrade_all_profiles", json!({ "only_affected_users": only_affected_users }))
        }
        Step::Downgrade { kind: Kind::Playbook, .. } => {
            ("POST", "/api/downgrade_all_user_playbooks", json!({ "agent_version": AGENT_VERSION }))
        }
        Step::Add { user, kind: Kind::Profile, content } => {
            let row = json!({
                "profile_id": format!("written-{n}"), "user_id": user, "content": content,
                "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "written",
            });
            ("POST", "/api/add_user_profile", json!({ "user_profiles": [row] }))
        }
        Step::Add { user, kind: Kind::Playbook, content } => {
            let row = json!({
                "user_id": user, "agent_version": AGENT_VERSION, "request_id": "written", "content": content,
            });
            ("POST", "/api/add_user_playbook", json!({ "user_playbooks": [row] }))
        }
        Step::Edit { user, kind, old, new } => {
            let id = id_of(process, user, *kind, old).await?;
            match kind {
                Kind::Profile => {
                    let body = json!({ "user_id": user, "profile_id": id, "content": new });
                    ("PUT", "/api/update_user_profile", body)
                }
                Kind::Playbook => {
                    ("PUT", "/api/update_user_playbook", json!({ "user_playbook_id": id, "content": new }))
                }
            }
        }
        Step::Delete { user, kind, content } => {
            let id = id_of(process, user, *kind, content).await?;
            match kind {
                Kind::Profile => {
                    ("DELETE", "/api/delete_profile", json!({ "user_id": user, "profile_id": id }))
                }
                Kind::Playbook => ("DELETE", "/api/delete_user_playbook", json!({ "user_playbook_id": id })),
            }
        }
        Step::Judge { content, verdict } => {
            let rows = agent_playbooks(process).await?;
            let id = rows.iter().find(|row| row["content"] == *content)?["agent_playbook_id"].clone();
            let status = match verdict {
                Verdict::Approved => "approved",
                Verdict::Rejected => "rejected",
            };
            let body = json!({ "agent_playbook_id": id, "playbook_status": status });
            ("PUT", "/api/update_agent_playbook_status", body)
        }
    };
    Some((method, path.to_owned(), body))
}

/// Rows of one kind of a user, all versions; `None` when the call was not answered.
async fn rows(process: &Process, user: &str, kind: Kind) -> Option<Vec<Value>> {
    let statuses = json!([null, "pending", "archived", "archive_in_progress"]);
    let (path, body, list) = match kind {
        Kind::Profile => (
            "/api/get_profiles",
            json!({ "user_id": user, "top_k": 1_000, "status_filter": statuses }),
            "user_profiles",
        ),
        Kind::Playbook => (
            "/api/get_user_playbooks",
            json!({ "user_id": user, "limit": 1_000, "status_filter": statuses }),
            "user_playbooks",
        ),
    };
    let (status, answer) = process.call("POST", path, Some(&body)).await;
    (status == StatusCode::OK).then(|| answer[list].as_array().unwrap().clone())
}

/// Agent playbooks as people see them; `None` when the call was not answered.
pub(super) async fn agent_playbooks(process: &Process) -> Option<Vec<Value>> {
    let body = json!({ "limit": 100, "status_filter": [null] });
    let (status, answer) = process.call("POST", "/api/get_agent_playbooks", Some(&body)).await;
    (status == StatusCode::OK).then(|| answer["agent_playbooks"].as_array().unwrap().clone())
}

/// The id of the current row with this content.
async fn id_of(process: &Process, user: &str, kind: Kind, content: &str) -> Option<Value> {
    let rows = rows(process, user, kind).await?;
    let is_it = |row: &&Value| row["content"] == content && row.get("status").is_none_or(Value::is_null);
    let row = rows.iter().find(is_it)?;
    let name = match kind {
        Kind::Profile => "profile_id",
        Kind::Playbook => "user_playbook_id",
    };
    Some(row[name].clone())
}

/// What a caller sees of every user, by kind and version.
pub(super) async fn seen(
    process: &Process,
    users: &[&'static str],
) -> BTreeMap<&'static str, BTreeMap<Kind, Versions>> {
    let mut all = BTreeMap::new();
    for user in users {
        let mut memory = BTreeMap::new();
        for kind in Kind::ALL {
            let mut versions = Versions::default();
            for row in rows(process, user, kind).await.unwrap() {
                let content = row["content"].as_str().unwrap().to_owned();
                match row["status"].as_str() {
                    None => versions.current.push(content),
                    Some("pending") => versions.pending.push(content),
                    Some("archived") => versions.archived.push(content),
                    Some(other) => panic!("{user}: {content} is left as {other}"),
                }
            }
            for rows in [&mut versions.current, &mut versions.pending, &mut versions.archived] {
                rows.sort();
            }
            memory.insert(kind, versions);
        }
        all.insert(*user, memory);
    }
    all
}
