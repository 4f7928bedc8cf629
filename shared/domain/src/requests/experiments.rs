//! `POST /api/retrieval_experiments`, `POST /api/retrieval_experiments/stop`.

use serde_json::Value;

use crate::config::RetrievalExperiment;
use crate::config::{EXPERIMENT_ID_CHARS_MAX, HOLDOUT};
use crate::validation::{ValidationErrors, read_body, rules};

/// Reads which experiment is to run from now on.
///
/// # Errors
/// [`ValidationErrors`] with every broken rule.
pub fn parse_start(body: &Value) -> Result<RetrievalExperiment, ValidationErrors> {
    read_body(
        body,
        |fields| {
            let experiment_id =
                fields.required("experiment_id", rules::non_blank_bounded(EXPERIMENT_ID_CHARS_MAX));
            let holdout_percentage = fields.required("holdout_percentage", rules::number(HOLDOUT));
            Some(RetrievalExperiment {
                experiment_id: experiment_id?,
                holdout_percentage: holdout_percentage?,
            })
        },
        |_| Ok(()),
    )
}

/// Reads which experiment is to end now.
///
/// # Errors
/// [`ValidationErrors`] with every broken rule.
pub fn parse_stop(body: &Value) -> Result<String, ValidationErrors> {
    read_body(
        body,
        |fields| fields.required("experiment_id", rules::non_blank_bounded(EXPERIMENT_ID_CHARS_MAX)),
        |_| Ok(()),
    )
}
