//! Changes of versions of an organisation: upgrade and downgrade of profiles or user playbooks, user by user.
//!
//! Each user is changed in one write ([`store::Store::flip_user`]), and at most once by an operation, so it does not
//! matter how often a runner dies, is woken again, or meets another one. Users are found by marks that were written
//! together with their rows, and go in the order of their hashes; how far it got is kept with the operation.

use domain::ids::{OrgId, UserHash};
use domain::learning::LearningKind;
use domain::time::EpochMillis;
use store::{StoreError, UserFlip, UserKeys, VersionCounts, VersionMark, VersionOperation, VersionUsers};
use wake::{OperateWake, WakeReason};

use crate::aggregation;
use crate::services::{OrgServicesError, Services};

/// Users that are listed at a time; so often a runner says how far it is.
const PAGE_USERS: usize = 20;

/// What came of the wish to change versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// There is nothing that it would make current.
    Nothing,
    /// Another change of the kind is under way, or a batch that makes rows of the kind.
    Busy,
    /// It is done with all users.
    Done(VersionCounts),
    /// Time was up: what it did so far. The rest goes on by itself.
    GoesOn(VersionCounts),
}

/// How far a runner came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is done with all users.
    Done(VersionCounts),
    /// There are more users.
    More,
    /// The operation is over: another runner ended it.
    Over,
}

/// Changes versions as `operation` says, for as long as there is time.
///
/// # Errors
/// [`StoreError`] when the store failed. What was begun goes on by itself.
pub async fn change_versions(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
    deadline_ms: EpochMillis,
) -> Result<Changed, StoreError> {
    if !is_anyone_affected(services, org, operation, deadline_ms).await? {
        return Ok(Changed::Nothing);
    }
    if !services.store.begin_version_operation(org, operation).await? {
        // One whose runner died is finished first, since it may have left a user's rows half rewritten.
        if !finish_abandoned(services, org, operation.kind, deadline_ms).await?
            || !services.store.begin_version_operation(org, operation).await?
        {
            return Ok(Changed::Busy);
        }
    }
    match run(services, org, operation, None, deadline_ms).await? {
        Progress::Done(counts) => Ok(Changed::Done(counts)),
        Progress::More => {
            continue_later(services, org, operation).await?;
            Ok(Changed::GoesOn(counts_of(services, org, operation).await?))
        }
        Progress::Over => Ok(Changed::Done(counts_of(services, org, operation).await?)),
    }
}

/// Goes on with a change of versions that an earlier runner left, for as long as there is time. A wake for another
/// run than the one under way finds nothing to do.
///
/// # Errors
/// [`StoreError`] when the store failed; it must be woken again.
pub async fn go_on(
    services: &Services,
    org: &OrgId,
    kind: LearningKind,
    operation_id: &str,
    deadline_ms: EpochMillis,
) -> Result<Progress, StoreError> {
    let progress = services.store.version_progress(org, kind).await?;
    let Some(progress) = progress.filter(|found| found.operation.operation_id == operation_id) else {
        return Ok(Progress::Over);
    };
    if !progress.is_active {
        return Ok(Progress::Done(progress.counts));
    }
    let done = run(services, org, &progress.operation, progress.last_user, deadline_ms).await?;
    if done == Progress::More {
        continue_later(services, org, &progress.operation).await?;
    }
    Ok(done)
}

/// The name under which changes of a kind are woken.
#[must_use]
pub fn service_of(kind: LearningKind) -> &'static str {
    match kind {
        LearningKind::Profile => "profile_versions",
        LearningKind::Playbook => "playbook_versions",
    }
}

/// The kind whose changes are woken under this name.
#[must_use]
pub fn kind_of(service: &str) -> Option<LearningKind> {
    LearningKind::ALL.into_iter().find(|kind| service_of(*kind) == service)
}

/// Whether any user has a row in the scope that would become current. Without the time to find out, the operation
/// finds out itself.
async fn is_anyone_affected(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
    deadline_ms: EpochMillis,
) -> Result<bool, StoreError> {
    let mut last = None;
    loop {
        let page = users_after(services, org, operation, operation.affected(), last.as_ref()).await?;
        if page.is_empty() {
            return Ok(false);
        }
        for user in page {
            let is_affected = match services
                .store
                .is_affected(&UserKeys { org, user: &user }, operation)
                .await
            {
                Err(error @ StoreError::Corrupt { .. }) => {
                    // Nothing of theirs will change, so they alone are no reason to begin.
                    tracing::error!(event = "stored_data_damaged", kind = operation.kind.as_str(), %error);
                    false
                }
                other => other?,
            };
            if is_affected || services.clock.now_ms() >= deadline_ms {
                return Ok(true);
            }
            last = Some(user);
        }
    }
}

/// The next users of an operation, in the order of their hashes.
async fn users_after(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
    mark: VersionMark,
    last: Option<&UserHash>,
) -> Result<Vec<UserHash>, StoreError> {
    match &operation.users {
        VersionUsers::These(users) => {
            let later = |user: &&UserHash| last.is_none_or(|last| user.as_str() > last.as_str());
            Ok(users.iter().filter(later).take(PAGE_USERS).cloned().collect())
        }
        VersionUsers::All => services.store.marked_users(org, operation.kind, mark, last, PAGE_USERS).await,
    }
}

