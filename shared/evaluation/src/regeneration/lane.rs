//! The work in one lane of a job: one session after the other.

use async_trait::async_trait;
use domain::ids::OrgId;
use domain::judging::RegenerationStatus;
use domain::time::EpochMillis;
use learning::services::Services;
use store::{Lane, RegenerationCandidate, StoreError, WaitingCandidate};

/// How often the turn of a session is begun: whoever began it before died of it.
const ATTEMPTS_MAX: i64 = 3;
/// A worker begins no further session with less time than this left, in milliseconds: a judge may take minutes.
const RESERVE_MS: i64 = 330_000;
/// A lane is held so much longer than its worker may run, in milliseconds.
const GRACE_MS: i64 = 30_000;
/// A session that somebody else judges at the moment is looked at again after this time, in seconds.
const BUSY_SECONDS: i64 = 15;
/// A job that did not get on for this long, in seconds, is given up.
const SILENT_SECONDS: i64 = 7_200;

/// What came of judging a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// It is judged, or there is nothing to judge.
    Done,
    /// In vain, for this reason.
    Failed(String),
    /// Somebody else is judging it.
    Busy,
}

/// Judges one session of a job.
#[async_trait]
pub trait CandidateJudge: Send + Sync {
    /// Judges a session anew.
    ///
    /// # Errors
    /// [`StoreError`] when the infrastructure failed: the session is tried again.
    async fn judge(
        &self,
        org: &OrgId,
        candidate: &RegenerationCandidate,
        deadline_ms: EpochMillis,
    ) -> Result<Judged, LaneError>;
}

/// The infrastructure failed; the lane is looked at again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LaneError(pub String);

impl From<StoreError> for LaneError {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

/// Where a worker left its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneOutcome {
    /// Another worker has it, or it is done with.
    NotMine,
    /// Nothing waits in it any more, or the job is over.
    Empty,
    /// Sessions wait: it is to be woken again.
    Continued,
    /// The next session is being judged by somebody else: the sweep wakes the lane.
    PutOff,
}

/// Judges the sessions of a lane one after the other, as far as the time goes.
///
/// # Errors
/// [`LaneError`] when the infrastructure failed; the lane is given back.
pub async fn work_in_lane(
    services: &Services,
    lane: &Lane,
    judge: &dyn CandidateJudge,
    deadline_ms: EpochMillis,
) -> Result<LaneOutcome, LaneError> {
    let owner = services.ids.uuid();
    if !services.store.take_lane(lane, &owner, deadline_ms + GRACE_MS).await? {
        return Ok(LaneOutcome::NotMine);
    }
    let worked = work(services, lane, judge, deadline_ms).await;
    let now = services.clock.now();
    let due_at = match worked {
        Ok(LaneOutcome::Empty | LaneOutcome::NotMine) => None,
        Ok(LaneOutcome::PutOff) => Some(now + BUSY_SECONDS),
        Ok(LaneOutcome::Continued) | Err(_) => Some(now),
    };
    services.store.leave_lane(lane, &owner, due_at).await?;
    worked
}

async fn work(
    services: &Services,
    lane: &Lane,
    judge: &dyn CandidateJudge,
    deadline_ms: EpochMillis,
) -> Result<LaneOutcome, LaneError> {
    let store = &services.store;
    let mut is_first = true;
    loop {
        let Some(job) = store.regeneration(&lane.org, &lane.job_id).await? else {
            return Ok(LaneOutcome::Empty);
        };
        if job.status.is_over() {
            return Ok(LaneOutcome::Empty);
        }
        if job.is_through() {
            store.end_regeneration(&lane.org, &lane.job_id, RegenerationStatus::Completed).await?;
            return Ok(LaneOutcome::Empty);
        }
        if services.clock.now() - job.progress_at >= SILENT_SECONDS {
            tracing::error!(event = "regeneration_given_up", org = lane.org.as_str(), job = lane.job_id);
            store.end_regeneration(&lane.org, &lane.job_id, RegenerationStatus::Error).await?;
            return Ok(LaneOutcome::Empty);
        }
        let Some(waiting) = store.next_in_lane(lane).await? else { return Ok(LaneOutcome::Empty) };
        if !is_first && services.clock.now_ms() > deadline_ms - RESERVE_MS {
            return Ok(LaneOutcome::Continued);
        }
        is_first = false;
        if !turn(services, lane, judge, &waiting, deadline_ms).await? {
            return Ok(LaneOutcome::PutOff);
        }
    }
}

/// One session's turn; `false` when somebody else is at it.
async fn turn(
    services: &Services,
    lane: &Lane,
    judge: &dyn CandidateJudge,
    waiting: &WaitingCandidate,
    deadline_ms: EpochMillis,
) -> Result<bool, LaneError> {
    let store = &services.store;
    if waiting.attempts >= ATTEMPTS_MAX {
        store.settle_candidate(lane, waiting, Some("its judge died every time")).await?;
        return Ok(true);
    }
    store.count_turn(lane, waiting.number, 1).await?;
    match judge.judge(&lane.org, &waiting.candidate, deadline_ms).await? {
        Judged::Done => store.settle_candidate(lane, waiting, None).await?,
        Judged::Failed(reason) => store.settle_candidate(lane, waiting, Some(&reason)).await?,
        Judged::Busy => {
            store.count_turn(lane, waiting.number, -1).await?;
            return Ok(false);
        }
    };
    Ok(true)
}
