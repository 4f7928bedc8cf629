use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::testing::{ScriptedModel, answer};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Profile {
    content: String,
    #[serde(default)]
    notes: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Output {
    #[serde(default)]
    profiles: Option<Vec<Profile>>,
}

fn request() -> ChatRequest {
    ChatRequest {
        max_output_tokens: Some(900),
        ..ChatRequest::new("profile_update", vec![Message::user("x")])
    }
}

async fn ask(model: &ScriptedModel) -> Result<Output, ChatError> {
    chat_structured(model, &request(), "output").await
}

fn tea() -> Output {
    Output { profiles: Some(vec![Profile { content: "likes tea".to_owned(), notes: None }]) }
}

#[tokio::test]
async fn every_known_way_of_wrapping_the_answer_is_read_without_a_second_call() {
    let plain = r#"{"profiles": [{"content": "likes tea"}]}"#;
    let texts = [
        plain.to_owned(),
        format!("<think>Should I? {{\"profiles\": []}}</think>{plain}"),
        format!("```json\n{plain}\n```"),
        format!("Sure! Here is the result:\n\n{plain}\n\nAnything else?"),
        r#"[{"content": "likes tea"}]"#.to_owned(),
        format!("```\n{}\n```", r#"[{"content": "likes tea"}]"#),
        r#"{"profiles": "[{\"content\": \"likes tea\"}]"}"#.to_owned(),
        r#"{"profiles": ["{\"content\": \"likes tea\"}"]}"#.to_owned(),
        "{'profiles': [{'content': 'likes tea', 'notes': None,}],}".to_owned(),
        r#"{"profiles": [{"content": "likes tea", "surprise": 1}], "more": 2}"#.to_owned(),
    ];
    for text in texts {
        let model = ScriptedModel::saying(&[&text]);
        assert_eq!(ask(&model).await, Ok(tea()), "{text}");
        assert_eq!(model.requests().len(), 1, "{text}");
    }
}

#[tokio::test]
async fn nothing_learned_is_a_success_when_the_model_says_so() {
    for text in [r#"{"profiles": null}"#, r#"{"profiles": []}"#] {
        assert!(ask(&ScriptedModel::saying(&[text])).await.is_ok(), "{text}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_shown_to_the_model_once_and_then_fails() {
    let schema = strict_schema_for::<Output>().to_string();
    let bad = [
        "",
        "   ",
        "null",
        "I cannot help with that.",
        "{}",
        "42",
        "\"profiles\"",
        schema.as_str(),
        r#"{"error": "no"}"#,
        r#"{"profiles": [{"contents": "typo"}]}"#,
        r#"{"profiles": [{"content": "cu"#,
        r#"{"profiles": 5}"#,
        "<think>endless",
    ];
    for text in bad {
        let model = ScriptedModel::saying(&[text, text]);
        let error = ask(&model).await.unwrap_err();
        assert_eq!(error.class(), "malformed", "{text}");
        assert_eq!(model.requests().len(), 2, "{text}");
        let repaired = ScriptedModel::saying(&[text, r#"{"profiles": [{"content": "likes tea"}]}"#]);
        assert_eq!(ask(&repaired).await, Ok(tea()), "{text}");
        let repair = repaired.requests()[1].messages.last().unwrap().text();
        assert!(repair.contains("could not be used") && repair.contains("\"profiles\""), "{repair}");
    }
}

#[tokio::test]
async fn null_content_is_repaired_or_fails_but_is_never_an_empty_answer() {
    let null = || Ok(ChatResponse { text: None, ..answer("") });
    let model = ScriptedModel::new([null(), null()]);
    assert_eq!(ask(&model).await.unwrap_err().class(), "malformed");
    let second = &model.requests()[1];
    assert_eq!(second.messages.len(), 2, "no empty assistant message is sent");
}

#[tokio::test]
async fn a_cut_answer_names_its_limit_and_is_not_repaired_even_if_it_could_be() {
    let cut = ChatResponse { finish: FinishReason::Length, ..answer(r#"{"profiles": []}"#) };
    let model = ScriptedModel::new([Ok(cut)]);
    let error = ask(&model).await.unwrap_err();
    assert_eq!(error, ChatError::Truncated { limit_tokens: Some(900) });
    assert!(error.to_string().contains("900 tokens"));
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_filtered_answer_is_a_failure_of_its_own() {
    let model = ScriptedModel::new([Ok(ChatResponse { finish: FinishReason::ContentFilter, ..answer("") })]);
    assert_eq!(ask(&model).await.unwrap_err().class(), "content_filtered");
}

#[tokio::test]
async fn an_answer_that_fails_the_callers_check_is_repaired_with_the_callers_words() {
    let model = ScriptedModel::saying(&[
        r#"{"profiles": [{"content": "bad"}]}"#,
        r#"{"profiles": [{"content": "likes tea"}]}"#,
    ]);
    let check = |output: &Output| {
        let known = output.profiles.iter().flatten().all(|profile| profile.content != "bad");
        if known { Ok(()) } else { Err("the id 7 was not in the list".to_owned()) }
    };
    let read: Result<Output, _> = chat_structured_checked(&model, &request(), "output", check).await;
    assert_eq!(read, Ok(tea()));
    assert!(model.requests()[1].messages.last().unwrap().text().contains("the id 7 was not in the list"));
}

#[tokio::test]
async fn the_log_is_told_the_kind_of_fault_and_not_the_answer() {
    let text = r#"{"profiles": [{"content": {"secret": "s3cr3t"}}]}"#;
    let error = ask(&ScriptedModel::saying(&[text, text])).await.unwrap_err();
    assert!(!error.detail().contains("s3cr3t") && !error.to_string().contains("s3cr3t"));
}

#[test]
fn a_bare_array_is_not_guessed_into_an_object_with_two_arrays() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Two {
        #[expect(dead_code, reason = "only its shape matters")]
        #[serde(default)]
        a: Vec<String>,
        #[expect(dead_code, reason = "only its shape matters")]
        #[serde(default)]
        b: Vec<String>,
    }
    assert!(read_text::<Two>("[\"x\"]", &strict_schema_for::<Two>()).is_err());
}

#[test]
fn a_string_stays_a_string_where_the_schema_wants_one() {
    let schema = strict_schema_for::<Profile>();
    let read: Profile = read_value(json!({"content": "[1, 2]", "notes": "{}"}), &schema).unwrap();
    assert_eq!(read, Profile { content: "[1, 2]".to_owned(), notes: Some("{}".to_owned()) });
}
