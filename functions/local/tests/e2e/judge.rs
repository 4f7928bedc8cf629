//! The verdict on a session as a whole: what the judge is asked, and what is made of its answer.

use std::collections::BTreeMap;

use domain::entities::FailureType;
use domain::ids::{OrgId, UserHash, UserId};
use evaluation::judge::{JudgeError, Judgement, judge_session};
use llm::testing::{ModelServer, Scripted};
use serde_json::{Value, json};
use store::UserKeys;

use crate::script::provider;
use crate::support::Site;

/// A PNG's first bytes and some more, in base64.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";

async fn site_of(server: &ModelServer) -> Site {
    Site::with(provider(server)).await
}

async fn publish(site: &Site, turns: Value) {
    let body = json!({
        "request_id": "r1", "user_id": "ana", "session_id": "chat:7", "evaluation_only": true,
        "interaction_data_list": turns,
    });
    site.acme.publish(&body).await;
}

/// Judges all that the user said, which is one session.
async fn judge(site: &Site) -> Result<Judgement, JudgeError> {
    let services = &site.deployment.app.services;
    let (org, user): (OrgId, _) = ("acme".parse().unwrap(), UserHash::of(&UserId::new("ana").unwrap()));
    let keys = UserKeys { org: &org, user: &user };
    let documents = services.store.documents(&keys, 0, i64::MAX).await.unwrap();
    let config = services.orgs.config(&org).await.unwrap().config;
    judge_session(services, &org, &config, &documents).await
}

fn success() -> Scripted {
    Scripted::json(&json!({ "is_success": true, "number_of_correction_per_session": 0 }))
}

#[tokio::test]
async fn the_judge_sees_definition_tools_session_and_images_and_answers_by_a_closed_schema() {
    let server = ModelServer::start().await;
    server.push(Scripted::json(&json!({
        "is_success": false, "failure_type": "missing_tool", "failure_reason": "It cannot book.",
        "is_escalated": true, "number_of_correction_per_session": 2, "mood": "sad",
    })));
    let site = site_of(&server).await;
    let config = json!({
        "agent_context_prompt": "books tables",
        "tool_can_use": [{ "tool_name": "menu", "tool_description": "reads the menu" }],
        "agent_success_config": { "success_definition_prompt": "A table was booked." },
    });
    site.acme.ok("/api/update_config", &config).await;
    let turns = json!([
        { "role": "User", "content": "Book this", "image_encoding": PICTURE },
        { "role": "User", "content": "or this", "interacted_image_url": "https://example.com/a.png" },
        { "role": "Assistant", "content": "I cannot", "tools_used": [{ "tool_name": "menu", "tool_data": { "n": 1 } }] },
    ]);
    publish(&site, turns).await;
    let expected = Judgement {
        is_success: false,
        failure_type: Some(FailureType::MissingTool),
        failure_reason: "It cannot book.".to_owned(),
        is_escalated: true,
        number_of_correction_per_session: 2,
        is_windowed: false,
    };
    assert_eq!(judge(&site).await, Ok(expected));
    let request = &server.requests()[0];
    let schema = &request.body["response_format"]["json_schema"];
    assert_eq!(schema["name"], "AgentSuccessEvaluationOutput");
    assert_eq!(schema["schema"]["additionalProperties"], false);
    let messages = request.body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1, "one message of the user");
    let parts = messages[0]["content"].as_array().unwrap();
    let text = parts[0]["text"].as_str().unwrap();
    let session = text.split("<conversation>\n").nth(1).unwrap().split("\n</conversation>").next().unwrap();
    let (header, lines) = session.split_once('\n').unwrap();
    assert!(header.starts_with("=== Session: chat:7 (date: 2") && header.ends_with(") ==="), "{header}");
    assert_eq!(
        lines,
        "User: ```Book this```\nUser: ```or this```\nAssistant: ```[used tool: menu({\"n\":1})] I cannot```"
    );
    for part in ["books tables", "menu: reads the menu", "A table was booked."] {
        assert!(text.contains(part), "{part}");
    }
    let images: Vec<&str> =
        parts[1..].iter().map(|part| part["image_url"]["url"].as_str().unwrap()).collect();
    assert_eq!(images, [format!("data:image/png;base64,{PICTURE}").as_str(), "https://example.com/a.png"]);
}

