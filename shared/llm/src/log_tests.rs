//! The names and fields of what is logged about calls to models.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::chat::ChatModel;
use crate::error::ChatError;
use crate::retry::{Bounds, Retries};
use crate::retrying::RetryingChat;
use crate::structured::chat_structured;
use crate::testing::{Events, Fields, JumpClock, ScriptedModel, answer, random_always};
use crate::tool_loop::{FinishTool, NoTools, run_tool_loop};
use crate::types::{ChatRequest, Message};

const SAID: &str = "a word that must not be logged";

#[derive(Debug, Deserialize, JsonSchema)]
struct Answer {
    #[expect(dead_code, reason = "only its reading is tested")]
    yes: bool,
}

fn retries() -> Retries {
    let clock = JumpClock::new(0, Duration::from_secs(3_600));
    Retries { clock, random: random_always(0.0), permits: Arc::new(Semaphore::new(1)) }
}

fn member(model: ScriptedModel) -> (Arc<dyn ChatModel>, Retries) {
    (Arc::new(model), retries())
}

fn request() -> ChatRequest {
    ChatRequest::new("some_prompt", vec![Message::user(SAID)])
}

fn refused() -> Result<crate::ChatResponse, ChatError> {
    Err(ChatError::Auth { detail: "no such key".to_owned() })
}

/// The one event of this name has these fields, and no event repeats what was said.
fn assert_event(events: &Events, name: &str, fields: &[(&str, &str)]) {
    let found = events.named(name);
    let [event] = found.as_slice() else { panic!("{name}: {found:?}") };
    for (field, value) in fields {
        assert_eq!(event.get(*field).map(String::as_str), Some(*value), "{name} {field}: {event:?}");
    }
    let says = |fields: &Fields| fields.values().any(|value| value.contains(SAID));
    assert!(!events.all().iter().any(says), "{:?}", events.all());
}

#[tokio::test]
async fn a_call_is_logged_at_its_start_and_end() {
    let events = Events::note();
    let model = RetryingChat::new(member(ScriptedModel::saying(&[SAID])), Vec::new());
    model.chat(&request()).await.unwrap();
    let start = [
        ("model", "scripted-model"),
        ("timeout", "120"),
        ("has_response_format", "false"),
        ("num_retries", "3"),
        ("fallbacks", "0"),
    ];
    assert_event(&events, "llm_request_start", &start);
    let end = [("model", "scripted-model"), ("elapsed_seconds", "0.0"), ("success", "true")];
    assert_event(&events, "llm_request_end", &end);
}

#[tokio::test]
async fn a_call_that_fails_is_logged_with_the_class_of_its_error() {
    let events = Events::note();
    let model = RetryingChat::new(member(ScriptedModel::new([refused()])), Vec::new());
    model.chat(&request()).await.unwrap_err();
    let end = [("success", "false"), ("error_type", "auth_error"), ("error", "no such key")];
    assert_event(&events, "llm_request_end", &end);
}

#[tokio::test]
async fn a_fallback_is_logged_with_the_model_that_served() {
    let events = Events::note();
    let fallback = member(ScriptedModel::saying(&["hello"]));
    let model = RetryingChat::new(member(ScriptedModel::new([refused()])), vec![fallback]);
    model.chat(&request()).await.unwrap();
    let used = [("primary_model", "scripted-model"), ("served_model", "scripted-model")];
    assert_event(&events, "llm_fallback_used", &used);
}

#[tokio::test]
async fn a_second_call_after_an_unreadable_answer_is_logged() {
    let events = Events::note();
    let model = ScriptedModel::saying(&[SAID, r#"{"yes": true}"#]);
    chat_structured::<Answer>(&model, &request(), "answer").await.unwrap();
    assert_event(&events, "llm_parse_retry", &[("model", "scripted-model"), ("purpose", "some_prompt")]);
}

#[tokio::test]
async fn a_call_that_was_killed_and_is_repeated_is_logged() {
    let events = Events::note();
    let bounds = Bounds { timeout: Duration::from_secs(7), deadline: None, retries_max: 3 };
    let hung = |_| std::future::pending::<Result<(), ChatError>>();
    retries().run(bounds, hung).await.unwrap_err();
    assert_event(&events, "llm_hard_timeout_retry", &[("attempt", "1"), ("timeout", "7")]);
}

#[tokio::test]
async fn a_tool_loop_that_a_call_ended_or_that_began_anew_is_logged() {
    let finish = FinishTool { name: "finish".to_owned(), description: String::new() };
    let run = async |model: ScriptedModel| {
        run_tool_loop(&model, &request(), &finish, &NoTools, 1, |_: &Answer| Ok(())).await.unwrap_err()
    };
    let events = Events::note();
    run(ScriptedModel::new([Ok(answer(SAID)), refused()])).await;
    let retry = [("finished_reason", "no_tool_call"), ("attempt", "1"), ("max_retries", "2")];
    assert_event(&events, "extraction_agent_retry", &retry);
    assert_event(
        &events,
        "tool_loop_llm_error",
        &[("error_type", "auth_error"), ("model", "scripted-model")],
    );
}
