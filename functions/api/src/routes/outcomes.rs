//! `POST /api/session_outcome`, `POST /api/get_session_outcomes`: how sessions ended.

use std::sync::Arc;

use axum::extract::State;
use domain::requests::outcomes::{GetSessionOutcomes, SetSessionOutcome};
use domain::views::SessionOutcomesAnswer;
use evaluation::outcomes::report_outcome;
use runtime::App;
use store::OutcomeFilter;

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

pub(crate) async fn session_outcome(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let report = SetSessionOutcome::parse(&body)?;
    if !report.ignored.is_empty() {
        let fields = report.ignored.join(", ");
        tracing::warn!(event = "unknown_fields_ignored", org = caller.org.as_str(), fields);
    }
    ok(report_outcome(&app.services, &caller.org, &report).await)
}

pub(crate) async fn get_session_outcomes(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GetSessionOutcomes::parse(&body)?;
    let filter = OutcomeFilter {
        user_id: wanted.user_id,
        source: wanted.source,
        outcome: wanted.outcome,
        label: wanted.label,
        start_time: wanted.start_time,
        end_time: wanted.end_time,
    };
    let (store, org) = (&app.services.store, &caller.org);
    let found = match &wanted.session_ids {
        Some(sessions) => store.list_outcomes_of(org, sessions, &filter, wanted.offset, wanted.top_k).await?,
        None => store.list_outcomes(org, &filter, wanted.offset, wanted.top_k).await?,
    };
    ok(SessionOutcomesAnswer::new(found))
}
