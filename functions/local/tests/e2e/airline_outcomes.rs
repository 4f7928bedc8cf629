//! Real conversations with the outcomes that their benchmark gave them: reported, judged alike, and made numbers of.

use domain::entities::FailureType;
use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

use crate::overview_reference::{Judged, assert_overview, expected};
use crate::script::{Purpose, attentive, provider, purpose};
use crate::support::{Site, with};

const SESSIONS: &str = include_str!("airline/sessions.json");
/// The verdicts of the benchmark.
const SUCCEEDED: [&str; 4] = ["airline-35-0", "airline-20-1", "airline-35-1", "airline-40-1"];
const DAY: u64 = 86_400;

fn has_succeeded(session: &str) -> bool {
    SUCCEEDED.contains(&session)
}

/// Some number that the session's name decides.
fn corrections(session: &str) -> i64 {
    i64::try_from(session.bytes().map(usize::from).sum::<usize>() % 8).unwrap()
}

/// Whether it was the first or the second trial of its task.
fn source(session: &str) -> &'static str {
    if session.ends_with("-0") { "tau-airline-0" } else { "tau-airline-1" }
}

/// A judge who knows the benchmark.
fn informed(request: &ReceivedRequest) -> Scripted {
    if purpose(request) != Purpose::Judge {
        return attentive(request);
    }
    let prompt = request.prompt();
    let session = prompt.split("=== Session: ").nth(1).and_then(|rest| rest.split(" (").next()).unwrap();
    let is_success = has_succeeded(session);
    Scripted::json(&json!({
        "is_success": is_success,
        "failure_type": (!is_success).then_some("wrong_answer"),
        "failure_reason": (!is_success).then_some("The benchmark says so."),
        "is_escalated": corrections(session) > 5,
        "number_of_correction_per_session": corrections(session),
    }))
}

async fn live(site: &Site, session: &Value) -> Judged {
    let id = session["session_id"].as_str().unwrap();
    let at = site.deployment.app.services.clock.now();
    let more = json!({ "request_id": id, "source": source(id), "agent_version": "gpt-4o" });
    site.acme.publish(&with(session.clone(), more)).await;
    site.advance(600);
    assert_eq!(site.judge().await, 1);
    let is_success = has_succeeded(id);
    let outcome = if is_success { "success" } else { "failure" };
    let report = json!({ "session_id": id, "outcome": outcome, "occurred_at": at + 600 });
    let reported = site.acme.ok("/api/session_outcome", &report).await;
    assert_eq!((&reported["success"], &reported["recorded"]), (&json!(true), &json!(true)), "{reported}");
    let turns = session["interaction_data_list"].as_array().unwrap().iter();
    let turns = i64::try_from(turns.filter(|turn| turn["role"] == "User").count()).unwrap();
    Judged {
        id: verdict_id(site, id).await,
        user: session["user_id"].as_str().unwrap().to_owned(),
        session: id.to_owned(),
        agent_version: "gpt-4o",
        source: source(id),
        cited: Vec::new(),
        at,
        is_success,
        failure: (!is_success).then_some(FailureType::WrongAnswer),
        failure_reason: if is_success { "" } else { "The benchmark says so." },
        corrections: corrections(id),
        turns: is_success.then_some(turns),
        is_escalated: corrections(id) > 5,
    }
}

async fn verdict_id(site: &Site, session: &str) -> i64 {
    let verdicts = site.acme.ok("/api/get_agent_success_evaluation_results", &json!({})).await;
    let verdicts = verdicts["agent_success_evaluation_results"].as_array().unwrap();
    let verdict = verdicts.iter().find(|verdict| verdict["session_id"] == session).unwrap();
    verdict["result_id"].as_i64().unwrap()
}

#[tokio::test]
async fn the_overview_of_sessions_with_known_outcomes_says_what_follows_from_them() {
    let model = ModelServer::start().await;
    model.otherwise(Scripted::with(informed));
    let site = Site::with(provider(&model)).await;
    let config = json!({ "success_definition_prompt": "The traveller got it.", "sampling_rate": 1.0 });
    site.acme.ok("/api/update_config", &json!({ "agent_success_config": config })).await;
    let sessions: Vec<Value> = serde_json::from_str(SESSIONS).unwrap();
    let mut lived = Vec::new();
    for session in &sessions {
        lived.push(live(&site, session).await);
        site.advance(DAY);
    }

    let span = (lived[0].at, lived.last().unwrap().at + 1);
    let body = json!({
        "from_ts": span.0, "to_ts": span.1, "bucket": "day",
        "source_sets": [{ "label": "first trial", "sources": ["tau-airline-0"] }],
    });
    let overview = site.acme.ok("/api/get_evaluation_overview", &body).await;
    assert_eq!(overview["hero"]["buckets"].as_array().unwrap().len(), lived.len(), "a day each");
    assert_overview(&overview, &expected(&lived, span, ("first trial", &["tau-airline-0"])));

    let outcomes = site.acme.ok("/api/get_session_outcomes", &json!({})).await;
    let listed = outcomes["session_outcomes"].as_array().unwrap();
    assert_eq!(listed.len(), lived.len());
    for (outcome, lived) in listed.iter().zip(lived.iter().rev()) {
        assert_eq!(outcome["session_id"], lived.session);
        assert_eq!(outcome["outcome"] == "success", lived.is_success, "{outcome}");
        assert_eq!(outcome["source"], lived.source);
    }
}
