//! Sessions whose timer went off.

use std::sync::Arc;

use domain::time::EpochMillis;
use evaluation::session::look;
use runtime::App;
use wake::{EvaluateWake, Redeliver, SessionTask};

/// Looks at a session, and judges it if it has been silent for long enough.
pub(crate) async fn handle(
    app: &Arc<App>,
    wake: &EvaluateWake,
    task: &SessionTask,
    deadline_ms: EpochMillis,
) -> Result<(), Redeliver> {
    let looked = look(&app.services, &wake.org, task, deadline_ms).await;
    let looked = looked.map_err(|error| Redeliver(error.to_string()))?;
    tracing::info!(
        event = "session_looked_at",
        org = wake.org.as_str(),
        reason = ?wake.reason,
        generation = task.generation,
        outcome = ?looked,
    );
    Ok(())
}
