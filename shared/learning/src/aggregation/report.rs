//! What a run did, in words and in the log.

use domain::ids::OrgId;
use store::AggregationResult;

/// The message of the contract.
#[must_use]
pub fn result_message(result: &AggregationResult) -> String {
    match &result.skipped {
        Some(reason) => format!("Skipped: {reason}"),
        None => format!(
            "Processed {} user playbooks, found {} clusters, generated {} agent playbooks",
            result.user_playbooks_processed, result.clusters_found, result.playbooks_generated
        ),
    }
}

/// A run that is not worth doing.
pub(super) fn skipped(reason: impl Into<String>) -> AggregationResult {
    AggregationResult { skipped: Some(reason.into()), ..AggregationResult::default() }
}

/// Why too few user playbooks changed.
pub(super) fn not_enough(new: usize, wanted: usize) -> String {
    format!("not enough new playbooks ({new} < {wanted})")
}

/// Why nothing is to be done.
pub(super) const NO_CHANGES: &str = "no cluster changes detected";

pub(super) fn log_gate(org: &OrgId, new: usize, wanted: usize, skip_reason: Option<&str>) {
    tracing::info!(
        event = "aggregation_gate_evaluated",
        org = org.as_str(),
        outcome = if skip_reason.is_some() { "should_skip" } else { "should_run" },
        new_playbooks = new,
        wanted,
        skip_reason = skip_reason.unwrap_or_default(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_contract() {
        let done = AggregationResult {
            user_playbooks_processed: 7,
            clusters_found: 2,
            playbooks_generated: 1,
            skipped: None,
        };
        assert_eq!(
            result_message(&done),
            "Processed 7 user playbooks, found 2 clusters, generated 1 agent playbooks"
        );
        assert_eq!(result_message(&skipped(not_enough(1, 2))), "Skipped: not enough new playbooks (1 < 2)");
    }
}
