//! `POST /api/get_retrieved_learning_evaluation_results`: verdicts on the learnings that agents were given.

use std::sync::Arc;

use axum::extract::State;
use domain::ids::UserHash;
use domain::requests::retrieved_learning::GetRetrievedLearningResults;
use domain::views::RetrievedLearningResultsAnswer;
use runtime::App;
use store::RetrievedLearningFilter;

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

pub(crate) async fn results(State(app): State<Arc<App>>, caller: Caller, JsonBody(body): JsonBody) -> Answer {
    let wanted = GetRetrievedLearningResults::parse(&body)?;
    let (store, time, limit) = (&app.services.store, wanted.time, wanted.limit);
    let filter = RetrievedLearningFilter {
        user: wanted.user_id.as_ref().map(UserHash::of),
        session: wanted.session_id,
    };
    let results = if time.start.is_none() && time.end.is_none() {
        store.newest_retrieved_learnings(&caller.org, &filter, limit).await?
    } else {
        let times = (time.start.unwrap_or(0), time.end.unwrap_or(i64::MAX));
        store.retrieved_learnings_between(&caller.org, &filter, times, limit).await?
    };
    ok(RetrievedLearningResultsAnswer::of(results))
}
