//! Timers of sessions.

use domain::ids::{OrgId, UserHash};
use learning::services::Services;
use store::SessionTimer;
use wake::{EvaluateTask, EvaluateWake, SessionTask, WakeReason};

/// Sets the timer of a session. Should that fail, the sweep finds the session when its time comes.
pub async fn set_timer(services: &Services, org: &OrgId, user: &UserHash, timer: &SessionTimer) {
    let task =
        SessionTask { user: user.clone(), session: timer.session.clone(), generation: timer.generation };
    let wake = EvaluateWake::new(org.clone(), EvaluateTask::Session(task), WakeReason::Timer);
    if let Err(error) = services.wakes.evaluate_at(&wake, timer.due_at).await {
        tracing::warn!(event = "timer_not_set", org = org.as_str(), %error);
    }
}
