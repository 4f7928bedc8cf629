//! `POST /api/get_evaluation_overview`.

use std::sync::Arc;

use axum::extract::State;
use domain::requests::overview::GetEvaluationOverview;
use evaluation::overview::evaluation_overview;
use runtime::App;

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

pub(crate) async fn get_evaluation_overview(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let request = GetEvaluationOverview::parse(&body)?;
    let loaded = app.orgs.load(&caller.org).await?;
    let (store, now) = (&app.services.store, app.services.clock.now());
    ok(evaluation_overview(store, &caller.org, &loaded.config, &request, now).await?)
}
