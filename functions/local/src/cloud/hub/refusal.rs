//! The answers of a service that refuses: what the fault plan says in its place.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::operation::Target;

pub(super) fn internal_error(service: &str) -> http::Response<Bytes> {
    let code = match service {
        "s3" => "InternalError",
        "kms" => "KMSInternalException",
        "scheduler" => "InternalServerException",
        "events" => "InternalException",
        _ => "InternalServerError",
    };
    refusal(service, StatusCode::INTERNAL_SERVER_ERROR, code)
}

pub(super) fn unavailable(service: &str) -> http::Response<Bytes> {
    refusal(service, StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
}

pub(super) fn throttled(service: &str) -> http::Response<Bytes> {
    match service {
        "s3" => refusal(service, StatusCode::SERVICE_UNAVAILABLE, "SlowDown"),
        "dynamodb" => refusal(service, StatusCode::BAD_REQUEST, "ProvisionedThroughputExceededException"),
        "scheduler" => refusal(service, StatusCode::TOO_MANY_REQUESTS, "ThrottlingException"),
        _ => refusal(service, StatusCode::BAD_REQUEST, "ThrottlingException"),
    }
}

/// DynamoDB's conflict with another transaction; `choice` picks the item that meets it. `None` for services
/// that have none.
pub(super) fn conflict(target: &Target, body: &[u8], choice: u64) -> Option<http::Response<Bytes>> {
    if target.service != "dynamodb" {
        return None;
    }
    if !target.operation.starts_with("Transact") {
        return Some(refusal("dynamodb", StatusCode::BAD_REQUEST, "TransactionConflictException"));
    }
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let items = request["TransactItems"].as_array().map_or(1, Vec::len).max(1);
    let picked = usize::try_from(choice % u64::try_from(items).unwrap_or(1)).unwrap_or_default();
    let codes: Vec<&str> =
        (0..items).map(|at| if at == picked { "TransactionConflict" } else { "None" }).collect();
    let reasons: Vec<Value> = codes
        .iter()
        .map(|code| match *code {
            "None" => json!({"Code": code}),
            _ => json!({"Code": code, "Message": "Transaction is ongoing for the item"}),
        })
        .collect();
    let body = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            codes.join(", ")
        ),
        "CancellationReasons": reasons,
    });
    Some(json_response(StatusCode::BAD_REQUEST, "TransactionCanceledException", &body))
}

fn refusal(service: &str, status: StatusCode, code: &str) -> http::Response<Bytes> {
    if service == "s3" {
        let body = format!("<Error><Code>{code}</Code><Message>refused by the fault plan</Message></Error>");
        let mut response = http::Response::new(Bytes::from(body));
        *response.status_mut() = status;
        return response;
    }
    json_response(status, code, &json!({"__type": code, "message": "refused by the fault plan"}))
}

fn json_response(status: StatusCode, code: &str, body: &Value) -> http::Response<Bytes> {
    let mut response = http::Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("content-type", http::HeaderValue::from_static("application/x-amz-json-1.0"));
    // REST-JSON services name the error here, the others in the body.
    if let Ok(code) = http::HeaderValue::from_str(code) {
        headers.insert("x-amzn-errortype", code);
    }
    response
}
