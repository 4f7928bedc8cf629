use serde_json::json;

use super::*;
use crate::error::StallReason;

fn class(status: u16, body: Value) -> &'static str {
    Refusal::from_body(status, &body).into_error().class()
}

#[test]
fn a_missing_credit_is_a_billing_stall_under_whatever_status() {
    let cases = [
        (402, json!({"error": {"message": "Insufficient Balance"}})),
        (
            429,
            json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}),
        ),
        (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API"}}),
        ),
        (429, json!({"error": {"type": "exceeded_current_quota_error", "message": "suspended"}})),
        (200, json!({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}})),
        (200, json!({"error": {"code": 402, "message": "Insufficient credits"}})),
    ];
    for (status, body) in cases {
        let error = Refusal::from_body(status, &body).into_error();
        assert_eq!(error.stall_reason(), Some(StallReason::BillingError), "{body}");
        assert!(!error.is_retryable());
    }
}

#[test]
fn a_refused_key_is_an_auth_stall_under_whatever_status() {
    let cases = [
        (401, json!({"error": {"message": "Incorrect API key provided"}})),
        (403, json!({"error": {"status": "PERMISSION_DENIED", "message": "denied"}})),
        (
            400,
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass a valid API key.", "details": [{"reason": "API_KEY_INVALID"}]}}),
        ),
        (401, Value::Null),
    ];
    for (status, body) in cases {
        let error = Refusal::from_body(status, &body).into_error();
        assert_eq!(error.stall_reason(), Some(StallReason::AuthError), "{body}");
    }
}

#[test]
fn a_rate_limit_is_no_stall_and_may_be_retried() {
    let error = Refusal::from_body(429, &json!({"error": {"message": "Rate limit reached"}})).into_error();
    assert_eq!(error.class(), "rate_limited");
    assert_eq!(error.stall_reason(), None);
    assert!(error.is_retryable());
}

#[test]
fn the_classes_of_the_usual_refusals_are_told_apart() {
    assert_eq!(
        class(400, json!({"error": {"code": "context_length_exceeded", "message": "x"}})),
        "context_too_long"
    );
    assert_eq!(
        class(
            400,
            json!({"error": {"type": "invalid_request_error", "message": "prompt is too long: 300000 tokens"}})
        ),
        "context_too_long"
    );
    assert_eq!(class(413, Value::Null), "context_too_long");
    assert_eq!(class(400, json!({"error": {"code": "content_filter", "message": "x"}})), "content_filtered");
    assert_eq!(class(400, json!({"error": {"message": "unknown field"}})), "bad_request");
    assert_eq!(class(404, json!({"error": {"message": "model not found"}})), "bad_request");
    assert_eq!(class(408, Value::Null), "timeout");
    assert_eq!(class(504, Value::Null), "timeout");
    assert_eq!(class(500, Value::Null), "overloaded");
    assert_eq!(class(503, json!("busy")), "overloaded");
    assert_eq!(
        class(529, json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
        "overloaded"
    );
    assert_eq!(class(302, Value::Null), "bad_request");
}

#[test]
fn gemini_says_in_its_details_when_to_ask_again() {
    let body = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}});
    let error = Refusal::from_body(429, &body).into_error();
    assert_eq!(error.retry_after(), Some(RetryAfter::Delay(Duration::from_millis(34_500))));
}

#[test]
fn retry_after_is_read_as_milliseconds_seconds_and_date() {
    let delay = |ms| Some(RetryAfter::Delay(Duration::from_millis(ms)));
    assert_eq!(retry_after(Some("1500"), Some("9")), delay(1500));
    assert_eq!(retry_after(None, Some("7")), delay(7000));
    assert_eq!(retry_after(None, Some("0.25")), delay(250));
    assert_eq!(
        retry_after(None, Some("Sun, 06 Nov 1994 08:49:37 GMT")),
        Some(RetryAfter::At(784_111_777_000))
    );
    assert_eq!(retry_after(None, Some("soon")), None);
    assert_eq!(retry_after(None, Some("-3")), None);
    assert_eq!(retry_after(None, None), None);
}

#[test]
fn a_time_that_has_passed_means_at_once() {
    assert_eq!(RetryAfter::At(1_000).from_now(5_000), Duration::ZERO);
    assert_eq!(RetryAfter::At(5_000).from_now(1_000), Duration::from_secs(4));
}
