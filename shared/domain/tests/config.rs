//! The configuration: how it is changed, what it means, and its secrets.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

use domain::config::{Change, Config, ConfigFault, ExtractionPreset};
use domain::errors::ApiError;
use domain::learning::LearningKind;
use domain::requests::publish::PublishRequest;
use serde_json::{Value, json};

fn set(body: Value) -> Config {
    changed(Config::default().replaced_by(&with_storage(body)))
}

fn with_storage(mut body: Value) -> Value {
    body["storage_config"] = json!({"db_path": null});
    body
}

fn changed(change: Result<Change, ConfigFault>) -> Config {
    match change.unwrap() {
        Change::Changed(config) => *config,
        Change::Unchanged => Config::default(),
    }
}

/// The faults of a refused document.
fn refused(body: Value) -> Value {
    let error: ApiError = Config::default().replaced_by(&body).unwrap_err().into();
    assert_eq!(error.status, 422);
    error.body["detail"].clone()
}

#[test]
fn faults_of_a_whole_document_come_in_schema_order_without_input() {
    let expected = json!([
        {"type": "missing", "loc": ["storage_config"], "msg": "Field required"},
        {"type": "greater_than", "loc": ["window_size"], "msg": "Input should be greater than 0"},
    ]);
    assert_eq!(refused(json!({"window_size": -1})), expected);
}

#[test]
fn a_document_that_is_no_object_is_refused_as_a_body() {
    let expected = json!([{"type": "dict_type", "loc": ["body"], "msg": "Input should be a valid dictionary", "input": []}]);
    assert_eq!(refused(json!([])), expected);
}

#[test]
fn a_nested_object_is_replaced_as_a_whole_and_so_must_be_complete() {
    let body = json!({"user_playbook_extractor_config": {"aggregation_config": {"min_cluster_size": "x"}}});
    let error: ApiError = Config::default().merged_with(&body).unwrap_err().into();
    let expected = json!([
        {"type": "missing", "loc": ["user_playbook_extractor_config", "extraction_definition_prompt"],
         "msg": "Field required"},
        {"type": "int_parsing",
         "loc": ["user_playbook_extractor_config", "aggregation_config", "min_cluster_size"],
         "msg": "Input should be a valid integer, unable to parse string as an integer"},
    ]);
    assert_eq!(error.body["detail"]["validation_errors"], expected);
}

#[test]
fn an_update_that_changes_nothing_says_so() {
    let config = changed(Config::default().merged_with(&json!({"skip_should_run_check": true})));
    assert!(config.skip_should_run_check);
    assert_eq!(config.merged_with(&json!({"skip_should_run_check": "true"})), Ok(Change::Unchanged));
    assert_eq!(config.merged_with(&json!({})), Ok(Change::Unchanged));
}

#[test]
fn what_is_read_can_be_written_back() {
    let config = Config::default();
    let wire = config.to_wire();
    let Change::Changed(again) = config.replaced_by(&wire).unwrap() else { panic!("sizes become explicit") };
    assert_eq!(again.to_wire(), wire);
}

#[test]
fn the_revision_of_cited_memories_is_shown_once_it_is_set() {
    let plain = Config::default();
    assert!(plain.reflection_config.enabled);
    assert!(plain.to_wire().get("reflection_config").is_none());
    let set = changed(plain.merged_with(&json!({"reflection_config": {"post_horizon_size": 0}})));
    let shown = json!({"enabled": true, "model": null, "post_horizon_size": 0, "max_revisions_per_pass": 8});
    assert_eq!(set.to_wire()["reflection_config"], shown);
    assert_eq!(Config::load(&set.to_stored()).unwrap().reflection_config, set.reflection_config);
    let cleared = changed(set.merged_with(&json!({"reflection_config": null})));
    assert_eq!(cleared.reflection_config, plain.reflection_config);
    for wrong in [json!({"max_revisions_per_pass": 0}), json!({"post_horizon_size": -1})] {
        assert!(plain.merged_with(&json!({"reflection_config": wrong})).is_err(), "{wrong}");
    }
}

#[test]
fn experiments_are_changed_through_their_own_routes_only() {
    let experiment = json!({"experiment_id": "e1", "holdout_percentage": 10});
    let update = Config::default().merged_with(&json!({"retrieval_experiment_config": experiment}));
    assert_eq!(update, Err(ConfigFault::ExperimentProtected));
    let error: ApiError = ConfigFault::ExperimentProtected.into();
    assert_eq!(error.status, 409);

    let running = Config::load(&json!({
        "storage_config": {},
        "retrieval_experiment_config": experiment,
        "retrieval_experiment_history": [{"experiment_id": "e1", "holdout_percentage": 10, "started_at": 5}],
    }))
    .unwrap();
    let kept = changed(running.replaced_by(&json!({"storage_config": {}, "window_size": 20})));
    assert_eq!(kept.retrieval_experiment_config, running.retrieval_experiment_config);
    assert_eq!(kept.retrieval_experiment_history, running.retrieval_experiment_history);
    let dropped = running.replaced_by(&json!({"storage_config": {}, "retrieval_experiment_config": null}));
    assert_eq!(dropped, Err(ConfigFault::ExperimentProtected));
}

