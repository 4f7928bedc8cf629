//! Waking what is to be judged and nobody is at.

use runtime::App;
use store::{DueGrade, DueLane, DueSession};
use wake::{EvaluateTask, EvaluateWake, GradeTask, RegenerationTask, SessionTask, WakeReason};

use crate::AGAIN_SECONDS;

/// Wakes the judge of a session and moves the entry; `false` when it was not overdue any more.
pub(crate) async fn wake_session(app: &App, due: &DueSession) -> Result<bool, String> {
    let again = app.services.clock.now() + AGAIN_SECONDS;
    let pushed = app.services.store.push_due_session(due, again).await.map_err(|error| error.to_string())?;
    let Some(generation) = pushed else { return Ok(false) };
    let task = SessionTask { user: due.user.clone(), session: due.session.clone(), generation };
    send(app, EvaluateWake::new(due.org.clone(), EvaluateTask::Session(task), WakeReason::Swept)).await
}

/// Wakes a lane of a regeneration job and moves the entry; `false` when it was not overdue any more.
pub(crate) async fn wake_lane(app: &App, due: &DueLane) -> Result<bool, String> {
    let again = app.services.clock.now() + AGAIN_SECONDS;
    let pushed = app.services.store.push_due_lane(due, again).await.map_err(|error| error.to_string())?;
    let Some(lane) = pushed else { return Ok(false) };
    let task = RegenerationTask { job_id: lane.job_id, lane: lane.number };
    send(app, EvaluateWake::new(lane.org, EvaluateTask::Regeneration(task), WakeReason::Swept)).await
}

/// Wakes an attempt at a verdict that a caller asked for and moves the entry; `false` when it was not overdue any
/// more.
pub(crate) async fn wake_grade(app: &App, due: &DueGrade) -> Result<bool, String> {
    let again = app.services.clock.now() + AGAIN_SECONDS;
    let pushed = app.services.store.push_due_grade(due, again).await.map_err(|error| error.to_string())?;
    if !pushed {
        return Ok(false);
    }
    let task = GradeTask { grade_id: due.grade_id.clone() };
    send(app, EvaluateWake::new(due.org.clone(), EvaluateTask::Grade(task), WakeReason::Swept)).await
}

/// Sends a wake. One that is not sent comes with the next round: the entry is overdue again then.
async fn send(app: &App, wake: EvaluateWake) -> Result<bool, String> {
    let changing = app.services.clock.now().to_string();
    app.services.wakes.evaluate(&wake, &changing).await.map(|()| true).map_err(|error| error.to_string())
}
