use serde_json::json;

use super::*;
use crate::addresses::AddressPolicy;
use crate::providers::Abilities;
use crate::resolved::AzureRoute;
use crate::secret::Secret;
use crate::testing::{ModelServer, ReceivedRequest, Scripted};
use crate::types::{FinishReason, ImageSource, Message, Part, ResponseSchema, ToolChoice, ToolSpec};

pub(super) const KEY: &str = "sk-secret-key";

pub(super) fn resolved(server: &ModelServer, format: WireFormat, model: &str) -> ResolvedChat {
    let policy = AddressPolicy::AllowPrivate;
    let open = ResolvedChat::open_ai("openai", &server.base_url(), Secret::new(KEY), model, policy);
    ResolvedChat { format, ..open }
}

pub(super) fn client(resolved: ResolvedChat) -> HttpChat {
    HttpChat::new(Http::new(resolved.policy).unwrap(), resolved)
}

pub(super) fn request() -> ChatRequest {
    let messages = vec![Message::system("Be brief."), Message::user("Hello")];
    ChatRequest { max_output_tokens: Some(50), ..ChatRequest::new("test", messages) }
}

async fn sent(resolved: ResolvedChat, server: &ModelServer, request: &ChatRequest) -> ReceivedRequest {
    server.push(Scripted::json(&json!({"a": 1})));
    client(resolved).chat(request).await.unwrap();
    server.requests().pop().unwrap()
}

fn schema() -> ResponseSchema {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "required": ["a"],
        "additionalProperties": false});
    ResponseSchema { name: "answer".to_owned(), schema }
}

fn tool() -> ToolSpec {
    ToolSpec { name: "look".to_owned(), description: "Looks.".to_owned(), parameters: schema().schema }
}

const FORMATS: [WireFormat; 3] = [WireFormat::OpenAi, WireFormat::Anthropic, WireFormat::Gemini];

#[tokio::test]
async fn text_usage_and_finish_are_read_in_every_format() {
    for format in FORMATS {
        let server = ModelServer::start().await;
        for reply in [Scripted::text("Hi"), Scripted::Cut("H".to_owned()), Scripted::Null, Scripted::Filtered]
        {
            server.push(reply);
        }
        let client = client(resolved(&server, format, "m-1"));
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(client.chat(&request()).await.unwrap());
        }
        let finishes: Vec<FinishReason> = answers.iter().map(|answer| answer.finish).collect();
        use FinishReason::{ContentFilter, Length, Stop};
        assert_eq!(finishes, [Stop, Length, Stop, ContentFilter], "{format:?}");
        assert_eq!(answers[0].text.as_deref(), Some("Hi"));
        assert_eq!(answers[2].text, None);
        assert_eq!((answers[0].usage.input_tokens, answers[0].usage.output_tokens), (11, 7));
    }
}

