//! What follows a commit: written with it, carried out right after, and by the sweep when the worker died in between.

use store::{Effect, LearningCommit, OutboxEntry, UserKeys};

use crate::aggregation::{announcement, follow_up};
use crate::services::{OrgConfig, Services};

/// Adds what has to follow from the rows of a commit.
pub(super) fn add(
    services: &Services,
    keys: &UserKeys<'_>,
    config: &OrgConfig,
    skip_aggregation: bool,
    commit: &mut LearningCommit,
) {
    if !commit.playbooks.insert.is_empty() || !commit.playbooks.replace.is_empty() {
        commit.effects.push(org_playbooks_changed(services, keys));
    }
    if !commit.playbooks.insert.is_empty() && !skip_aggregation {
        let versions = commit.playbooks.insert.iter().map(|row| row.playbook.agent_version.as_str());
        commit.effects.extend(announcement(services, keys.org, &config.config, versions));
    }
}

/// Tells readers of all users' playbooks that some changed.
pub(super) fn org_playbooks_changed(services: &Services, keys: &UserKeys<'_>) -> OutboxEntry {
    OutboxEntry { org: keys.org.clone(), id: services.ids.uuid(), effect: Effect::OrgPlaybooksChanged }
}

/// Carries the effects of a commit out.
pub(super) async fn carry_out(services: &Services, commit: &LearningCommit) {
    for effect in &commit.effects {
        carry_out_one(services, effect).await;
    }
}

/// Carries an effect out.
pub(super) async fn carry_out_one(services: &Services, effect: &OutboxEntry) {
    match services.store.carry_out(effect).await {
        Ok(next) => follow_up(services, &effect.org, next).await,
        // It was committed with what it follows from: the sweep carries it out.
        Err(error) => tracing::warn!(event = "effect_left_over", %error),
    }
}
