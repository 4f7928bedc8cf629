//! What a caller is answered at once, and the attempt that is begun otherwise.

use domain::ids::{OrgId, SessionId, UserHash, hash_hex};
use domain::time::DAY_SECONDS;
use futures::{StreamExt, TryStreamExt, stream};
use learning::services::Services;
use store::{GRADE_STALE_SECONDS, GradeOrder, GradeOutcome, SessionRecord, StoreError, UserKeys};
use wake::{EvaluateTask, EvaluateWake, GradeTask, WakeReason};

/// How long a verdict is answered again without judging, in seconds.
const CACHED_SECONDS: i64 = DAY_SECONDS;
/// Parts of a session that are read at once.
const READS_AT_ONCE: usize = 16;
/// How often an attempt is begun when others begin one meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// What a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradeQuestion {
    /// The session.
    pub session_id: SessionId,
    /// The agent version.
    pub agent_version: String,
    /// The evaluation.
    pub evaluation_name: String,
}

impl GradeQuestion {
    /// Names the question: the same for the same question, and for no other.
    #[must_use]
    pub fn id(&self, org: &OrgId) -> String {
        let parts = [org.as_str(), self.session_id.as_str(), &self.agent_version, &self.evaluation_name];
        // Lengths in characters keep the parts apart whatever is in them.
        let parts = parts.map(|part| format!("{}:{part}", part.chars().count()));
        hash_hex(&format!("grade_on_demand::{}", parts.join("::")))
    }
}

/// What a caller is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The verdict is known.
    Known(GradeOutcome),
    /// Nobody published anything in the session.
    NoRequests,
    /// An attempt is under way.
    UnderWay {
        /// The question's name.
        grade_id: String,
    },
}

/// Answers from what is known, or sees to it that an attempt is under way.
///
/// # Errors
/// [`StoreError`] when the table fails.
pub async fn ask(services: &Services, org: &OrgId, question: &GradeQuestion) -> Result<Asked, StoreError> {
    let store = &services.store;
    let grade_id = question.id(org);
    for _ in 0..ATTEMPTS_MAX {
        let Some((user, session)) = first_part(services, org, &question.session_id).await? else {
            return Ok(Asked::NoRequests);
        };
        let seen = store.grade(org, &grade_id).await?;
        let now = services.clock.now();
        if let Some(grade) = &seen {
            match &grade.outcome {
                Some(outcome) if is_good(services, org, &user, question, outcome, &session).await? => {
                    return Ok(Asked::Known(outcome.clone()));
                }
                None if now - grade.started_at < GRADE_STALE_SECONDS => {
                    return Ok(Asked::UnderWay { grade_id });
                }
                _ => {}
            }
        }
        let order = GradeOrder {
            user,
            session_id: question.session_id.to_string(),
            agent_version: question.agent_version.clone(),
            evaluation_name: question.evaluation_name.clone(),
        };
        let attempt_id = services.ids.uuid();
        if store.begin_grade(org, &grade_id, &order, &attempt_id, seen.as_ref()).await? {
            wake(services, org, &grade_id, &attempt_id).await;
            return Ok(Asked::UnderWay { grade_id });
        }
    }
    Err(StoreError::Contended { operation: "begin grade" })
}

/// Whether an earlier outcome still answers the question: it has a verdict, is of today, and of the session as it is.
async fn is_good(
    services: &Services,
    org: &OrgId,
    user: &UserHash,
    question: &GradeQuestion,
    outcome: &GradeOutcome,
    session: &SessionRecord,
) -> Result<bool, StoreError> {
    let is_fresh = outcome.result_id.is_some()
        && outcome.session_version == session.version
        && services.clock.now() - outcome.graded_at < CACHED_SECONDS;
    if !is_fresh {
        return Ok(false);
    }
    let keys = UserKeys { org, user };
    // Another run may have replaced the verdict since.
    let in_force = services.store.session_evaluations(&keys, &question.session_id.hash()).await?;
    Ok(in_force.iter().any(|result| Some(result.result_id) == outcome.result_id))
}

/// The part of whoever took part in a session first: by time, then by request.
async fn first_part(
    services: &Services,
    org: &OrgId,
    session: &SessionId,
) -> Result<Option<(UserHash, SessionRecord)>, StoreError> {
    let store = &services.store;
    let members = store.session_members(org, session).await?;
    let parts: Vec<Option<(UserHash, SessionRecord)>> = stream::iter(members)
        .map(|user| async move {
            let part = store.session(&UserKeys { org, user: &user }, session).await?;
            Ok::<_, StoreError>(part.map(|part| (user, part)))
        })
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    Ok(parts.into_iter().flatten().min_by_key(|(_, part)| (part.first_at, part.first_request.to_string())))
}

/// Wakes the worker. Should the wake not be sent, the sweep finds the attempt.
async fn wake(services: &Services, org: &OrgId, grade_id: &str, attempt_id: &str) {
    let task = EvaluateTask::Grade(GradeTask { grade_id: grade_id.to_owned() });
    let wake = EvaluateWake::new(org.clone(), task, WakeReason::Published);
    if let Err(error) = services.wakes.evaluate(&wake, attempt_id).await {
        tracing::warn!(event = "wake_failed", reason = "grade", org = org.as_str(), %error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_named_by_its_parts_with_their_lengths() {
        let question = GradeQuestion {
            session_id: SessionId::new("s1").unwrap(),
            agent_version: "v1".to_owned(),
            evaluation_name: "agent_success".to_owned(),
        };
        let named = "grade_on_demand::13:self-host-org::2:s1::2:v1::13:agent_success";
        assert_eq!(question.id(&"self-host-org".parse().unwrap()), hash_hex(named));
    }
}
