//! Upgrades and downgrades: versions of profiles and user playbooks.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use domain::ids::{ProfileId, UserHash};
use domain::learning::LearningKind;
use domain::requests::versions::{ChangePlaybookVersions, ChangeProfileVersions};
use domain::versions::VersionChange;
use domain::views::{
    DowngradeProfilesAnswer, DowngradeUserPlaybooksAnswer, UpgradeProfilesAnswer, UpgradeUserPlaybooksAnswer,
    VersionOutcome, VersionTotals,
};
use learning::versions::{Changed, change_versions};
use runtime::App;
use store::{RowScope, StoreError, VersionCounts, VersionOperation, VersionUsers};

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

pub(crate) async fn upgrade_all_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = ChangeProfileVersions::parse(&body)?;
    let (outcome, totals) = change_profiles(&app, &caller, wanted, VersionChange::UPGRADE).await?;
    ok(UpgradeProfilesAnswer::new(outcome, totals))
}

pub(crate) async fn downgrade_all_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = ChangeProfileVersions::parse(&body)?;
    let (outcome, totals) = change_profiles(&app, &caller, wanted, VersionChange::DOWNGRADE).await?;
    ok(DowngradeProfilesAnswer::new(outcome, totals))
}

pub(crate) async fn upgrade_all_user_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = ChangePlaybookVersions::parse_upgrade(&body)?;
    let change = if wanted.archive_current { VersionChange::UPGRADE } else { VersionChange::ADDING_UPGRADE };
    let (outcome, totals) = change_playbooks(&app, &caller, wanted, change).await?;
    ok(UpgradeUserPlaybooksAnswer::new(outcome, totals))
}

pub(crate) async fn downgrade_all_user_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = ChangePlaybookVersions::parse_downgrade(&body)?;
    let (outcome, totals) = change_playbooks(&app, &caller, wanted, VersionChange::DOWNGRADE).await?;
    ok(DowngradeUserPlaybooksAnswer::new(outcome, totals))
}

async fn change_profiles(
    app: &App,
    caller: &Caller,
    wanted: ChangeProfileVersions,
    change: VersionChange,
) -> Result<(VersionOutcome, VersionTotals), StoreError> {
    let mut users = wanted.user_id.as_ref().map(|user| vec![UserHash::of(user)]);
    let mut scope = RowScope::All;
    if let Some(ids) = &wanted.profile_ids {
        let ids: BTreeSet<&ProfileId> = ids.iter().collect();
        let ids: Vec<ProfileId> = ids.into_iter().cloned().collect();
        let mut owners = app.services.store.users_of_profiles(&caller.org, &ids).await?;
        owners.retain(|owner| users.as_ref().is_none_or(|users| users.contains(owner)));
        users = Some(owners);
        scope = RowScope::profiles(&ids);
    }
    let operation = VersionOperation {
        operation_id: app.services.ids.uuid(),
        kind: LearningKind::Profile,
        change,
        scope,
        users: users.map_or(VersionUsers::All, VersionUsers::These),
        only_affected_users: wanted.only_affected_users,
        started_at: app.services.clock.now(),
    };
    change_all(app, caller, &operation).await
}

async fn change_playbooks(
    app: &App,
    caller: &Caller,
    wanted: ChangePlaybookVersions,
    change: VersionChange,
) -> Result<(VersionOutcome, VersionTotals), StoreError> {
    let operation = VersionOperation {
        operation_id: app.services.ids.uuid(),
        kind: LearningKind::Playbook,
        change,
        scope: wanted.agent_version.map_or(RowScope::All, RowScope::AgentVersion),
        users: VersionUsers::All,
        only_affected_users: false,
        started_at: app.services.clock.now(),
    };
    change_all(app, caller, &operation).await
}

/// Changes as many users as there is time for before a gateway would give up the caller.
async fn change_all(
    app: &App,
    caller: &Caller,
    operation: &VersionOperation,
) -> Result<(VersionOutcome, VersionTotals), StoreError> {
    let wait_ms = i64::try_from(app.settings.wait_seconds_max * 1_000).unwrap_or(0);
    let deadline_ms = app.services.clock.now_ms() + wait_ms;
    Ok(match change_versions(&app.services, &caller.org, operation, deadline_ms).await? {
        Changed::Nothing => (VersionOutcome::Nothing, VersionTotals::default()),
        Changed::Busy => (VersionOutcome::Busy, VersionTotals::default()),
        Changed::Done(counts) => (VersionOutcome::Done, totals(counts)),
        Changed::GoesOn(counts) => (VersionOutcome::GoesOn, totals(counts)),
    })
}

fn totals(counts: VersionCounts) -> VersionTotals {
    let VersionCounts { promoted, archived, deleted, skipped_users } = counts;
    VersionTotals { promoted, archived, deleted, skipped_users }
}
