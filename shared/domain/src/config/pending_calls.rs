//! Questions that extraction may ask people.

use std::collections::BTreeMap;

use serde_json::Value;

use super::secrets::SecretString;
use crate::validation::rules::{self, Bounds, POSITIVE, UNIT_INTERVAL};
use crate::validation::{Faults, Path};

model! {
    /// What is different for one tool.
    ToolOverride "PendingToolCallToolOverrideConfig" {
        /// Questions that may be open at once.
        max_pending_followups_per_scope: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Seconds that a question stays open.
        pending_ttl_seconds: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Seconds within which the same question is asked once.
        dedup_cache_seconds: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// Seconds that an answer is believed.
        prior_answer_valid_seconds: Option<i64> = nullable(rules::integer(POSITIVE)),
        /// How similar an old question must be to answer a new one, 0 to 1.
        similarity_threshold: Option<f64> = nullable(rules::number(UNIT_INTERVAL)),
    }
}

model! {
    /// Whether and how extraction asks people.
    PendingToolCalls "PendingToolCallConfig" {
        /// Whether it asks.
        enabled: bool = optional(false, rules::boolean),
        /// Questions that may be open at once; more are only warned about.
        max_pending_followups_per_scope: i64 = optional(10, rules::integer(POSITIVE)),
        /// Seconds that a question stays open.
        pending_ttl_seconds: i64 = optional(86_400, rules::integer(POSITIVE)),
        /// Seconds within which the same question is asked once.
        dedup_cache_seconds: i64 = optional(300, rules::integer(POSITIVE)),
        /// Seconds that an answer is believed.
        prior_answer_valid_seconds: i64 = optional(2_592_000, rules::integer(POSITIVE)),
        /// How similar an old question must be to answer a new one, 0 to 1; 0 does not filter.
        similarity_threshold: f64 = optional(0.0, rules::number(UNIT_INTERVAL)),
        /// Seconds between looks for answers.
        resume_poll_interval_seconds: f64 = optional(5.0, rules::number(Bounds::<f64>::above(0.0))),
        /// Seconds that one worker has for going on.
        resume_claim_ttl_seconds: i64 = optional(600, rules::integer(POSITIVE)),
        /// Most tries to go on.
        max_resume_attempts: i64 = optional(3, rules::integer(Bounds::<i64>::from(0))),
        /// Most tries to finish.
        max_finalization_attempts: i64 = optional(3, rules::integer(Bounds::<i64>::from(0))),
        /// Any of these signs answers; none: answers need no signature.
        hmac_secrets: Vec<SecretString> =
            optional(Vec::new(), rules::list(0, HMAC_SECRETS_MAX, SecretString::read)),
        /// What is different for single tools, by their names.
        tool_overrides: BTreeMap<String, ToolOverride> = optional(BTreeMap::new(), overrides),
    }
}

/// Most secrets at once; two are enough to change one for another.
const HMAC_SECRETS_MAX: usize = 100;

fn overrides<'v>(
    value: &'v Value,
    at: Path<'_>,
    faults: &mut Faults<'v>,
) -> Option<BTreeMap<String, ToolOverride>> {
    let Value::Object(map) = value else {
        rules::json_object(value, at, faults);
        return None;
    };
    if map.keys().any(|name| name.contains('\0')) {
        rules::json_object(value, at, faults);
        return None;
    }
    let mut read = BTreeMap::new();
    for (name, settings) in map {
        if let Some(settings) = ToolOverride::read(settings, at.name(name), faults) {
            read.insert(name.clone(), settings);
        }
    }
    (read.len() == map.len()).then_some(read)
}
