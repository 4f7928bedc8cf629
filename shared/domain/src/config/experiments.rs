//! Retrieval experiments. Only their own routes change them.

use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds};

/// Longest name of an experiment, in characters.
const EXPERIMENT_ID_CHARS_MAX: usize = 128;
/// Between nobody and everybody, both excluded.
const HOLDOUT: Bounds<f64> = Bounds::<f64>::above(0.0).below(100.0);

record! {
    /// The experiment that runs.
    RetrievalExperiment "RetrievalExperimentConfig" {
        /// Its name, never used again.
        experiment_id: String = required(rules::non_blank_bounded(EXPERIMENT_ID_CHARS_MAX)),
        /// The part of users for whom searches withhold, in percent.
        holdout_percentage: f64 = required(rules::number(HOLDOUT)),
    }
    forbids others;
}

record! {
    /// An experiment that runs or ran.
    RetrievalExperimentRecord "RetrievalExperimentRecord" {
        /// Its name.
        experiment_id: String = required(rules::non_blank_bounded(EXPERIMENT_ID_CHARS_MAX)),
        /// The part of users for whom searches withheld, in percent.
        holdout_percentage: f64 = required(rules::number(HOLDOUT)),
        /// Since when.
        started_at: EpochSeconds = required(rules::integer(Bounds::<i64>::from(0))),
        /// Until when.
        ended_at: Option<EpochSeconds> = nullable(rules::integer(Bounds::<i64>::from(0))),
    }
    forbids others;
    check |record| if record.ended_at.is_some_and(|end| end < record.started_at) {
        Err("ended_at must be greater than or equal to started_at".to_owned())
    } else {
        Ok(())
    };
}
