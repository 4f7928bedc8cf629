//! Jobs that judge sessions anew: a job, the sessions that it is about, and the lanes in which they wait.
//!
//! A session's row moves from those that wait to those that are judged in the transaction that counts it. So whoever
//! comes second, or again, finds no row to move, and nothing is counted twice.

use domain::ids::{OrgId, UserHash, UserId};
use domain::judging::RegenerationStatus;
use domain::time::{DAY_SECONDS, EpochMillis, EpochSeconds};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    AGENT_VERSION, AT, ATTEMPTS, BY_TIME_SK, COMPLETED_AT, DOCUMENT, DUE_AT, DUE_PK, ERROR, FAILED,
    HEARTBEAT, Item, ItemBuilder, ItemReader, LANES, OPERATION, PK, PROCESSED, SESSION, SK, SOURCE, STATUS,
    TTL, USER, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::keys::{self, Listing, REGENERATION_FAILED_PREFIX};
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;
use crate::transaction::{Expression, TRANSACTION_ITEMS_MAX, Transaction, TransactionError};

/// Lanes of a job at most: all of them are made in one transaction.
pub const REGENERATION_LANES_MAX: usize = 90;
/// How long a job is kept after its start, in seconds: at least a day after its end.
const JOB_KEPT_SECONDS: i64 = 7 * DAY_SECONDS;

/// A request as far as it says what session is to be judged anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTrace {
    /// Whose.
    pub user: UserHash,
    /// The user's id.
    pub user_id: UserId,
    /// The session.
    pub session_id: String,
    /// The agent version.
    pub agent_version: String,
    /// The source.
    pub source: String,
    /// When it came.
    pub at: EpochSeconds,
}

/// A session of a user that is to be judged as the work of an agent version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegenerationCandidate {
    /// Whose.
    pub user: UserHash,
    /// The session id.
    pub session_id: String,
    /// The agent version.
    pub agent_version: String,
    /// Where its first request came from.
    pub source: String,
}

/// A job that is to begin.
#[derive(Debug, Clone)]
pub struct NewRegeneration {
    /// Unique.
    pub job_id: String,
    /// Sessions that could be judged.
    pub total: i64,
    /// The sample that is judged.
    pub candidates: Vec<RegenerationCandidate>,
    /// How many at once, 1 to [`REGENERATION_LANES_MAX`].
    pub lanes: u32,
}

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct RegenerationJob {
    /// Which.
    pub job_id: String,
    /// Where it stands.
    pub status: RegenerationStatus,
    /// Sessions that could be judged.
    pub total: i64,
    /// Sessions that are.
    pub sampled: i64,
    /// Sessions judged so far.
    pub completed: i64,
    /// Sessions judged in vain.
    pub failed: i64,
    /// When it began.
    pub started_at_ms: EpochMillis,
    /// When it ended.
    pub finished_at_ms: Option<EpochMillis>,
    /// When it last got on.
    pub progress_at: EpochSeconds,
    /// How many sessions are judged at once.
    pub lanes: u32,
}

impl RegenerationJob {
    /// Whether every session of the sample had its turn.
    #[must_use]
    pub fn is_through(&self) -> bool {
        self.completed + self.failed >= self.sampled
    }

    fn from_item(item: &Item, job_id: &str) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let status = RegenerationStatus::parse(reader.text(STATUS)?).ok_or_else(|| reader.corrupt(STATUS))?;
        let [total, sampled]: [i64; 2] = reader.json(DOCUMENT)?;
        Ok(Self {
            job_id: job_id.to_owned(),
            status,
            total,
            sampled,
            completed: reader.count(PROCESSED),
            failed: reader.count(FAILED),
            started_at_ms: reader.number(AT)?,
            finished_at_ms: reader.number_opt(COMPLETED_AT),
            progress_at: reader.number(HEARTBEAT)?,
            lanes: u32::try_from(reader.number(LANES)?).map_err(|_| reader.corrupt(LANES))?,
        })
    }
}

