//! What makes an aggregation run: user playbooks that were saved, and callers who ask for it.

use domain::config::Config;
use domain::ids::OrgId;
use store::{AgentKeys, AggregationOperation, Effect, FollowUp, OutboxEntry, StoreError, Submitted};
use wake::{AggregateWake, WakeReason};

use super::settings::AggregationSettings;
use crate::services::Services;

/// The effect that belongs into the transaction that saves user playbooks; `None` where nothing is aggregated.
#[must_use]
pub fn may_be_due(config: &Config, agent_version: &str) -> Option<Effect> {
    let settings = AggregationSettings::of(config)?;
    let agent_version = agent_version.to_owned();
    Some(Effect::AggregationMayBeDue { agent_version, wanted: settings.trigger_count })
}

/// The effects of saving user playbooks of these agent versions, as entries of the outbox.
#[must_use]
pub fn announcement<'a>(
    services: &Services,
    org: &OrgId,
    config: &Config,
    agent_versions: impl IntoIterator<Item = &'a str>,
) -> Vec<OutboxEntry> {
    let versions: std::collections::BTreeSet<&str> = agent_versions.into_iter().collect();
    let effects = versions.into_iter().filter_map(|version| may_be_due(config, version));
    effects.map(|effect| OutboxEntry { org: org.clone(), id: services.ids.uuid(), effect }).collect()
}

/// Makes the aggregations of these agent versions due, where enough user playbooks changed, and wakes their workers.
///
/// # Errors
/// [`StoreError`] when the table fails; doing it again does no harm.
pub(crate) async fn playbooks_changed(
    services: &Services,
    org: &OrgId,
    config: &Config,
    agent_versions: &[String],
) -> Result<(), StoreError> {
    let Some(settings) = AggregationSettings::of(config) else { return Ok(()) };
    for agent_version in agent_versions {
        let keys = AgentKeys { org, agent_version };
        if let Some(sequence) = services.store.make_aggregation_due(&keys, settings.trigger_count).await? {
            wake(services, org, agent_version, WakeReason::Published, sequence).await;
        }
    }
    Ok(())
}

/// Does what follows from an effect that was carried out. That a wake is not sent costs time: the sweep finds it.
pub async fn follow_up(services: &Services, org: &OrgId, follow_up: FollowUp) {
    let FollowUp::Aggregate { agent_version, sequence } = follow_up else { return };
    wake(services, org, &agent_version, WakeReason::Published, sequence).await;
}

/// Accepts an operation that a caller asked for, and wakes a worker.
///
/// # Errors
/// [`StoreError`] when the table fails.
pub async fn submit(
    services: &Services,
    org: &OrgId,
    operation: &AggregationOperation,
) -> Result<Submitted, StoreError> {
    let submitted = services.store.submit_aggregation(org, operation).await?;
    if let Submitted::Accepted(accepted) = &submitted
        && !accepted.status.is_final()
    {
        let keys = AgentKeys { org, agent_version: &accepted.agent_version };
        let sequence = services.store.aggregation_state(&keys).await?.due_sequence;
        wake(services, org, &accepted.agent_version, WakeReason::Published, sequence).await;
    }
    Ok(submitted)
}

pub(super) async fn wake(
    services: &Services,
    org: &OrgId,
    agent_version: &str,
    reason: WakeReason,
    changing: i64,
) {
    let message = AggregateWake::new(org.clone(), agent_version.to_owned(), reason);
    if let Err(error) = services.wakes.aggregate(&message, &changing.to_string()).await {
        tracing::warn!(event = "wake_failed", org = org.as_str(), reason = ?reason, %error);
    }
}
