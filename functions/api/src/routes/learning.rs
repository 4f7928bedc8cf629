//! `GET /api/learning_status`.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::errors::ApiError;
use domain::ids::{RequestId, UserHash};
use domain::requests::sessions::LearningStatusQuery;
use domain::views::{LearningState, LearningStatusAnswer};
use learning::coverage::{Coverage, CoverageState, coverage};
use runtime::App;

use crate::access::Caller;
use crate::answer::{Answer, ok};

pub(crate) async fn learning_status(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer {
    let query = LearningStatusQuery::parse(query.as_deref().unwrap_or(""))?;
    let unknown = || ApiError::not_found("request not found");
    let request = RequestId::new(&query.request_id).map_err(|_| unknown())?;
    let store = &app.services.store;
    let seen = match store.document_of_request(&caller.org, &request).await? {
        Some(document) => {
            let user = UserHash::of(&document.request.user_id);
            let span = document.first_position..document.end_position();
            coverage(&app.services, &caller.org, &user, span, &document.policy).await?
        }
        // Its receipt outlives it.
        None if store.has_request_id(&caller.org, &request).await? => Coverage::erased(),
        None => return Err(unknown().into()),
    };
    let status = match seen.state {
        CoverageState::Done => LearningState::Done,
        CoverageState::Pending => LearningState::Pending,
        CoverageState::Processing => LearningState::Processing,
        CoverageState::Failed => LearningState::Failed,
    };
    ok(LearningStatusAnswer { status, reason: Some(seen.reason), error: seen.error })
}
