//! `POST /api/get_agent_success_evaluation_results`.

use std::sync::Arc;

use axum::extract::State;
use domain::requests::judging::GetEvaluationResults;
use domain::time::EpochSeconds;
use domain::views::EvaluationResultsAnswer;
use runtime::App;

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

/// Verdicts of an answer at most: Lambda carries 6 MB.
const RESULTS_MAX: usize = 10_000;

pub(crate) async fn success_results(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GetEvaluationResults::parse(&body)?;
    let limit = wanted.limit.min(RESULTS_MAX);
    let (from, to) = (wanted.time.start.unwrap_or(0), wanted.time.end.unwrap_or(EpochSeconds::MAX));
    // Of one version alone nothing is known before the verdicts are read.
    let read = wanted.agent_version.is_none().then_some(limit);
    let mut results = app.services.store.evaluations_between(&caller.org, from, to, read).await?;
    if let Some(version) = &wanted.agent_version {
        results.retain(|result| result.agent_version == *version);
    }
    results.truncate(limit);
    ok(EvaluationResultsAnswer::new(results))
}
