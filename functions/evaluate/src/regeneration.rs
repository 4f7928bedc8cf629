//! Evaluations that are made anew.

use std::sync::Arc;

use domain::time::EpochMillis;
use runtime::App;
use wake::{EvaluateWake, Redeliver, RegenerationTask};

/// SCAFFOLD: replaced by its builder before this lands.
pub(crate) async fn handle(
    _app: &Arc<App>,
    _wake: &EvaluateWake,
    _task: &RegenerationTask,
    _deadline_ms: EpochMillis,
) -> Result<(), Redeliver> {
    Err(Redeliver("scaffold".to_owned()))
}
