//! Rows of memory whose versions change: written and read as callers do.

use std::collections::BTreeMap;

use domain::entities::Status;
use domain::learning::LearningKind;
use http::StatusCode;
use serde_json::{Value, json};

use super::world::{Process, hash, keys, org};

/// Rows by their content, which no two rows of a test share, and what status each has.
pub(crate) type Shown = BTreeMap<String, Option<Status>>;

/// A row to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewRow {
    pub(crate) name: String,
    pub(crate) status: Option<Status>,
    pub(crate) agent_version: &'static str,
}

/// A row for version `v1` of the agent.
pub(crate) fn row(name: impl Into<String>, status: Option<Status>) -> NewRow {
    NewRow { name: name.into(), status, agent_version: "v1" }
}

/// The status in requests.
pub(crate) fn word(status: Option<Status>) -> Value {
    status.map_or(Value::Null, |status| status.as_str().into())
}

fn parse(word: &Value) -> Option<Status> {
    word.as_str().map(|word| Status::parse(word).unwrap())
}

/// Writes rows by the direct routes; the answer's status.
pub(crate) async fn try_add(
    process: &Process,
    kind: LearningKind,
    user: &str,
    rows: &[NewRow],
) -> StatusCode {
    let (path, body) = match kind {
        LearningKind::Profile => {
            let row = |row: &NewRow| {
                json!({
                    "profile_id": row.name, "user_id": user, "content": row.name,
                    "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r",
                    "status": word(row.status),
                })
            };
            ("/api/add_user_profile", json!({ "user_profiles": rows.iter().map(row).collect::<Vec<_>>() }))
        }
        LearningKind::Playbook => {
            let row = |row: &NewRow| {
                json!({
                    "user_id": user, "agent_version": row.agent_version, "request_id": "r",
                    "content": row.name, "status": word(row.status),
                })
            };
            ("/api/add_user_playbook", json!({ "user_playbooks": rows.iter().map(row).collect::<Vec<_>>() }))
        }
    };
    process.call("POST", path, Some(&body)).await.0
}

/// Writes rows that must be written.
pub(crate) async fn add(process: &Process, kind: LearningKind, user: &str, rows: &[NewRow]) {
    assert_eq!(try_add(process, kind, user, rows).await, StatusCode::OK);
}

/// What is stored of a user, as the store shows it.
pub(crate) async fn shown(process: &Process, kind: LearningKind, user: &str) -> Shown {
    let (org, user) = (org(), hash(user));
    let rows = process.app.services.store.memory_rows(&keys(&org, &user)).await.unwrap();
    match kind {
        LearningKind::Profile => {
            rows.profiles.into_iter().map(|row| (row.profile.content, row.profile.status)).collect()
        }
        LearningKind::Playbook => {
            rows.playbooks.into_iter().map(|row| (row.playbook.content, row.playbook.status)).collect()
        }
    }
}

/// What the lists over all users show, by user.
pub(crate) async fn listed(process: &Process, kind: LearningKind) -> BTreeMap<String, Shown> {
    let mut found: BTreeMap<String, Shown> = BTreeMap::new();
    let mut note = |rows: &Value| {
        for row in rows.as_array().unwrap() {
            let (user, name) = (row["user_id"].as_str().unwrap(), row["content"].as_str().unwrap());
            found.entry(user.to_owned()).or_default().insert(name.to_owned(), parse(&row["status"]));
        }
    };
    match kind {
        LearningKind::Profile => {
            for status in ["current", "pending", "archived"] {
                let path = format!("/api/get_all_profiles?limit=10000&status_filter={status}");
                let (code, answer) = process.call("GET", &path, None).await;
                assert_eq!(code, StatusCode::OK, "{answer}");
                note(&answer["user_profiles"]);
            }
        }
        LearningKind::Playbook => {
            let body = json!({ "limit": 10_000, "status_filter": [null, "pending", "archived"] });
            let (code, answer) = process.call("POST", "/api/get_user_playbooks", Some(&body)).await;
            assert_eq!(code, StatusCode::OK, "{answer}");
            note(&answer["user_playbooks"]);
        }
    }
    found
}

/// Upgrades by the route; the answer.
pub(crate) async fn upgrade(process: &Process, kind: LearningKind, body: Value) -> (StatusCode, Value) {
    let path = match kind {
        LearningKind::Profile => "/api/upgrade_all_profiles",
        LearningKind::Playbook => "/api/upgrade_all_user_playbooks",
    };
    process.call("POST", path, Some(&body)).await
}

/// Downgrades by the route; the answer.
pub(crate) async fn downgrade(process: &Process, kind: LearningKind, body: Value) -> (StatusCode, Value) {
    let path = match kind {
        LearningKind::Profile => "/api/downgrade_all_profiles",
        LearningKind::Playbook => "/api/downgrade_all_user_playbooks",
    };
    process.call("POST", path, Some(&body)).await
}

/// What an upgrade makes of rows: written out once more, in other words than the program has.
pub(crate) fn upgraded(before: &Shown) -> Shown {
    let mut after = Shown::new();
    for (name, status) in before {
        match status {
            None => after.insert(name.clone(), Some(Status::Archived)),
            Some(Status::Pending) => after.insert(name.clone(), None),
            Some(Status::Archived) => None,
            other => after.insert(name.clone(), *other),
        };
    }
    after
}

/// What a downgrade makes of rows.
pub(crate) fn downgraded(before: &Shown) -> Shown {
    let swap = |status: Option<Status>| match status {
        None => Some(Status::Archived),
        Some(Status::Archived) => None,
        other => other,
    };
    before.iter().map(|(name, status)| (name.clone(), swap(*status))).collect()
}

/// How many rows have this status.
pub(crate) fn count(rows: &Shown, status: Option<Status>) -> i64 {
    i64::try_from(rows.values().filter(|found| **found == status).count()).unwrap()
}
