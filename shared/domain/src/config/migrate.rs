//! Documents of older versions. A new name that is already there wins over the old one.

use serde_json::{Map, Value};

use super::evaluation::SHADOW_JUDGE_VERSIONS;

type Document = Map<String, Value>;
type Renames = &'static [(&'static str, &'static str)];

const ROOT: Renames = &[
    ("batch_size", "window_size"),
    ("extraction_window_size", "window_size"),
    ("batch_interval", "stride_size"),
    ("extraction_window_stride", "stride_size"),
];
/// Lists of which only the first element is kept.
const ROOT_LISTS: Renames = &[
    ("profile_extractor_configs", "profile_extractor_config"),
    ("user_playbook_extractor_configs", "user_playbook_extractor_config"),
    ("playbook_configs", "user_playbook_extractor_config"),
    ("agent_feedback_configs", "user_playbook_extractor_config"),
    ("agent_success_configs", "agent_success_config"),
];
const EXTRACTOR: Renames = &[
    ("batch_size_override", "window_size_override"),
    ("extraction_window_size_override", "window_size_override"),
    ("batch_interval_override", "stride_size_override"),
    ("extraction_window_stride_override", "stride_size_override"),
];
const PROFILE: Renames = &[("profile_content_definition_prompt", "extraction_definition_prompt")];
const PLAYBOOK: Renames = &[
    ("feedback_definition_prompt", "extraction_definition_prompt"),
    ("playbook_definition_prompt", "extraction_definition_prompt"),
    ("feedback_aggregator_config", "aggregation_config"),
    ("playbook_aggregator_config", "aggregation_config"),
    ("playbook_name", "extractor_name"),
    ("feedback_name", "extractor_name"),
];
const AGGREGATION: Renames = &[
    ("min_feedback_threshold", "min_cluster_size"),
    ("refresh_count", "reaggregation_trigger_count"),
    ("similarity_threshold", "clustering_similarity"),
];
/// Members of the root for which `null` means the default.
const NULL_IS_DEFAULT: [&str; 9] = [
    "window_size",
    "stride_size",
    "playbook_optimizer_config",
    "lineage_gc",
    "expiry_reclamation",
    "governance_retention",
    "pending_tool_call_config",
    "retrieval_floor",
    "reflection_config",
];
/// Everything that a document may hold at its root.
const KNOWN: [&str; 28] = [
    "storage_config",
    "storage_config_test",
    "agent_context_prompt",
    "tool_can_use",
    "profile_extractor_config",
    "user_playbook_extractor_config",
    "agent_success_config",
    "extraction_preset",
    "window_size",
    "stride_size",
    "extraction_idle_timeout_seconds",
    "api_key_config",
    "llm_config",
    "reflection_config",
    "retrieval_experiment_config",
    "retrieval_experiment_history",
    "retrieval_floor",
    "playbook_optimizer_config",
    "lineage_gc",
    "expiry_reclamation",
    "governance_retention",
    "pending_tool_call_config",
    "skip_should_run_check",
    "enable_document_expansion",
    "shadow_mode_enabled",
    "eval_sample_n_per_stratum",
    "eval_concurrency_limit",
    "shadow_comparison_judge_prompt_version",
];

fn rename_all(document: &mut Document, renames: Renames) {
    for (old, new) in renames {
        if let Some(value) = document.remove(*old) {
            document.entry(*new).or_insert(value);
        }
    }
}

/// Forgets a version of the judge's prompt that this release does not have (another one accepted it): the default
/// holds, and the rest of the settings can be read.
pub(super) fn unpin_unknown_judge(document: &mut Document) {
    let name = "shadow_comparison_judge_prompt_version";
    let pinned = document.get(name).and_then(Value::as_str);
    if pinned.is_some_and(|version| !SHADOW_JUDGE_VERSIONS.contains(&version)) {
        document.remove(name);
    }
}

/// Gives old members their new names, on all levels.
pub(super) fn rename(document: &mut Document) {
    rename_all(document, ROOT);
    for (old, new) in ROOT_LISTS {
        match document.remove(*old) {
            Some(Value::Array(items)) => {
                let first = items.into_iter().next().unwrap_or_default();
                document.entry(*new).or_insert(first);
            }
            // No list after all: left for the reader to refuse.
            Some(other) => drop(document.entry(*new).or_insert(other)),
            None => {}
        }
    }
    for name in ["profile_extractor_config", "user_playbook_extractor_config", "agent_success_config"] {
        let Some(Value::Object(extractor)) = document.get_mut(name) else { continue };
        rename_all(extractor, EXTRACTOR);
        match name {
            "profile_extractor_config" => rename_all(extractor, PROFILE),
            "user_playbook_extractor_config" => rename_playbook(extractor),
            _ => {}
        }
    }
}

fn rename_playbook(extractor: &mut Document) {
    rename_all(extractor, PLAYBOOK);
    match extractor.get_mut("aggregation_config") {
        Some(Value::Object(aggregation)) => rename_all(aggregation, AGGREGATION),
        Some(Value::Null) => drop(extractor.remove("aggregation_config")),
        _ => {}
    }
}

/// Removes members whose `null` means the default.
pub(super) fn strip_nulls(document: &mut Document) {
    for name in NULL_IS_DEFAULT {
        if document.get(name).is_some_and(Value::is_null) {
            document.shift_remove(name);
        }
    }
}

/// Removes members of the root that this version does not know.
pub(super) fn drop_unknown(document: &mut Document) {
    document.retain(|name, _| KNOWN.contains(&name.as_str()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn every_member_of_a_configuration_is_known_when_it_is_loaded() {
        let stored = Config::default().to_stored();
        let names: Vec<&str> = stored.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, KNOWN);
    }
}
