use std::sync::Arc;

use serde_json::{Value, json};

use super::tests::{KEY, client, request, resolved};
use super::*;
use crate::addresses::AddressPolicy;
use crate::error::RetryAfter;
use crate::testing::{HttpReply, ModelServer, Scripted};

#[tokio::test]
async fn errors_keep_their_class_and_wish_and_lose_the_key() {
    let server = ModelServer::start().await;
    let client = client(resolved(&server, WireFormat::OpenAi, "m"));
    let limited =
        HttpReply::json(429, &json!({"error": {"message": "slow down"}})).with_header("retry-after", "3");
    server.push(Scripted::Raw(limited));
    let error = client.chat(&request()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(RetryAfter::Delay(Duration::from_secs(3))));
    server.push(Scripted::status(
        401,
        &json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}),
    ));
    let error = client.chat(&request()).await.unwrap_err();
    assert_eq!(error.class(), "auth_error");
    assert!(error.detail().contains("***") && !format!("{error:?}").contains(KEY));
    server.push(Scripted::status(200, &json!({"error": {"code": 503, "message": "provider down"}})));
    assert_eq!(client.chat(&request()).await.unwrap_err().class(), "overloaded");
    server.push(Scripted::Raw(HttpReply { status: 200, body: b"<html>".to_vec(), ..HttpReply::default() }));
    assert_eq!(client.chat(&request()).await.unwrap_err().class(), "malformed");
    for body in
        [json!({}), json!([]), Value::Null, json!({"choices": []}), json!({"choices": [{"message": null}]})]
    {
        server.push(Scripted::status(200, &body));
        assert_eq!(client.chat(&request()).await.unwrap_err().class(), "malformed", "{body}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_hanging_or_absent_servers_are_told_apart() {
    let server = ModelServer::start().await;
    let aim = resolved(&server, WireFormat::OpenAi, "m");
    server.push(Scripted::Raw(
        HttpReply { status: 307, ..HttpReply::default() }.with_header("location", "/elsewhere"),
    ));
    assert_eq!(client(aim.clone()).chat(&request()).await.unwrap_err().class(), "bad_request");
    assert_eq!(server.requests().len(), 1);
    server.push(Scripted::Hang);
    let hurried = ChatRequest { timeout: Duration::from_millis(20), ..request() };
    assert_eq!(client(aim.clone()).chat(&hurried).await.unwrap_err().class(), "timeout");
    // A port that was just freed.
    let absent = ResolvedChat { base_url: "http://127.0.0.1:1/v1".to_owned(), ..aim };
    assert_eq!(client(absent).chat(&request()).await.unwrap_err().class(), "network");
}

#[tokio::test]
async fn a_tenants_url_to_a_private_address_is_refused_by_number_and_by_name() {
    let server = ModelServer::start().await;
    let port = server.base_url().rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "0x7f000001"] {
        let mut tenant = resolved(&server, WireFormat::OpenAi, "m");
        tenant.policy = AddressPolicy::PublicOnly;
        tenant.base_url = format!("http://{host}:{port}");
        let error = client(tenant).chat(&request()).await.unwrap_err();
        assert_eq!(error.class(), "address_refused", "{host}: {error:?}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_limit_and_no_further() {
    let server = ModelServer::start().await;
    let aim = resolved(&server, WireFormat::OpenAi, "m");
    let limit = 2_000;
    let http = Http::new(aim.policy).unwrap().with_response_bytes_max(limit);
    let client = HttpChat::new(http, aim);
    for (length, ok) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
        let empty = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}).to_string();
        let body = empty.clone() + &" ".repeat(length - empty.len());
        server.push(Scripted::Raw(HttpReply {
            status: 200,
            body: body.into_bytes(),
            ..HttpReply::default()
        }));
        assert_eq!(client.chat(&request()).await.is_ok(), ok, "{length}");
    }
}

#[tokio::test]
async fn a_request_may_name_another_model() {
    let server = ModelServer::start().await;
    let ask = ChatRequest { model: "other".to_owned(), ..request() };
    let shared: Arc<dyn ChatModel> = Arc::new(client(resolved(&server, WireFormat::OpenAi, "m")));
    server.push(Scripted::text("x"));
    assert_eq!(shared.chat(&ask).await.unwrap().model, "other");
}
