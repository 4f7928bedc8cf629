//! Declaring a session over after its last request was stored.

use domain::ids::SessionId;
use domain::learning::LearningKind;
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    BARRIER, COUNT, DUE_AT, DUE_PK, DUE_REVISION, FINISHED, ItemReader, PK, POSITION, SESSION, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::heads::Head;
use crate::keys::{REQUEST_PREFIX, UserKeys, padded};
use crate::requests::is_session_finished;
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction};

/// Requests that are read at a time while the latest one of a session is looked for.
const PAGE_REQUESTS: i32 = 8;

/// A session that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finalized {
    /// Position of its latest request, which is marked.
    pub position: i64,
    /// Whether a worker should be woken: something waits, and is due.
    pub is_due: bool,
}

/// Why a session was not declared over.
#[derive(Debug, thiserror::Error)]
pub enum FinalizeError {
    /// The user is being erased.
    #[error("the user is being erased")]
    Barred,
    /// Nothing is known to have been written; the call may be repeated.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The latest request of a session.
struct Latest {
    position: i64,
    is_finished: bool,
}

impl Store {
    /// Marks the latest request of a user's session as its last, and makes the user due if anything waits, in one
    /// transaction. `None` when this user has no such session. A repeat finds the mark and writes nothing.
    ///
    /// # Errors
    /// [`FinalizeError`].
    pub async fn finalize_session(
        &self,
        keys: &UserKeys<'_>,
        session: &SessionId,
    ) -> Result<Option<Finalized>, FinalizeError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            // The head first: the transaction holds on its count, so that no publish comes in between.
            let Some(head) = self.head(keys).await? else { return Ok(None) };
            if head.barred {
                return Err(FinalizeError::Barred);
            }
            let Some(latest) = self.latest_of_session(keys, session).await? else { return Ok(None) };
            let now = self.clock.now();
            let waits = LearningKind::ALL.into_iter().any(|kind| head.admitted(kind) > head.learned(kind));
            let position = latest.position;
            if latest.is_finished {
                let is_due = waits && head.due_at.is_some_and(|at| at <= now);
                return Ok(Some(Finalized { position, is_due }));
            }
            let mut transaction = Transaction::default();
            let mark = Expression::new(format!("SET {FINISHED} = :yes"))
                .condition(format!("attribute_exists({PK})"))
                .value(":yes", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
            let request = transaction.update(self, &keys.request(position), mark);
            let due_at = waits.then_some(now);
            let head_index = transaction.update(self, &keys.head(), head_update(keys, &head, due_at));
            match transaction.commit(self).await {
                Ok(()) => return Ok(Some(Finalized { position, is_due: waits })),
                // Something was published or deleted meanwhile: look again.
                Err(error)
                    if error.condition_failed(request)
                        || error.condition_failed(head_index)
                        || error.is_conflict() => {}
                Err(error) => return Err(error.into_store_error("finalize session").into()),
            }
        }
        Err(StoreError::Contended { operation: "finalize session" }.into())
    }

    /// The latest request of a session that is still there.
    async fn latest_of_session(
        &self,
        keys: &UserKeys<'_>,
        session: &SessionId,
    ) -> Result<Option<Latest>, StoreError> {
        let Some(record) = self.session(keys, session).await? else { return Ok(None) };
        let partition = keys.partition();
        let range = Range {
            partition: &partition,
            from: format!("{REQUEST_PREFIX}{}", padded(record.first_position)),
            to: format!("{REQUEST_PREFIX}{}", padded(record.last_position)),
            ascending: false,
            limit: Some(PAGE_REQUESTS),
        };
        let mut start = None;
        loop {
            let (items, next) = self.query_page(&range, start).await?;
            for item in &items {
                let reader = ItemReader(item);
                if reader.text_opt(SESSION) == Some(session.as_str()) {
                    let is_finished = is_session_finished(reader)?;
                    return Ok(Some(Latest { position: reader.number(POSITION)?, is_finished }));
                }
            }
            match next {
                Some(next) => start = Some(next),
                None => return Ok(None),
            }
        }
    }
}

/// Tells workers at this user to look again, and makes the user due; who is overdue keeps the place in the index.
fn head_update(keys: &UserKeys<'_>, head: &Head, due_at: Option<EpochSeconds>) -> Expression {
    let raise = format!("ADD {DUE_REVISION} :one");
    let update = match due_at {
        Some(_) => format!("SET {DUE_AT} = :due, {DUE_PK} = :shard {raise}"),
        None => raise,
    };
    let expression = Expression::new(update)
        .condition(format!("{COUNT} = :seen AND attribute_not_exists({BARRIER})"))
        .value(":seen", number(head.count))
        .value(":one", number(1));
    let Some(now) = due_at else { return expression };
    let due_at = head.due_at.map_or(now, |at| at.min(now));
    expression.value(":due", number(due_at)).value(":shard", text(&due::partition(keys.user)))
}
