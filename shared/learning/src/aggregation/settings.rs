//! What a configuration says of aggregation.

use domain::config::Config;
use llm::EmbeddingModel;

/// Why nothing is aggregated where the configuration says so.
pub const NOT_CONFIGURED: &str = "no aggregator config or min_cluster_size < 2";
/// A cluster has at least so many members.
const CLUSTER_SIZE_MIN: i64 = 2;
/// New playbooks that start a run, where the configuration names no number above zero.
const TRIGGER_COUNT_DEFAULT: usize = 2;

/// What a configuration says of aggregation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AggregationSettings {
    /// Fewest members of a cluster.
    pub min_cluster_size: usize,
    /// Fewest users that the members of a cluster come from.
    pub min_distinct_users: usize,
    /// New playbooks that start a run.
    pub trigger_count: usize,
    /// Cosine above which playbooks belong together; `None` is the embedding model's own.
    pub similarity: Option<f64>,
    /// How much directions must overlap to be shown together.
    pub direction_overlap: f64,
}

impl AggregationSettings {
    /// Reads a configuration; `None` when it wants no aggregation.
    #[must_use]
    pub fn of(config: &Config) -> Option<Self> {
        let extractor = config.user_playbook_extractor_config.clone().unwrap_or_default();
        let aggregation = extractor.aggregation_config;
        if aggregation.min_cluster_size < CLUSTER_SIZE_MIN {
            return None;
        }
        let count = usize::try_from(aggregation.reaggregation_trigger_count).unwrap_or(0);
        Some(Self {
            min_cluster_size: usize::try_from(aggregation.min_cluster_size).unwrap_or(usize::MAX),
            min_distinct_users: usize::try_from(aggregation.min_distinct_users).unwrap_or(usize::MAX),
            trigger_count: if count == 0 { TRIGGER_COUNT_DEFAULT } else { count },
            similarity: aggregation.clustering_similarity,
            direction_overlap: aggregation.direction_overlap_threshold,
        })
    }

    /// Cosine above which playbooks belong together under this embedding model.
    #[must_use]
    pub fn similarity_for(&self, model: &dyn EmbeddingModel) -> f64 {
        self.similarity.unwrap_or_else(|| f64::from(model.clustering_threshold()))
    }
}

#[cfg(test)]
mod tests {
    use domain::config::{Aggregation, Config, PlaybookExtractor};
    use llm::offline_adapter::OfflineEmbedding;

    use super::*;

    fn config(min_cluster_size: i64, trigger: i64) -> Config {
        let aggregation_config =
            Aggregation { min_cluster_size, reaggregation_trigger_count: trigger, ..Aggregation::default() };
        let extractor = PlaybookExtractor { aggregation_config, ..PlaybookExtractor::default() };
        Config { user_playbook_extractor_config: Some(extractor), ..Config::default() }
    }

    #[test]
    fn one_playbook_is_no_cluster() {
        assert!(AggregationSettings::of(&config(1, 2)).is_none());
        assert_eq!(AggregationSettings::of(&config(2, 2)).unwrap().min_cluster_size, 2);
        assert_eq!(AggregationSettings::of(&config(3, 2)).unwrap().min_cluster_size, 3);
    }

    #[test]
    fn aggregation_is_on_unless_it_is_switched_off() {
        let settings = AggregationSettings::of(&Config::default()).unwrap();
        assert_eq!((settings.min_cluster_size, settings.trigger_count), (2, 2));
    }

    #[test]
    fn a_count_of_nothing_is_the_default() {
        for (count, expected) in [(-1, 2), (0, 2), (1, 1), (5, 5)] {
            assert_eq!(AggregationSettings::of(&config(2, count)).unwrap().trigger_count, expected);
        }
    }

    #[test]
    fn the_model_decides_where_the_configuration_does_not() {
        let settings = AggregationSettings::of(&Config::default()).unwrap();
        let model = OfflineEmbedding::new();
        assert!((settings.similarity_for(&model) - f64::from(model.clustering_threshold())).abs() < 1e-6);
        let own = AggregationSettings { similarity: Some(0.5), ..settings };
        assert!((own.similarity_for(&model) - 0.5).abs() < 1e-6);
    }
}
