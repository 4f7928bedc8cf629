//! The commit of one user's turn in a batch operation: rows, the cursor where it moves, and the operation's progress
//! in one transaction that checks both the user's lease and that the turn was not taken before.

use domain::learning::LearningKind;
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{DOCUMENT, ItemBuilder};
use crate::cursors::{Cursor, WindowReceipt, cursor_condition, cursor_item};
use crate::error::StoreError;
use crate::keys::UserKeys;
use crate::learning::{
    CommitError, FORGOTTEN_ROWS_INLINE_MAX, FORGOTTEN_ROWS_PER_TRANSACTION, PlaybookRows, ProfileRows,
};
use crate::leases::{Lease, commit_under};
use crate::operation_users::{Turn, TurnPlaces};
use crate::operations::Operation;
use crate::outbox::OutboxEntry;
use crate::profile_changes::Redaction;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, TRANSACTION_ITEMS_MAX, Transaction, TransactionError};

/// With more items than this to write, whatever is to vanish vanishes ahead of the commit, to leave room for the rest.
const WRITTEN_ITEMS_ROOMY: usize = 80;

/// All that one user's turn changes.
#[derive(Debug, Clone)]
pub struct GenerationCommit {
    /// What was made.
    pub kind: LearningKind,
    /// The lease under which it was made.
    pub lease: Lease,
    /// The cursor as it shall be, its `version` being the one that was read, and the receipt of what it passes over;
    /// `None` where it stays.
    pub cursor: Option<(Cursor, WindowReceipt)>,
    /// Profiles.
    pub profiles: ProfileRows,
    /// Playbooks.
    pub playbooks: PlaybookRows,
    /// What is to follow; see [`Store::carry_out`].
    pub effects: Vec<OutboxEntry>,
    /// Interactions that were read.
    pub interactions: i64,
    /// When it was made.
    pub at: EpochSeconds,
}

/// Why a turn was not committed.
#[derive(Debug, thiserror::Error)]
pub enum GenerationCommitError {
    /// Another worker took over this user, or the user's data were erased since the inputs were read.
    #[error("another worker took over this user, or the user was erased")]
    Superseded,
    /// A row or the cursor changed since it was read: begin again.
    #[error("rows changed since they were read")]
    Stale,
    /// More rows than one transaction can hold.
    #[error("a turn changed more rows than one transaction can hold")]
    TooLarge,
    /// This run of the operation is over.
    #[error("the operation is over")]
    Stopped,
    /// The store failed; whether the commit happened is known from the operation only.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for GenerationCommitError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Superseded => Self::Superseded,
            CommitError::Stale => Self::Stale,
            CommitError::TooLarge => Self::TooLarge,
            CommitError::Store(error) => Self::Store(error),
        }
    }
}

/// The places of the items that explain a refusal.
struct Places {
    lease: usize,
    turn: TurnPlaces,
}

