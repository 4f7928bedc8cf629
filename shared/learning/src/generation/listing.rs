//! Who takes part in a batch. Users are found by their numbers, of which the organisation has counted so many when
//! the operation began: consistently, in small steps that are recorded, and without ever holding them all.

use futures::future::try_join_all;

use domain::ids::{OrgId, UserHash};
use domain::learning::LearningKind;
use domain::operations::GenerationPlan;
use store::{Listing, Operation, Store, StoreError, UserKeys};

use super::Batch;
use super::inputs::Matcher;
use crate::services::OrgServicesError;

/// Numbers that are looked at in one step, and so the users that are listed together.
pub(super) const NUMBERS_PER_STEP: i64 = 90;
/// Users whose documents are read at once.
const READ_AT_ONCE: usize = 16;
/// Index entries that are read at a time.
const PAGE_ENTRIES: usize = 500;

/// Up to which number the list of a plan's users goes: the user numbers, or one step for those that are known.
pub(super) async fn list_end(store: &Store, org: &OrgId, plan: &GenerationPlan) -> Result<i64, StoreError> {
    if plan.filter.user_id.is_some() || plan.newest_requests.is_some() {
        return Ok(1);
    }
    store.user_numbers(org).await
}

/// Users who may take part, of the numbers `from..=to`.
pub(super) async fn candidates(
    store: &Store,
    org: &OrgId,
    plan: &GenerationPlan,
    from: i64,
    to: i64,
) -> Result<Vec<UserHash>, StoreError> {
    if let Some(user) = &plan.filter.user_id {
        return Ok(vec![UserHash::of(user)]);
    }
    match plan.newest_requests {
        Some(many) => users_of_newest(store, org, many).await,
        None => store.users_of_numbers(org, from, to).await,
    }
}

/// The users of the newest requests, each once.
async fn users_of_newest(store: &Store, org: &OrgId, many: usize) -> Result<Vec<UserHash>, StoreError> {
    let (mut users, mut seen, mut page) = (Vec::new(), 0, None);
    while seen < many {
        let limit = (many - seen).min(PAGE_ENTRIES);
        let (entries, next) = store.list(org, Listing::Requests, limit, page).await?;
        seen += entries.len();
        users.extend(entries.iter().filter_map(store::TimeEntry::user));
        let Some(next) = next else { break };
        page = Some(next);
    }
    users.sort();
    users.dedup();
    Ok(users)
}

/// Those of the users who have anything that a batch reads. A user whose documents are damaged is among them: the
/// turn fails, and is counted, where it would otherwise go unnoticed.
pub(super) async fn matching(
    store: &Store,
    org: &OrgId,
    matcher: &Matcher<'_>,
    users: Vec<UserHash>,
) -> Result<Vec<UserHash>, StoreError> {
    let mut found = Vec::new();
    for some in users.chunks(READ_AT_ONCE) {
        let looks = some.iter().map(|user| async move {
            let keys = UserKeys { org, user };
            match matcher.matches(store, &keys).await {
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(event = "stored_data_damaged", %error);
                    Ok(true)
                }
                other => other,
            }
        });
        let matches = try_join_all(looks).await?;
        found.extend(some.iter().zip(matches).filter(|(_, matches)| *matches).map(|(user, _)| user.clone()));
    }
    Ok(found)
}

impl Batch<'_> {
    fn kind(&self) -> LearningKind {
        self.service.kind()
    }

    /// Lists the users of some more numbers.
    pub(super) async fn list_some(&self, operation: &Operation) -> Result<(), OrgServicesError> {
        let config = self.services.orgs.config(self.org).await?.config;
        let matcher = Matcher::new(&config, self.kind(), &self.plan.filter);
        list_step(&self.services.store, self.org, &self.plan, &matcher, operation).await?;
        Ok(())
    }
}

/// Lists the users of some more numbers. Whether another worker did so first is seen from the operation.
pub(super) async fn list_step(
    store: &Store,
    org: &OrgId,
    plan: &GenerationPlan,
    matcher: &Matcher<'_>,
    operation: &Operation,
) -> Result<(), StoreError> {
    let to = operation.list_end.min(operation.listed + NUMBERS_PER_STEP);
    let users = candidates(store, org, plan, operation.listed + 1, to).await?;
    let users = matching(store, org, matcher, users).await?;
    store.list_operation_users(org, operation, &users, to).await?;
    Ok(())
}
