//! Two organisations that use the same ids: neither sees, changes or is told of the other's.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Answer, Caller, Item, Site, request, with};

/// Stands in everything that the first organisation writes.
const MARK: &str = "xyzzy";
/// Stands in everything that the second one writes.
const OTHER_MARK: &str = "plugh";

/// How a route is tried.
enum Case {
    /// It belongs to nobody.
    Public,
    /// It only reads.
    Read(Value),
    /// It reads, with this query.
    Query(&'static str),
    /// It writes, under ids that both organisations use.
    Write(Value),
    /// It reads what this path names.
    At(&'static str),
}

/// The case of each route; a route without one fails the tests.
fn case(method: &str, path: &str, mark: &str) -> Option<Case> {
    let ids = || json!({ "user_id": "ana", "query": "tea", "top_k": 50 });
    Some(match (method, path) {
        ("GET", "/" | "/health" | "/health/live" | "/health/ready" | "/healthz" | "/meta/version") => {
            Case::Public
        }
        ("GET", "/openapi.json" | "/docs" | "/redoc") => Case::Public,
        ("GET", "/api/whoami" | "/api/my_config" | "/api/get_config") => Case::Query(""),
        ("GET", "/api/learning_status") => Case::Query("?request_id=r1"),
        ("GET", "/api/profile_change_log" | "/stall_state" | "/api/stall_state") => Case::Query(""),
        ("POST", "/stall_state/notified") => Case::Read(json!({})),
        ("GET", "/api/get_operation_status") => Case::Query(""),
        ("POST", "/api/rerun_profile_generation" | "/api/rerun_playbook_generation") => {
            Case::Write(json!({ "source": mark, "agent_version": "agent-v0" }))
        }
        // The reruns are in progress, in the organisation's own.
        ("POST", "/api/manual_profile_generation" | "/api/manual_playbook_generation") => {
            Case::Read(json!({ "user_id": "ana" }))
        }
        // Nothing is pending or archived; what upgrades leave alone is tested beside them.
        (
            "POST",
            "/api/upgrade_all_profiles"
            | "/api/downgrade_all_profiles"
            | "/api/upgrade_all_user_playbooks"
            | "/api/downgrade_all_user_playbooks",
        ) => Case::Read(json!({})),
        // What each organisation sees of its own is tested beside the judgement.
        ("POST", "/api/get_retrieved_learning_evaluation_results") => Case::Read(json!({ "limit": 1_000 })),
        ("POST", "/api/cancel_operation") => Case::Read(json!({ "service_name": mark })),
        ("GET", "/api/get_all_interactions") => Case::Query("?limit=100"),
        ("GET", "/api/get_all_profiles") => Case::Query("?profile_id=p1&include_tombstones=true"),
        ("GET", "/api/evaluations/shadow_comparisons/recent") => Case::Query("?limit=5"),
        ("POST", "/api/get_agent_success_evaluation_results") => Case::Read(json!({})),
        ("POST", "/api/evaluations/regenerate") => Case::Write(json!({ "from_ts": 0, "to_ts": 9 })),
        ("POST", "/api/evaluations/grade_on_demand") => {
            Case::Read(json!({ "session_id": "of nobody", "agent_version": "v1" }))
        }
        ("GET" | "DELETE", "/api/evaluations/regenerate/{job_id}") => {
            Case::At("/api/evaluations/regenerate/nobody")
        }
        ("GET", "/api/evaluations/grade_on_demand/{grade_id}") => {
            Case::At("/api/evaluations/grade_on_demand/nobody")
        }
        ("GET", "/api/retrieval_experiments") => Case::Query(""),
        ("POST", "/api/retrieval_experiments") => {
            Case::Write(json!({ "experiment_id": mark, "holdout_percentage": 1 }))
        }
        // The one that runs is the organisation's own, and then none does.
        ("POST", "/api/retrieval_experiments/stop") => Case::Write(json!({ "experiment_id": mark })),
        ("GET", "/api/retrieval_experiments/{experiment_id}/results") => {
            Case::At("/api/retrieval_experiments/nobody/results")
        }
        ("POST", "/api/get_evaluation_overview") => {
            Case::Read(json!({ "from_ts": 0, "to_ts": 4_102_444_800_i64 }))
        }
        ("POST", "/api/set_config") => Case::Write(json!({
            "storage_config": null,
            "agent_context_prompt": format!("the {mark} agent"),
            "api_key_config": { "openai": { "api_key": format!("sk-{mark}-0123456789") } },
        })),
        ("POST", "/api/update_config") => {
            Case::Write(json!({ "agent_context_prompt": format!("{mark} again") }))
        }
        ("POST", "/api/publish_interaction") => {
            let said = format!("{mark}: I am allergic to tea");
            Case::Write(with(request("ana", "s1", "r1", &[&said]), json!({ "source": mark })))
        }
        ("POST", "/api/finalize_session") => Case::Write(json!({ "user_id": "ana", "session_id": "s1" })),
        ("POST", "/api/session_outcome") => Case::Write(json!({
            "session_id": "s1", "outcome": "success", "occurred_at": 1_750_090_000, "label": mark,
        })),
        ("POST", "/api/get_session_outcomes") => Case::Read(json!({ "session_ids": ["s1"] })),
        ("POST", "/api/add_user_profile") => {
            let row = |id: &str| {
                json!({
                    "profile_id": id, "user_id": "ana", "content": format!("{mark} drinks tea"),
                    "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r1",
                })
            };
            Case::Write(json!({ "user_profiles": [row("p1"), row("p2"), row("p3")] }))
        }
        ("PUT", "/api/update_user_profile") => Case::Write(json!({
            "user_id": "ana", "profile_id": "p1", "content": format!("{mark} drinks green tea"),
        })),
        ("DELETE", "/api/delete_profile") => Case::Write(json!({ "user_id": "ana", "profile_id": "p2" })),
        ("DELETE", "/api/delete_profiles_by_ids") => Case::Write(json!({ "profile_ids": ["p3"] })),
        ("POST", "/api/add_user_playbook") => {
            let row = json!({
                "user_id": "ana", "agent_version": "v1", "request_id": "r1",
                "content": format!("{mark}: offer tea"), "trigger": "when tea is mentioned",
            });
            Case::Write(json!({ "user_playbooks": [row.clone(), row.clone(), row] }))
        }
        ("PUT", "/api/update_user_playbook") => {
            Case::Write(json!({ "user_playbook_id": 1, "content": format!("{mark}: offer green tea") }))
        }
        ("DELETE", "/api/delete_user_playbook") => Case::Write(json!({ "user_playbook_id": 2 })),
        ("DELETE", "/api/delete_user_playbooks_by_ids") => Case::Write(json!({ "user_playbook_ids": [3] })),
        ("POST", "/api/admin/cache/invalidate") => Case::Read(json!({})),
        ("POST", "/api/add_agent_playbook") => Case::Write(json!({ "agent_playbooks": [{
            "agent_version": "v1", "content": format!("{mark}: offer tea"), "trigger": "when tea is mentioned",
        }] })),
        ("PUT", "/api/update_agent_playbook_status") => {
            Case::Write(json!({ "agent_playbook_id": 1, "playbook_status": "approved" }))
        }
        ("POST", "/api/run_playbook_aggregation") => Case::Write(json!({ "agent_version": mark })),
        ("POST", "/api/playbook_aggregation_operations") => {
            Case::Write(json!({ "request_id": "agg-1", "agent_version": mark }))
        }
        ("GET", "/api/playbook_aggregation_operations/{operation_id}") => {
            Case::At("/api/playbook_aggregation_operations/nobody")
        }
        ("GET", "/api/playbook_aggregation_change_logs") => {
            Case::Query("?playbook_name=playbook&agent_version=v1")
        }
        ("POST", "/api/get_agent_playbooks") => Case::Read(json!({ "agent_playbook_id": 1 })),
        ("POST", "/api/search_agent_playbooks") => Case::Read(json!({ "query": "tea" })),
        ("POST", "/api/get_user_playbooks") => Case::Read(json!({ "user_playbook_id": 1 })),
        ("POST", "/api/get_learning_provenance") => Case::Read(json!({ "kind": "profile", "id": "p1" })),
        ("POST", "/api/review_user_playbooks") => Case::Read(json!({
            "start_time": "2020-01-01T00:00:00Z", "end_time": "2100-01-01T00:00:00Z",
        })),
        ("POST", "/api/get_requests") => Case::Read(json!({ "request_id": "r1", "session_id": "s1" })),
        ("POST", "/api/get_interactions" | "/api/get_profiles") => Case::Read(json!({ "user_id": "ana" })),
        ("POST", "/api/search_user_playbooks") => Case::Read(json!({ "query": "tea" })),
        ("POST", "/api/search_profiles" | "/api/search_interactions" | "/api/search") => Case::Read(ids()),
        _ => return None,
    })
}

/// Calls a route as its case says; `None` for routes that belong to nobody.
async fn call(caller: &Caller, method: &str, path: &str, mark: &str) -> Option<Answer> {
    let case = case(method, path, mark).unwrap_or_else(|| panic!("{method} {path} has no two-tenant case"));
    Some(match case {
        Case::Public => return None,
        Case::Query(query) => caller.send("GET", &format!("{path}{query}"), None).await,
        Case::Read(body) | Case::Write(body) => {
            caller.send(method, path, Some(("application/json", body.to_string().into_bytes()))).await
        }
        Case::At(path) => caller.send("GET", path, None).await,
    })
}

fn writes(method: &str, path: &str) -> bool {
    matches!(case(method, path, MARK), Some(Case::Write(_)))
}

/// Calls every route whose case writes.
async fn write_everything(caller: &Caller, mark: &str) {
    for (method, path) in api::ROUTES.into_iter().filter(|(method, path)| writes(method, path)) {
        let answer = call(caller, method, path, mark).await.unwrap();
        // A receipt has no word for success: it says 202.
        let is_receipt = answer.status == 202 && answer.body["status"] == "queued";
        // Nor have the list of experiments and the start of a job.
        let is_list = answer.body["experiments"].is_array() || answer.body["job_id"].is_string();
        let is_success = answer.status == 200 && (is_list || answer.body["success"] == true);
        assert!(is_receipt || is_success, "{path}: {} {}", answer.status, answer.body);
    }
}

/// What every route but the writing ones answers.
async fn read_everything(caller: &Caller) -> BTreeMap<&'static str, (u16, Value)> {
    let mut answers = BTreeMap::new();
    for (method, path) in api::ROUTES.into_iter().filter(|(method, path)| !writes(method, path)) {
        if let Some(mut answer) = call(caller, method, path, MARK).await {
            // The only part of an answer that chance decides.
            if let Some(members) = answer.body.as_object_mut() {
                members.remove("run_id");
            }
            answers.insert(path, (answer.status, answer.body));
        }
    }
    answers
}

/// The items of an organisation, but for what its calls of models cost, which is added up now and then.
async fn items_of(site: &Site, org: &str) -> Vec<Item> {
    let mut items = site.items().await;
    let (own, below) = (format!("O#{org}"), format!("O#{org}#"));
    items.retain(|item| {
        let (partition, sort) = (item["PK"].as_s().unwrap(), item["SK"].as_s().unwrap());
        (*partition == own || partition.starts_with(&below)) && !sort.starts_with("USE#")
    });
    items
}

async fn site() -> Site {
    let switch = ("RETROSPECT_ALLOW_MY_CONFIG".to_owned(), "true".to_owned());
    Site::with(BTreeMap::from([switch])).await
}

#[tokio::test]
async fn an_organisation_is_answered_as_if_the_other_did_not_exist() {
    let alone = site().await;
    let alone = read_everything(&alone.caller("beta").await).await;
    let site = site().await;
    write_everything(&site.acme, MARK).await;
    let beta = site.caller("beta").await;
    let answers = read_everything(&beta).await;
    for (path, answer) in &answers {
        assert_eq!(Some(answer), alone.get(path), "{path}");
        assert!(!answer.1.to_string().contains(MARK), "{path}: {}", answer.1);
    }
}

#[tokio::test]
async fn an_organisation_that_uses_the_same_ids_overwrites_nothing() {
    let site = site().await;
    write_everything(&site.acme, MARK).await;
    site.learn().await;
    let (items, answers) = (items_of(&site, "acme").await, read_everything(&site.acme).await);
    let beta = site.caller("beta").await;
    write_everything(&beta, OTHER_MARK).await;
    site.learn().await;
    assert_eq!(items_of(&site, "acme").await, items);
    assert_eq!(read_everything(&site.acme).await, answers);
    for (path, (status, body)) in read_everything(&beta).await {
        assert!(!body.to_string().contains(MARK), "{path}: {body}");
        let is_named_by_id = path.contains('{');
        assert!(status == if is_named_by_id { 404 } else { 200 }, "{path}: {status} {body}");
    }
}

#[tokio::test]
async fn every_reading_route_shows_its_own_organisation_what_it_wrote() {
    let site = site().await;
    write_everything(&site.acme, MARK).await;
    // Otherwise the other tests would pass on empty answers.
    let silent = [
        "/api/whoami",
        "/api/my_config",
        "/api/learning_status",
        "/api/review_user_playbooks",
        "/api/admin/cache/invalidate",
        "/stall_state",
        "/api/stall_state",
        "/stall_state/notified",
        // Refused while the reruns are in progress, and nothing of that name to stop.
        "/api/manual_profile_generation",
        "/api/manual_playbook_generation",
        "/api/cancel_operation",
        // Nothing was judged.
        "/api/get_retrieved_learning_evaluation_results",
        // Nothing to change.
        "/api/upgrade_all_profiles",
        "/api/downgrade_all_profiles",
        "/api/upgrade_all_user_playbooks",
        "/api/downgrade_all_user_playbooks",
        "/api/playbook_aggregation_operations/{operation_id}",
        "/api/playbook_aggregation_change_logs",
        "/api/retrieval_experiments/{experiment_id}/results",
        "/api/evaluations/regenerate",
        "/api/evaluations/regenerate/{job_id}",
        "/api/evaluations/grade_on_demand",
        "/api/evaluations/grade_on_demand/{grade_id}",
        "/api/evaluations/shadow_comparisons/recent",
        // No session has been silent for long enough.
        "/api/get_agent_success_evaluation_results",
        // Nothing was judged.
        "/api/get_evaluation_overview",
    ];
    for (path, (_, body)) in read_everything(&site.acme).await {
        assert!(silent.contains(&path) || body.to_string().contains(MARK), "{path}: {body}");
    }
}

#[tokio::test]
async fn learning_of_the_same_user_of_two_organisations_stays_apart() {
    let site = Site::offline().await;
    let beta = site.caller("beta").await;
    for (caller, food) in [(&site.acme, "peanuts"), (&beta, "shellfish")] {
        let said = format!("I'm allergic to {food}.");
        let body = with(request("ana", "s1", "r1", &[&said]), json!({ "session_finished": true }));
        caller.publish(&body).await;
    }
    assert_eq!(site.learn().await, 2);
    for (caller, food, other) in [(&site.acme, "peanut", "shellfish"), (&beta, "shellfish", "peanut")] {
        let profiles = caller.profiles("ana").await.join(" ");
        assert!(profiles.contains(food) && !profiles.contains(other), "{profiles}");
    }
}

#[tokio::test]
async fn a_profile_id_of_another_user_is_not_taken_over() {
    let site = site().await;
    let profile = |user: &str, content: &str| {
        json!({ "user_profiles": [{
        "profile_id": "p1", "user_id": user, "content": content,
        "last_modified_timestamp": 1_750_000_000, "generated_from_request_id": "r1",
    }] })
    };
    site.acme.ok("/api/add_user_profile", &profile("ana", "likes tea")).await;
    let answer = site.acme.post("/api/add_user_profile", &profile("bo", "likes rum")).await;
    assert_eq!(answer.status, 409, "{}", answer.body);
    assert_eq!(site.acme.profiles("ana").await, ["likes tea"]);
    assert!(site.acme.profiles("bo").await.is_empty());
}
