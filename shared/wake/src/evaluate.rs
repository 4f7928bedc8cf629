//! Wakes of the function that judges.

use domain::ids::{OrgId, UserHash};
use serde::{Deserialize, Serialize};

use crate::message::{BODY_VERSION, Wake, WakeReason, deduplication_id, group_of};

/// Judge something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluateWake {
    /// [`BODY_VERSION`].
    pub v: u8,
    /// The tenant.
    pub org: OrgId,
    /// What.
    pub task: EvaluateTask,
    /// Why.
    pub reason: WakeReason,
}

/// What is to be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluateTask {
    /// One user's part in a session.
    Session(SessionTask),
    /// The shadow answers of one request.
    Shadow(ShadowTask),
    /// The next sessions of a regeneration job.
    Regeneration(RegenerationTask),
    /// A verdict that a caller asked for.
    Grade(GradeTask),
}

/// A session of a user that may have fallen silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTask {
    /// The user.
    pub user: UserHash,
    /// Hash of the session id.
    pub session: String,
    /// Which of the session's quiet periods; a wake of another one still makes its reader look.
    pub generation: i64,
}

/// A request with shadow answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowTask {
    /// The user.
    pub user: UserHash,
    /// Position of the request's first interaction.
    pub first_position: i64,
}

/// One lane of a regeneration job: a job has as many as sessions may be judged at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegenerationTask {
    /// The job.
    pub job_id: String,
    /// Which of its lanes, from 0.
    pub lane: u32,
}

/// A verdict that a caller asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeTask {
    /// Its name.
    pub grade_id: String,
}

impl EvaluateWake {
    /// A wake of the current version.
    #[must_use]
    pub fn new(org: OrgId, task: EvaluateTask, reason: WakeReason) -> Self {
        Self { v: BODY_VERSION, org, task, reason }
    }
}

impl EvaluateWake {
    /// The name of the timer that sends it: one for each session and generation.
    pub(crate) fn timer_name(&self) -> String {
        match &self.task {
            EvaluateTask::Session(task) => format!("{}-{}", self.group(), task.generation),
            _ => self.group(),
        }
    }
}

impl Wake for EvaluateWake {
    /// One session, one lane, one question at a time; the sweep apart, as for users.
    fn group(&self) -> String {
        let org = self.org.as_str();
        let group = match &self.task {
            EvaluateTask::Session(task) => {
                group_of('e', &[org, "session", task.user.as_str(), &task.session])
            }
            EvaluateTask::Shadow(task) => {
                group_of('e', &[org, "shadow", task.user.as_str(), &task.first_position.to_string()])
            }
            EvaluateTask::Regeneration(task) => {
                group_of('e', &[org, "regeneration", &task.job_id, &task.lane.to_string()])
            }
            EvaluateTask::Grade(task) => group_of('e', &[org, "grade", &task.grade_id]),
        };
        if self.reason == WakeReason::Swept { format!("{group}-s") } else { group }
    }

    fn deduplication_id(&self, changing: &str) -> String {
        deduplication_id(self.reason, &self.group(), changing)
    }
}

#[cfg(test)]
mod tests {
    use domain::ids::UserId;

    use super::*;

    fn wake(org: &str, task: EvaluateTask) -> EvaluateWake {
        EvaluateWake::new(org.parse().unwrap(), task, WakeReason::Published)
    }

    fn user() -> UserHash {
        UserHash::of(&UserId::new("ana").unwrap())
    }

    #[test]
    fn tasks_of_different_kinds_organisations_and_sessions_do_not_share_groups() {
        let session = |session: &str| {
            EvaluateTask::Session(SessionTask { user: user(), session: session.to_owned(), generation: 1 })
        };
        let grade = EvaluateTask::Grade(GradeTask { grade_id: "g".to_owned() });
        let lane = |lane| EvaluateTask::Regeneration(RegenerationTask { job_id: "j".to_owned(), lane });
        let groups = [
            wake("a", session("1")).group(),
            wake("b", session("1")).group(),
            wake("a", session("2")).group(),
            wake("a", grade).group(),
            wake("a", lane(0)).group(),
            wake("a", lane(1)).group(),
        ];
        let different: std::collections::BTreeSet<_> = groups.iter().collect();
        assert_eq!(different.len(), groups.len());
        assert!(groups.iter().all(|group| group.len() <= 128));
    }

    #[test]
    fn a_wake_survives_its_way_through_the_queue() {
        let task = SessionTask { user: user(), session: "s".to_owned(), generation: 7 };
        let task = EvaluateTask::Session(task);
        let sent = wake("a", task);
        let body = serde_json::to_string(&sent).unwrap();
        assert_eq!(serde_json::from_str::<EvaluateWake>(&body).unwrap(), sent);
    }
}
