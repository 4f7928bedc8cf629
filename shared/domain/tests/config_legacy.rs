//! Documents of older versions: each old name alone, beside its new one, and `null` where it means the default.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like the tests themselves")]

use domain::config::{Change, Config};
use serde_json::{Value, json};

fn load(members: Value) -> Value {
    let mut document = json!({ "storage_config": {} });
    document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    Config::load(&document).unwrap().to_wire()
}

/// Sets the member at a path of names parted by dots.
fn at(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |value, name| json!({ name: value }))
}

fn extractor(mut members: Value) -> Value {
    let members_map = members.as_object_mut().unwrap();
    members_map.entry("extraction_definition_prompt").or_insert(json!("p"));
    members
}

/// Old name, new name, and two values.
const ROOT: [(&str, &str); 4] = [
    ("batch_size", "window_size"),
    ("extraction_window_size", "window_size"),
    ("batch_interval", "stride_size"),
    ("extraction_window_stride", "stride_size"),
];

#[test]
fn an_old_name_at_the_root_is_read_and_yields_to_the_new_one() {
    for (old, new) in ROOT {
        // Both sizes fit each other whichever of them is set.
        assert_eq!(load(json!({ old: 8 }))[new], 8, "{old}");
        assert_eq!(load(json!({ old: 8, new: 9, "window_size": 9 }))[new], 9, "{old}");
        assert_eq!(load(json!({ new: 9, old: 8, "window_size": 9 }))[new], 9, "{old} after {new}");
    }
}

#[test]
fn of_an_old_list_of_extractors_the_first_is_read() {
    for (old, new) in [
        ("profile_extractor_configs", "profile_extractor_config"),
        ("user_playbook_extractor_configs", "user_playbook_extractor_config"),
        ("playbook_configs", "user_playbook_extractor_config"),
        ("agent_feedback_configs", "user_playbook_extractor_config"),
    ] {
        let first = extractor(json!({ "extraction_definition_prompt": "first" }));
        let second = extractor(json!({ "extraction_definition_prompt": "second" }));
        let prompt = |wire: &Value| wire[new]["extraction_definition_prompt"].clone();
        assert_eq!(prompt(&load(json!({ old: [first, second] }))), "first", "{old}");
        assert_eq!(prompt(&load(json!({ old: [first], new: second }))), "second", "{old}");
        assert_eq!(load(json!({ old: [] }))[new], Value::Null, "{old}");
    }
    let success = json!({ "success_definition_prompt": "first" });
    let wire = load(json!({ "agent_success_configs": [success] }));
    assert_eq!(wire["agent_success_config"]["success_definition_prompt"], "first");
    assert_eq!(load(json!({ "agent_success_configs": [] }))["agent_success_config"], Value::Null);
}

#[test]
fn an_old_name_in_an_extractor_is_read_and_yields_to_the_new_one() {
    let sizes = [
        ("batch_size_override", "window_size_override"),
        ("extraction_window_size_override", "window_size_override"),
        ("batch_interval_override", "stride_size_override"),
        ("extraction_window_stride_override", "stride_size_override"),
    ];
    for place in ["profile_extractor_config", "user_playbook_extractor_config"] {
        for (old, new) in sizes {
            let (alone, both) = (
                extractor(json!({ old: 8 })),
                extractor(json!({ old: 8, new: 9, "window_size_override": 9 })),
            );
            assert_eq!(load(json!({ place: alone }))[place][new], 8, "{place} {old}");
            assert_eq!(load(json!({ place: both }))[place][new], 9, "{place} {old}");
        }
    }
}

#[test]
fn old_names_of_texts_are_read_and_yield_to_the_new_ones() {
    let (profile, playbook) = ("profile_extractor_config", "user_playbook_extractor_config");
    let prompt = "extraction_definition_prompt";
    for (place, old, new) in [
        (profile, "profile_content_definition_prompt", prompt),
        (playbook, "feedback_definition_prompt", prompt),
        (playbook, "playbook_definition_prompt", prompt),
        (playbook, "feedback_name", "extractor_name"),
        (playbook, "playbook_name", "extractor_name"),
    ] {
        let mut alone = json!({ old: "old" });
        if new != prompt {
            alone = extractor(alone);
        }
        let both = extractor(json!({ old: "old", new: "new" }));
        assert_eq!(load(json!({ place: alone }))[place][new], "old", "{old}");
        assert_eq!(load(json!({ place: both }))[place][new], "new", "{old}");
    }
}

