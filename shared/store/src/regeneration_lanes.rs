//! The lanes of a regeneration job. A lane has one worker at a time, so that a job judges no more sessions at once
//! than it has lanes, whatever messages come twice.

use domain::ids::OrgId;
use domain::time::{DAY_SECONDS, EpochMillis, EpochSeconds};

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    ATTEMPTS, DOCUMENT, DUE_AT, DUE_PK, ERROR, FAILED, HEARTBEAT, Item, ItemBuilder, ItemReader, OPERATION,
    OWNER, PK, PROCESSED, SK, TTL, UNTIL, number, text,
};
use crate::error::StoreError;
use crate::keys::{self, LANE_PREFIX, REGENERATION_DONE_PREFIX, REGENERATION_FAILED_PREFIX};
use crate::regeneration::RegenerationCandidate;
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, Transaction};

/// A worker that holds a lane longer than it said is looked after so much later, in seconds.
const LANE_GRACE_SECONDS: i64 = 30;
/// How long rows of sessions that were judged are kept, in seconds.
const ROWS_KEPT_SECONDS: i64 = 7 * DAY_SECONDS;

/// Which lane of which job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The tenant.
    pub org: OrgId,
    /// The job.
    pub job_id: String,
    /// Its number, from 0.
    pub number: u32,
}

impl Lane {
    fn key(&self) -> keys::Key {
        keys::regeneration_lane(&self.org, &self.job_id, self.number)
    }
}

/// A lane that is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueLane {
    /// The tenant.
    pub org: OrgId,
    /// The lane's key.
    pub(crate) key: keys::Key,
    /// Since when.
    pub due_at: EpochSeconds,
}

/// A session that waits in a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCandidate {
    /// Its place in the job.
    pub number: i64,
    /// How often its turn was begun.
    pub attempts: i64,
    /// The session.
    pub candidate: RegenerationCandidate,
}

