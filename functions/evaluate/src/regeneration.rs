//! Lanes of jobs that judge sessions anew.

use std::sync::Arc;

use async_trait::async_trait;
use domain::ids::{OrgId, hash_hex};
use domain::judging::{AgentSuccessStatus, RetrievedLearningStatus};
use domain::time::EpochMillis;
use evaluation::regeneration::{CandidateJudge, Judged, LaneError, LaneOutcome, work_in_lane};
use evaluation::session::{Run, RunOrder, RunOutcome, run};
use runtime::App;
use store::{Lane, RegenerationCandidate};
use wake::{EvaluateWake, Redeliver, RegenerationTask, WakeReason};

/// Judges the sessions of a lane, and wakes itself for those that are left.
pub(crate) async fn handle(
    app: &Arc<App>,
    wake: &EvaluateWake,
    task: &RegenerationTask,
    deadline_ms: EpochMillis,
) -> Result<(), Redeliver> {
    let lane = Lane { org: wake.org.clone(), job_id: task.job_id.clone(), number: task.lane };
    let judge = SessionJudge(Arc::clone(app));
    let worked = work_in_lane(&app.services, &lane, &judge, deadline_ms).await;
    let worked = worked.map_err(|error| Redeliver(error.to_string()))?;
    tracing::info!(event = "lane_worked", org = wake.org.as_str(), lane = task.lane, outcome = ?worked);
    if worked == LaneOutcome::Continued {
        let next = EvaluateWake { reason: WakeReason::Continued, ..wake.clone() };
        if let Err(error) = app.services.wakes.evaluate(&next, &app.services.ids.uuid()).await {
            // The lane is due: the sweep finds it.
            tracing::warn!(event = "wake_failed", reason = "continued", %error);
        }
    }
    Ok(())
}

/// Judges by the judges of sessions.
struct SessionJudge(Arc<App>);

#[async_trait]
impl CandidateJudge for SessionJudge {
    async fn judge(
        &self,
        org: &OrgId,
        candidate: &RegenerationCandidate,
        deadline_ms: EpochMillis,
    ) -> Result<Judged, LaneError> {
        let order = RunOrder {
            org: org.clone(),
            user: candidate.user.clone(),
            session: hash_hex(&candidate.session_id),
            agent_version: candidate.agent_version.clone(),
            source: Some(candidate.source.clone()),
            is_forced: true,
            run_agent_success: true,
            run_retrieved_learning: true,
            through: None,
        };
        match run(&self.0.services, &order, deadline_ms).await {
            Ok(Run::Busy) => Ok(Judged::Busy),
            Ok(Run::Over(outcome)) => Ok(failure(&outcome).map_or(Judged::Done, Judged::Failed)),
            Err(error) => Err(LaneError(error.to_string())),
        }
    }
}

/// Why a run was in vain, as callers are told; `None` when it was not.
fn failure(outcome: &RunOutcome) -> Option<String> {
    if outcome.agent_success == AgentSuccessStatus::Failed {
        return Some("agent_success_failed".to_owned());
    }
    match outcome.retrieved_learning {
        RetrievedLearningStatus::Complete
        | RetrievedLearningStatus::NotApplicable
        | RetrievedLearningStatus::Skipped
        | RetrievedLearningStatus::Superseded => None,
        other => Some(format!("retrieved_learning_{}", other.as_str())),
    }
}
