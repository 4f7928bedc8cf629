//! Answers of shadow agents.

use std::sync::Arc;

use domain::time::EpochMillis;
use runtime::App;
use wake::{EvaluateWake, Redeliver, ShadowTask};

/// SCAFFOLD: replaced by its builder before this lands.
pub(crate) async fn handle(
    _app: &Arc<App>,
    _wake: &EvaluateWake,
    _task: &ShadowTask,
    _deadline_ms: EpochMillis,
) -> Result<(), Redeliver> {
    Err(Redeliver("scaffold".to_owned()))
}
