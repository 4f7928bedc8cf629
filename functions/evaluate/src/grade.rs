//! Verdicts that callers asked for.

use std::sync::Arc;

use async_trait::async_trait;
use domain::ids::{OrgId, hash_hex};
use domain::judging::AgentSuccessStatus;
use domain::time::EpochMillis;
use evaluation::on_demand::{Graded, Grader, carry_out};
use evaluation::regeneration::LaneError;
use evaluation::session::{Run, RunOrder, run};
use runtime::App;
use store::GradeOrder;
use wake::{EvaluateWake, GradeTask, Redeliver};

/// Carries an attempt out.
pub(crate) async fn handle(
    app: &Arc<App>,
    wake: &EvaluateWake,
    task: &GradeTask,
    deadline_ms: EpochMillis,
) -> Result<(), Redeliver> {
    let grader = SessionGrader(Arc::clone(app));
    let carried = carry_out(&app.services, &wake.org, &task.grade_id, &grader, deadline_ms).await;
    carried.map_err(|error| Redeliver(error.to_string()))
}

/// Judges by the judges of sessions.
struct SessionGrader(Arc<App>);

#[async_trait]
impl Grader for SessionGrader {
    async fn grade(
        &self,
        org: &OrgId,
        order: &GradeOrder,
        deadline_ms: EpochMillis,
    ) -> Result<Graded, LaneError> {
        let order = RunOrder {
            org: org.clone(),
            user: order.user.clone(),
            session: hash_hex(&order.session_id),
            agent_version: order.agent_version.clone(),
            source: None,
            is_forced: true,
            run_agent_success: true,
            run_retrieved_learning: true,
            through: None,
        };
        let outcome = match run(&self.0.services, &order, deadline_ms).await {
            Ok(Run::Busy) => return Ok(Graded::Busy),
            Ok(Run::Over(outcome)) => outcome,
            Err(error) => return Err(LaneError(error.to_string())),
        };
        let skipped_reason = match outcome.agent_success {
            AgentSuccessStatus::Failed => Some("EVALUATION_FAILED".to_owned()),
            _ => outcome.skip_reason.map(|reason| reason.as_str().to_ascii_uppercase()),
        };
        Ok(Graded::Done {
            result_id: outcome.result_id,
            skipped_reason,
            retrieved_learning: outcome.retrieved_learning,
            retrieved_fingerprint: outcome.retrieved_fingerprint,
        })
    }
}
