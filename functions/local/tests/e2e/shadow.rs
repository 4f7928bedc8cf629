//! Answers of shadow agents, compared turn by turn.

use llm::testing::Scripted;
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive_model, provider};
use crate::support::{Caller, Site, request, with};

const RECENT: &str = "/api/evaluations/shadow_comparisons/recent";

/// A request whose answers have shadows: pairs of what the agent and its shadow said.
fn answers(id: &str, pairs: &[(&str, &str)]) -> Value {
    let mut turns =
        vec![json!({ "role": "User", "content": "where is it?", "shadow_content": "of no account" })];
    turns.extend(
        pairs
            .iter()
            .map(|(said, shadow)| json!({ "role": "Assistant", "content": said, "shadow_content": shadow })),
    );
    with(request("ana", "s1", id, &["x"]), json!({ "interaction_data_list": turns, "agent_version": "v1" }))
}

async fn recent(caller: &Caller) -> Vec<Value> {
    caller.get(RECENT).await["verdicts"].as_array().unwrap().clone()
}

/// Whether the answer that the user got was found better; `None` for a tie.
fn won(verdict: &Value) -> Option<bool> {
    let better = verdict["output"]["better_request"].as_str().unwrap();
    (better != "tie").then(|| (better == "1") == verdict["reflexio_is_request_1"].as_bool().unwrap())
}

#[tokio::test]
async fn each_answer_with_a_shadow_is_compared_once_and_counted() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let pairs = [("good", "bad"), ("bad", "good"), ("one", "other"), ("alone", "")];
    let body = answers("r1", &pairs);
    site.acme.publish(&body).await;
    site.acme.publish(&body).await;
    assert_eq!(site.evaluate().await, 1);
    let verdicts = recent(&site.acme).await;
    let mut outcomes: Vec<_> = verdicts.iter().map(won).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [None, Some(false), Some(true)]);
    assert_eq!(asked(&model, Purpose::Comparison), 3);
    let one = &verdicts[0];
    assert_eq!((&one["session_id"], &one["agent_version"]), (&json!("s1"), &json!("v1")));
    assert_eq!((&one["judge_prompt_version"], one["interaction_id"].is_string()), (&json!("v1.1.0"), true));
    for _ in 0..3 {
        site.advance(3_600);
        site.sweep().await;
        site.evaluate().await;
    }
    assert_eq!((recent(&site.acme).await.len(), asked(&model, Purpose::Comparison)), (3, 3));

    let now = site.deployment.app.services.clock.now();
    let overview = json!({ "from_ts": 0, "to_ts": now });
    let trend = &site.acme.ok("/api/get_evaluation_overview", &overview).await["shadow_win_rate_trend"];
    let total = &trend["window_total"];
    assert_eq!(["n", "wins", "losses", "ties"].map(|name| total[name].as_i64().unwrap()), [3, 1, 1, 1]);
    assert!(recent(&site.caller("globex").await).await.is_empty());
    assert_eq!(site.acme.get(&format!("{RECENT}?limit=0")).await["verdicts"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_pinned_version_is_the_one_that_is_shown_and_an_unknown_one_is_refused() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    site.acme.publish(&answers("r1", &[("good", "bad")])).await;
    site.evaluate().await;
    let pin = |version: &str| json!({ "shadow_comparison_judge_prompt_version": version });
    let refused = site.acme.post("/api/update_config", &pin("v9.9.9")).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.to_string().contains("shadow_comparison_judge_prompt_version"), "{}", refused.body);
    site.acme.ok("/api/update_config", &pin("v1.0.0")).await;
    assert!(recent(&site.acme).await.is_empty(), "verdicts of another version are not comparable");
    site.acme.publish(&answers("r2", &[("bad", "good")])).await;
    site.evaluate().await;
    let verdicts = recent(&site.acme).await;
    assert_eq!(verdicts.len(), 1);
    assert_eq!((&verdicts[0]["judge_prompt_version"], won(&verdicts[0])), (&json!("v1.0.0"), Some(false)));
}

#[tokio::test]
async fn a_wake_that_is_lost_costs_time_and_an_answer_that_is_none_is_no_verdict() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    model.otherwise(Scripted::text("The first, I would say."));
    site.acme.publish(&answers("r1", &[("good", "bad")])).await;
    for _ in 0..40 {
        site.evaluate().await;
        site.advance(300);
        site.sweep().await;
    }
    assert!(recent(&site.acme).await.is_empty());
    // Three attempts, each with one more call to mend the answer.
    assert_eq!(asked(&model, Purpose::Comparison), 6);
    model.otherwise(Scripted::with(crate::script::attentive));
    site.acme.publish(&answers("r2", &[("good", "bad")])).await;
    // Nobody receives the wake: it is gone before anybody works.
    let url = site.deployment.app.settings.queues.evaluate.clone();
    let sqs = aws_sdk_sqs::Client::new(&site.deployment.hub.sdk_config());
    let taken = sqs.receive_message().queue_url(&url).send().await.unwrap().messages.unwrap();
    sqs.delete_message()
        .queue_url(&url)
        .receipt_handle(taken[0].receipt_handle().unwrap())
        .send()
        .await
        .unwrap();
    site.advance(300);
    site.sweep().await;
    site.evaluate().await;
    assert_eq!(recent(&site.acme).await.len(), 1);
}