/// Finishes the change under way if its runner is silent; `false` when one is at work, or time was up.
async fn finish_abandoned(
    services: &Services,
    org: &OrgId,
    kind: LearningKind,
    deadline_ms: EpochMillis,
) -> Result<bool, StoreError> {
    let Some(progress) = services.store.version_progress(org, kind).await? else { return Ok(false) };
    if progress.is_active && progress.runner_until_ms > services.clock.now_ms() {
        return Ok(false);
    }
    if !progress.is_active {
        return Ok(true);
    }
    let done = run(services, org, &progress.operation, progress.last_user, deadline_ms).await?;
    Ok(done != Progress::More)
}

/// Changes user after user.
async fn run(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
    mut last: Option<UserHash>,
    deadline_ms: EpochMillis,
) -> Result<Progress, StoreError> {
    let mark = if operation.only_affected_users { operation.affected() } else { VersionMark::Any };
    loop {
        let page = users_after(services, org, operation, mark, last.as_ref()).await?;
        if page.is_empty() {
            // Before it is over: should this runner die, the next one does it again.
            aggregate(services, org, operation).await?;
            let counts = services.store.end_version_operation(org, operation).await?;
            announce(services, org, operation.kind).await?;
            return Ok(counts.map_or(Progress::Over, Progress::Done));
        }
        for user in page {
            if services.clock.now_ms() >= deadline_ms {
                return stop(services, org, operation, last.as_ref()).await;
            }
            match change_user(services, org, operation, &user, deadline_ms).await? {
                UserFlip::Flipped { .. } | UserFlip::Nothing => last = Some(user),
                UserFlip::OutOfTime => return stop(services, org, operation, last.as_ref()).await,
                UserFlip::Over => return Ok(Progress::Over),
            }
        }
        if !services.store.beat_version_operation(org, operation, last.as_ref()).await? {
            // Another runner is further, or ended it: look where it stands.
            return overtaken(services, org, operation).await;
        }
    }
}

async fn change_user(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
    user: &UserHash,
    deadline_ms: EpochMillis,
) -> Result<UserFlip, StoreError> {
    let keys = UserKeys { org, user };
    let flipped = match services.store.flip_user(&keys, operation, deadline_ms).await {
        Err(error @ StoreError::Corrupt { .. }) => {
            // One damaged row must not keep all others from their versions for ever.
            tracing::error!(event = "versions_user_skipped", kind = operation.kind.as_str(), %error);
            services.store.skip_version_user(org, operation).await?;
            UserFlip::Nothing
        }
        flipped => flipped?,
    };
    if let UserFlip::Flipped { lost_lease: Some(epoch) } = flipped {
        // A worker was learning and must begin again. The user is due all the same, should this wake be lost.
        let sent = services.wakes.learn(org, user, WakeReason::Continued, epoch).await;
        if let Err(error) = sent {
            tracing::warn!(event = "wake_failed", reason = "continued", %error);
        }
    }
    Ok(flipped)
}

/// Says how far it is, so that the next runner goes on there.
async fn stop(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
    last: Option<&UserHash>,
) -> Result<Progress, StoreError> {
    if services.store.beat_version_operation(org, operation, last).await? {
        announce(services, org, operation.kind).await?;
        return Ok(Progress::More);
    }
    overtaken(services, org, operation).await
}

async fn overtaken(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
) -> Result<Progress, StoreError> {
    let progress = services.store.version_progress(org, operation.kind).await?;
    let own = progress.filter(|found| found.operation.operation_id == operation.operation_id);
    Ok(match own {
        Some(own) if own.is_active => Progress::More,
        Some(own) => Progress::Done(own.counts),
        None => Progress::Over,
    })
}

/// Tells readers of all users' playbooks that some changed. Losing this costs them their maximum age, no more.
async fn announce(services: &Services, org: &OrgId, kind: LearningKind) -> Result<(), StoreError> {
    match kind {
        LearningKind::Profile => Ok(()),
        LearningKind::Playbook => services.store.bump_org_playbooks(org).await,
    }
}

/// Makes the aggregations due whose user playbooks changed, where enough did.
async fn aggregate(services: &Services, org: &OrgId, operation: &VersionOperation) -> Result<(), StoreError> {
    let progress = services.store.version_progress(org, operation.kind).await?;
    let own = progress.filter(|found| found.operation.operation_id == operation.operation_id);
    let agent_versions = own.map(|own| own.agent_versions).unwrap_or_default();
    if agent_versions.is_empty() {
        return Ok(());
    }
    let config = match services.orgs.config(org).await {
        Ok(config) => config.config,
        Err(OrgServicesError::Store(error)) => return Err(error),
        Err(OrgServicesError::Configuration(detail)) => {
            // Nothing is aggregated under it; the marks are there when it can be followed again.
            tracing::warn!(event = "aggregation_not_announced", org = org.as_str(), detail);
            return Ok(());
        }
    };
    aggregation::playbooks_changed(services, org, &config, &agent_versions).await
}

/// Lets another runner go on at once.
async fn continue_later(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
) -> Result<(), StoreError> {
    services.store.leave_version_operation(org, operation).await?;
    let service = service_of(operation.kind).to_owned();
    let wake = OperateWake::new(org.clone(), service, operation.operation_id.clone(), WakeReason::Continued);
    let sent = services.wakes.operate(&wake, &services.clock.now_ms().to_string()).await;
    if let Err(error) = sent {
        // It is due: the sweep will find it.
        tracing::warn!(event = "wake_failed", reason = "continued", %error);
    }
    Ok(())
}

async fn counts_of(
    services: &Services,
    org: &OrgId,
    operation: &VersionOperation,
) -> Result<VersionCounts, StoreError> {
    let progress = services.store.version_progress(org, operation.kind).await?;
    let own = progress.filter(|found| found.operation.operation_id == operation.operation_id);
    Ok(own.map(|own| own.counts).unwrap_or_default())
}
