//! `GET /api/evaluations/shadow_comparisons/recent`: the latest verdicts on the answers of shadow agents.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::requests::RecentShadowQuery;
use domain::time::DAY_SECONDS;
use domain::views::RecentShadowComparisons;
use runtime::App;

use crate::access::Caller;
use crate::answer::{Answer, ok};

/// Older verdicts are not recent.
const RECENT_SECONDS: i64 = 30 * DAY_SECONDS;

/// Verdicts under the pinned version of the judge's prompt only: those of others are not comparable.
pub(crate) async fn recent(State(app): State<Arc<App>>, caller: Caller, RawQuery(query): RawQuery) -> Answer {
    let query = RecentShadowQuery::parse(query.as_deref().unwrap_or(""))?;
    let version = app.orgs.load(&caller.org).await?.config.shadow_comparison_judge_prompt_version.clone();
    let (now, store) = (app.services.clock.now(), &app.services.store);
    let verdicts = store
        .shadow_verdicts_between(&caller.org, &version, now - RECENT_SECONDS, now, Some(query.limit))
        .await?;
    ok(RecentShadowComparisons { verdicts: verdicts.into_iter().map(Into::into).collect() })
}
