//! Playbooks are reviewed again against the turns that they rest on.

use llm::testing::{ModelServer, ReceivedRequest, Scripted};
use serde_json::{Value, json};

use crate::script::{Purpose, asked, attentive, attentive_model, provider, purpose};
use crate::support::{Site, request, with};

const PATH: &str = "/api/review_user_playbooks";

/// A reviewer that decides so on each rule, by its words.
async fn reviewer(decide: impl Fn(&str) -> Value + Send + Sync + 'static) -> ModelServer {
    let model = ModelServer::start().await;
    model.otherwise(Scripted::with(move |request: &ReceivedRequest| match purpose(request) {
        Purpose::Review => {
            let prompt = request.prompt();
            let candidate =
                prompt.split("<candidates>").nth(1).unwrap().split("</candidates>").next().unwrap();
            let mut decision = json!({
                "reason": "as decided", "candidate_id": "CANDIDATE-0", "decision": "accept",
                "reason_code": "grounded_useful", "evidence_refs": ["t1"],
                "content": null, "trigger": null, "rationale": null,
            });
            decision.as_object_mut().unwrap().extend(decide(candidate).as_object().unwrap().clone());
            Scripted::json(&json!({ "decisions": [decision] }))
        }
        _ => attentive(request),
    }));
    model
}

fn decide(candidate: &str) -> Value {
    if candidate.contains("obey the cat") {
        json!({ "decision": "accept", "reason_code": "not_agent_decision" })
    } else if candidate.contains("answer at length") {
        json!({
            "decision": "revise", "reason_code": "compound", "content": "answer briefly",
            "trigger": "When asked anything", "rationale": "She said so",
        })
    } else {
        json!({})
    }
}

/// A site on which three rules were learned.
async fn site(model: &ModelServer) -> Site {
    let site = Site::with(provider(model)).await;
    let said = ["rule: use metric units", "rule: answer at length", "rule: obey the cat"];
    site.acme.publish(&with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }))).await;
    site.learn().await;
    assert_eq!(site.acme.playbooks("ana").await.len(), 3);
    site
}

fn window(more: Value) -> Value {
    with(json!({ "start_time": "2020-01-01T00:00:00Z", "end_time": "2100-01-01T00:00:00Z" }), more)
}

