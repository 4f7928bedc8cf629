//! Retrieval experiments. Only their own routes change them.

use crate::config::Config;
use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds};

/// Longest name of an experiment, in characters.
pub(crate) const EXPERIMENT_ID_CHARS_MAX: usize = 128;
/// Between nobody and everybody, both excluded.
pub(crate) const HOLDOUT: Bounds<f64> = Bounds::<f64>::above(0.0).below(100.0);

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

/// Why an experiment is not started or stopped; the words are the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentFault {
    /// Another one runs.
    #[error("Stop the active retrieval experiment before starting another")]
    AnotherRuns,
    /// The name was used before, by an experiment that ended.
    #[error("Retrieval experiment IDs cannot be reused")]
    IdUsed,
    /// It does not run.
    #[error("The requested retrieval experiment is not active")]
    NotActive,
}

impl Config {
    /// The same, with an experiment that runs from `now` on.
    ///
    /// # Errors
    /// [`ExperimentFault::AnotherRuns`] and [`ExperimentFault::IdUsed`].
    pub fn with_experiment(
        &self,
        experiment: RetrievalExperiment,
        now: EpochSeconds,
    ) -> Result<Self, ExperimentFault> {
        if self.retrieval_experiment_config.is_some() {
            return Err(ExperimentFault::AnotherRuns);
        }
        if self.experiment(&experiment.experiment_id).is_some() {
            return Err(ExperimentFault::IdUsed);
        }
        let mut config = self.clone();
        config.retrieval_experiment_history.push(RetrievalExperimentRecord {
            experiment_id: experiment.experiment_id.clone(),
            holdout_percentage: experiment.holdout_percentage,
            started_at: now,
            ended_at: None,
        });
        config.retrieval_experiment_config = Some(experiment);
        Ok(config)
    }

    /// The same, with the experiment of this name ended at `now`.
    ///
    /// # Errors
    /// [`ExperimentFault::NotActive`].
    pub fn without_experiment(
        &self,
        experiment_id: &str,
        now: EpochSeconds,
    ) -> Result<Self, ExperimentFault> {
        let active = self.retrieval_experiment_config.as_ref();
        if active.is_none_or(|active| active.experiment_id != experiment_id) {
            return Err(ExperimentFault::NotActive);
        }
        let mut config = self.clone();
        config.retrieval_experiment_config = None;
        for record in &mut config.retrieval_experiment_history {
            if record.experiment_id == experiment_id {
                // The clock of another machine may be behind.
                record.ended_at = Some(now.max(record.started_at));
            }
        }
        Ok(config)
    }

    /// What is known of an experiment, whether it runs or ended.
    #[must_use]
    pub fn experiment(&self, experiment_id: &str) -> Option<&RetrievalExperimentRecord> {
        self.retrieval_experiment_history.iter().find(|record| record.experiment_id == experiment_id)
    }

    /// The experiment that runs.
    #[must_use]
    pub fn active_experiment(&self) -> Option<&RetrievalExperimentRecord> {
        self.experiment(&self.retrieval_experiment_config.as_ref()?.experiment_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &str) -> RetrievalExperiment {
        RetrievalExperiment { experiment_id: id.to_owned(), holdout_percentage: 10.0 }
    }

    #[test]
    fn one_experiment_runs_at_a_time_and_no_name_is_used_twice() {
        let running = Config::default().with_experiment(named("a"), 5).unwrap();
        assert_eq!(running.active_experiment().unwrap().started_at, 5);
        assert_eq!(running.with_experiment(named("b"), 6), Err(ExperimentFault::AnotherRuns));
        assert_eq!(running.without_experiment("b", 6), Err(ExperimentFault::NotActive));
        let ended = running.without_experiment("a", 9).unwrap();
        assert_eq!(ended.active_experiment(), None);
        assert_eq!(ended.experiment("a").unwrap().ended_at, Some(9));
        assert_eq!(ended.with_experiment(named("a"), 10), Err(ExperimentFault::IdUsed));
        assert_eq!(ended.without_experiment("a", 10), Err(ExperimentFault::NotActive));
        assert_eq!(ended.with_experiment(named("b"), 10).unwrap().retrieval_experiment_history.len(), 2);
    }

    #[test]
    fn an_experiment_never_ends_before_it_began() {
        let running = Config::default().with_experiment(named("a"), 5).unwrap();
        assert_eq!(running.without_experiment("a", 3).unwrap().experiment("a").unwrap().ended_at, Some(5));
    }
}