impl Store {
    /// Takes a lane until `until_ms`; `false` when another worker has it, or the job is gone.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn take_lane(
        &self,
        lane: &Lane,
        owner: &str,
        until_ms: EpochMillis,
    ) -> Result<bool, StoreError> {
        let due_at = until_ms.div_euclid(1000) + LANE_GRACE_SECONDS;
        let expression = Expression::new(format!("SET {OWNER} = :me, {UNTIL} = :until, {DUE_AT} = :due"))
            .condition(format!(
                "attribute_exists({DUE_PK}) AND (attribute_not_exists({UNTIL}) OR {UNTIL} < :now OR {OWNER} = :me)"
            ))
            .value(":me", text(owner))
            .value(":until", number(until_ms))
            .value(":due", number(due_at))
            .value(":now", number(self.clock.now_ms()));
        Ok(self.update_one(&lane.key(), expression).await?.is_some())
    }

    /// Gives a lane back: to be looked at at `due_at`, or never again.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn leave_lane(
        &self,
        lane: &Lane,
        owner: &str,
        due_at: Option<EpochSeconds>,
    ) -> Result<(), StoreError> {
        let update = match due_at {
            Some(_) => format!("SET {DUE_AT} = :due REMOVE {OWNER}, {UNTIL}"),
            None => format!("REMOVE {OWNER}, {UNTIL}, {DUE_AT}, {DUE_PK}"),
        };
        let mut expression =
            Expression::new(update).condition(format!("{OWNER} = :me")).value(":me", text(owner));
        if let Some(due_at) = due_at {
            expression = expression.value(":due", number(due_at));
        }
        self.update_one(&lane.key(), expression).await?;
        Ok(())
    }

    /// The session whose turn is next in a lane.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the row is damaged.
    pub async fn next_in_lane(&self, lane: &Lane) -> Result<Option<WaitingCandidate>, StoreError> {
        let partition = keys::regeneration_partition(&lane.org, &lane.job_id);
        let prefix = keys::waiting_in_lane(lane.number);
        let (items, _) = self.query_page(&Range::prefix(&partition, &prefix).limit(1), None).await?;
        let Some(item) = items.first() else { return Ok(None) };
        let reader = ItemReader(item);
        let number = reader.text(SK)?.strip_prefix(&prefix).and_then(|number| number.parse().ok());
        Ok(Some(WaitingCandidate {
            number: number.ok_or_else(|| reader.corrupt(SK))?,
            attempts: reader.count(ATTEMPTS),
            candidate: reader.json(DOCUMENT)?,
        }))
    }

    /// Adds to how often the turn of a session was begun; a turn that was none takes its count back.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn count_turn(&self, lane: &Lane, candidate: i64, by: i64) -> Result<(), StoreError> {
        let waiting = keys::waiting_in_lane(lane.number);
        let key = keys::regeneration_candidate(&lane.org, &lane.job_id, &waiting, candidate);
        let expression = Expression::new(format!("ADD {ATTEMPTS} :by"))
            .condition(format!("attribute_exists({PK})"))
            .value(":by", number(by));
        self.update_one(&key, expression).await?;
        Ok(())
    }

    /// Counts a session as judged, or as judged in vain for a reason; `false` when it was counted before.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn settle_candidate(
        &self,
        lane: &Lane,
        waiting: &WaitingCandidate,
        failure: Option<&str>,
    ) -> Result<bool, StoreError> {
        let (org, job_id) = (&lane.org, &lane.job_id);
        let prefix = if failure.is_some() { REGENERATION_FAILED_PREFIX } else { REGENERATION_DONE_PREFIX };
        let settled = ItemBuilder::new(&keys::regeneration_candidate(org, job_id, prefix, waiting.number))
            .text(DOCUMENT, &encode(&waiting.candidate)?)
            .text_if(ERROR, failure)
            .number(TTL, self.clock.now() + ROWS_KEPT_SECONDS)
            .build();
        let from = keys::waiting_in_lane(lane.number);
        let from = keys::regeneration_candidate(org, job_id, &from, waiting.number);
        let counter = if failure.is_some() { FAILED } else { PROCESSED };
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = Transaction::default();
            let is_there = Expression::default().condition(format!("attribute_exists({PK})"));
            let waits = transaction.delete(self, &from, is_there);
            transaction.put(self, settled.clone());
            let counted = Expression::new(format!("SET {HEARTBEAT} = :now ADD {counter} :one"))
                .condition(format!("attribute_exists({PK})"))
                .value(":now", number(self.clock.now()))
                .value(":one", number(1));
            transaction.update(self, &keys::regeneration_job(org, job_id), counted);
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.condition_failed(waits) => return Ok(false),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(error) => return Err(error.into_store_error("settle candidate")),
            }
        }
        Err(StoreError::Contended { operation: "settle candidate" })
    }

    /// Moves an overdue lane to `next`, so that one that does not get on crowds out nobody; which lane it is, or
    /// `None` when it is not overdue as seen any more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn push_due_lane(&self, due: &DueLane, next: EpochSeconds) -> Result<Option<Lane>, StoreError> {
        let expression = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen"))
            .value(":next", number(next))
            .value(":seen", number(due.due_at));
        let Some(item) = self.update_one(&due.key, expression).await? else { return Ok(None) };
        let reader = ItemReader(&item);
        let number = reader.text(SK)?.strip_prefix(LANE_PREFIX).and_then(|number| number.parse().ok());
        Ok(Some(Lane {
            org: due.org.clone(),
            job_id: reader.text(OPERATION)?.to_owned(),
            number: number.ok_or_else(|| reader.corrupt(SK))?,
        }))
    }
}

/// The lane behind an index entry, if it is one.
pub(crate) fn parse_key(item: &Item) -> Option<DueLane> {
    let reader = ItemReader(item);
    let (pk, sk) = (reader.text_opt(PK)?, reader.text_opt(SK)?);
    let (org, _) = pk.strip_prefix("O#")?.split_once(keys::REGENERATION_PARTITION)?;
    sk.strip_prefix(LANE_PREFIX)?;
    Some(DueLane {
        org: org.parse().ok()?,
        key: keys::Key::from_parts(pk, sk),
        due_at: reader.number_opt(DUE_AT)?,
    })
}
