//! Outcomes of sessions: one item a session, written only while the session is as it was read.

use domain::entities::SessionOutcome;
use domain::ids::OrgId;

use crate::Store;
use crate::attributes::{
    AT, BARRIER, BY_TIME_PK, BY_TIME_SK, DOCUMENT, Item, ItemBuilder, ItemReader, OUTCOME, SESSION, SOURCE,
    USER, VERSION, number,
};
use crate::error::StoreError;
use crate::keys::{self, Listing, time_key};
use crate::outcome_lists::tie;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::session_parts::{SessionParts, SessionPartsError};
use crate::transaction::{Expression, Reason, Transaction, TransactionError};

/// An outcome, and the session as it was read: the new row takes the place of the outcome that was found then.
#[derive(Debug, Clone, Copy)]
pub struct OutcomeCommit<'a> {
    /// The new row.
    pub outcome: &'a SessionOutcome,
    /// What the row was made of.
    pub parts: &'a SessionParts,
    /// An id of this very commit, by which it knows its own row after a lost answer.
    pub commit_id: &'a str,
}

/// Why an outcome was not written.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeCommitError {
    /// Something was published in the session or deleted from it, or it has another outcome now: read it again.
    #[error("the session changed")]
    Changed,
    /// The data of a user of the session are being erased.
    #[error("the data of a user of the session are being erased")]
    Barred,
    /// More users take part in the session than can be looked at.
    #[error("too many users take part in the session")]
    TooManyUsers,
    /// The store failed; whether the row was written is unknown when it is unavailable.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SessionPartsError> for OutcomeCommitError {
    fn from(error: SessionPartsError) -> Self {
        match error {
            SessionPartsError::TooManyUsers => Self::TooManyUsers,
            SessionPartsError::Store(error) => Self::Store(error),
        }
    }
}

impl Store {
    /// Writes an outcome, if the session is still as it was read, in one transaction.
    ///
    /// # Errors
    /// [`OutcomeCommitError`].
    pub async fn record_outcome(
        &self,
        org: &OrgId,
        commit: &OutcomeCommit<'_>,
    ) -> Result<(), OutcomeCommitError> {
        let session = &commit.outcome.session_id;
        if !self.is_unchanged(org, session, commit.parts).await? {
            return Err(OutcomeCommitError::Changed);
        }
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            self.place(&mut transaction, org, commit)?;
            self.check_unchanged(&mut transaction, org, session, commit.parts);
            match transaction.commit(self).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(TransactionError::Cancelled(reasons)) if has_condition(&reasons) => {
                    return match self.is_ours(org, commit).await? {
                        true => Ok(()),
                        false if is_barred(&reasons) => Err(OutcomeCommitError::Barred),
                        false => Err(OutcomeCommitError::Changed),
                    };
                }
                Err(TransactionError::Store(error @ StoreError::Unavailable { .. })) => {
                    // The answer may have been lost after the write.
                    let is_ours = self.is_ours(org, commit).await.unwrap_or(false);
                    return if is_ours { Ok(()) } else { Err(error.into()) };
                }
                Err(error) => return Err(error.into_store_error("record outcome").into()),
            }
        }
        Err(StoreError::Contended { operation: "record outcome" }.into())
    }

    fn place(
        &self,
        transaction: &mut Transaction,
        org: &OrgId,
        commit: &OutcomeCommit<'_>,
    ) -> Result<(), StoreError> {
        let replaced = commit.parts.outcome.as_ref().map(|stored| stored.version);
        let item = outcome_item(org, commit, replaced.unwrap_or(0) + 1)?;
        match replaced {
            None => transaction.create(self, item),
            Some(version) => {
                let seen = Expression::default()
                    .condition(format!("{VERSION} = :seen"))
                    .value(":seen", number(version));
                transaction.put_if(self, item, seen)
            }
        };
        Ok(())
    }

    /// Whether the row that is there was written by this very commit.
    async fn is_ours(&self, org: &OrgId, commit: &OutcomeCommit<'_>) -> Result<bool, StoreError> {
        let item = self.get(&keys::session_outcome(org, &commit.outcome.session_id)).await?;
        Ok(item.is_some_and(|item| ItemReader(&item).text_opt(OUTCOME) == Some(commit.commit_id)))
    }
}

fn has_condition(reasons: &[Reason]) -> bool {
    reasons.iter().any(|reason| matches!(reason, Reason::Condition(_)))
}

/// Whether a transaction failed on the barrier of a user.
fn is_barred(reasons: &[Reason]) -> bool {
    let barred = |item: &Item| ItemReader(item).mark(BARRIER);
    reasons.iter().any(|reason| matches!(reason, Reason::Condition(Some(item)) if barred(item)))
}

fn outcome_item(org: &OrgId, commit: &OutcomeCommit<'_>, version: i64) -> Result<Item, StoreError> {
    let outcome = commit.outcome;
    let tie = tie(outcome.user_id.as_str(), outcome.session_id.as_str());
    Ok(ItemBuilder::new(&keys::session_outcome(org, &outcome.session_id))
        .text(DOCUMENT, &encode(outcome)?)
        .number(VERSION, version)
        .text(OUTCOME, commit.commit_id)
        .text(USER, outcome.user_id.as_str())
        .text(SESSION, outcome.session_id.as_str())
        .text(SOURCE, &outcome.source)
        .number(AT, outcome.created_at)
        .text(BY_TIME_PK, &Listing::Outcomes.partition(org))
        .text(BY_TIME_SK, &time_key(outcome.occurred_at, &tie))
        .build())
}
