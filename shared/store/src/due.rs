//! The sparse index of overdue work: how the sweep finds what no message woke.

use domain::ids::{OrgId, UserHash};
use domain::operations::OperationService;
use domain::time::EpochSeconds;

use crate::Store;
use crate::aggregations;
use crate::attributes::{
    AGENT_VERSION, COUNT, DUE_AT, DUE_PK, DUE_REVISION, Item, ItemReader, PK, SK, number, text,
};
use crate::error::StoreError;
use crate::grades::{self, DueGrade};
use crate::keys::{self, UserKeys};
use crate::operations;
use crate::outbox;
use crate::regeneration_lanes::{self, DueLane};
use crate::session_timers::{self, DueSession};
use crate::shadow_jobs::{self, DueShadow};
use crate::stalls;
use crate::transaction::Expression;
use crate::version_operations::{self, DueVersions};

/// Shards of the index; a user's shard follows from the hash, so that the number may only be raised together
/// with a re-write of the due entries.
pub const DUE_SHARDS: u32 = 4;

/// A user whose head is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueUser {
    /// The tenant.
    pub org: OrgId,
    /// The user.
    pub user: UserHash,
    /// Since when.
    pub due_at: EpochSeconds,
}

/// An aggregation that is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAggregation {
    /// The tenant.
    pub org: OrgId,
    /// Hash of the agent version.
    pub(crate) agent_version_hash: String,
    /// Since when.
    pub due_at: EpochSeconds,
}

impl DueAggregation {
    /// The same, due at another time.
    #[must_use]
    pub fn moved_to(&self, due_at: EpochSeconds) -> Self {
        Self { due_at, ..self.clone() }
    }
}

/// What is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueEntry {
    /// A user whose interactions wait.
    User(DueUser),
    /// An effect that its handler left over: organisation and id.
    Outbox(OrgId, String),
    /// User playbooks that wait to be aggregated.
    Aggregation(DueAggregation),
    /// An organisation whose learning stands still, or did.
    Stall(OrgId),
    /// A change of versions that nobody is at.
    Versions(DueVersions),
    /// A request whose shadow answers wait for the judge.
    Shadow(DueShadow),
    /// A batch operation that does not get on, or that was put off until now.
    Operation(DueOperation),
    /// A session that is to be judged.
    Session(DueSession),
    /// A verdict that a caller asked for and nobody gave.
    Grade(DueGrade),
    /// A lane of a regeneration job that nobody is at.
    Lane(DueLane),
}

/// An operation that is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueOperation {
    /// The tenant.
    pub org: OrgId,
    /// Which of its operations.
    pub service: OperationService,
    /// Since when.
    pub due_at: EpochSeconds,
}

/// The index partition of a user.
pub(crate) fn partition(user: &UserHash) -> String {
    partition_of(user.as_str())
}

/// The index partition of an id.
pub(crate) fn partition_of(id: &str) -> String {
    let shard = id.bytes().last().map_or(0, u32::from) % DUE_SHARDS;
    format!("due#{shard}")
}

impl Store {
    /// Entries of one shard that were due by `now`, longest overdue first. Eventual: an entry may be stale.
    ///
    /// # Errors
    /// [`StoreError`] when the index fails.
    pub async fn due_entries(
        &self,
        shard: u32,
        now: EpochSeconds,
        limit: usize,
    ) -> Result<Vec<DueEntry>, StoreError> {
        self.due_in(&format!("due#{shard}"), now, limit, due_entry).await
    }

    /// Users of one partition that were due by `now`, as [`Self::due_entries`].
    pub(crate) async fn due_users(
        &self,
        partition: &str,
        now: EpochSeconds,
        limit: usize,
    ) -> Result<Vec<DueUser>, StoreError> {
        self.due_in(partition, now, limit, due_user).await
    }