#[test]
fn the_holdout_lies_strictly_between_nobody_and_everybody() {
    for (percentage, ok) in [(0.0, false), (0.1, true), (99.9, true), (100.0, false)] {
        let document = json!({"storage_config": {},
            "retrieval_experiment_config": {"experiment_id": "e", "holdout_percentage": percentage}});
        assert_eq!(Config::load(&document).is_ok(), ok, "{percentage}");
    }
}

#[test]
fn an_explicit_size_wins_over_the_preset_and_the_preset_over_the_default() {
    let sizes = |body: Value| {
        let config = set(body);
        (config.window(), config.stride())
    };
    assert_eq!(sizes(json!({})), (10, 8));
    for (preset, expected) in
        [("quick_chat", (5, 3)), ("standard", (10, 8)), ("long_form", (25, 10)), ("high_volume", (15, 8))]
    {
        assert_eq!(sizes(json!({"extraction_preset": preset})), expected);
    }
    assert_eq!(sizes(json!({"extraction_preset": "quick_chat", "window_size": 10})), (10, 3));
    assert_eq!(sizes(json!({"extraction_preset": "long_form", "stride_size": 8})), (25, 8));
    assert_eq!(sizes(json!({"window_size": null, "stride_size": null})), (10, 8));
}

#[test]
fn an_unset_size_stays_unset_when_something_else_is_updated() {
    let config = set(json!({"extraction_preset": "quick_chat"}));
    let config = changed(config.merged_with(&json!({"skip_should_run_check": true})));
    let config = changed(
        Config::load(&config.to_stored()).unwrap().merged_with(&json!({"extraction_preset": "long_form"})),
    );
    assert_eq!((config.window(), config.stride()), (25, 10));
    assert_eq!(config.extraction_preset, Some(ExtractionPreset::LongForm));
}

#[test]
fn no_stride_in_force_may_exceed_its_window() {
    let wrong = |body: Value| Config::default().replaced_by(&with_storage(body)).is_err();
    assert!(wrong(json!({"window_size": 7})), "the default stride is 8");
    assert!(!wrong(json!({"window_size": 8})));
    assert!(wrong(json!({"window_size": 9, "stride_size": 10})));
    let extractor = |name: &str, window: i64| json!({ name: {"extraction_definition_prompt": "p", "window_size_override": window} });
    for name in ["profile_extractor_config", "user_playbook_extractor_config"] {
        assert!(wrong(extractor(name, 7)), "{name}");
        assert!(!wrong(extractor(name, 8)), "{name}");
    }
}

#[test]
fn overrides_are_in_force_for_their_kind_only() {
    let config = set(json!({"profile_extractor_config":
        {"extraction_definition_prompt": "p", "window_size_override": 4, "stride_size_override": 2}}));
    let sizes = |kind| (config.effective_window(kind), config.effective_stride(kind));
    assert_eq!(sizes(LearningKind::Profile), (4, 2));
    assert_eq!(sizes(LearningKind::Playbook), (10, 8));
}

#[test]
fn a_list_of_sources_excludes_unlabelled_traffic() {
    let config = set(json!({
        "profile_extractor_config": {"extraction_definition_prompt": "p", "request_sources_enabled": ["chat"]},
        "user_playbook_extractor_config": null,
    }));
    assert!(config.learns_from(LearningKind::Profile, "chat"));
    assert!(!config.learns_from(LearningKind::Profile, ""));
    assert!(!config.learns_from(LearningKind::Playbook, "chat"));
    let manual =
        set(json!({"profile_extractor_config": {"extraction_definition_prompt": "p", "manual_trigger": true,
        "request_sources_enabled": []}}));
    assert!(!manual.learns_from(LearningKind::Profile, "chat"));
    assert!(manual.learns_from(LearningKind::Playbook, ""));
}

#[test]
fn evaluation_traffic_is_never_learned_from() {
    let request = |evaluation: bool| {
        PublishRequest::parse(&json!({"user_id": "u", "session_id": "s", "evaluation_only": evaluation,
            "interaction_data_list": [{"content": "x"}]}))
        .unwrap()
    };
    let config = Config::default();
    let policy = config.admission_policy(&request(true));
    assert!(!policy.profile.eligible && !policy.playbook.eligible);
    let policy = config.admission_policy(&request(false));
    assert!(policy.profile.eligible && policy.playbook.eligible);
    assert_eq!((policy.profile.window, policy.profile.stride, policy.idle_timeout_seconds), (10, 8, 21_600));
}