#[test]
fn old_names_of_the_aggregation_are_read_and_yield_to_the_new_ones() {
    for (old, new) in
        [("min_feedback_threshold", "min_cluster_size"), ("refresh_count", "reaggregation_trigger_count")]
    {
        let place = "user_playbook_extractor_config";
        for aggregation in ["aggregation_config", "feedback_aggregator_config", "playbook_aggregator_config"]
        {
            let alone = extractor(at(&format!("{aggregation}.{old}"), json!(3)));
            let both = extractor(json!({ aggregation: { old: 3, new: 4 } }));
            assert_eq!(
                load(json!({ place: alone }))[place]["aggregation_config"][new],
                3,
                "{aggregation} {old}"
            );
            assert_eq!(
                load(json!({ place: both }))[place]["aggregation_config"][new],
                4,
                "{aggregation} {old}"
            );
        }
    }
    let place = "user_playbook_extractor_config";
    let similar = extractor(json!({ "aggregation_config": { "similarity_threshold": 0.5 } }));
    assert_eq!(load(json!({ place: similar }))[place]["aggregation_config"]["clustering_similarity"], 0.5);
    let none = extractor(json!({ "aggregation_config": null }));
    assert_eq!(load(json!({ place: none }))[place]["aggregation_config"]["min_cluster_size"], 2);
}

#[test]
fn null_means_the_default_where_nothing_can_be_switched_off() {
    let defaults = Config::default().to_wire();
    for name in [
        "window_size",
        "stride_size",
        "playbook_optimizer_config",
        "lineage_gc",
        "expiry_reclamation",
        "governance_retention",
        "pending_tool_call_config",
        "retrieval_floor",
    ] {
        assert_eq!(load(json!({ name: null }))[name], defaults[name], "{name}");
        let body = json!({ "storage_config": {}, name: null });
        assert_eq!(Config::default().replaced_by(&body).unwrap(), Change::Unchanged, "{name}");
        assert_eq!(
            Config::default().merged_with(&json!({ name: null })).unwrap(),
            Change::Unchanged,
            "{name}"
        );
    }
}

#[test]
fn null_switches_off_what_can_be_switched_off() {
    for name in ["profile_extractor_config", "user_playbook_extractor_config", "agent_success_config"] {
        assert_eq!(load(json!({ name: null }))[name], Value::Null, "{name}");
    }
}

#[test]
fn members_that_nobody_knows_are_dropped_from_stored_documents_and_refused_in_new_ones() {
    let old = json!({ "long_forgotten": 1, "profile_extractor_config": extractor(json!({ "metadata_definition_prompt": "m" })) });
    let wire = load(old);
    assert!(wire.get("long_forgotten").is_none());
    assert!(wire["profile_extractor_config"].get("metadata_definition_prompt").is_none());
    let body = json!({ "storage_config": {}, "long_forgotten": 1 });
    assert!(Config::default().replaced_by(&body).is_err());
}

#[test]
fn another_kind_of_store_is_refused_with_the_reason() {
    for storage in [
        json!({ "type": "postgres", "db_url": "postgres://x" }),
        json!({ "type": "supabase", "url": "x", "key": "k", "db_url": "d" }),
        json!({ "url": "x", "key": "k", "db_url": "d" }),
        json!({ "type": "mysql" }),
        json!({ "type": "mongodb", "db_path": "x" }),
    ] {
        let body = json!({ "storage_config": storage });
        let error: domain::errors::ApiError = Config::default().replaced_by(&body).unwrap_err().into();
        let text = error.body.to_string();
        assert!(text.contains("rows are kept in this deployment's own table"), "{storage}: {text}");
    }
}
