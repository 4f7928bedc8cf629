//! What must hold for any input at all.

mod support;

use domain::config::{Change, Config};
use domain::requests::publish::PublishRequest;
use domain::validation::{read_json, read_json_body};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that some schema knows, so that generated objects reach the rules behind them.
const NAMES: [&str; 40] = [
    "user_id",
    "session_id",
    "request_id",
    "interaction_data_list",
    "content",
    "role",
    "source",
    "created_at",
    "user_action",
    "interacted_image_url",
    "tools_used",
    "tool_name",
    "tool_data",
    "status",
    "citations",
    "kind",
    "retrieved_learnings",
    "learning_id",
    "user_profiles",
    "profile_id",
    "embedding",
    "user_playbooks",
    "query",
    "top_k",
    "threshold",
    "start_time",
    "end_time",
    "status_filter",
    "entity_types",
    "window_size",
    "stride_size",
    "storage_config",
    "api_key_config",
    "openai",
    "api_key",
    "pending_tool_call_config",
    "hmac_secrets",
    "profile_extractor_config",
    "extraction_definition_prompt",
    "tool_overrides",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        Just("\u{0}NaN".to_owned()),
        Just("\u{0}\u{FFFD}".to_owned()),
        Just("2026-01-01T00:00:00Z".to_owned()),
        Just("http://[::ffff:169.254.169.254]/".to_owned()),
        Just("none".to_owned()),
        Just(" ".to_owned()),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        let name =
            prop_oneof![4 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => text()];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_document_makes_a_parser_panic(body in any_json(), query in "\\PC{0,40}") {
        for route in support::ROUTES {
            if let Err(error) = support::parse(route, &query, &body).unwrap() {
                prop_assert!(error.status >= 400);
                prop_assert!(serde_json::to_string(&error.body).is_ok());
            }
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = read_json_body(Some("application/json"), &bytes);
    }

    #[test]
    fn json_is_read_as_it_was_written(value in any_json()) {
        let text = value.to_string();
        prop_assert_eq!(read_json(&text).unwrap(), value);
    }

    #[test]
    fn text_that_looks_like_json_is_accepted_only_as_serde_does(text in r#"[\[\]{}",:0-9eE+\-. ntf\\u]{0,16}"#) {
        // Everything strict is accepted and means the same; what we accept beyond it is NaN and the like.
        if let Ok(strict) = serde_json::from_str::<Value>(&text) {
            prop_assert_eq!(read_json(&text).unwrap(), strict);
        }
    }

    #[test]
    fn a_configuration_survives_being_stored(
        window in proptest::option::of(1_i64..1000),
        stride in proptest::option::of(1_i64..1000),
        idle in 0_i64..1_000_000,
        rate in 0.0_f64..=1.0,
        secrets in proptest::collection::vec("\\PC{0,20}", 0..3),
    ) {
        let body = json!({
            "storage_config": {},
            "window_size": window,
            "stride_size": stride,
            "extraction_idle_timeout_seconds": idle,
            "agent_success_config": {"success_definition_prompt": "good", "sampling_rate": rate},
            "pending_tool_call_config": {"hmac_secrets": secrets, "tool_overrides": {"t": {}}},
        });
        if let Ok(Change::Changed(config)) = Config::default().replaced_by(&body) {
            prop_assert_eq!(&Config::load(&config.to_stored()).unwrap(), &*config);
            let mut bare = (*config).clone();
            let taken = bare.take_secrets();
            let mut loaded = Config::load(&bare.to_stored()).unwrap();
            loaded.put_secrets(taken);
            prop_assert_eq!(&loaded, &*config);
        }
    }

    #[test]
    fn the_payload_hash_ignores_what_is_ignored(content in "[a-z]{1,20}", id in "[a-z]{1,8}", noise in "[A-Z]{1,8}") {
        let row = json!({"content": content});
        let plain = json!({"user_id": "u", "session_id": "s", "interaction_data_list": [row]});
        let mut noisy = json!({"user_id": " u ", "session_id": "s", "interaction_data_list": [row, {"role": "x"}]});
        noisy["request_id"] = id.into();
        noisy[noise] = true.into();
        let hash = |body: &Value| PublishRequest::parse(body).unwrap().payload_hash();
        prop_assert_eq!(hash(&plain), hash(&noisy));
    }
}