    async fn due_in<T>(
        &self,
        partition: &str,
        now: EpochSeconds,
        limit: usize,
        read: impl Fn(&Item) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let query = self
            .dynamo
            .query()
            .table_name(&self.table)
            .index_name("due")
            .key_condition_expression(format!("{DUE_PK} = :pk AND {DUE_AT} <= :now"))
            .expression_attribute_values(":pk", text(partition))
            .expression_attribute_values(":now", number(now))
            .limit(i32::try_from(limit.max(1)).unwrap_or(i32::MAX));
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let page = query.clone().set_exclusive_start_key(start).send().await;
            let page = page.map_err(|error| StoreError::from_sdk("Query", error))?;
            found.extend(page.items().iter().filter_map(&read).take(limit - found.len()));
            start = page.last_evaluated_key;
            // Entries of a kind that this version does not know take no places.
            if found.len() == limit || start.is_none() {
                return Ok(found);
            }
        }
    }

    /// Moves an overdue entry to `next`, so that one that does not get done crowds out nobody; `false` when
    /// it is not overdue as seen any more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn push_due(&self, due: &DueUser, next: EpochSeconds) -> Result<bool, StoreError> {
        let keys = UserKeys { org: &due.org, user: &due.user };
        let expression = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen AND attribute_exists({COUNT})"))
            .value(":next", number(next))
            .value(":seen", number(due.due_at));
        Ok(self.update_one(&keys.head(), expression).await?.is_some())
    }

    /// As [`Self::push_due`]; the agent version, when the aggregation is overdue as seen.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn push_due_aggregation(
        &self,
        due: &DueAggregation,
        next: EpochSeconds,
    ) -> Result<Option<String>, StoreError> {
        let expression = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen"))
            .value(":next", number(next))
            .value(":seen", number(due.due_at));
        let key = keys::aggregation_by_hash(&due.org, &due.agent_version_hash);
        let Some(item) = self.update_one(&key, expression).await? else { return Ok(None) };
        Ok(Some(ItemReader(&item).text(AGENT_VERSION)?.to_owned()))
    }

    /// Marks a user as due at `at` or earlier, if the user exists.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn set_due(&self, keys: &UserKeys<'_>, at: EpochSeconds) -> Result<(), StoreError> {
        let update = format!("SET {DUE_AT} = :at, {DUE_PK} = :shard ADD {DUE_REVISION} :one");
        let expression = Expression::new(update)
            .condition(format!(
                "attribute_exists({COUNT}) AND (attribute_not_exists({DUE_AT}) OR {DUE_AT} > :at)"
            ))
            .value(":at", number(at))
            .value(":one", number(1))
            .value(":shard", text(&partition(keys.user)));
        self.update_one(&keys.head(), expression).await?;
        Ok(())
    }
}

/// What stands behind an index entry.
fn due_entry(item: &Item) -> Option<DueEntry> {
    if let Some((org, id)) = outbox::parse_key(item) {
        return Some(DueEntry::Outbox(org, id));
    }
    if let Some(org) = stalls::parse_key(item) {
        return Some(DueEntry::Stall(org));
    }
    if let Some(versions) = version_operations::parse_key(item) {
        return Some(DueEntry::Versions(versions));
    }
    if let Some(session) = session_timers::parse_key(item) {
        return Some(DueEntry::Session(session));
    }
    if let Some(grade) = grades::parse_key(item) {
        return Some(DueEntry::Grade(grade));
    }
    if let Some(lane) = regeneration_lanes::parse_key(item) {
        return Some(DueEntry::Lane(lane));
    }
    if let Some((org, service)) = operations::parse_key(item) {
        let due_at = ItemReader(item).number_opt(DUE_AT)?;
        return Some(DueEntry::Operation(DueOperation { org, service, due_at }));
    }
    if let Some((org, agent_version_hash)) = aggregations::parse_key(item) {
        let due_at = ItemReader(item).number_opt(DUE_AT)?;
        return Some(DueEntry::Aggregation(DueAggregation { org, agent_version_hash, due_at }));
    }
    if let Some(shadow) = shadow_jobs::parse_key(item) {
        return Some(DueEntry::Shadow(shadow));
    }
    due_user(item).map(DueEntry::User)
}

/// The user behind an index entry; other kinds of due items are not users.
fn due_user(item: &Item) -> Option<DueUser> {
    let reader = ItemReader(item);
    if reader.text_opt(SK)? != "HEAD" {
        return None;
    }
    let (org, user) = reader.text_opt(PK)?.strip_prefix("O#")?.split_once("#U#")?;
    Some(DueUser { org: org.parse().ok()?, user: UserHash::parse(user)?, due_at: reader.number_opt(DUE_AT)? })
}