impl Store {
    /// Commits a user's turn. A turn that was committed before, by whomever, is a success that changes nothing.
    ///
    /// # Errors
    /// [`GenerationCommitError`]; nothing was written unless the store failed on the way, but for rows that were to
    /// vanish anyway.
    pub async fn commit_generation(
        &self,
        keys: &UserKeys<'_>,
        operation: &Operation,
        commit: &GenerationCommit,
    ) -> Result<(), GenerationCommitError> {
        let mut commit = commit.clone();
        let redactions = self.vanish_ahead(keys, &mut commit).await?;
        let generated = commit.profiles.insert.len() + commit.playbooks.insert.len();
        let turn = Turn::Done {
            interactions: commit.interactions,
            generated: i64::try_from(generated).unwrap_or(i64::MAX),
        };
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let (transaction, places) =
                self.generation_transaction(keys, operation, &commit, &turn, &redactions)?;
            let Err(error) = transaction.commit(self).await else { return Ok(()) };
            if error.is_conflict() {
                continue;
            }
            // The turn may be over already, by an earlier attempt whose answer was lost.
            let unknown = matches!(error, TransactionError::Store(_));
            let done = self.is_turn_done(keys.org, &operation.operation_id, keys.user).await;
            if if unknown { done.unwrap_or(false) } else { done? } {
                return Ok(());
            }
            return Err(if error.condition_failed(places.lease) {
                GenerationCommitError::Superseded
            } else if error.condition_failed(places.turn.operation) || error.condition_failed(places.turn.row)
            {
                GenerationCommitError::Stopped
            } else if error.is_refusal() || unknown {
                error.into_store_error("commit turn").into()
            } else {
                GenerationCommitError::Stale
            });
        }
        Err(StoreError::Contended { operation: "commit turn" }.into())
    }

    /// Erases rows ahead of the commit where they are too many for it. A crash in between leaves the turn to be
    /// taken again, and rows that vanish bear vanishing twice. What of the log is still to be rewritten with the
    /// commit is returned.
    async fn vanish_ahead(
        &self,
        keys: &UserKeys<'_>,
        commit: &mut GenerationCommit,
    ) -> Result<Vec<Redaction>, CommitError> {
        let mut redactions = self.redactions(keys, &commit.profiles.delete).await?;
        // Playbooks have an entry in the inbox of their aggregation.
        let written = 2 * commit.profiles.insert.len()
            + commit.profiles.replace.len()
            + 3 * commit.playbooks.insert.len()
            + 2 * commit.playbooks.replace.len();
        let inline_max = if written > WRITTEN_ITEMS_ROOMY { 0 } else { FORGOTTEN_ROWS_INLINE_MAX };
        if commit.profiles.delete.len() > inline_max {
            let forgotten = std::mem::take(&mut commit.profiles.delete);
            self.forget_profiles(keys, &commit.lease, &forgotten, &redactions).await?;
            redactions.clear();
        }
        if commit.playbooks.delete.len() > inline_max {
            let pending = std::mem::take(&mut commit.playbooks.delete);
            for chunk in pending.chunks(FORGOTTEN_ROWS_PER_TRANSACTION) {
                let erase = |transaction: &mut Transaction| {
                    chunk.iter().for_each(|id| self.add_playbook_deletion(transaction, keys, *id));
                };
                self.write_ahead(keys, &commit.lease, erase).await?;
            }
        }
        Ok(redactions)
    }

    fn generation_transaction(
        &self,
        keys: &UserKeys<'_>,
        operation: &Operation,
        commit: &GenerationCommit,
        turn: &Turn<'_>,
        redactions: &[Redaction],
    ) -> Result<(Transaction, Places), GenerationCommitError> {
        let mut transaction = Transaction::default();
        let (key, expression) = commit_under(keys.lease(), &commit.lease);
        let lease = transaction.update(self, &key, expression);
        let turn = self.add_turn(&mut transaction, keys.org, operation, keys.user, turn);
        if let Some((cursor, receipt)) = &commit.cursor {
            let (condition, values) = cursor_condition(cursor.version);
            let expression = Expression { values, ..Expression::default() }.condition(condition);
            transaction.put_if(self, cursor_item(keys, commit.kind.into(), cursor)?, expression);
            let receipt = ItemBuilder::new(&keys.window(commit.kind.into(), receipt.end))
                .text(DOCUMENT, &encode(receipt)?)
                .build();
            transaction.create(self, receipt);
        }
        self.add_profiles(&mut transaction, keys, &commit.profiles, &operation.operation_id)?;
        self.add_playbooks(&mut transaction, keys, &commit.playbooks)?;
        for redaction in redactions {
            redaction.add_to(&mut transaction, self);
        }
        for effect in &commit.effects {
            transaction.put(self, effect.to_item(commit.at)?);
        }
        if transaction.len() > TRANSACTION_ITEMS_MAX {
            return Err(GenerationCommitError::TooLarge);
        }
        Ok((transaction, Places { lease, turn }))
    }
}
