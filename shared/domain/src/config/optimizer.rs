//! The optimiser of playbooks.

use super::secrets::SecretString;
use crate::validation::rules::{self, Bounds, POSITIVE, UNIT_INTERVAL};
use crate::validation::urls;

model! {
    /// Whether and how playbooks are improved by trying variants.
    PlaybookOptimizer "PlaybookOptimizerConfig" {
        /// Whether at all.
        enabled: bool = optional(false, rules::boolean),
        /// Agent playbooks.
        optimize_agent_playbooks: bool = optional(false, rules::boolean),
        /// User playbooks.
        optimize_user_playbooks: bool = optional(false, rules::boolean),
        /// Write the winner over a pending agent playbook.
        auto_update_pending_agent_playbooks: bool = optional(true, rules::boolean),
        /// Write the winner over a user playbook.
        auto_update_user_playbooks: bool = optional(false, rules::boolean),
        /// Most judgements of a run.
        max_metric_calls: i64 = optional(20, rules::integer(POSITIVE)),
        /// Most user turns that are replayed.
        max_turns: i64 = optional(4, rules::integer(POSITIVE)),
        /// The score at which the search ends, 0 to 1.
        early_stop_score: f64 = optional(0.9, rules::number(UNIT_INTERVAL)),
        /// Scenarios of one step.
        reflection_minibatch_size: i64 = optional(2, rules::integer(POSITIVE)),
        /// Most windows that are kept for validation.
        max_validation_windows: i64 = optional(2, rules::integer(POSITIVE)),
        /// Fewest windows that must be won.
        min_commit_windows: i64 = optional(2, rules::integer(POSITIVE)),
        /// Lowest score of a winner, 0 to 1.
        min_commit_score: f64 = optional(0.75, rules::number(UNIT_INTERVAL)),
        /// Lowest mark of a winner, 1 to 5.
        min_commit_likert: i64 = optional(4, rules::integer(Bounds::<i64>::from(1).to(5))),
        /// Merge good variants.
        use_merge: bool = optional(true, rules::boolean),
        /// Most merges.
        max_merge_invocations: i64 = optional(5, rules::integer(Bounds::<i64>::from(0))),
        /// The model that proposes variants.
        reflection_model: Option<String> = nullable(rules::text),
        /// Where the assistant answers.
        webhook_url: Option<String> = nullable(urls::plain_http_url("webhook_url")),
        /// What is sent as `Authorization`.
        webhook_auth_header: Option<SecretString> = nullable(SecretString::read),
        /// Longest call, in seconds.
        webhook_timeout_seconds: i64 = optional(60, rules::integer(POSITIVE)),
        /// Most repetitions of a call.
        webhook_max_retries: i64 = optional(3, rules::integer(Bounds::<i64>::from(0))),
        /// First pause between calls, in seconds.
        webhook_backoff_base_seconds: f64 = optional(1.0, rules::number(Bounds::<f64>::from(0.0))),
        /// A program in place of the webhook. Accepted; nothing here runs programs of callers.
        assistant_script_path: Option<String> = nullable(rules::text),
        /// Its arguments.
        assistant_script_args: Vec<String> = optional(Vec::new(), rules::texts),
        /// Longest random delay of a run, in seconds.
        scheduler_jitter_seconds: f64 = optional(1.0, rules::number(Bounds::<f64>::from(0.0))),
        /// Seconds of rest after failures.
        cooldown_after_aborts_seconds: i64 = optional(3_600, rules::integer(Bounds::<i64>::from(0))),
        /// Failures in a row that cause the rest.
        abort_cooldown_threshold: i64 = optional(2, rules::integer(Bounds::<i64>::from(1))),
    }
    check |optimizer| if optimizer.webhook_url.is_some() && optimizer.assistant_script_path.is_some() {
        Err("webhook_url and assistant_script_path are mutually exclusive".to_owned())
    } else {
        Ok(())
    };
}
