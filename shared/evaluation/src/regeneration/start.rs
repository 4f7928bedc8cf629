//! The start of a job.

use domain::config::Config;
use domain::entities::RetrievalExperimentArm;
use domain::experiments::assigned_arm;
use domain::ids::{OrgId, UserId};
use domain::judging::RegenerationStatus;
use domain::time::EpochSeconds;
use futures::future::join_all;
use learning::services::Services;
use store::{NewRegeneration, REGENERATION_LANES_MAX, StoreError};
use wake::{EvaluateTask, EvaluateWake, RegenerationTask, WakeReason};

use super::sample::{candidates, sample};

/// Requests that one job looks at: beyond that the caller would wait too long for the start.
pub const REQUESTS_PER_JOB_MAX: usize = 100_000;

/// A job that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Which.
    pub job_id: String,
    /// Sessions that could be judged.
    pub total: usize,
}

/// Why no job began.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// One is in progress.
    #[error("A regenerate is already running for this org")]
    Busy,
    /// The span of time holds too much.
    #[error("The span holds more than {REQUESTS_PER_JOB_MAX} requests; choose a shorter one")]
    TooMany,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Begins to judge the sessions of a span of time anew, both ends included.
///
/// # Errors
/// [`StartError`]; nothing began.
pub async fn start(
    services: &Services,
    org: &OrgId,
    config: &Config,
    (from, to): (EpochSeconds, EpochSeconds),
) -> Result<Started, StartError> {
    let store = &services.store;
    if store.is_regenerating(org).await? {
        return Err(StartError::Busy);
    }
    let traces = store.request_traces(org, from, to, REQUESTS_PER_JOB_MAX).await?;
    let traces = traces.ok_or(StartError::TooMany)?;
    let all = candidates(&traces, |user, at| arm_at(org, config, user, at));
    let total = all.len();
    let job_id = services.ids.uuid().replace('-', "");
    let per_stratum = usize::try_from(config.eval_sample_n_per_stratum).unwrap_or(usize::MAX);
    let sampled = sample(&job_id, all, per_stratum);
    let wanted = usize::try_from(config.eval_concurrency_limit).unwrap_or(1).max(1);
    // A lane without sessions has nothing to do, but a job without lanes would never end.
    let lanes = wanted.min(REGENERATION_LANES_MAX).min(sampled.len().max(1));
    let new = NewRegeneration {
        job_id: job_id.clone(),
        total: i64::try_from(total).unwrap_or(i64::MAX),
        candidates: sampled,
        lanes: u32::try_from(lanes).unwrap_or(1),
    };
    if !store.start_regeneration(org, &new).await? {
        return Err(StartError::Busy);
    }
    if new.candidates.is_empty() {
        store.end_regeneration(org, &job_id, RegenerationStatus::Completed).await?;
    }
    let wakes = (0..new.lanes).map(|lane| wake_lane(services, org, &job_id, lane));
    join_all(wakes).await;
    Ok(Started { job_id, total })
}

/// In which arm of an experiment that ran then a user was.
fn arm_at(org: &OrgId, config: &Config, user: &UserId, at: EpochSeconds) -> Option<RetrievalExperimentArm> {
    let ran = config
        .retrieval_experiment_history
        .iter()
        .find(|record| record.started_at <= at && record.ended_at.is_none_or(|end| at <= end))?;
    Some(assigned_arm(org, &ran.experiment_id, user, ran.holdout_percentage))
}

/// Wakes a lane. Should the wake not be sent, the sweep finds the lane.
async fn wake_lane(services: &Services, org: &OrgId, job_id: &str, lane: u32) {
    let task = EvaluateTask::Regeneration(RegenerationTask { job_id: job_id.to_owned(), lane });
    let wake = EvaluateWake::new(org.clone(), task, WakeReason::Published);
    if let Err(error) = services.wakes.evaluate(&wake, job_id).await {
        tracing::warn!(event = "wake_failed", reason = "regeneration", org = org.as_str(), %error);
    }
}
