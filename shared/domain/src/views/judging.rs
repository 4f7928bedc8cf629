//! Jobs that judge anew, and verdicts on demand, as callers see them.

use serde::Serialize;

use crate::entities::RetrievedLearningResult;
use crate::judging::RegenerationStatus;

/// `POST /api/evaluations/regenerate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegenerationStarted {
    /// The job.
    pub job_id: String,
    /// Sessions that could be judged.
    pub total: usize,
}

/// A session that was judged in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegenerationFailure {
    /// The session.
    pub session_id: String,
    /// Why.
    pub reason: String,
}

/// `GET /api/evaluations/regenerate/{job_id}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegenerationView {
    /// The job.
    pub job_id: String,
    /// Where it stands.
    pub status: RegenerationStatus,
    /// Sessions that could be judged.
    pub total: i64,
    /// Sessions judged so far.
    pub completed: i64,
    /// Sessions judged in vain.
    pub failed: i64,
    /// Some of them.
    pub failures: Vec<RegenerationFailure>,
    /// When it began, in seconds.
    pub started_at: f64,
    /// When it ended, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<f64>,
    /// As [`Self::total`].
    pub total_candidates: i64,
    /// Sessions that are judged: a sample of them.
    pub sampled_count: i64,
    /// How many at once.
    pub concurrency_limit: u32,
}

/// `POST /api/evaluations/grade_on_demand`; nulls are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GradeAnswer {
    /// The session.
    pub session_id: String,
    /// The verdict.
    pub result_id: Option<i64>,
    /// Whether it was known.
    pub cached: bool,
    /// Why there is none.
    pub skipped_reason: Option<String>,
    /// How the judgement of the retrieved learnings ended.
    pub retrieved_learning_status: Option<&'static str>,
}

impl GradeAnswer {
    /// There is no verdict, for this reason.
    #[must_use]
    pub fn without(session_id: String, reason: &str) -> Self {
        Self {
            session_id,
            result_id: None,
            cached: false,
            skipped_reason: Some(reason.to_owned()),
            retrieved_learning_status: None,
        }
    }
}

/// The answer of `POST /api/get_retrieved_learning_evaluation_results`. Absent members are `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetrievedLearningResultsAnswer {
    /// Always true.
    pub success: bool,
    /// The verdicts.
    pub results: Vec<RetrievedLearningResult>,
    /// Nothing to say.
    pub msg: Option<String>,
}

impl RetrievedLearningResultsAnswer {
    /// With these verdicts.
    #[must_use]
    pub fn of(results: Vec<RetrievedLearningResult>) -> Self {
        Self { success: true, results, msg: None }
    }
}
