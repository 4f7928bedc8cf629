//! The worker's side: an attempt is judged, and what came of it noted for whoever waits or asks again.

use async_trait::async_trait;
use domain::ids::{OrgId, SessionId};
use domain::judging::RetrievedLearningStatus;
use domain::time::EpochMillis;
use learning::services::Services;
use store::{GradeOrder, GradeOutcome, StoreError, UserKeys};

use crate::regeneration::LaneError;

/// How often an attempt is tried: whoever tried it before died of it.
const TRIES_MAX: i64 = 3;
/// A worker that dies is noticed so long after it had to be done, in seconds.
const GRACE_SECONDS: i64 = 30;
/// A session that somebody else judges at the moment is looked at again after this time, in seconds.
const BUSY_SECONDS: i64 = 5;
/// What a caller is told of a judge who gave no usable answer, and of one who died of it.
const FAILED: &str = "EVALUATION_FAILED";

/// What came of judging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Graded {
    /// It came to this.
    Done {
        /// The verdict.
        result_id: Option<i64>,
        /// Why there is none.
        skipped_reason: Option<String>,
        /// How the judgement of the retrieved learnings ended.
        retrieved_learning: RetrievedLearningStatus,
        /// Of what session that was.
        retrieved_fingerprint: Option<String>,
    },
    /// Somebody else is judging the session.
    Busy,
}

/// Judges a session whatever was judged before.
#[async_trait]
pub trait Grader: Send + Sync {
    /// Judges.
    ///
    /// # Errors
    /// [`LaneError`] when the infrastructure failed: it is tried again.
    async fn grade(
        &self,
        org: &OrgId,
        order: &GradeOrder,
        deadline_ms: EpochMillis,
    ) -> Result<Graded, LaneError>;
}

/// Carries an attempt out, if it is still under way.
///
/// # Errors
/// [`LaneError`] when the infrastructure failed; the attempt stays under way.
pub async fn carry_out(
    services: &Services,
    org: &OrgId,
    grade_id: &str,
    grader: &dyn Grader,
    deadline_ms: EpochMillis,
) -> Result<(), LaneError> {
    let store = &services.store;
    let Some(grade) = store.grade(org, grade_id).await?.filter(|grade| grade.outcome.is_none()) else {
        return Ok(());
    };
    let due_at = deadline_ms.div_euclid(1000) + GRACE_SECONDS;
    let attempt = &grade.attempt_id;
    let Some(tries) = store.try_grade(org, grade_id, attempt, due_at).await? else { return Ok(()) };
    let session_version = session_version(services, org, &grade.order).await?;
    let graded = if tries > TRIES_MAX {
        let (retrieved_learning, skipped_reason) =
            (RetrievedLearningStatus::Skipped, Some(FAILED.to_owned()));
        Graded::Done { result_id: None, skipped_reason, retrieved_learning, retrieved_fingerprint: None }
    } else {
        grader.grade(org, &grade.order, deadline_ms).await?
    };
    match graded {
        Graded::Busy => {
            store.put_off_grade(org, grade_id, attempt, services.clock.now() + BUSY_SECONDS).await?;
        }
        Graded::Done { result_id, skipped_reason, retrieved_learning, retrieved_fingerprint } => {
            let outcome = GradeOutcome {
                result_id,
                skipped_reason,
                retrieved_learning,
                retrieved_fingerprint,
                session_version,
                graded_at: services.clock.now(),
            };
            store.finish_grade(org, grade_id, attempt, &outcome).await?;
        }
    }
    Ok(())
}

async fn session_version(services: &Services, org: &OrgId, order: &GradeOrder) -> Result<i64, StoreError> {
    let Ok(session) = SessionId::new(&order.session_id) else { return Ok(0) };
    let part = services.store.session(&UserKeys { org, user: &order.user }, &session).await?;
    Ok(part.map_or(0, |part| part.version))
}
