//! The rules of a publish call.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

use domain::requests::publish::{INTERACTIONS_MAX, PublishRequest, RETRIEVED_LEARNINGS_MAX};
use serde_json::{Value, json};

fn body(rows: Value) -> Value {
    json!({ "user_id": "ana", "session_id": "s1", "interaction_data_list": rows })
}

fn parse(body: &Value) -> PublishRequest {
    PublishRequest::parse(body).unwrap()
}

/// The first fault of a refused body, without its context.
fn fault(body: &Value) -> (String, Value, String) {
    let errors = PublishRequest::parse(body).unwrap_err().to_json();
    let first = &errors["detail"][0];
    let text = |name: &str| first[name].as_str().unwrap().to_owned();
    (text("type"), first["loc"].clone(), text("msg"))
}

#[test]
fn ids_lose_their_surrounding_white_space() {
    let mut body = body(json!([{"content": "x"}]));
    body["user_id"] = " ana ".into();
    body["session_id"] = "\ts1\n".into();
    body["request_id"] = " r ".into();
    let request = parse(&body);
    assert_eq!(request.user_id.as_str(), "ana");
    assert_eq!(request.session_id.as_str(), "s1");
    assert_eq!(request.request_id.unwrap().as_str(), "r");
}

#[test]
fn booleans_come_as_text_and_numbers_too() {
    let mut body = body(json!([{"content": "x"}]));
    body["force_extraction"] = "false".into();
    body["skip_aggregation"] = 0.into();
    body["session_finished"] = "YES".into();
    let request = parse(&body);
    assert!(!request.force_extraction && !request.skip_aggregation && request.session_finished);
}

#[test]
fn empty_rows_are_skipped_and_counted_at_their_places() {
    let rows: Vec<Value> = (0..13).map(|i| json!({"content": if i == 0 { "kept" } else { " " }})).collect();
    let request = parse(&body(rows.into()));
    assert_eq!(request.interactions.len(), 1);
    assert_eq!(
        request.warnings,
        [
            "skipped 12 empty interaction(s) that carried no content, at index(es) 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, +2 more"
        ]
    );
}

#[test]
fn a_single_attachment_makes_a_row_worth_keeping() {
    let rows = json!([
        {"shadow_content": "x"},
        {"expert_content": "x"},
        {"interacted_image_url": "https://e.com/a.png"},
        {"image_encoding": "aGk="},
        {"tools_used": [{"tool_name": "t"}]},
        {"citations": [{"kind": "playbook", "real_id": "1"}]},
        {"retrieved_learnings": [{"kind": "profile", "learning_id": "1"}]},
        {"user_action": "click", "user_action_description": "clicked"},
    ]);
    assert_eq!(parse(&body(rows)).interactions.len(), 8);
}

#[test]
fn unknown_members_are_named_with_their_paths_but_never_shown() {
    let rows = json!([{
        "content": "x", "user_id": "silent", "session_id": "silent",
        "zeta": 1, "alpha": "secret", "tools_used": [{"tool_name": "t", "stat": 1}],
        "citations": [{"kind": "profile", "real_id": "1", "why": 1}],
    }]);
    let mut body = body(rows);
    body["sessionFinished"] = true.into();
    assert_eq!(
        parse(&body).warnings,
        [
            "interaction_data_list[0]: ignored unrecognised field(s) alpha, citations[0].why, tools_used[0].stat, zeta",
            "publish request: ignored unrecognised field(s) sessionFinished",
        ]
    );
}

#[test]
fn warnings_name_at_most_five_members_of_twenty_interactions_in_sixty_four_characters() {
    let long = "n".repeat(70);
    let row = json!({"content": "x", "b": 1, "c": 1, "d": 1, "e": 1, "f\u{7}": 1, "g": 1, (long): 1});
    let warnings = parse(&body(json!(vec![row; 22]))).warnings;
    assert_eq!(warnings.len(), 21);
    assert_eq!(warnings[0], "interaction_data_list[0]: ignored unrecognised field(s) b, c, d, e, f?");
    assert_eq!(warnings[20], "...and 2 more interaction(s) with the same problem");
    let row = json!({"content": "x", "n".repeat(64): 1, "n".repeat(65): 1});
    let warning = &parse(&body(json!([row]))).warnings[0];
    assert!(warning.ends_with(&format!(" {0}, {0}", "n".repeat(64))), "{warning}");
}

#[test]
fn an_action_needs_words_and_an_image_one_form() {
    let rows = json!([{"content": "x"}, {"user_action": "click", "user_action_description": " "}]);
    assert_eq!(
        fault(&body(rows)).2,
        "Value error, interaction_data_list[1] user_action requires a user_action_description"
    );
    let rows = json!([{"interacted_image_url": "https://e.com/a.png", "image_encoding": "aGk="}]);
    assert_eq!(
        fault(&body(rows)).2,
        "Value error, interaction_data_list[0] interacted_image_url and image_encoding cannot both be set"
    );
}

#[test]
fn an_experiment_and_its_arm_come_together() {
    let mut request = body(json!([{"content": "x"}]));
    request["retrieval_experiment_id"] = "e".into();
    let message =
        "Value error, retrieval_experiment_id and retrieval_experiment_arm must be provided together";
    assert_eq!(fault(&request).2, message);
    request["retrieval_experiment_arm"] = "neither".into();
    assert_eq!(fault(&request).2, "Input should be 'treatment' or 'holdout'");
}