impl Store {
    /// What the requests of a span of time, both ends included, say of their sessions; `None` when there are more
    /// than `limit`. Eventual.
    ///
    /// # Errors
    /// [`StoreError`] when the index fails or an entry is damaged.
    pub async fn request_traces(
        &self,
        org: &OrgId,
        from: EpochSeconds,
        to: EpochSeconds,
        limit: usize,
    ) -> Result<Option<Vec<RequestTrace>>, StoreError> {
        let partition = Listing::Requests.partition(org);
        let entries = self.entries_between(&partition, (from, to), Some(limit + 1)).await?;
        if entries.len() > limit {
            return Ok(None);
        }
        let (mut traces, mut unlisted) = (Vec::with_capacity(entries.len()), Vec::new());
        for entry in &entries {
            match trace(entry)? {
                Some(trace) => traces.push(trace),
                None => unlisted.push(key_of(entry)?),
            }
        }
        // What was stored before user and agent version were listed says so itself.
        for document in self.documents_by_keys(&unlisted).await? {
            let request = document.request;
            traces.push(RequestTrace {
                user: UserHash::of(&request.user_id),
                user_id: request.user_id,
                session_id: request.session_id.to_string(),
                agent_version: request.agent_version,
                source: request.source,
                at: request.created_at,
            });
        }
        Ok(Some(traces))
    }

