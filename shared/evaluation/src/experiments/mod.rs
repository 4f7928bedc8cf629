//! Retrieval experiments: what came of withholding memory from some users.

mod results;
mod statistics;

pub use results::{ExperimentResultsError, experiment_results};
