//! The commit of one learned window: rows, cursor, receipt and change log in one transaction that also
//! checks the lease.

use domain::ids::ProfileId;
use domain::learning::LearningKind;

use crate::Store;
use crate::aggregation_inbox::{RowChange, inbox_mark};
use crate::attributes::VERSION;
use crate::attributes::{DOCUMENT, ItemBuilder};
use crate::cursors::{Cursor, CursorName, WindowReceipt, cursor_condition, cursor_item};
use crate::error::StoreError;
use crate::keys::{self, UserKeys};
use crate::leases::{Lease, commit_under};
use crate::lookups::lookup_item;
use crate::outbox::OutboxEntry;
use crate::profile_changes::{ProfileChange, Redaction, change_item};
use crate::profiles::ProfileRow;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, TRANSACTION_ITEMS_MAX, Transaction, TransactionError};
use crate::user_playbooks::UserPlaybookRow;
use crate::version_marks::mark_user;

/// Rows to be forgotten that fit the commit itself; more are erased ahead of it.
pub(crate) const FORGOTTEN_ROWS_INLINE_MAX: usize = 2;
/// Rows that are erased together ahead of it: each takes two items.
pub(crate) const FORGOTTEN_ROWS_PER_TRANSACTION: usize = 40;
/// Entries of the log that are rewritten together ahead of it: each may be 300 KB, a transaction 4 MB.
const REDACTIONS_PER_TRANSACTION: usize = 10;

/// Changes of profiles.
#[derive(Debug, Clone, Default)]
pub struct ProfileRows {
    /// New rows.
    pub insert: Vec<ProfileRow>,
    /// Rows as they shall be, each under the version that was read: merged and superseded ones.
    pub replace: Vec<ProfileRow>,
    /// Rows that vanish without a trace, since the user asked to forget.
    pub delete: Vec<ProfileId>,
    /// The log of it.
    pub change: Option<ProfileChange>,
}

/// Changes of user playbooks.
#[derive(Debug, Clone, Default)]
pub struct PlaybookRows {
    /// New rows, ids taken.
    pub insert: Vec<UserPlaybookRow>,
    /// Rows as they shall be, each under the version that was read.
    pub replace: Vec<UserPlaybookRow>,
    /// Rows that vanish: what an earlier rerun left pending.
    pub delete: Vec<i64>,
}

/// All that one window changes.
#[derive(Debug, Clone)]
pub struct LearningCommit {
    /// Whose cursor moves with it.
    pub name: CursorName,
    /// The lease under which it was learned.
    pub lease: Lease,
    /// The cursor as it shall be; its `version` is the one that was read.
    pub cursor: Cursor,
    /// The receipt.
    pub receipt: WindowReceipt,
    /// Profiles.
    pub profiles: ProfileRows,
    /// Playbooks.
    pub playbooks: PlaybookRows,
    /// What is to follow; carried out by whoever commits, see [`Store::carry_out`].
    pub effects: Vec<OutboxEntry>,
}

