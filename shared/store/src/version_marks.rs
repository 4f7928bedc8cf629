//! Which users have rows, pending rows, archived rows: marks that are written in the same transaction as the rows, so
//! that a change of versions finds its users consistently.

use std::collections::BTreeSet;

use domain::entities::Status;
use domain::ids::{OrgId, ProfileId, UserHash};
use domain::learning::LearningKind;

use crate::Store;
use crate::access::Range;
use crate::attributes::{ItemBuilder, ItemReader, SK};
use crate::error::StoreError;
use crate::keys::{self, UserKeys, VersionMark, version_mark, version_partition};
use crate::lookups::user_hash;
use crate::transaction::{Expression, Transaction};

impl VersionMark {
    /// Whether a row with this status needs the mark.
    pub(crate) fn covers(self, status: Option<Status>) -> bool {
        match self {
            Self::Any => true,
            Self::Pending => status == Some(Status::Pending),
            Self::Archived => matches!(status, Some(Status::Archived | Status::ArchiveInProgress)),
        }
    }
}

/// Marks the user of rows that a transaction writes.
pub(crate) fn mark_user(
    transaction: &mut Transaction,
    store: &Store,
    keys: &UserKeys<'_>,
    kind: LearningKind,
    statuses: &[Option<Status>],
) {
    for mark in VersionMark::ALL {
        if statuses.iter().any(|status| mark.covers(*status)) {
            let key = version_mark(keys.org, kind, mark, keys.user);
            transaction.put(store, ItemBuilder::new(&key).build());
        }
    }
}

/// Sets and removes the marks of a user all of whose rows have these statuses.
pub(crate) fn settle_marks(
    transaction: &mut Transaction,
    store: &Store,
    keys: &UserKeys<'_>,
    kind: LearningKind,
    statuses: &[Option<Status>],
) {
    mark_user(transaction, store, keys, kind, statuses);
    for mark in VersionMark::ALL {
        if !statuses.iter().any(|status| mark.covers(*status)) {
            let key = version_mark(keys.org, kind, mark, keys.user);
            transaction.delete(store, &key, Expression::default());
        }
    }
}

impl Store {
    /// Users with a mark in the order of their hashes, at most `limit` of them, after `after`. Consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a mark is damaged.
    pub async fn marked_users(
        &self,
        org: &OrgId,
        kind: LearningKind,
        mark: VersionMark,
        after: Option<&UserHash>,
        limit: usize,
    ) -> Result<Vec<UserHash>, StoreError> {
        let partition = version_partition(org, kind, mark);
        let mut range = Range::prefix(&partition, "").limit(limit);
        if let Some(after) = after {
            // The next possible text.
            range.from = format!("{}\u{1}", after.as_str());
        } else {
            range.from = "\u{1}".to_owned();
        }
        let (items, _) = self.query_page(&range, None).await?;
        let user = |item| {
            let reader = ItemReader(item);
            UserHash::parse(reader.text(SK)?).ok_or_else(|| reader.corrupt(SK))
        };
        items.iter().map(user).collect()
    }

    /// The users whom profiles belong to, each once, in the order of their hashes.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a look-up is damaged.
    pub async fn users_of_profiles(
        &self,
        org: &OrgId,
        ids: &[ProfileId],
    ) -> Result<Vec<UserHash>, StoreError> {
        let ids: BTreeSet<_> = ids.iter().collect();
        let lookups: Vec<_> = ids.into_iter().map(|id| keys::profile_lookup(org, id)).collect();
        let found = self.get_many(&lookups).await?;
        let mut users =
            found.iter().map(|item| user_hash(ItemReader(item))).collect::<Result<Vec<_>, _>>()?;
        users.sort_by(|left, right| left.as_str().cmp(right.as_str()));
        users.dedup();
        Ok(users)
    }
}
