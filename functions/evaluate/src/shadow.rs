//! Answers of shadow agents.

use std::sync::Arc;

use domain::time::EpochMillis;
use evaluation::shadow::judge_request;
use runtime::App;
use store::UserKeys;
use wake::{EvaluateWake, Redeliver, ShadowTask};

/// Judges the shadow answers of one request.
pub(crate) async fn handle(
    app: &Arc<App>,
    wake: &EvaluateWake,
    task: &ShadowTask,
    deadline_ms: EpochMillis,
) -> Result<(), Redeliver> {
    let keys = UserKeys { org: &wake.org, user: &task.user };
    let report = judge_request(&app.services, &keys, task.first_position, deadline_ms)
        .await
        .map_err(|error| Redeliver(error.to_string()))?;
    tracing::info!(
        event = "shadow_judged",
        org = wake.org.as_str(),
        judged = report.judged,
        failed = report.failed,
    );
    Ok(())
}