#[tokio::test]
async fn tool_calls_and_their_results_travel_in_every_format() {
    for format in FORMATS {
        let server = ModelServer::start().await;
        server.push(Scripted::tool("look", json!({"a": 1})));
        server.push(Scripted::text("Done"));
        let client = client(resolved(&server, format, "m-1"));
        let mut request = ChatRequest { tools: vec![tool()], tool_choice: ToolChoice::Required, ..request() };
        let answer = client.chat(&request).await.unwrap();
        assert_eq!(answer.finish, FinishReason::ToolCalls, "{format:?}");
        let call = answer.tool_calls[0].clone();
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("look", r#"{"a":1}"#));
        let mut said = Message::assistant("");
        said.parts.clear();
        said.tool_calls = answer.tool_calls;
        request.messages.extend([said, Message::tool_result(call.id, "seen")]);
        client.chat(&request).await.unwrap();
        let body = server.requests()[1].body.to_string();
        assert!(body.contains("seen") && body.contains("look"), "{format:?}: {body}");
        if format == WireFormat::Gemini {
            assert!(body.contains(r#""thoughtSignature":"sig""#), "{body}");
        }
    }
}

#[tokio::test]
async fn a_schema_is_asked_for_in_the_way_of_each_format_and_the_answer_is_text() {
    for format in FORMATS {
        let server = ModelServer::start().await;
        server.push(Scripted::json(&json!({"a": 1})));
        let request = ChatRequest { response_schema: Some(schema()), ..request() };
        let answer = client(resolved(&server, format, "m-1")).chat(&request).await.unwrap();
        assert_eq!(
            (answer.text.as_deref(), answer.finish),
            (Some(r#"{"a":1}"#), FinishReason::Stop),
            "{format:?}"
        );
        let body = server.requests()[0].body.clone();
        match format {
            WireFormat::OpenAi => {
                assert_eq!(body["response_format"]["json_schema"]["strict"], true);
                assert_eq!(body["response_format"]["json_schema"]["schema"], schema().schema);
            }
            WireFormat::Anthropic => {
                assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "answer"}));
                assert_eq!(body["tools"][0]["input_schema"], schema().schema);
            }
            _ => {
                let wanted = &body["generationConfig"]["responseSchema"];
                assert_eq!(wanted["properties"]["a"], json!({"nullable": true, "type": "INTEGER"}));
            }
        }
    }
}

#[tokio::test]
async fn the_openai_request_has_its_recorded_shape() {
    let server = ModelServer::start().await;
    let got = sent(resolved(&server, WireFormat::OpenAi, "gpt-4o"), &server, &request()).await;
    assert_eq!(got.path, "/v1/chat/completions");
    assert_eq!(got.headers["authorization"], format!("Bearer {KEY}"));
    let expected = json!({
        "model": "gpt-4o",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "temperature": 0.7, "max_completion_tokens": 50, "seed": 42,
    });
    assert_eq!(got.body, expected);
}

#[tokio::test]
async fn reasoning_models_get_no_temperature_and_other_providers_the_old_name_of_the_limit() {
    let server = ModelServer::start().await;
    let mut other = resolved(&server, WireFormat::OpenAi, "deepseek-chat");
    other.provider = "deepseek".to_owned();
    other.abilities = Abilities::LEAST;
    let ask = ChatRequest { tools: vec![tool()], tool_choice: ToolChoice::Required, ..request() };
    let got = sent(other.clone(), &server, &ask).await;
    assert_eq!((&got.body["max_tokens"], &got.body["tool_choice"]), (&json!(50), &json!("auto")));
    assert!(got.body.get("seed").is_none());
    let asked = ChatRequest { response_schema: Some(schema()), ..request() };
    let got = sent(other, &server, &asked).await;
    assert_eq!(got.body["response_format"], json!({"type": "json_object"}));
    assert!(got.body["messages"][1]["content"].as_str().unwrap().contains("JSON schema"));
    let got = sent(resolved(&server, WireFormat::OpenAi, "gpt-5.5"), &server, &request()).await;
    assert!(got.body.get("temperature").is_none());
}

#[tokio::test]
async fn azure_is_reached_by_deployment_version_and_its_own_header() {
    let server = ModelServer::start().await;
    let route = AzureRoute { deployment: "mine".to_owned(), api_version: "2024-10-21".to_owned() };
    let mut azure = resolved(&server, WireFormat::OpenAi, "gpt-5.5").on_azure(route);
    azure.base_url = server.base_url().trim_end_matches("/v1").to_owned() + "/";
    let got = sent(azure, &server, &request()).await;
    assert_eq!(got.path, "/openai/deployments/mine/chat/completions");
    assert_eq!(got.query, "api-version=2024-10-21");
    assert_eq!(got.headers["api-key"], KEY);
    assert!(!got.headers.contains_key("authorization"));
}

#[tokio::test]
async fn the_anthropic_request_keeps_the_system_apart_and_caches_it() {
    let server = ModelServer::start().await;
    let mut ask = request();
    ask.temperature = Some(1.5);
    ask.messages.push(Message::user("Again"));
    let got = sent(resolved(&server, WireFormat::Anthropic, "claude"), &server, &ask).await;
    assert_eq!(got.path, "/v1/messages");
    assert_eq!(
        (got.headers["x-api-key"].as_str(), got.headers["anthropic-version"].as_str()),
        (KEY, "2023-06-01")
    );
    let expected = json!({
        "model": "claude", "max_tokens": 50, "temperature": 1.0,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "Again"}]}],
    });
    assert_eq!(got.body, expected);
}

#[tokio::test]
async fn the_gemini_request_names_the_model_in_its_path() {
    let server = ModelServer::start().await;
    let got =
        sent(resolved(&server, WireFormat::Gemini, "gemini-3-flash-preview"), &server, &request()).await;
    assert_eq!(got.path, "/v1/models/gemini-3-flash-preview:generateContent");
    assert_eq!(got.headers["x-goog-api-key"], KEY);
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {"temperature": 1.0, "maxOutputTokens": 50, "seed": 42},
    });
    assert_eq!(got.body, expected);
}

#[tokio::test]
async fn images_travel_by_url_and_by_value_in_every_format() {
    for format in FORMATS {
        let server = ModelServer::start().await;
        let mut ask = request();
        let inline = ImageSource::Base64 { media_type: "image/png".to_owned(), data: "aWNo".to_owned() };
        ask.messages[1].parts.push(Part::Image(ImageSource::Url("https://x.example/a.png".to_owned())));
        ask.messages[1].parts.push(Part::Image(inline));
        let body = sent(resolved(&server, format, "m-1"), &server, &ask).await.body.to_string();
        assert!(body.contains("https://x.example/a.png") && body.contains("aWNo"), "{format:?}: {body}");
    }
}