fn decisions(answer: &Value) -> Vec<(&str, &str)> {
    let results = answer["results"].as_array().unwrap().iter();
    results.map(|row| (row["decision"].as_str().unwrap(), row["reason_code"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_report_says_what_becomes_of_each_rule_and_changes_nothing() {
    let model = reviewer(decide).await;
    let site = site(&model).await;
    let before = site.stored().await;
    let answer = site.acme.ok(PATH, &window(json!({}))).await;
    let expected = [("reject", "not_agent_decision"), ("edit", "compound"), ("accept", "grounded_useful")];
    assert_eq!(decisions(&answer), expected);
    let counts = ["selected", "accepted", "edited", "rejected", "skipped"];
    let counts = counts.map(|name| answer[format!("{name}_count")].as_i64().unwrap());
    assert_eq!((counts, &answer["msg"]), ([3, 1, 1, 1, 0], &json!("Reviewed 3 user playbook(s)")));
    assert!(answer["run_id"].as_str().unwrap().starts_with("playbook_review_"));
    let edit = json!({
        "content": "answer briefly", "trigger": "When asked anything", "rationale": "She said so",
    });
    assert_eq!(answer["results"][1]["edit"], edit);
    assert_eq!(answer["results"][0]["applied"], false);
    assert_eq!(site.stored().await, before);
    let review = model.requests().into_iter().find(|request| purpose(request) == Purpose::Review).unwrap();
    assert!(review.prompt().contains("```rule: obey the cat```"), "the reviewer sees the turns");
}

#[tokio::test]
async fn applying_replaces_revised_rules_and_retires_rejected_ones() {
    let model = reviewer(decide).await;
    let site = site(&model).await;
    let answer = site.acme.ok(PATH, &window(json!({ "report_only": false }))).await;
    let results = answer["results"].as_array().unwrap();
    let applied: Vec<_> = results.iter().map(|row| &row["applied"]).collect();
    assert_eq!(applied, [&json!(true), &json!(true), &json!(false)], "{answer}");
    assert_eq!(answer["report_only"], false);
    assert_eq!(site.acme.playbooks("ana").await, ["answer briefly", "use metric units"]);
    let successor = results[1]["successor_user_playbook_id"].as_i64().unwrap();
    let found = site.acme.ok("/api/get_user_playbooks", &json!({ "user_playbook_id": successor })).await;
    let row = &found["user_playbooks"][0];
    assert_eq!((&row["content"], &row["request_id"]), (&json!("answer briefly"), &json!("r1")));
    let search = json!({ "query": "briefly", "status_filter": [null] });
    let searched = site.acme.ok("/api/search_user_playbooks", &search).await;
    assert_eq!(
        searched["user_playbooks"][0]["user_playbook_id"], successor,
        "the list of all users shows it"
    );
    let again = site.acme.ok(PATH, &window(json!({ "report_only": false }))).await;
    assert_eq!(again["selected_count"], 2, "what is retired is not reviewed");
}

#[tokio::test]
async fn a_row_without_turns_to_rest_on_is_skipped_and_no_model_is_asked() {
    let model = attentive_model().await;
    let site = Site::with(provider(&model)).await;
    let playbook =
        |more: Value| with(json!({ "agent_version": "v1", "request_id": "r0", "content": "x" }), more);
    let body = json!({ "user_playbooks": [
        playbook(json!({ "user_id": "ana" })),
        playbook(json!({})),
        playbook(json!({ "user_id": "ana", "source_interaction_ids": [999_999_999] })),
    ] });
    site.acme.ok("/api/add_user_playbook", &body).await;
    let answer = site.acme.ok(PATH, &window(json!({ "report_only": false }))).await;
    let reasons: Vec<_> = answer["results"].as_array().unwrap().iter().map(|row| &row["reason"]).collect();
    let expected = [
        "User playbook 3 rests on turns that are no longer stored",
        "User playbook 2 has no owning user_id",
        "User playbook 1 lacks validated evidence",
    ];
    assert_eq!(reasons, expected);
    assert_eq!(decisions(&answer), [("skip", "evidence_unavailable"); 3]);
    assert_eq!(asked(&model, Purpose::Review), 0);
}

#[tokio::test]
async fn a_reviewer_that_fails_or_hangs_leaves_its_rows_and_the_answer_says_so() {
    let replies: [fn() -> Scripted; 3] = [
        || Scripted::status(500, &json!({ "error": { "message": "down" } })),
        || Scripted::json(&json!({ "decisions": [] })),
        || Scripted::Hang,
    ];
    for (reply, expected) in replies.into_iter().zip(["provider_unavailable", "answer_malformed", "in time"])
    {
        let model = attentive_model().await;
        let site = site(&model).await;
        model.otherwise(Scripted::with(move |_| reply()));
        let body = window(json!({ "report_only": false }));
        let review = site.acme.ok(PATH, &body);
        let time = async {
            loop {
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                site.advance(1);
            }
        };
        let answer = tokio::select! {
            answer = review => answer,
            () = time => unreachable!("time does not end"),
        };
        assert_eq!(answer["skipped_count"], 3, "{answer}");
        assert!(answer["results"][0]["reason"].as_str().unwrap().contains(expected), "{answer}");
        assert_eq!(site.acme.playbooks("ana").await.len(), 3);
    }
}

#[tokio::test]
async fn the_window_and_the_number_of_rules_are_obeyed() {
    let model = reviewer(|_| json!({})).await;
    let site = site(&model).await;
    let answer = site.acme.ok(PATH, &window(json!({ "top_k": 2 }))).await;
    let ids: Vec<_> =
        answer["results"].as_array().unwrap().iter().map(|row| row["user_playbook_id"].as_i64()).collect();
    assert_eq!(ids, [Some(3), Some(2)]);
    let past = json!({ "start_time": "2020-01-01T00:00:00Z", "end_time": "2020-01-02T00:00:00Z" });
    assert_eq!(site.acme.ok(PATH, &past).await["selected_count"], 0);
    let answer = site.acme.post(PATH, &json!({})).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
}

#[tokio::test]
async fn without_a_provider_rules_are_held_against_what_the_turns_teach() {
    let site = Site::offline().await;
    let said = ["From now on always answer with short bullet points."];
    site.acme.publish(&with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }))).await;
    site.learn().await;
    let answer = site.acme.ok(PATH, &window(json!({}))).await;
    assert_eq!(decisions(&answer), [("accept", "grounded_useful")], "{answer}");
}

/// Reviews several new rules at once.
fn first_pass(request: &ReceivedRequest) -> Scripted {
    let prompt = request.prompt();
    let lines = prompt.lines().filter(|line| line.starts_with("[CANDIDATE-")).enumerate();
    let decisions = lines.map(|(number, line)| {
        let decision = json!({
            "reason": "as decided", "candidate_id": format!("CANDIDATE-{number}"), "decision": "accept",
            "reason_code": "grounded_useful", "evidence_refs": ["t1"],
            "content": null, "trigger": null, "rationale": null,
        });
        with(decision, decide(line))
    });
    Scripted::json(&json!({ "decisions": decisions.collect::<Vec<_>>() }))
}

#[tokio::test]
async fn new_rules_are_reviewed_before_they_are_stored_where_that_is_wanted() {
    let model = ModelServer::start().await;
    model.otherwise(Scripted::with(|request| match purpose(request) {
        Purpose::Review => Scripted::json(&json!({ "decisions": [] })),
        _ => attentive(request),
    }));
    let site = Site::with(provider(&model)).await;
    let extractor = json!({ "extraction_definition_prompt": "x", "candidate_review_enabled": true });
    site.acme.ok("/api/update_config", &json!({ "user_playbook_extractor_config": extractor })).await;
    let said = ["rule: use metric units", "rule: answer at length", "rule: obey the cat"];
    site.acme.publish(&with(request("ana", "s1", "r1", &said), json!({ "session_finished": true }))).await;
    site.learn().await;
    assert_eq!(site.acme.status("r1").await.2.as_deref(), Some("answer_malformed"), "it fails closed");
    assert!(site.acme.playbooks("ana").await.is_empty());
    model.otherwise(Scripted::with(|request| match purpose(request) {
        Purpose::Review => first_pass(request),
        _ => attentive(request),
    }));
    site.pass_minutes(7).await;
    assert_eq!(site.acme.playbooks("ana").await, ["answer briefly", "use metric units"]);
    assert_eq!(site.acme.status("r1").await.0, "done");
}