/// Why a window was not committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Another worker took over this user, or the user's data were erased since the inputs were read.
    #[error("another worker took over this user, or the user was erased")]
    Superseded,
    /// A row or the cursor changed since it was read: learn the window again.
    #[error("rows changed since they were read")]
    Stale,
    /// More rows than one transaction can hold.
    #[error("a window changed more rows than one transaction can hold")]
    TooLarge,
    /// The store failed; whether the commit happened is known from the cursor only.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Commits a window. Conflicts with other writers of the same items are retried, whatever the time: the
    /// heartbeat may have renewed the lease, and if not, its epoch tells whether another worker took over.
    ///
    /// # Errors
    /// [`CommitError`]; nothing was written unless the store failed on the way.
    pub async fn commit_window(
        &self,
        keys: &UserKeys<'_>,
        commit: &LearningCommit,
    ) -> Result<(), CommitError> {
        let mut redactions = self.redactions(keys, &commit.profiles.delete).await?;
        let mut rest = None;
        let forgotten = &commit.profiles.delete;
        if forgotten.len() > FORGOTTEN_ROWS_INLINE_MAX {
            self.forget_profiles(keys, &commit.lease, forgotten, &redactions).await?;
            redactions.clear();
            let mut without = commit.clone();
            without.profiles.delete.clear();
            rest = Some(without);
        }
        let commit = rest.as_ref().unwrap_or(commit);
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let (transaction, lease) = self.window_transaction(keys, commit, &redactions)?;
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.condition_failed(lease) => return Err(CommitError::Superseded),
                Err(error) if error.is_conflict() => {}
                Err(error @ TransactionError::Cancelled(_)) if error.is_refusal() => {
                    return Err(error.into_store_error("commit window").into());
                }
                Err(TransactionError::Cancelled(_)) => {
                    // The cursor or a row is not as it was read; the cursor may be ours already, when the
                    // answer to an earlier attempt was lost.
                    return if self.is_committed(keys, commit).await? {
                        Ok(())
                    } else {
                        Err(CommitError::Stale)
                    };
                }
                Err(TransactionError::Store(error)) => {
                    return if self.is_committed(keys, commit).await.unwrap_or(false) {
                        Ok(())
                    } else {
                        Err(error.into())
                    };
                }
            }
        }
        Err(StoreError::Contended { operation: "commit window" }.into())
    }

    /// Erases rows ahead of the commit that asks for it, some at a time. A crash in between leaves the window to
    /// be learned again, and a wish to forget bears being carried out twice. The log comes first: once a row is
    /// gone, nobody asks for its traces again.
    pub(crate) async fn forget_profiles(
        &self,
        keys: &UserKeys<'_>,
        lease: &Lease,
        ids: &[ProfileId],
        redactions: &[Redaction],
    ) -> Result<(), CommitError> {
        for chunk in redactions.chunks(REDACTIONS_PER_TRANSACTION) {
            let redact = |transaction: &mut Transaction| {
                chunk.iter().for_each(|redaction| redaction.add_to(transaction, self));
            };
            self.write_ahead(keys, lease, redact).await?;
        }
        // Tombstones stand last and go first: once a row is gone, nothing leads to its earlier wordings.
        for chunk in ids.rchunks(FORGOTTEN_ROWS_PER_TRANSACTION) {
            let erase = |transaction: &mut Transaction| {
                for id in chunk {
                    transaction.delete(self, &keys.profile(id), Expression::default());
                    transaction.delete(self, &keys::profile_lookup(keys.org, id), Expression::default());
                }
            };
            self.write_ahead(keys, lease, erase).await?;
        }
        Ok(())
    }

    /// Writes under the lease, ahead of a commit.
    pub(crate) async fn write_ahead(
        &self,
        keys: &UserKeys<'_>,
        lease: &Lease,
        fill: impl Fn(&mut Transaction) + Send,
    ) -> Result<(), CommitError> {
        let mut attempt = 0;
        loop {
            let mut transaction = Transaction::default();
            let (key, expression) = commit_under(keys.lease(), lease);
            let lease_index = transaction.update(self, &key, expression);
            fill(&mut transaction);
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.condition_failed(lease_index) => return Err(CommitError::Superseded),
                Err(error) if error.is_conflict() && attempt < ATTEMPTS_MAX => {
                    attempt += 1;
                    self.retries.wait(attempt).await;
                }
                Err(error) => return Err(error.into_store_error("forget rows").into()),
            }
        }
    }

    /// Whether exactly this commit is in place.
    async fn is_committed(&self, keys: &UserKeys<'_>, commit: &LearningCommit) -> Result<bool, StoreError> {
        let cursor = self.cursor(keys, commit.name).await?;
        Ok(cursor.version == commit.cursor.version + 1
            && cursor.completed == commit.cursor.completed
            && cursor.learned == commit.cursor.learned
            && commit.cursor.attempts == cursor.attempts)
    }

    fn window_transaction(
        &self,
        keys: &UserKeys<'_>,
        commit: &LearningCommit,
        redactions: &[Redaction],
    ) -> Result<(Transaction, usize), CommitError> {
        let mut transaction = Transaction::default();
        let (key, expression) = commit_under(keys.lease(), &commit.lease);
        let lease = transaction.update(self, &key, expression);
        let (condition, values) = cursor_condition(commit.cursor.version);
        let expression = Expression { values, ..Expression::default() }.condition(condition);
        transaction.put_if(self, cursor_item(keys, commit.name, &commit.cursor)?, expression);
        let receipt = ItemBuilder::new(&keys.window(commit.name, commit.receipt.end))
            .text(DOCUMENT, &encode(&commit.receipt)?)
            .build();
        transaction.create(self, receipt);
        let label = format!("{}-{}", commit.name.as_str(), keys::padded(commit.receipt.end));
        self.add_profiles(&mut transaction, keys, &commit.profiles, &label)?;
        self.add_playbooks(&mut transaction, keys, &commit.playbooks)?;
        for redaction in redactions {
            redaction.add_to(&mut transaction, self);
        }
        for effect in &commit.effects {
            transaction.put(self, effect.to_item(commit.receipt.at)?);
        }
        if transaction.len() > TRANSACTION_ITEMS_MAX {
            return Err(CommitError::TooLarge);
        }
        Ok((transaction, lease))
    }

    /// Makes changes of profiles part of a transaction; `label` tells the entry of the log from others of its time.
    pub(crate) fn add_profiles(
        &self,
        transaction: &mut Transaction,
        keys: &UserKeys<'_>,
        rows: &ProfileRows,
        label: &str,
    ) -> Result<(), StoreError> {
        let statuses: Vec<_> = rows.insert.iter().map(|row| row.profile.status).collect();
        mark_user(transaction, self, keys, LearningKind::Profile, &statuses);
        for row in &rows.insert {
            transaction.create(self, row.to_item(keys)?);
            let key = keys::profile_lookup(keys.org, &row.profile.profile_id);
            transaction.create(self, lookup_item(&key, keys.user));
        }
        for row in &rows.replace {
            transaction.put_if(self, row.to_item(keys)?, unchanged(row.version));
        }
        for id in &rows.delete {
            transaction.delete(self, &keys.profile(id), Expression::default());
            transaction.delete(self, &keys::profile_lookup(keys.org, id), Expression::default());
        }
        if let Some(change) = &rows.change {
            transaction.put(self, change_item(keys, change, label)?);
        }
        Ok(())
    }

    /// Makes changes of user playbooks part of a transaction.
    pub(crate) fn add_playbooks(
        &self,
        transaction: &mut Transaction,
        keys: &UserKeys<'_>,
        rows: &PlaybookRows,
    ) -> Result<(), StoreError> {
        let statuses: Vec<_> = rows.insert.iter().map(|row| row.playbook.status).collect();
        mark_user(transaction, self, keys, LearningKind::Playbook, &statuses);
        for row in &rows.insert {
            transaction.create(self, row.to_item(keys)?);
            let key = keys::user_playbook_lookup(keys.org, row.playbook.user_playbook_id);
            transaction.create(self, lookup_item(&key, keys.user));
            if let Some(mark) = inbox_mark(keys, row, RowChange::Inserted) {
                transaction.put(self, mark);
            }
        }
        for row in &rows.replace {
            transaction.put_if(self, row.to_item(keys)?, unchanged(row.version));
            if let Some(mark) = inbox_mark(keys, row, RowChange::Retired) {
                transaction.put(self, mark);
            }
        }
        for id in &rows.delete {
            self.add_playbook_deletion(transaction, keys, *id);
        }
        Ok(())
    }

    /// Makes the end of a user playbook part of a transaction.
    pub(crate) fn add_playbook_deletion(&self, transaction: &mut Transaction, keys: &UserKeys<'_>, id: i64) {
        transaction.delete(self, &keys.user_playbook(id), Expression::default());
        transaction.delete(self, &keys::user_playbook_lookup(keys.org, id), Expression::default());
    }
}

/// The row is as it was read.
pub(crate) fn unchanged(version: i64) -> Expression {
    Expression::default()
        .condition(format!("{VERSION} = :rowver"))
        .value(":rowver", crate::attributes::number(version))
}