fn with_keys() -> Config {
    set(json!({
        "api_key_config": {
            "openai": {"api_key": "sk-0123456789abcd", "azure_config": {"api_key": "azure-key", "endpoint": "https://x.azure.com"}},
            "custom_endpoint": {"model": "m", "api_key": "custom-0123456789", "api_base": "http://127.0.0.1:8000"},
            "anthropic": {"api_key": "short"},
            "dashscope": {"api_key": "dash-0123456789"},
        },
        "playbook_optimizer_config": {"webhook_url": "https://hook.example.com", "webhook_auth_header": "Bearer 0123456789"},
        "pending_tool_call_config": {"hmac_secrets": ["first-0123456789", "second-012345678X"]},
    }))
}

#[test]
fn secrets_are_hidden_in_logs_and_masked_on_the_wire() {
    let config = with_keys();
    let shown = config.masked().to_wire();
    assert_eq!(shown["api_key_config"]["openai"]["api_key"], "********abcd");
    assert_eq!(shown["api_key_config"]["anthropic"]["api_key"], "********");
    assert_eq!(shown["pending_tool_call_config"]["hmac_secrets"], json!(["********6789", "********678X"]));
    for text in [format!("{config:?}"), shown.to_string()] {
        for secret in ["sk-0123", "azure-key", "custom-0", "short", "dash-0", "Bearer", "first-", "second-"] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}

#[test]
fn the_end_of_a_secret_is_shown_from_twelve_characters_on() {
    for (secret, mask) in
        [("12345678901", "********"), ("123456789012", "********9012"), ("1234567890123", "********0123")]
    {
        let config = set(json!({"api_key_config": {"xai": {"api_key": secret}}}));
        assert_eq!(config.masked().to_wire()["api_key_config"]["xai"]["api_key"], mask);
    }
}

#[test]
fn a_mask_that_comes_back_keeps_the_secret() {
    let config = with_keys();
    assert_eq!(
        config
            .merged_with(&config.masked().to_wire())
            .map(|change| change_or(change, &config).take_secrets()),
        Ok(config.clone().take_secrets())
    );
    let mut wire = config.masked().to_wire();
    wire["api_key_config"]["anthropic"]["api_key"] = "new-key".into();
    wire["pending_tool_call_config"]["hmac_secrets"] = json!(["********678X"]);
    let mut next = changed(config.replaced_by(&wire));
    let secrets = next.take_secrets();
    assert_eq!(secrets["api_key_config.anthropic.api_key"], "new-key");
    assert_eq!(secrets["api_key_config.openai.api_key"], "sk-0123456789abcd");
    assert_eq!(secrets["pending_tool_call_config.hmac_secrets.0"], "second-012345678X");
}

fn change_or(change: Change, stored: &Config) -> Config {
    match change {
        Change::Changed(config) => *config,
        Change::Unchanged => stored.clone(),
    }
}

#[test]
fn a_mask_of_nothing_is_refused() {
    let detail = refused(with_storage(json!({"api_key_config": {"xai": {"api_key": "********abcd"}}})));
    assert_eq!(detail[0]["msg"], "Value error, api_key_config.xai.api_key is a mask of no stored secret");
}

#[test]
fn secrets_can_be_kept_apart() {
    let config = with_keys();
    let mut bare = config.clone();
    let secrets = bare.take_secrets();
    assert_eq!(secrets.len(), 8);
    assert!(bare.take_secrets().values().all(String::is_empty));
    assert!(!bare.to_stored().to_string().contains("0123456789"));
    bare.put_secrets(secrets);
    assert_eq!(bare, config);
}

#[test]
fn addresses_of_endpoints_are_checked_and_brought_into_normal_form() {
    let endpoint = |url: &str| {
        with_storage(
            json!({"api_key_config": {"custom_endpoint": {"model": "m", "api_key": "k", "api_base": url}}}),
        )
    };
    let config = changed(Config::default().replaced_by(&endpoint("HTTP://LocalHost:8000")));
    assert_eq!(config.to_wire()["api_key_config"]["custom_endpoint"]["api_base"], "http://localhost:8000/");
    for (url, kind) in [
        ("ftp://x", "url_scheme"),
        ("notaurl", "url_parsing"),
        ("", "url_parsing"),
        ("http://169.254.169.254/", "value_error"),
    ] {
        let fault = &refused(endpoint(url))[0];
        assert_eq!(fault["type"], kind, "{url}");
        assert_eq!(fault["loc"], json!(["api_key_config", "custom_endpoint", "api_base"]));
    }
}

#[test]
fn openai_needs_a_key_of_one_kind_and_the_optimiser_one_assistant() {
    let detail = refused(with_storage(json!({"api_key_config": {"openai": {}}})));
    assert_eq!(detail[0]["loc"], json!(["api_key_config", "openai"]));
    let detail = refused(with_storage(json!({"playbook_optimizer_config":
        {"webhook_url": "https://a.example.com", "assistant_script_path": "/x"}})));
    assert_eq!(detail[0]["type"], "value_error");
}

#[test]
fn storage_is_echoed_and_other_databases_are_refused() {
    let storage = |storage: Value| {
        let body = json!({ "storage_config": storage });
        Config::default()
            .replaced_by(&body)
            .map(|change| change_or(change, &Config::default()).to_wire()["storage_config"].clone())
    };
    assert_eq!(storage(json!({"db_path": null})), Ok(json!({"db_path": null})));
    assert_eq!(storage(json!({"type": "sqlite", "db_path": "/x"})), Ok(json!({"db_path": "/x"})));
    assert_eq!(storage(json!({"type": "dynamodb"})), Ok(json!({"type": "dynamodb"})));
    assert_eq!(
        storage(json!({"managed_by": "platform"})),
        Ok(json!({"managed_by": "platform", "schema_present": true}))
    );
    assert_eq!(storage(Value::Null), Ok(json!({"db_path": null})));
    for other in [
        json!({"type": "postgres", "db_url": "x"}),
        json!({"url": "x", "key": "k", "db_url": "d"}),
        json!({"bogus": 1}),
        json!("x"),
    ] {
        assert!(storage(other.clone()).is_err(), "{other}");
    }
}

#[test]
fn prompts_lose_control_characters_and_must_hold_something() {
    let prompt = |text: &str| {
        with_storage(json!({"profile_extractor_config": {"extraction_definition_prompt": text}}))
    };
    let config = changed(Config::default().replaced_by(&prompt(" a\u{1b}\tb\n\u{7f}c ")));
    assert_eq!(config.profile_extractor_config.unwrap().extraction_definition_prompt, "a\tb\nc");
    let fault = &refused(prompt(" \u{1b} "))[0];
    assert_eq!(fault["msg"], "Value error, String must not be empty or whitespace-only");
}

#[test]
fn documents_of_old_versions_are_read() {
    let old = json!({
        "storage_config": {"db_path": null},
        "batch_size": 12, "extraction_window_stride": 6, "long_forgotten": true,
        "profile_extractor_configs": [
            {"profile_content_definition_prompt": "p", "batch_size_override": 5, "batch_interval_override": 2},
            {"profile_content_definition_prompt": "ignored"},
        ],
        "agent_feedback_configs": [{"feedback_definition_prompt": "f", "feedback_name": "n",
            "feedback_aggregator_config": {"min_feedback_threshold": 3, "refresh_count": 4, "similarity_threshold": 0.5}}],
        "agent_success_configs": [],
        "lineage_gc": null, "pending_tool_call_config": null, "retrieval_floor": null,
    });
    let config = Config::load(&old).unwrap();
    assert_eq!((config.window(), config.stride()), (12, 6));
    assert_eq!(config.effective_window(LearningKind::Profile), 5);
    let playbook = config.user_playbook_extractor_config.unwrap();
    assert_eq!(playbook.extraction_definition_prompt, "f");
    assert_eq!(playbook.extractor_name.as_deref(), Some("n"));
    let aggregation = playbook.aggregation_config;
    assert_eq!((aggregation.min_cluster_size, aggregation.reaggregation_trigger_count), (3, 4));
    assert_eq!(aggregation.clustering_similarity, Some(0.5));
    assert_eq!(config.agent_success_config, None);
    assert_eq!(config.lineage_gc.tombstone_grace_window_days, 90);
}

#[test]
fn a_new_name_wins_over_an_old_one() {
    let document = json!({"storage_config": {}, "batch_size": 12, "window_size": 20});
    assert_eq!(Config::load(&document).unwrap().window(), 20);
}

#[test]
fn a_corrupt_document_is_a_fault_and_never_the_default() {
    for document in [Value::Null, json!("x"), json!({}), json!({"storage_config": {}, "window_size": "x"})] {
        assert!(Config::load(&document).is_err(), "{document}");
    }
}

#[test]
fn a_batch_reads_as_much_as_a_window_holds_that_is_set_and_a_thousand_interactions_without_one() {
    for (document, profile, playbook) in [
        (json!({}), 1_000, 1_000),
        (json!({ "window_size": null }), 1_000, 1_000),
        (json!({ "window_size": 10 }), 10, 10),
        (json!({ "extraction_preset": "long_form" }), 25, 25),
        (json!({ "profile_extractor_config": { "window_size_override": 30 } }), 30, 1_000),
    ] {
        let config = Config::load(&document).unwrap();
        let windows = [LearningKind::Profile, LearningKind::Playbook].map(|kind| config.batch_window(kind));
        assert_eq!(windows, [profile, playbook], "{document}");
    }
}
