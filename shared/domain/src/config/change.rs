//! How callers change a configuration.

use serde_json::{Value, json};

use super::{Config, migrate};
use crate::errors::ApiError;
use crate::validation::{Path, ValidationErrors};

/// What a caller's document makes of the stored configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Nothing.
    Unchanged,
    /// This is to be stored, on the condition that the stored one is still the same.
    Changed(Box<Config>),
}

/// Why a caller's document is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigFault {
    /// It is no object.
    #[error("the document is no object")]
    NotAnObject(ValidationErrors),
    /// A whole document is not valid.
    #[error("the document is not valid")]
    Invalid(ValidationErrors),
    /// A partial document makes the whole invalid.
    #[error("the partial document is not valid")]
    InvalidPartial(ValidationErrors),
    /// It touches the retrieval experiments.
    #[error("retrieval experiments have routes of their own")]
    ExperimentProtected,
}

const PROTECTED: &str =
    "Retrieval experiments must be changed through the /api/retrieval_experiments lifecycle endpoints";
const PARTIAL: &str = "Invalid partial config (top-level shallow merge)";
const PARTIAL_HINT: &str = "Nested objects (e.g. user_playbook_extractor_config) are replaced wholesale, not \
    deep-merged. To mutate a single nested field, fetch the full config via /api/get_config, edit, and POST it \
    back via /api/set_config.";

impl From<ConfigFault> for ApiError {
    fn from(fault: ConfigFault) -> Self {
        match fault {
            ConfigFault::NotAnObject(errors) => errors.into(),
            ConfigFault::Invalid(errors) => {
                Self::new(422, "invalid_config", errors.without_input()).with_detail(errors.summary())
            }
            ConfigFault::InvalidPartial(errors) => {
                let list = errors.without_input();
                let body = json!({ "error": PARTIAL, "hint": PARTIAL_HINT, "validation_errors": list });
                Self::new(422, "invalid_config", body).with_detail(errors.summary())
            }
            ConfigFault::ExperimentProtected => Self::conflict(PROTECTED),
        }
    }
}

fn not_an_object(body: &Value) -> ConfigFault {
    let at = Path::root("body");
    let errors = if body.is_null() {
        ValidationErrors::single("missing", at, "Field required", body, None)
    } else {
        ValidationErrors::single("dict_type", at, "Input should be a valid dictionary", body, None)
    };
    ConfigFault::NotAnObject(errors)
}

impl Config {
    /// Replaces the configuration. Members that are not there get their defaults, except the experiments,
    /// which stay; a storage of `null` keeps the stored one; a masked secret keeps the stored secret.
    ///
    /// # Errors
    /// [`ConfigFault`] when the document may not become the configuration.
    pub fn replaced_by(&self, body: &Value) -> Result<Change, ConfigFault> {
        let Value::Object(map) = body else { return Err(not_an_object(body)) };
        let mut document = map.clone();
        migrate::rename(&mut document);
        migrate::strip_nulls(&mut document);
        let carried = ["retrieval_experiment_config", "retrieval_experiment_history"];
        let stored = self.to_stored();
        for name in carried {
            document.entry(name).or_insert_with(|| stored[name].clone());
        }
        let document = Value::Object(document);
        let config = Self::read_document(&document).map_err(ConfigFault::Invalid)?;
        self.admit(self.with_own_settings(config, &document), ConfigFault::Invalid)
    }

    /// Replaces some members at the root, each as a whole.
    ///
    /// # Errors
    /// [`ConfigFault`] when the merged document may not become the configuration.
    pub fn merged_with(&self, body: &Value) -> Result<Change, ConfigFault> {
        let Value::Object(partial) = body else { return Err(not_an_object(body)) };
        let mut partial = partial.clone();
        migrate::rename(&mut partial);
        let Value::Object(mut document) = self.to_stored() else { return Err(not_an_object(body)) };
        document.extend(partial);
        migrate::strip_nulls(&mut document);
        let document = Value::Object(document);
        let config = Self::read_document(&document).map_err(ConfigFault::InvalidPartial)?;
        self.admit(self.with_own_settings(config, &document), ConfigFault::InvalidPartial)
    }

    /// Settings that the recorded contract does not have stay as they are stored when a document does not name them:
    /// clients of that contract drop them from what they read and write back.
    fn with_own_settings(&self, mut config: Self, document: &Value) -> Self {
        let named = &document["user_playbook_extractor_config"]["aggregation_config"]["min_distinct_users"];
        if let (Some(extractor), Some(stored)) =
            (&mut config.user_playbook_extractor_config, &self.user_playbook_extractor_config)
            && named.is_null()
        {
            extractor.aggregation_config.min_distinct_users = stored.aggregation_config.min_distinct_users;
        }
        config
    }

    fn admit(
        &self,
        mut config: Self,
        invalid: fn(ValidationErrors) -> ConfigFault,
    ) -> Result<Change, ConfigFault> {
        if config.storage_config.is_none() {
            config.storage_config.clone_from(&self.storage_config);
        }
        let same_experiments = config.retrieval_experiment_config == self.retrieval_experiment_config
            && config.retrieval_experiment_history == self.retrieval_experiment_history;
        if !same_experiments {
            return Err(ConfigFault::ExperimentProtected);
        }
        if let Some(path) = config.restore_masked(self).first() {
            let at = Path::ROOT;
            let msg = format!("Value error, {path} is a mask of no stored secret");
            return Err(invalid(ValidationErrors::single("value_error", at, &msg, &Value::Null, None)));
        }
        Ok(if config == *self { Change::Unchanged } else { Change::Changed(Box::new(config)) })
    }
}
