//! Sessions are judged when they have been silent for ten minutes, once per quiet period.

use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive_model, provider};
use crate::support::{Caller, Site, request, with};

/// How long a session must be silent, in seconds.
const DELAY: u64 = 600;

async fn results(caller: &Caller) -> Vec<Value> {
    let answer = caller.ok("/api/get_agent_success_evaluation_results", &json!({})).await;
    answer["agent_success_evaluation_results"].as_array().unwrap().clone()
}

/// Every session is judged.
async fn judge_all(site: &Site) {
    let evaluation =
        json!({ "success_definition_prompt": "The user got what they wanted.", "sampling_rate": 1.0 });
    site.acme.ok("/api/update_config", &json!({ "agent_success_config": evaluation })).await;
}

fn turns(session: &str, id: &str, said: &str) -> Value {
    let body = request("ana", session, id, &[said]);
    let turns =
        json!([{ "role": "User", "content": said }, { "role": "Assistant", "content": "Certainly." }]);
    with(body, json!({ "interaction_data_list": turns, "source": "web", "agent_version": "v1" }))
}

#[tokio::test]
async fn a_session_is_judged_ten_minutes_after_its_last_request_and_once() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    judge_all(&site).await;
    site.acme.publish(&turns("s1", "r1", "book me a table")).await;
    site.advance(DELAY - 1);
    assert_eq!(site.judge().await, 0, "the timer is not due");
    // The session goes on: its timer goes off and is set anew.
    site.acme.publish(&turns("s1", "r2", "bad: for four, not two")).await;
    site.advance(1);
    assert_eq!(site.judge().await, 1);
    assert!(results(&site.acme).await.is_empty());
    site.advance(DELAY - 1);
    assert_eq!(site.judge().await, 1);
    let found = results(&site.acme).await;
    assert_eq!(found.len(), 1);
    let verdict = json!({
        "result_id": 1, "user_id": "ana", "session_id": "s1", "agent_version": "v1", "is_success": false,
        "failure_type": "wrong_answer", "failure_reason": "for four, not two", "evaluation_name": "agent_success",
        "created_at": found[0]["created_at"], "number_of_correction_per_session": 1, "is_escalated": false,
    });
    assert_eq!(found[0], verdict);
    assert_eq!(asked(&model, Purpose::Judge), 1);
    for _ in 0..5 {
        site.advance(DELAY);
        site.sweep().await;
        site.judge().await;
    }
    assert_eq!((results(&site.acme).await.len(), asked(&model, Purpose::Judge)), (1, 1));
}

#[tokio::test]
async fn a_session_that_goes_on_after_its_verdict_is_judged_again_and_the_old_verdict_gives_way() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    judge_all(&site).await;
    site.acme.publish(&turns("s1", "r1", "bad: wrong day")).await;
    site.advance(DELAY);
    site.judge().await;
    assert_eq!(results(&site.acme).await[0]["result_id"], 1);
    site.advance(3_600);
    site.acme.publish(&turns("s1", "r2", "bad: still wrong")).await;
    site.advance(DELAY);
    site.judge().await;
    let found = results(&site.acme).await;
    assert_eq!((found.len(), &found[0]["result_id"]), (1, &json!(2)));
    assert_eq!(found[0]["number_of_correction_per_session"], 2, "the whole session is judged");
    assert_eq!(asked(&model, Purpose::Judge), 2);
}

#[tokio::test]
async fn a_lost_timer_costs_less_than_a_minute() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    judge_all(&site).await;
    site.acme.publish(&turns("s1", "r1", "book me a table")).await;
    assert_eq!(site.deployment.scheduler().lose(|_| true), 1);
    site.advance(DELAY);
    site.sweep().await;
    site.evaluate().await;
    assert_eq!(results(&site.acme).await.len(), 1);
}

#[tokio::test]
async fn a_session_that_is_not_among_those_that_are_judged_costs_nothing() {
    let site = Site::offline().await;
    site.acme.publish(&turns("s0", "r0", "hello")).await;
    let before = site.cost();
    // The default judges one session in twenty; this is none of them.
    site.acme.publish(&turns("s1", "r1", "hello")).await;
    let calls = site.cost_since(&before);
    assert_eq!(calls.calls("scheduler", "CreateSchedule"), 0);
    site.advance(DELAY);
    assert_eq!(site.judge().await, 0);
}

#[tokio::test]
async fn a_judge_who_fails_is_asked_three_times_and_no_verdict_is_made_up() {
    let model = attentive_model().await;
    model.otherwise(llm::testing::Scripted::text("The agent did fine, I would say."));
    let site = Site::with(provider(&model)).await;
    judge_all(&site).await;
    site.acme.publish(&turns("s1", "r1", "book me a table")).await;
    site.advance(DELAY);
    for _ in 0..30 {
        site.judge().await;
        site.advance(60);
        site.sweep().await;
        site.evaluate().await;
    }
    assert!(results(&site.acme).await.is_empty());
    // Each time once more to mend the answer.
    assert_eq!(asked(&model, Purpose::Judge), 6);
    // The next request gives it another chance.
    model.otherwise(llm::testing::Scripted::with(crate::script::attentive));
    site.acme.publish(&turns("s1", "r2", "thank you")).await;
    site.advance(DELAY);
    site.judge().await;
    assert_eq!(results(&site.acme).await.len(), 1);
}

#[tokio::test]
async fn results_are_listed_by_version_and_time_the_latest_sessions_first() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    judge_all(&site).await;
    let mut starts = Vec::new();
    for (number, version) in ["v1", "v2", "v1"].into_iter().enumerate() {
        let body = turns(&format!("s{number}"), &format!("r{number}"), "hello");
        site.acme.publish(&with(body, json!({ "agent_version": version }))).await;
        starts.push(site.deployment.app.services.clock.now());
        site.advance(60);
    }
    site.advance(DELAY);
    site.judge().await;
    let sessions = async |query: Value| {
        let answer = site.acme.ok("/api/get_agent_success_evaluation_results", &query).await;
        let found = answer["agent_success_evaluation_results"].as_array().unwrap().clone();
        found.iter().map(|one| one["session_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sessions(json!({})).await, ["s2", "s1", "s0"]);
    assert_eq!(sessions(json!({ "limit": 2 })).await, ["s2", "s1"]);
    assert_eq!(sessions(json!({ "agent_version": "v1", "limit": 1 })).await, ["s2"]);
    assert_eq!(sessions(json!({ "start_time": starts[1], "end_time": starts[2] })).await, ["s2", "s1"]);
    let globex = site.caller("globex").await;
    assert!(results(&globex).await.is_empty());
}
