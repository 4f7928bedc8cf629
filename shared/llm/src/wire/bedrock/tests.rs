use std::time::Duration;

use aws_sdk_bedrockruntime::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use serde_json::json;

use super::*;
use crate::testing::{HttpReply, ModelServer, Scripted};
use crate::types::{Message, ResponseSchema};

fn client(server: &ModelServer) -> BedrockChat {
    let config = aws_types::SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "test")))
        .endpoint_url(server.base_url())
        .build();
    BedrockChat::new(&config, "us.amazon.nova-lite-v1:0".to_owned())
}

fn request() -> ChatRequest {
    let messages = vec![Message::system("Be brief."), Message::user("Hello"), Message::user("Again")];
    ChatRequest {
        max_output_tokens: Some(50),
        timeout: Duration::from_secs(5),
        ..ChatRequest::new("test", messages)
    }
}

fn reply(content: serde_json::Value, stop: &str) -> Scripted {
    Scripted::status(
        200,
        &json!({
            "output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop,
            "usage": {"inputTokens": 5, "outputTokens": 3, "totalTokens": 8, "cacheReadInputTokens": 2},
            "metrics": {"latencyMs": 1},
        }),
    )
}

#[tokio::test]
async fn text_and_usage_are_read_and_the_request_has_the_recorded_shape() {
    let server = ModelServer::start().await;
    server.push(reply(json!([{"text": "Hi"}]), "end_turn"));
    let answer = client(&server).chat(&request()).await.unwrap();
    assert_eq!((answer.text.as_deref(), answer.finish), (Some("Hi"), FinishReason::Stop));
    assert_eq!((answer.usage.input_tokens, answer.usage.cached_tokens), (7, 2));
    let got = &server.requests()[0];
    assert!(got.path.ends_with("/converse"), "{}", got.path);
    assert_eq!(got.body["system"], json!([{"text": "Be brief."}]));
    assert_eq!(
        got.body["messages"],
        json!([{"role": "user", "content": [{"text": "Hello"}, {"text": "Again"}]}])
    );
    assert_eq!(got.body["inferenceConfig"]["maxTokens"], 50);
}

#[tokio::test]
async fn a_schema_forces_a_tool_whose_arguments_are_the_answer() {
    let server = ModelServer::start().await;
    let call = json!([{"toolUse": {"toolUseId": "t", "name": "answer", "input": {"a": 1}}}]);
    server.push(reply(call.clone(), "tool_use"));
    server.push(reply(call, "max_tokens"));
    let schema =
        json!({"type": "object", "properties": {"why": {"type": "string"}, "a": {"type": "integer"}}});
    let wanted = ResponseSchema { name: "answer".to_owned(), schema };
    let ask = ChatRequest { response_schema: Some(wanted), ..request() };
    let answer = client(&server).chat(&ask).await.unwrap();
    assert_eq!((answer.text.as_deref(), answer.finish), (Some(r#"{"a":1}"#), FinishReason::Stop));
    let config = server.requests()[0].body["toolConfig"].clone();
    assert_eq!(config["toolChoice"], json!({"tool": {"name": "answer"}}));
    let description = config["tools"][0]["toolSpec"]["description"].as_str().unwrap().to_owned();
    assert!(description.contains("in this order: why, a."), "{description}");
    assert_eq!(client(&server).chat(&ask).await.unwrap().finish, FinishReason::Length);
}

#[tokio::test]
async fn errors_are_put_into_their_classes() {
    let server = ModelServer::start().await;
    for (status, kind, class) in [
        (403, "AccessDeniedException", "auth_error"),
        (429, "ThrottlingException", "rate_limited"),
        (408, "ModelTimeoutException", "timeout"),
        (424, "ModelErrorException", "overloaded"),
        (503, "ServiceUnavailableException", "overloaded"),
        (400, "ValidationException", "bad_request"),
    ] {
        let error = HttpReply::json(status, &json!({"message": "x"})).with_header("x-amzn-errortype", kind);
        server.push(Scripted::Raw(error));
        assert_eq!(client(&server).chat(&request()).await.unwrap_err().class(), class, "{kind}");
    }
    assert_eq!(server.requests().len(), 6, "the SDK does not retry on its own");
}