#[test]
fn lists_and_texts_are_accepted_up_to_their_limits_and_not_beyond() {
    let learning = json!({"kind": "profile", "learning_id": "1"});
    for (count, ok) in [(INTERACTIONS_MAX - 1, true), (INTERACTIONS_MAX, true), (INTERACTIONS_MAX + 1, false)]
    {
        let rows = json!(vec![json!({"content": "x"}); count]);
        assert_eq!(PublishRequest::parse(&body(rows)).is_ok(), ok, "{count} interactions");
    }
    for (extra, ok) in [(0, true), (1, false)] {
        let half = RETRIEVED_LEARNINGS_MAX / 2;
        let rows = json!([
            {"retrieved_learnings": vec![learning.clone(); half]},
            {"retrieved_learnings": vec![learning.clone(); half + extra]},
        ]);
        assert_eq!(PublishRequest::parse(&body(rows)).is_ok(), ok, "{extra} learnings too many");
    }
    let limits = [("role", 1_000), ("content", 1_000_000), ("user_action_description", 10_000)];
    for (name, max) in limits {
        for (length, ok) in [(max - 1, true), (max, true), (max + 1, false)] {
            let mut row = json!({"content": "x"});
            row[name] = "é".repeat(length).into();
            assert_eq!(PublishRequest::parse(&body(json!([row]))).is_ok(), ok, "{name} of {length}");
        }
    }
}

#[test]
fn the_total_of_learnings_is_in_the_message() {
    let learning = json!({"kind": "profile", "learning_id": "1"});
    let rows = json!([
        {"retrieved_learnings": vec![learning.clone(); 1_000]},
        {"retrieved_learnings": [learning]},
    ]);
    assert_eq!(
        fault(&body(rows)).2,
        "Value error, a publish request may carry at most 1000 retrieved_learnings across all interactions (got 1001)"
    );
}

#[test]
fn a_receipt_is_kept_as_its_digest_and_a_bare_digest_not_at_all() {
    let digest = "a".repeat(64);
    let rows = json!([{"retrieved_learnings": [
        {"kind": "profile", "learning_id": "1", "exposure_receipt": "abc"},
        {"kind": "profile", "learning_id": "2", "exposure_receipt_digest": digest},
    ]}]);
    let request = parse(&body(rows));
    let learnings = &request.interactions[0].retrieved_learnings;
    let sha_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(learnings[0].exposure_receipt_digest.as_deref(), Some(sha_of_abc));
    assert_eq!(learnings[1].exposure_receipt_digest, None);
    assert!(!format!("{request:?}").contains("\"abc\""));
    let rows = json!([{"retrieved_learnings": [{"kind": "profile", "learning_id": "1", "exposure_receipt_digest": "AB"}]}]);
    assert_eq!(fault(&body(rows)).2, "String should match pattern '^[0-9a-f]{64}$'");
}

#[test]
fn a_tool_status_becomes_short_text_whatever_it_was() {
    let status = |status: Value| {
        let rows = json!([{"tools_used": [{"tool_name": "t", "status": status}]}]);
        parse(&body(rows)).interactions[0].tools_used[0].status.clone()
    };
    assert_eq!(status(Value::Null), "");
    assert_eq!(status(json!(200)), "200");
    assert_eq!(status(json!(true)), "True");
    assert_eq!(status(json!("é".repeat(101))), "é".repeat(100));
}

#[test]
fn times_may_be_milliseconds_and_stay_absent_if_they_were() {
    let rows = json!([
        {"content": "x", "created_at": 1_700_000_000},
        {"content": "x", "created_at": 1_700_000_000_000_i64},
        {"content": "x", "created_at": -5},
        {"content": "x"},
    ]);
    let times: Vec<_> = parse(&body(rows)).interactions.iter().map(|row| row.created_at).collect();
    assert_eq!(times, [Some(1_700_000_000), Some(1_700_000_000), Some(0), None]);
}

#[test]
fn images_at_metadata_addresses_are_refused_however_they_are_spelt() {
    for url in [
        "http://169.254.169.254/latest",
        "HTTP://169.254.169.254",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "http://metadata.google.internal./x",
        "http://METADATA.google.internal/x",
        "http://user@169.254.170.2/v2/credentials",
    ] {
        let (kind, _, msg) = fault(&body(json!([{"interacted_image_url": url}])));
        assert_eq!(kind, "value_error", "{url}");
        assert!(
            msg.starts_with("Value error, URL must not target cloud metadata endpoint: "),
            "{url}: {msg}"
        );
    }
    for url in ["https://example.com/a.png", "data:image/png;base64,aGk=", "http://10.0.0.1/a.png"] {
        assert!(PublishRequest::parse(&body(json!([{"interacted_image_url": url}]))).is_ok(), "{url}");
    }
    let (_, _, msg) = fault(&body(json!([{"interacted_image_url": "a.png"}])));
    assert_eq!(msg, "Value error, Image URL scheme must be http, https, or data — got ''");
}

#[test]
fn the_payload_hash_tells_payloads_apart() {
    let hash = |rows: Value| parse(&body(rows)).payload_hash();
    let plain = hash(json!([{"content": "x"}]));
    assert_eq!(plain.len(), 64);
    assert_ne!(plain, hash(json!([{"content": "y"}])));
    assert_ne!(plain, hash(json!([{"content": "x", "created_at": 1}])));
    assert_ne!(plain, hash(json!([{"content": "x"}, {"content": "x"}])));
    // The spelling of a default does not matter.
    assert_eq!(plain, hash(json!([{"content": "x", "role": "User", "user_action": "none"}])));
}
