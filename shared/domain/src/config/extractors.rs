//! The extractors: what is learned, from which traffic, and how it is merged.

use serde::Serialize;

use crate::validation::rules::{self, Bounds, Choice, POSITIVE, UNIT_INTERVAL};

const PROFILE_PROMPT: &str = "Extract key user information including name, role, preferences, and any other relevant profile details from the conversation.";
const PLAYBOOK_PROMPT: &str = "Extract playbook rules about agent performance, including areas where the agent was helpful, areas for improvement, and any issues encountered during the interaction.";

record! {
    /// What is learned about users.
    ProfileExtractor "ProfileExtractorConfig" {
        /// Accepted; there is one extractor.
        extractor_name: Option<String> = nullable(rules::text),
        /// What counts as a fact.
        extraction_definition_prompt: String = required(rules::prompt),
        /// More context for the model.
        context_prompt: Option<String> = nullable(rules::sanitized),
        /// How facts are tagged.
        tagging_definition_prompt: Option<String> = nullable(rules::sanitized),
        /// When it is worth looking.
        should_extract_profile_prompt_override: Option<String> = nullable(rules::sanitized),
        /// The sources that are learned from; `None` or none: all.
        request_sources_enabled: Option<Vec<String>> = nullable(rules::texts),
        /// Run only when asked to.
        manual_trigger: bool = optional(false, rules::boolean),
        /// Interactions of a window, instead of the organisation's.
        window_size_override: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Interactions between windows, instead of the organisation's.
        stride_size_override: Option<i64> = nullable(rules::integer(POSITIVE)),
    }
}

impl Default for ProfileExtractor {
    fn default() -> Self {
        Self {
            extractor_name: None,
            extraction_definition_prompt: PROFILE_PROMPT.to_owned(),
            context_prompt: None,
            tagging_definition_prompt: None,
            should_extract_profile_prompt_override: None,
            request_sources_enabled: None,
            manual_trigger: false,
            window_size_override: None,
            stride_size_override: None,
        }
    }
}

model! {
    /// When and how user playbooks become agent playbooks.
    Aggregation "PlaybookAggregatorConfig" {
        /// Fewest playbooks of a cluster.
        min_cluster_size: i64 = optional(2, rules::integer(Bounds::<i64>::from(1))),
        /// New playbooks that start a run.
        reaggregation_trigger_count: i64 = optional(2, rules::integer(Bounds::<i64>::from(1))),
        /// How similar, 0 to 1; `None` is the embedding model's own threshold.
        clustering_similarity: Option<f64> = nullable(rules::number(UNIT_INTERVAL)),
        /// How much directions must overlap to be shown together, 0 to 1.
        direction_overlap_threshold: f64 = optional(0.6, rules::number(UNIT_INTERVAL)),
        /// Fewest users whose playbooks must agree before one becomes a playbook of the agent. Ours, not in the
        /// recorded contract: it is shown once somebody set it, and documents that do not name it leave it as it is.
        min_distinct_users: i64 = optional(1, rules::integer(Bounds::<i64>::from(1))),
    }
}

/// How new playbooks are compared with those that exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeduplicationStrategy {
    /// In one step.
    #[default]
    Legacy,
    /// With an audit of each decision.
    Audited,
}

impl Choice for DeduplicationStrategy {
    const WORDS: &'static [(&'static str, Self)] = &[("legacy", Self::Legacy), ("audited", Self::Audited)];
}

model! {
    /// How new playbooks are compared with those that exist.
    Deduplication "DeduplicationConfig" {
        /// The way.
        strategy: DeduplicationStrategy = optional(DeduplicationStrategy::Legacy, rules::literal),
        /// How similar a candidate must be, 0 to 1.
        search_threshold: f64 = optional(0.4, rules::number(UNIT_INTERVAL)),
        /// Most candidates.
        search_top_k: i64 = optional(5, rules::integer(Bounds::<i64>::from(1))),
        /// Longest merged rule, in characters.
        max_unified_content_chars: i64 = optional(1_200, rules::integer(POSITIVE)),
    }
}

record! {
    /// What is learned for agents.
    PlaybookExtractor "UserPlaybookExtractorConfig" {
        /// Accepted; there is one extractor.
        extractor_name: Option<String> = nullable(rules::text),
        /// What counts as a rule.
        extraction_definition_prompt: String = required(rules::prompt),
        /// More context for the model.
        context_prompt: Option<String> = nullable(rules::sanitized),
        /// How rules are tagged.
        tagging_definition_prompt: Option<String> = nullable(rules::sanitized),
        /// How rules of users become rules of agents.
        aggregation_config: Aggregation = optional(Aggregation::default(), Aggregation::read),
        /// Whether a reviewer looks at new rules before they are stored. Not in the recorded contract, so it is shown
        /// only when it is set.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        candidate_review_enabled: bool = optional(false, rules::boolean),
        /// How rules are merged.
        deduplication_config: Option<Deduplication> = nullable(Deduplication::read),
        /// The sources that are learned from; `None` or none: all.
        request_sources_enabled: Option<Vec<String>> = nullable(rules::texts),
        /// Interactions of a window, instead of the organisation's.
        window_size_override: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Interactions between windows, instead of the organisation's.
        stride_size_override: Option<i64> = nullable(rules::integer(POSITIVE)),
    }
}

impl Default for PlaybookExtractor {
    fn default() -> Self {
        Self {
            extractor_name: None,
            extraction_definition_prompt: PLAYBOOK_PROMPT.to_owned(),
            context_prompt: None,
            tagging_definition_prompt: None,
            aggregation_config: Aggregation::default(),
            candidate_review_enabled: false,
            deduplication_config: None,
            request_sources_enabled: None,
            window_size_override: None,
            stride_size_override: None,
        }
    }
}
