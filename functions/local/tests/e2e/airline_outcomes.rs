//! Real conversations with the outcomes that their benchmark gave them: reported, judged alike, and made numbers of.

use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, attentive, provider, purpose};
use crate::support::{Site, with};

const SESSIONS: &str = include_str!("airline/sessions.json");
/// The verdicts of the benchmark.
const SUCCEEDED: [&str; 4] = ["airline-35-0", "airline-20-1", "airline-35-1", "airline-40-1"];
const DAY: i64 = 86_400;
const WEEK: i64 = 7 * DAY;

/// What the test knows of a session.
struct Lived {
    id: String,
    at: i64,
    is_success: bool,
    corrections: i64,
    turns: i64,
}

fn has_succeeded(session: &str) -> bool {
    SUCCEEDED.contains(&session)
}

/// Some number that the session's name decides.
fn corrections(session: &str) -> i64 {
    i64::try_from(session.bytes().map(usize::from).sum::<usize>() % 8).unwrap()
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

async fn live(site: &Site, session: &Value) -> Lived {
    let id = session["session_id"].as_str().unwrap().to_owned();
    let at = site.deployment.app.services.clock.now();
    site.acme.publish(&with(session.clone(), json!({ "request_id": id, "source": "tau-airline" }))).await;
    site.advance(600);
    assert_eq!(site.judge().await, 1);
    let outcome = if has_succeeded(&id) { "success" } else { "failure" };
    let report = json!({ "session_id": id, "outcome": outcome, "occurred_at": at + 600 });
    let reported = site.acme.ok("/api/session_outcome", &report).await;
    assert_eq!((&reported["success"], &reported["recorded"]), (&json!(true), &json!(true)), "{reported}");
    let turns = session["interaction_data_list"].as_array().unwrap().iter();
    let turns = turns.filter(|turn| turn["role"] == "User").count();
    Lived {
        at,
        is_success: has_succeeded(&id),
        corrections: corrections(&id),
        turns: i64::try_from(turns).unwrap(),
        id,
    }
}

fn mean(values: &[i64]) -> f64 {
    let number = |value: i64| f64::from(i32::try_from(value).unwrap());
    if values.is_empty() {
        0.0
    } else {
        number(values.iter().sum()) / f64::from(u32::try_from(values.len()).unwrap())
    }
}

fn close(one: &Value, other: f64) -> bool {
    one.as_f64().is_some_and(|one| (one - other).abs() < 1e-9)
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
        site.advance(u64::try_from(DAY).unwrap());
    }

    let (from, to) = (lived[0].at, lived.last().unwrap().at + 1);
    let body = json!({ "from_ts": from, "to_ts": to, "bucket": "day" });
    let overview = site.acme.ok("/api/get_evaluation_overview", &body).await;
    let current: Vec<&Lived> = lived.iter().filter(|one| one.at >= to - WEEK).collect();
    let previous: Vec<&Lived> =
        lived.iter().filter(|one| (to - 2 * WEEK..to - WEEK).contains(&one.at)).collect();
    assert!(current.len() >= 5 && previous.len() >= 3, "{} and {}", current.len(), previous.len());
    let rate =
        |rows: &[&Lived]| 100.0 * mean(&rows.iter().map(|one| i64::from(one.is_success)).collect::<Vec<_>>());
    let all: Vec<&Lived> = lived.iter().collect();
    assert!(close(&overview["hero"]["regular_success_rate_pp"], rate(&all)), "{}", overview["hero"]);
    assert_eq!(overview["hero"]["buckets"].as_array().unwrap().len(), lived.len(), "a day each");
    let tiles = &overview["context_tiles"];
    assert!(close(&tiles["success"]["current"], rate(&current)), "{tiles}");
    assert!(close(&tiles["success"]["delta_pp"], rate(&current) - rate(&previous)), "{tiles}");
    let corrected = |rows: &[&Lived]| mean(&rows.iter().map(|one| one.corrections).collect::<Vec<_>>());
    assert!(close(&tiles["corrections"]["current"], corrected(&current)), "{tiles}");
    assert!(close(&tiles["corrections"]["delta"], corrected(&current) - corrected(&previous)), "{tiles}");
    let turns = |rows: &[&Lived]| {
        mean(&rows.iter().filter(|one| one.is_success).map(|one| one.turns).collect::<Vec<_>>())
    };
    assert!(close(&tiles["turns"]["current"], turns(&current)), "{tiles}");
    assert!(close(&tiles["turns"]["delta"], turns(&current) - turns(&previous)), "{tiles}");
    let bins = |rows: &[&Lived]| -> Vec<usize> {
        (0..6).map(|bin| rows.iter().filter(|one| one.corrections.min(5) == bin).count()).collect()
    };
    assert_eq!(overview["score_distribution"]["current_bins"], json!(bins(&current)));
    assert_eq!(overview["score_distribution"]["baseline_bins"], json!(bins(&previous)));

    let outcomes = site.acme.ok("/api/get_session_outcomes", &json!({})).await;
    let listed = outcomes["session_outcomes"].as_array().unwrap();
    let mut expected: Vec<&Lived> = lived.iter().collect();
    expected.reverse();
    assert_eq!(listed.len(), expected.len());
    for (outcome, lived) in listed.iter().zip(expected) {
        assert_eq!(outcome["session_id"], lived.id);
        assert_eq!(outcome["outcome"] == "success", lived.is_success, "{outcome}");
        assert_eq!(outcome["source"], "tau-airline");
    }
}
