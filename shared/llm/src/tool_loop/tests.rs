use std::sync::Mutex;

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::testing::{ScriptedModel, answer, tool_answer};
use crate::types::{ChatResponse, FinishReason, Role};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Output {
    names: Vec<String>,
}

fn finish() -> FinishTool {
    FinishTool { name: "finish_extraction".to_owned(), description: "Ends the work.".to_owned() }
}

fn request() -> ChatRequest {
    ChatRequest::new("extraction", vec![Message::system("Extract."), Message::user("Ana")])
}

#[derive(Default)]
struct Notes {
    calls: Mutex<Vec<Value>>,
    sticky: bool,
}

#[async_trait]
impl ToolExecutor for Notes {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "note".to_owned(),
            description: "Notes.".to_owned(),
            parameters: json!({"type": "object"}),
        }]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<String, String> {
        if arguments["text"].is_null() {
            return Err("text is missing".to_owned());
        }
        self.calls.lock().unwrap().push(arguments);
        Ok("noted".to_owned())
    }

    fn must_not_restart(&self) -> bool {
        self.sticky && !self.calls.lock().unwrap().is_empty()
    }
}

async fn run(model: &ScriptedModel, executor: &dyn ToolExecutor) -> Result<Finished<Output>, ToolLoopError> {
    run_tool_loop(model, &request(), &finish(), executor, STEPS_MAX, |_: &Output| Ok(())).await
}

fn results(model: &ScriptedModel) -> Vec<String> {
    let last = model.requests().last().unwrap().messages.clone();
    last.iter().filter(|message| message.role == Role::Tool).map(Message::text).collect()
}

const DONE: (&str, &str) = ("finish_extraction", r#"{"names": ["Ana"]}"#);

#[tokio::test]
async fn the_only_tool_is_forced_and_its_arguments_are_the_result() {
    let model = ScriptedModel::new([Ok(tool_answer(&[DONE]))]);
    let finished = run(&model, &NoTools).await.unwrap();
    assert_eq!(finished.value, Output { names: vec!["Ana".to_owned()] });
    assert_eq!((finished.steps, finished.usage.input_tokens), (1, 11));
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::Tool("finish_extraction".to_owned()));
    assert_eq!(model.requests()[0].tools.len(), 1);
}

#[tokio::test]
async fn among_several_tools_one_is_required_and_results_go_back_in_order() {
    let model = ScriptedModel::new([
        Ok(tool_answer(&[
            ("note", r#"{"text": "a"}"#),
            ("note", "{}"),
            ("unheard_of", "{}"),
            ("note", "[]"),
        ])),
        Ok(tool_answer(&[DONE])),
    ]);
    let executor = Notes::default();
    let finished = run(&model, &executor).await.unwrap();
    assert_eq!(finished.steps, 2);
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::Required);
    assert_eq!(
        results(&model),
        [
            "noted",
            "Error: text is missing",
            "Error: there is no tool named unheard_of.",
            "Error: the arguments are not a JSON object.",
        ]
    );
    assert_eq!(executor.calls.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn invalid_arguments_of_the_finishing_tool_come_back_as_its_result() {
    let model = ScriptedModel::new([
        Ok(tool_answer(&[("finish_extraction", r#"{"name": "Ana"}"#)])),
        Ok(tool_answer(&[("finish_extraction", "not json")])),
        Ok(tool_answer(&[DONE])),
    ]);
    let finished = run(&model, &NoTools).await.unwrap();
    assert_eq!(finished.steps, 3);
    assert!(results(&model).iter().all(|text| text.starts_with("Error: ")));
}

#[tokio::test]
async fn a_result_that_fails_the_callers_check_goes_back_too() {
    let model = ScriptedModel::new([
        Ok(tool_answer(&[("finish_extraction", r#"{"names": []}"#)])),
        Ok(tool_answer(&[DONE])),
    ]);
    let check =
        |output: &Output| if output.names.is_empty() { Err("name someone".to_owned()) } else { Ok(()) };
    let finished = run_tool_loop(&model, &request(), &finish(), &NoTools, STEPS_MAX, check).await.unwrap();
    assert_eq!(finished.steps, 2);
    assert_eq!(results(&model), ["Error: name someone. Call finish_extraction again."]);
}

#[tokio::test]
async fn tools_called_beside_the_finishing_one_are_still_run() {
    let model = ScriptedModel::new([Ok(tool_answer(&[DONE, ("note", r#"{"text": "a"}"#)]))]);
    let executor = Notes::default();
    run(&model, &executor).await.unwrap();
    assert_eq!(executor.calls.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_turn_without_a_tool_call_starts_the_loop_anew_twice_at_most() {
    let model = ScriptedModel::new([Ok(answer("hello")), Ok(answer("hello")), Ok(tool_answer(&[DONE]))]);
    let finished = run(&model, &NoTools).await.unwrap();
    assert_eq!(finished.usage.input_tokens, 33, "abandoned loops are counted");
    assert_eq!(model.requests()[2].messages.len(), 2, "the loop starts from the beginning");

    let model = ScriptedModel::saying(&["a", "b", "c", "d"]);
    assert_eq!(run(&model, &NoTools).await, Err(ToolLoopError::NoToolCall));
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_loop_that_did_something_lasting_is_not_started_anew() {
    let model = ScriptedModel::new([Ok(tool_answer(&[("note", r#"{"text": "a"}"#)])), Ok(answer("hello"))]);
    let executor = Notes { sticky: true, ..Notes::default() };
    assert_eq!(run(&model, &executor).await, Err(ToolLoopError::NoToolCall));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn the_limit_of_steps_is_exact() {
    for (idle, ok) in [(6, true), (7, true), (8, false)] {
        let idle_turns = (0..idle).map(|_| Ok(tool_answer(&[("note", r#"{"text": "a"}"#)])));
        let model = ScriptedModel::new(idle_turns.chain([Ok(tool_answer(&[DONE]))]));
        let outcome = run(&model, &Notes::default()).await;
        assert_eq!(outcome.is_ok(), ok, "{idle}");
        if !ok {
            assert_eq!(outcome, Err(ToolLoopError::MaxSteps { steps_max: 8 }));
        }
    }
}

#[tokio::test]
async fn a_cut_turn_fails_rather_than_finish_with_half_a_result() {
    let cut = ChatResponse { finish: FinishReason::Length, ..tool_answer(&[DONE]) };
    let outcome = run(&ScriptedModel::new([Ok(cut)]), &NoTools).await;
    assert!(matches!(outcome, Err(ToolLoopError::Model(ChatError::Truncated { .. }))));
}