    /// Begins a job, unless one is in progress.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn start_regeneration(&self, org: &OrgId, new: &NewRegeneration) -> Result<bool, StoreError> {
        let seen = self.regeneration_in_progress(org).await?;
        if let Some(job_id) = &seen
            && self.regeneration(org, job_id).await?.is_some_and(|job| !job.status.is_over())
        {
            return Ok(job_id == &new.job_id);
        }
        self.put_candidates(org, new).await?;
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = Transaction::default();
            let pointer =
                ItemBuilder::new(&keys::regeneration_in_progress(org)).text(OPERATION, &new.job_id).build();
            // Whoever ended the job before may have died before it took its name away.
            let free = match &seen {
                Some(job) => Expression::default()
                    .condition(format!("attribute_not_exists({PK}) OR {OPERATION} = :seen"))
                    .value(":seen", text(job)),
                None => Expression::default().condition(format!("attribute_not_exists({PK})")),
            };
            let pointer = transaction.put_if(self, pointer, free);
            transaction.create(self, self.job_item(org, new)?);
            for lane in 0..new.lanes {
                transaction.create(self, self.lane_item(org, &new.job_id, lane));
            }
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.condition_failed(pointer) => return Ok(false),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(error) => return Err(error.into_store_error("start regeneration")),
            }
        }
        Err(StoreError::Contended { operation: "start regeneration" })
    }

    /// Rows of sessions that wait. Without their job they mean nothing, and go by themselves.
    async fn put_candidates(&self, org: &OrgId, new: &NewRegeneration) -> Result<(), StoreError> {
        let ttl = self.clock.now() + JOB_KEPT_SECONDS;
        let numbered: Vec<_> = (0_u32..).zip(&new.candidates).collect();
        for chunk in numbered.chunks(TRANSACTION_ITEMS_MAX) {
            let mut transaction = Transaction::default();
            for (number, candidate) in chunk {
                let waiting = keys::waiting_in_lane(number % new.lanes);
                let key = keys::regeneration_candidate(org, &new.job_id, &waiting, i64::from(*number));
                let item = ItemBuilder::new(&key)
                    .text(DOCUMENT, &encode(candidate)?)
                    .number(ATTEMPTS, 0)
                    .number(TTL, ttl);
                transaction.put(self, item.build());
            }
            transaction.commit(self).await.map_err(|error| error.into_store_error("put candidates"))?;
        }
        Ok(())
    }

    fn job_item(&self, org: &OrgId, new: &NewRegeneration) -> Result<Item, StoreError> {
        let now = self.clock.now();
        let sampled = i64::try_from(new.candidates.len()).unwrap_or(i64::MAX);
        Ok(ItemBuilder::new(&keys::regeneration_job(org, &new.job_id))
            .text(STATUS, RegenerationStatus::Running.as_str())
            .text(DOCUMENT, &encode(&[new.total, sampled])?)
            .number(AT, self.clock.now_ms())
            .number(HEARTBEAT, now)
            .number(LANES, new.lanes.into())
            .number(TTL, now + JOB_KEPT_SECONDS)
            .build())
    }

    fn lane_item(&self, org: &OrgId, job_id: &str, lane: u32) -> Item {
        let now = self.clock.now();
        ItemBuilder::new(&keys::regeneration_lane(org, job_id, lane))
            .text(OPERATION, job_id)
            .text(DUE_PK, &due::partition_of(&lane.to_string()))
            .number(DUE_AT, now)
            .number(TTL, now + JOB_KEPT_SECONDS)
            .build()
    }

    /// The job that was started last, if none was ended since.
    async fn regeneration_in_progress(&self, org: &OrgId) -> Result<Option<String>, StoreError> {
        let Some(item) = self.get(&keys::regeneration_in_progress(org)).await? else { return Ok(None) };
        ItemReader(&item).text(OPERATION).map(|job| Some(job.to_owned()))
    }

    /// Whether a job is in progress.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn is_regenerating(&self, org: &OrgId) -> Result<bool, StoreError> {
        let Some(job) = self.regeneration_in_progress(org).await? else { return Ok(false) };
        Ok(self.regeneration(org, &job).await?.is_some_and(|job| !job.status.is_over()))
    }

    /// A job; `None` when the organisation has none of this id, or had it too long ago.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn regeneration(
        &self,
        org: &OrgId,
        job_id: &str,
    ) -> Result<Option<RegenerationJob>, StoreError> {
        let item = self.get(&keys::regeneration_job(org, job_id)).await?;
        item.map(|item| RegenerationJob::from_item(&item, job_id)).transpose()
    }

    /// The first sessions that were judged in vain, and why.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn regeneration_failures(
        &self,
        org: &OrgId,
        job_id: &str,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let partition = keys::regeneration_partition(org, job_id);
        let range = Range::prefix(&partition, REGENERATION_FAILED_PREFIX).limit(limit);
        let (items, _) = self.query_page(&range, None).await?;
        let failure = |item: &Item| {
            let reader = ItemReader(item);
            let candidate: RegenerationCandidate = reader.json(DOCUMENT)?;
            Ok((candidate.session_id, reader.text(ERROR)?.to_owned()))
        };
        items.iter().map(failure).collect()
    }

    /// Ends a job that is in progress: `true` when this call did.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn end_regeneration(
        &self,
        org: &OrgId,
        job_id: &str,
        status: RegenerationStatus,
    ) -> Result<bool, StoreError> {
        for attempt in 1..=ATTEMPTS_MAX {
            let mut transaction = Transaction::default();
            let end = Expression::new(format!("SET {STATUS} = :ended, {COMPLETED_AT} = :now"))
                .condition(format!("{STATUS} = :running"))
                .value(":running", text(RegenerationStatus::Running.as_str()))
                .value(":ended", text(status.as_str()))
                .value(":now", number(self.clock.now_ms()));
            let job = transaction.update(self, &keys::regeneration_job(org, job_id), end);
            let mine = Expression::default()
                .condition(format!("attribute_not_exists({PK}) OR {OPERATION} = :job"))
                .value(":job", text(job_id));
            transaction.delete(self, &keys::regeneration_in_progress(org), mine);
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.condition_failed(job) => return Ok(false),
                Err(error) if error.is_conflict() => self.retries.wait(attempt).await,
                Err(TransactionError::Store(error)) => return Err(error),
                Err(error) => return Err(error.into_store_error("end regeneration")),
            }
        }
        Err(StoreError::Contended { operation: "end regeneration" })
    }
}

fn key_of(entry: &Item) -> Result<keys::Key, StoreError> {
    let reader = ItemReader(entry);
    Ok(keys::Key::from_parts(reader.text(PK)?, reader.text(SK)?))
}

/// What an entry says; `None` when it lacks the user or the agent version.
fn trace(entry: &Item) -> Result<Option<RequestTrace>, StoreError> {
    let reader = ItemReader(entry);
    let (Some(user_id), Some(agent_version)) = (reader.text_opt(USER), reader.text_opt(AGENT_VERSION)) else {
        return Ok(None);
    };
    let user_id = UserId::new(user_id).map_err(|_| reader.corrupt(USER))?;
    let at = reader.text(BY_TIME_SK)?.split('#').next().and_then(|at| at.parse().ok());
    Ok(Some(RequestTrace {
        user: UserHash::of(&user_id),
        user_id,
        session_id: reader.text(SESSION)?.to_owned(),
        agent_version: agent_version.to_owned(),
        source: reader.text_opt(SOURCE).unwrap_or("").to_owned(),
        at: at.ok_or_else(|| reader.corrupt(BY_TIME_SK))?,
    }))
}
