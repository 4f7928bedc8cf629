//! From bytes to values: what is refused at the door, and how much an answer repeats.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

use domain::errors::ApiError;
use domain::requests::{interactions, profiles, publish, search};
use domain::validation::{ECHO_BYTES_MAX, FAULTS_MAX, JSON_DEPTH_MAX, read_json_body};
use serde_json::{Value, json};

fn body(text: &str) -> Value {
    read_json_body(Some("application/json; charset=utf-8"), text.as_bytes()).unwrap()
}

fn refusal(bytes: &[u8]) -> ApiError {
    read_json_body(Some("application/json"), bytes).unwrap_err().into()
}

#[test]
fn no_body_counts_as_missing_and_so_does_null() {
    for bytes in [&b""[..], b"null"] {
        let body = read_json_body(Some("application/json"), bytes).unwrap();
        let errors = profiles::GetProfiles::parse(&body).unwrap_err();
        let expected = json!([{"type": "missing", "loc": ["body"], "msg": "Field required", "input": null}]);
        assert_eq!(errors.to_json()["detail"], expected);
    }
}

#[test]
fn only_json_content_types_are_parsed() {
    for content_type in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"] {
        assert_eq!(read_json_body(Some(content_type), b"{}").unwrap(), json!({}), "{content_type}");
    }
    for content_type in [None, Some("text/json"), Some("text/plain"), Some("")] {
        assert_eq!(read_json_body(content_type, b"{}").unwrap(), json!("{}"), "{content_type:?}");
    }
}

#[test]
fn bytes_that_are_no_text_cannot_be_parsed() {
    let error = refusal(b"{\"a\": \"\xff\"}");
    assert_eq!((error.status, *error.body), (400, json!({"detail": "There was an error parsing the body"})));
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    assert_eq!(body("\u{FEFF}{}"), json!({}));
}

#[test]
fn nesting_is_accepted_up_to_its_limit_and_not_beyond() {
    for (depth, ok) in [(JSON_DEPTH_MAX - 1, true), (JSON_DEPTH_MAX, true), (JSON_DEPTH_MAX + 1, false)] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read_json_body(Some("application/json"), text.as_bytes()).is_ok(), ok, "{depth}");
    }
    assert_eq!(refusal("[".repeat(1_000_000).as_bytes()).status, 422);
}

#[test]
fn nan_is_refused_and_then_nothing_is_repeated() {
    let errors = search::UnifiedSearch::parse(&body(r#"{"query": " ", "threshold": NaN}"#)).unwrap_err();
    let expected = json!([
        {"type": "value_error", "loc": ["body", "query"],
         "msg": "Value error, String must not be empty or whitespace-only"},
        {"type": "less_than_equal", "loc": ["body", "threshold"],
         "msg": "Input should be less than or equal to 1"},
    ]);
    // Only inputs count: the query's alone would be shown.
    assert_eq!(errors.to_json()["detail"], expected);
}

#[test]
fn numbers_beyond_a_float_are_infinite() {
    let errors = search::UnifiedSearch::parse(&body(r#"{"query": "x", "threshold": -1e999}"#)).unwrap_err();
    assert_eq!(errors.to_json()["detail"][0]["type"], "greater_than_equal");
    let errors =
        interactions::GetInteractions::parse(&body(r#"{"user_id": "x", "top_k": Infinity}"#)).unwrap_err();
    assert_eq!(errors.to_json()["detail"][0]["type"], "finite_number");
}

#[test]
fn unpaired_surrogates_and_nul_are_refused_by_the_field_that_holds_them() {
    for (text, reason) in [
        (r"a\ud800b", "String must not contain unpaired surrogates"),
        (r"\ude00", "String must not contain unpaired surrogates"),
        (r"\ud800\ud800\udc00", "String must not contain unpaired surrogates"),
        (r"a\u0000", "String must not contain U+0000"),
    ] {
        let template = r#"{"user_id": "u", "session_id": "s", "interaction_data_list": [{"content": "@"}]}"#;
        let errors =
            publish::PublishRequest::parse(&body(&template.replace('@', text))).unwrap_err().to_json();
        let fault = &errors["detail"][0];
        assert_eq!(fault["type"], "value_error");
        assert_eq!(fault["loc"], json!(["body", "interaction_data_list", 0, "content"]));
        assert_eq!(fault["msg"], format!("Value error, {reason}"));
    }
    // A pair is one character, and so is what was escaped without need.
    assert_eq!(body(r#""\ud83d\ude00\u0041""#), json!("😀A"));
}

#[test]
fn free_form_objects_are_looked_through() {
    for inner in [r#"{"a": [{"b": "\u0000"}]}"#, r#"{"\ud800": 1}"#, r#"{"a": NaN}"#] {
        let template = r#"{"user_id": "u", "session_id": "s", "interaction_data_list":
            [{"content": "x", "tools_used": [{"tool_name": "t", "tool_data": @}]}]}"#;
        let errors =
            publish::PublishRequest::parse(&body(&template.replace('@', inner))).unwrap_err().to_json();
        let loc = json!(["body", "interaction_data_list", 0, "tools_used", 0, "tool_data"]);
        assert_eq!(errors["detail"][0]["loc"], loc, "{inner}");
    }
}

#[test]
fn the_last_of_equal_members_wins() {
    assert_eq!(body(r#"{"a": 1, "b": 2, "a": 3}"#), json!({"a": 3, "b": 2}));
}

#[test]
fn an_answer_names_a_bounded_number_of_faults() {
    for (count, named) in
        [(FAULTS_MAX - 1, FAULTS_MAX - 1), (FAULTS_MAX, FAULTS_MAX), (FAULTS_MAX + 1, FAULTS_MAX)]
    {
        let profile = json!({"profile_id": "p", "user_id": "u", "content": "c", "last_modified_timestamp": 1,
            "generated_from_request_id": "", "tags": vec![1; count]});
        let errors = profiles::AddUserProfiles::parse(&json!({"user_profiles": [profile]})).unwrap_err();
        assert_eq!(errors.count(), named);
    }
}

#[test]
fn an_answer_repeats_a_bounded_part_of_the_request() {
    let big = "x".repeat(ECHO_BYTES_MAX / 2);
    let errors = publish::PublishRequest::parse(&json!({ "noise": big })).unwrap_err().to_json();
    let detail = errors["detail"].as_array().unwrap();
    let shown = detail.iter().filter(|fault| fault.get("input").is_some()).count();
    assert_eq!((detail.len(), shown), (3, 1));
    assert!(errors.to_string().len() < 2 * ECHO_BYTES_MAX);
}

#[test]
fn a_naive_time_is_utc_and_mixing_it_with_a_zoned_one_is_no_fault() {
    let request = interactions::GetInteractions::parse(&json!({
        "user_id": "u", "start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T01:00:00+00:30",
    }));
    let time = request.unwrap().time;
    assert_eq!((time.start, time.end), (Some(1_767_225_600), Some(1_767_227_400)));
    assert!(time.contains(1_767_225_600) && time.contains(1_767_227_400) && !time.contains(1_767_227_401));
}

#[test]
fn a_range_shorter_than_a_second_is_still_a_range() {
    let range = |end: &str| {
        let body = json!({"user_id": "u", "start_time": "2026-01-01T00:00:00.2Z", "end_time": end});
        interactions::GetInteractions::parse(&body)
    };
    assert!(range("2026-01-01T00:00:00.3Z").is_ok());
    let errors = range("2026-01-01T00:00:00.2Z").unwrap_err().to_json();
    assert_eq!(errors["detail"][0]["msg"], "Value error, end_time must be after start_time");
}
