//! Retrieval experiments: searches withhold from some users, and what comes of it is counted.

use domain::entities::{AGENT_SUCCESS, EvaluationResult, RetrievalExperimentArm};
use domain::experiments::assigned_arm;
use domain::ids::{OrgId, RequestId, SessionId, UserHash, UserId};
use serde_json::{Value, json};
use store::{EvaluationCommit, UserKeys};

use crate::support::{Site, request, with};

const PATH: &str = "/api/retrieval_experiments";

fn experiment(id: &str, percentage: f64) -> Value {
    json!({ "experiment_id": id, "holdout_percentage": percentage })
}

/// Users of each arm of the experiment `e` at 50 %, so many.
fn users_of(org: &str, arm: RetrievalExperimentArm, many: usize) -> Vec<String> {
    let org: OrgId = org.parse().unwrap();
    let users = (0..).map(|number| format!("user-{number}"));
    let is_in = |user: &String| assigned_arm(&org, "e", &UserId::new(user).unwrap(), 50.0) == arm;
    users.filter(is_in).take(many).collect()
}

#[tokio::test]
async fn one_experiment_runs_at_a_time_and_its_history_is_kept() {
    let site = Site::offline().await;
    let acme = &site.acme;
    assert_eq!(acme.get(PATH).await, json!({ "experiments": [] }));
    let started = acme.ok(PATH, &experiment("e", 50.0)).await;
    assert_eq!(started["active_experiment"]["experiment_id"], "e");
    let second = acme.post(PATH, &experiment("f", 10.0)).await;
    assert_eq!(second.status, 409);
    assert_eq!(second.body["detail"], "Stop the active retrieval experiment before starting another");
    let stop = |id: &str| json!({ "experiment_id": id });
    let wrong = acme.post(&format!("{PATH}/stop"), &stop("f")).await;
    assert_eq!(
        (wrong.status, &wrong.body["detail"]),
        (409, &json!("The requested retrieval experiment is not active"))
    );
    site.advance(60);
    let stopped = acme.ok(&format!("{PATH}/stop"), &stop("e")).await;
    assert!(stopped.get("active_experiment").is_none(), "{stopped}");
    let record = &stopped["experiments"][0];
    assert_eq!(record["ended_at"].as_i64().unwrap() - record["started_at"].as_i64().unwrap(), 60);
    let again = acme.post(PATH, &experiment("e", 10.0)).await;
    assert_eq!(
        (again.status, &again.body["detail"]),
        (409, &json!("Retrieval experiment IDs cannot be reused"))
    );
    let unknown = acme.send("GET", &format!("{PATH}/nope/results"), None).await;
    assert_eq!((unknown.status, &unknown.body["detail"]), (404, &json!("Retrieval experiment not found")));
}

#[tokio::test]
async fn of_two_experiments_that_are_started_at_once_one_runs() {
    let site = Site::offline().await;
    let (one, other) = (experiment("e", 50.0), experiment("f", 50.0));
    let (one, other) = tokio::join!(site.acme.post(PATH, &one), site.acme.post(PATH, &other));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    let all = site.acme.get(PATH).await;
    assert_eq!(all["experiments"].as_array().unwrap().len(), 1, "{all}");
}

#[tokio::test]
async fn names_and_percentages_beyond_their_bounds_are_refused_and_start_nothing() {
    let site = Site::offline().await;
    let name = |characters: usize| "x".repeat(characters);
    for (body, field) in [
        (experiment("", 10.0), "experiment_id"),
        (experiment(&name(129), 10.0), "experiment_id"),
        (experiment("e", 0.0), "holdout_percentage"),
        (experiment("e", 100.0), "holdout_percentage"),
        (json!({ "experiment_id": "e" }), "holdout_percentage"),
        (json!({ "holdout_percentage": 10 }), "experiment_id"),
    ] {
        let answer = site.acme.post(PATH, &body).await;
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!(answer.body["detail"][0]["loc"], json!(["body", field]), "{body}");
    }
    assert_eq!(site.acme.get(PATH).await, json!({ "experiments": [] }));
    site.acme.ok(PATH, &experiment(&name(128), 99.9)).await;
}

