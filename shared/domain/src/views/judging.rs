//! Answers about verdicts.

use serde::Serialize;

use crate::entities::RetrievedLearningResult;

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
