//! What an aggregation looks at: which user playbooks an agent version has, and which of them changed.
//!
//! Whatever saves, changes, archives or deletes a current user playbook leaves a mark in the same transaction. A run
//! turns the marks that it saw into members, so that the next one finds all rows without an index.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::UserHash;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    AGENT_VERSION, COUNT, Item, ItemBuilder, ItemReader, SK, STATUS, USER_HASH, VERSION,
};
use crate::error::StoreError;
use crate::keys::{AgentKeys, INBOX_PREFIX, MEMBER_PREFIX, USER_PLAYBOOK_PREFIX, UserKeys};
use crate::lookups::user_hash;
use crate::rows::{undamaged, unless_damaged};
use crate::transaction::{Expression, TRANSACTION_ITEMS_MAX, Transaction, TransactionError};
use crate::user_playbooks::UserPlaybookRow;

/// Marks that are read at a time when they are counted.
const MARKS_PER_PAGE: usize = 100;
/// Marks that are settled together: each takes two items.
const MARKS_PER_TRANSACTION: usize = TRANSACTION_ITEMS_MAX / 2;

/// A user playbook that was saved, changed or removed since the last run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMark {
    /// Its id.
    pub user_playbook_id: i64,
    /// Whose it is.
    pub user: UserHash,
    /// Version of the row when it was marked.
    pub version: i64,
    /// Whether it counts towards the number that starts a run: rows that were merged away do not.
    pub counts: bool,
}

/// What a run looks at.
#[derive(Debug, Clone, Default)]
pub struct AggregationInputs {
    /// What changed since the last run.
    pub marks: Vec<InboxMark>,
    /// Ids that the last run knew.
    pub members: Vec<i64>,
    /// The current rows of the agent version, by id.
    pub rows: Vec<UserPlaybookRow>,
    /// Ids of rows that are damaged: they take no part, but are looked at again next time.
    pub damaged: BTreeSet<i64>,
}

/// The mark of a row that is written; one version up, as the row is. `None` when no aggregation ever sees the row.
pub(crate) fn inbox_mark(keys: &UserKeys<'_>, row: &UserPlaybookRow, change: RowChange) -> Option<Item> {
    if change != RowChange::Retired && row.playbook.status.is_some() {
        return None;
    }
    let id = row.playbook.user_playbook_id;
    Some(mark_item(keys, &row.playbook.agent_version, id, row.version + 1, change))
}

/// The mark of a stored user playbook that is deleted or archived, and its agent version; `None` when the item is none
/// that an aggregation ever saw.
pub(crate) fn removal_mark(keys: &UserKeys<'_>, row: &Item) -> Option<(String, Item)> {
    let reader = ItemReader(row);
    let is_current = reader.text_opt(SK)?.starts_with(USER_PLAYBOOK_PREFIX) && !row.contains_key(STATUS);
    let agent_version = reader.text_opt(AGENT_VERSION).filter(|_| is_current)?;
    let version = reader.count(VERSION) + 1;
    let mark = mark_item(keys, agent_version, playbook_id(row)?, version, RowChange::Removed);
    Some((agent_version.to_owned(), mark))
}

/// The mark of a stored row whose status alone changes, to current.
pub(crate) fn promotion_mark(keys: &UserKeys<'_>, row: &Item) -> Result<Item, StoreError> {
    let reader = ItemReader(row);
    let id = playbook_id(row).ok_or_else(|| reader.corrupt(SK))?;
    let version = reader.number(VERSION)? + 1;
    Ok(mark_item(keys, reader.text(AGENT_VERSION)?, id, version, RowChange::Changed))
}

fn mark_item(
    keys: &UserKeys<'_>,
    agent_version: &str,
    user_playbook_id: i64,
    version: i64,
    change: RowChange,
) -> Item {
    let agent = AgentKeys { org: keys.org, agent_version };
    ItemBuilder::new(&agent.inbox_mark(user_playbook_id))
        .text(USER_HASH, keys.user.as_str())
        .number(VERSION, version)
        .number(COUNT, i64::from(change != RowChange::Retired))
        .build()
}

/// What happens to a user playbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowChange {
    /// It is new.
    Inserted,
    /// It has other words, or became current.
    Changed,
    /// It was deleted, or is archived: what was made of it must be made anew.
    Removed,
    /// Learning merged it into another one, which has a mark of its own.
    Retired,
}

impl Store {
    /// How many marks there are that count, or `enough` when there are more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a mark is damaged.
    pub async fn count_marks(&self, keys: &AgentKeys<'_>, enough: usize) -> Result<usize, StoreError> {
        let partition = keys.partition();
        let range = Range::prefix(&partition, INBOX_PREFIX).limit(MARKS_PER_PAGE);
        let (mut count, mut start) = (0, None);
        loop {
            let (items, next) = self.query_page(&range, start).await?;
            count += items.iter().filter(|item| ItemReader(item).count(COUNT) > 0).count();
            if count >= enough || next.is_none() {
                return Ok(count.min(enough));
            }
            start = next;
        }
    }

