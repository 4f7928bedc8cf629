//! Models, tools, ranking and housekeeping.

use crate::validation::rules::{self, Bounds, POSITIVE};

record! {
    /// A tool that the agent has.
    ToolUse "ToolUseConfig" {
        /// Its name.
        tool_name: String = required(rules::non_blank),
        /// What it does.
        tool_description: String = required(rules::non_blank),
    }
}

model! {
    /// The models to use instead of the defaults.
    LlmConfig "LLMConfig" {
        /// Decides whether it is worth looking.
        should_run_model_name: Option<String> = nullable(rules::text),
        /// Extracts and judges.
        generation_model_name: Option<String> = nullable(rules::text),
        /// Makes vectors.
        embedding_model_name: Option<String> = nullable(rules::text),
        /// Rewrites queries.
        pre_retrieval_model_name: Option<String> = nullable(rules::text),
        /// Longest call, in seconds.
        generation_timeout_seconds: Option<i64> = nullable(rules::integer(POSITIVE)),
    }
}

model! {
    /// The revision of memories that the agent cites, in the light of what came after.
    Reflection "ReflectionConfig" {
        /// Whether they are revised.
        enabled: bool = optional(true, rules::boolean),
        /// The model that revises, instead of the one that extracts.
        model: Option<String> = nullable(rules::text),
        /// Interactions that must follow a citation before it is judged.
        post_horizon_size: i64 = optional(3, rules::integer(Bounds::<i64>::from(0))),
        /// Most revisions at once.
        max_revisions_per_pass: i64 = optional(8, rules::integer(POSITIVE)),
    }
}

model! {
    /// The worst score that a search still gives out.
    RetrievalFloor "RetrievalFloorConfig" {
        /// Whether there is one.
        enabled: bool = optional(false, rules::boolean),
        /// Candidates that are scored.
        pool_size: i64 = optional(30, rules::integer(POSITIVE)),
        /// For profiles.
        profile_floor: Option<f64> = nullable(rules::number(Bounds::NONE)),
        /// For user playbooks.
        user_playbook_floor: Option<f64> = nullable(rules::number(Bounds::NONE)),
        /// For agent playbooks.
        agent_playbook_floor: Option<f64> = nullable(rules::number(Bounds::NONE)),
    }
}

model! {
    /// The removal of rows that were replaced.
    LineageGc "LineageGCConfig" {
        /// Whether they are removed.
        enabled: bool = optional(true, rules::boolean),
        /// Days that they are kept.
        tombstone_grace_window_days: i64 = optional(90, rules::integer(POSITIVE)),
        /// Seconds between looks.
        poll_interval_seconds: i64 = optional(86_400, rules::integer(POSITIVE)),
    }
}

model! {
    /// The removal of profiles whose time ran out.
    ExpiryReclamation "ExpiryReclamationConfig" {
        /// Whether they are removed.
        enabled: bool = optional(false, rules::boolean),
    }
}

model! {
    /// The removal of audit events.
    GovernanceRetention "GovernanceRetentionConfig" {
        /// Whether they are removed.
        audit_events_retention_enabled: bool = optional(false, rules::boolean),
        /// Days that they are kept.
        audit_events_retention_days: i64 = optional(365, rules::integer(POSITIVE)),
        /// Most events removed at once.
        audit_events_delete_batch_limit: i64 = optional(500, rules::integer(POSITIVE)),
    }
}