#[tokio::test]
async fn the_deployments_judge_is_asked_unless_the_organisation_names_a_model() {
    let server = ModelServer::start().await;
    server.otherwise(Scripted::with(|_| success()));
    let site = site_of(&server).await;
    publish(&site, json!([{ "role": "User", "content": "Hi" }])).await;
    assert!(judge(&site).await.is_ok());
    site.set_site_var("llm_model_setting", &json!({ "default_evaluate_model_name": "site-judge" })).await;
    site.acme.ok("/api/admin/cache/invalidate", &json!({})).await;
    assert!(judge(&site).await.is_ok());
    site.acme
        .ok("/api/update_config", &json!({ "llm_config": { "generation_model_name": "own-model" } }))
        .await;
    assert!(judge(&site).await.is_ok());
    let requests = server.requests();
    let asked: Vec<&str> = requests.iter().map(|request| request.body["model"].as_str().unwrap()).collect();
    assert_eq!(asked, ["scripted-model", "site-judge", "own-model"]);
}

#[tokio::test]
async fn an_answer_that_is_no_verdict_is_repaired_once_and_none_is_made_up() {
    let server = ModelServer::start().await;
    let site = site_of(&server).await;
    publish(&site, json!([{ "role": "User", "content": "Hi" }])).await;
    server.push(Scripted::text("It went well."));
    server.push(success());
    assert!(judge(&site).await.is_ok_and(|judgement| judgement.is_success));
    for _ in 0..2 {
        server.push(Scripted::text("It went well."));
    }
    assert!(matches!(judge(&site).await, Err(JudgeError::Unusable(_))));
    server.push(Scripted::Cut("{\"is_success\": true, \"number_of_correction_per_session\": 0}".to_owned()));
    assert!(matches!(judge(&site).await, Err(JudgeError::Unusable(_))));
    server.push(Scripted::Filtered);
    assert!(matches!(judge(&site).await, Err(JudgeError::Unusable(_))));
    server.push(Scripted::Null);
    server.push(success());
    assert!(judge(&site).await.is_ok());
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_session_of_five_thousand_turns_is_judged_by_its_beginning_and_its_end() {
    let server = ModelServer::start().await;
    server.otherwise(Scripted::with(|_| success()));
    let site = site_of(&server).await;
    for request in 0..5 {
        let turn =
            |n: usize| json!({ "role": "User", "content": format!("turn {n} {}", "word ".repeat(60)) });
        let turns: Vec<Value> = (request * 1_000..(request + 1) * 1_000).map(turn).collect();
        let body = json!({
            "request_id": format!("r{request}"), "user_id": "ana", "session_id": "s", "evaluation_only": true,
            "interaction_data_list": turns,
        });
        site.acme.publish(&body).await;
    }
    assert!(judge(&site).await.unwrap().is_windowed);
    let prompt = server.requests()[0].prompt();
    assert!(prompt.contains("turn 0 ") && prompt.contains("turn 4999 ") && !prompt.contains("turn 2500 "));
}

#[tokio::test]
async fn without_a_provider_the_built_in_rules_judge_a_session() {
    let site = Site::with(BTreeMap::new()).await;
    let turns = json!([
        { "role": "User", "content": "Which tea?" },
        { "role": "Assistant", "content": "Coffee." },
        { "role": "User", "content": "No, I asked for tea" },
    ]);
    publish(&site, turns).await;
    let judgement = judge(&site).await.unwrap();
    assert_eq!((judgement.is_success, judgement.number_of_correction_per_session), (false, 1));
    assert_eq!(judgement.failure_type, Some(FailureType::WrongAnswer));
}