    /// All that a run looks at, consistently read. Damaged items are logged and left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn aggregation_inputs(&self, keys: &AgentKeys<'_>) -> Result<AggregationInputs, StoreError> {
        let partition = keys.partition();
        // The marks first: a row that is written meanwhile keeps its newer mark.
        let marks = self.query_all(Range::prefix(&partition, INBOX_PREFIX)).await?;
        let marks = undamaged(&marks, mark)?;
        let members = self.query_all(Range::prefix(&partition, MEMBER_PREFIX)).await?;
        let members = undamaged(&members, mark)?;
        let owners: BTreeMap<i64, &UserHash> =
            members.iter().chain(&marks).map(|mark| (mark.user_playbook_id, &mark.user)).collect();
        let row_keys: Vec<_> =
            owners.iter().map(|(id, user)| UserKeys { org: keys.org, user }.user_playbook(*id)).collect();
        let (mut rows, mut damaged) = (Vec::with_capacity(row_keys.len()), BTreeSet::new());
        for item in self.visible_rows_by_keys(&row_keys).await? {
            match unless_damaged(UserPlaybookRow::from_item(&item))? {
                Some(row) => rows.push(row),
                None => damaged.extend(playbook_id(&item)),
            }
        }
        rows.retain(|row| row.playbook.status.is_none() && row.playbook.agent_version == keys.agent_version);
        rows.sort_by_key(|row| row.playbook.user_playbook_id);
        let members = members.iter().map(|member| member.user_playbook_id).collect();
        Ok(AggregationInputs { marks, members, rows, damaged })
    }

    /// Marks become members, and members without a current row vanish. A mark that was made anew meanwhile stays.
    /// Doing it twice changes nothing: members are only candidates, the rows decide.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn settle_inputs(
        &self,
        keys: &AgentKeys<'_>,
        inputs: &AggregationInputs,
    ) -> Result<(), StoreError> {
        let ids: BTreeSet<i64> = inputs.rows.iter().map(|row| row.playbook.user_playbook_id).collect();
        let is_current = |id: i64| ids.contains(&id) || inputs.damaged.contains(&id);
        for chunk in inputs.marks.chunks(MARKS_PER_TRANSACTION) {
            if self.settle_marks(keys, chunk, is_current).await? {
                continue;
            }
            for mark in chunk {
                // One that was marked anew stays, for the next run.
                self.settle_marks(keys, std::slice::from_ref(mark), is_current).await?;
            }
        }
        let marked: BTreeSet<i64> = inputs.marks.iter().map(|mark| mark.user_playbook_id).collect();
        let lost: Vec<i64> =
            inputs.members.iter().copied().filter(|id| !is_current(*id) && !marked.contains(id)).collect();
        for chunk in lost.chunks(TRANSACTION_ITEMS_MAX) {
            let mut transaction = Transaction::default();
            for id in chunk {
                transaction.delete(self, &keys.member(*id), Expression::default());
            }
            settled(transaction.commit(self).await)?;
        }
        Ok(())
    }

    /// Settles marks together; `false` when one of them was made anew, or somebody is just writing one.
    async fn settle_marks(
        &self,
        keys: &AgentKeys<'_>,
        marks: &[InboxMark],
        is_current: impl Fn(i64) -> bool,
    ) -> Result<bool, StoreError> {
        let mut transaction = Transaction::default();
        for mark in marks {
            if is_current(mark.user_playbook_id) {
                let member = ItemBuilder::new(&keys.member(mark.user_playbook_id))
                    .text(USER_HASH, mark.user.as_str())
                    .number(VERSION, mark.version);
                transaction.put(self, member.build());
            } else {
                transaction.delete(self, &keys.member(mark.user_playbook_id), Expression::default());
            }
            let seen = crate::learning::unchanged(mark.version);
            transaction.delete(self, &keys.inbox_mark(mark.user_playbook_id), seen);
        }
        settled(transaction.commit(self).await)
    }
}

/// Whether it is done; what other writers stood in the way of is left to the next run.
fn settled(outcome: Result<(), TransactionError>) -> Result<bool, StoreError> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error @ TransactionError::Cancelled(_)) if !error.is_refusal() => Ok(false),
        Err(error) => Err(error.into_store_error("settle aggregation inputs")),
    }
}

/// The user playbook id that a sort key ends with.
fn playbook_id(item: &Item) -> Option<i64> {
    ItemReader(item).text_opt(SK)?.split('#').nth(1)?.parse().ok()
}

fn mark(item: &Item) -> Result<InboxMark, StoreError> {
    let reader = ItemReader(item);
    Ok(InboxMark {
        user_playbook_id: playbook_id(item).ok_or_else(|| reader.corrupt(SK))?,
        user: user_hash(reader)?,
        version: reader.number(VERSION)?,
        counts: reader.count(COUNT) > 0,
    })
}