#[tokio::test]
async fn every_search_withholds_from_the_holdout_and_says_the_arm_to_all() {
    let site = Site::offline().await;
    let acme = &site.acme;
    acme.ok(PATH, &experiment("e", 50.0)).await;
    let searches =
        ["/api/search", "/api/search_profiles", "/api/search_user_playbooks", "/api/search_agent_playbooks"];
    for arm in [RetrievalExperimentArm::Treatment, RetrievalExperimentArm::Holdout] {
        let user = &users_of("acme", arm, 1)[0];
        for path in searches {
            let answer = acme.ok(path, &json!({ "query": "tea", "user_id": user })).await;
            assert_eq!(answer["experiment"], json!({ "experiment_id": "e", "arm": arm }), "{path}");
            let withheld = answer["msg"] == "Retrieval withheld by experiment assignment";
            assert_eq!(withheld, arm == RetrievalExperimentArm::Holdout, "{path}: {answer}");
        }
    }
    for path in ["/api/search", "/api/search_user_playbooks", "/api/search_agent_playbooks"] {
        let answer = acme.post(path, &json!({ "query": "tea" })).await;
        assert_eq!(answer.status, 422, "{path}");
        assert_eq!(answer.body["detail"], "user_id is required while a retrieval experiment is active");
    }
}

/// Publishes one attributed session and, when there is one, saves the verdict on it.
async fn session(site: &Site, user: &str, arm: RetrievalExperimentArm, verdict: Option<bool>, id: i64) {
    let session = format!("s{id}");
    let body = request(user, &session, &format!("r{id}"), &["hello"]);
    let mut body = with(body, json!({ "retrieval_experiment_id": "e", "retrieval_experiment_arm": arm }));
    let spoken = json!({ "role": "Assistant", "content": "word".repeat(usize::try_from(10 * id).unwrap()) });
    body["interaction_data_list"].as_array_mut().unwrap().push(spoken);
    site.acme.publish(&body).await;
    let Some(is_success) = verdict else { return };
    let (org, hash) = ("acme".parse().unwrap(), UserHash::of(&UserId::new(user).unwrap()));
    let result = EvaluationResult {
        result_id: id,
        user_id: UserId::new(user).unwrap(),
        session_id: SessionId::new(&session).unwrap(),
        agent_version: "agent-v0".to_owned(),
        evaluation_name: AGENT_SUCCESS.to_owned(),
        is_success,
        failure_type: None,
        failure_reason: String::new(),
        created_at: site.deployment.app.services.clock.now(),
        number_of_correction_per_session: 1,
        user_turns_to_resolution: is_success.then_some(1),
        is_escalated: false,
        tags: None,
        trajectory_through_request_id: RequestId::new(&format!("r{id}")).unwrap(),
        trajectory_interaction_count: 2,
        judged_at: 0,
        is_windowed: false,
    };
    let commit = EvaluationCommit { result: &result, replaced: None, purge_epoch: 0 };
    let keys = UserKeys { org: &org, user: &hash };
    site.deployment.app.services.store.save_evaluation(&keys, &commit).await.unwrap();
}

#[tokio::test]
async fn the_results_of_an_experiment_compare_its_arms() {
    let site = Site::offline().await;
    site.acme.ok(PATH, &experiment("e", 50.0)).await;
    let (treated, held_out) = (RetrievalExperimentArm::Treatment, RetrievalExperimentArm::Holdout);
    let (one, other) = (users_of("acme", treated, 2), users_of("acme", held_out, 2));
    session(&site, &one[0], treated, Some(true), 1).await;
    session(&site, &one[0], treated, Some(true), 2).await;
    session(&site, &one[1], treated, Some(false), 3).await;
    session(&site, &one[1], treated, None, 4).await;
    session(&site, &other[0], held_out, Some(false), 5).await;
    session(&site, &other[1], held_out, Some(true), 6).await;
    let results = site.acme.get(&format!("{PATH}/e/results")).await;
    let treatment = json!({
        "arm": "treatment", "assigned_user_count": 2, "published_session_count": 4, "evaluated_user_count": 2,
        "evaluated_session_count": 3, "success_rate": 2.0 / 3.0, "average_corrections": 1.0,
        "average_turns_to_resolution": 1.0, "escalation_rate": 0.0, "average_output_tokens": 25.0,
        "output_token_session_count": 4,
    });
    assert_eq!(results["treatment"], treatment);
    assert_eq!(results["holdout"]["success_rate"], 0.5);
    assert_eq!(results["holdout"]["average_output_tokens"], 55.0);
    let lift = results["success_rate_lift_percentage_points"].as_f64().unwrap();
    assert!((lift - 100.0 / 6.0).abs() < 1e-9, "{lift}");
    let interval = results["confidence_interval_95_percentage_points"].as_array().unwrap();
    assert!(interval[0].as_f64().unwrap() < lift && lift < interval[1].as_f64().unwrap());
    assert_eq!(results["evaluated_session_coverage"], 1.0);
    assert_eq!(results["unattributed_evaluated_session_count"], 0);
    let globex = site.caller("globex").await;
    assert_eq!(globex.send("GET", &format!("{PATH}/e/results"), None).await.status, 404);
}
