//! The deployment's variables, kept for a minute. They fail open: what cannot be read counts as not set.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::flags::FeatureFlags;
use domain::site_vars::{FEATURE_FLAGS, LLM_MODEL_SETTING, LlmModelSetting, SiteKey, read_value};
use domain::time::EpochSeconds;
use serde_json::Value;
use store::Store;

/// How long variables are used without looking whether they changed, in seconds.
pub const SITE_SECONDS_MAX: i64 = 60;
/// How long a failed reading counts as “nothing is set”, in seconds, so that a table that is down is not asked by
/// every request.
pub const SITE_FAILURE_SECONDS: i64 = 5;

/// All variables as they were read together, and what they mean.
#[derive(Debug, Default)]
pub struct SiteSnapshot {
    values: BTreeMap<String, Value>,
    /// Which features are on for whom.
    pub flags: FeatureFlags,
    /// The models of organisations that name none.
    pub models: LlmModelSetting,
}

impl SiteSnapshot {
    fn new(values: BTreeMap<String, Value>) -> Self {
        let (flags, malformed) = FeatureFlags::read(values.get(FEATURE_FLAGS).unwrap_or(&Value::Null));
        for flag in malformed {
            tracing::error!(event = "feature_flag_malformed", flag);
        }
        if values.get(FEATURE_FLAGS).is_some_and(|value| !value.is_object()) {
            tracing::error!(event = "site_var_malformed", key = FEATURE_FLAGS, problem = "no object");
        }
        let models = match values.get(LLM_MODEL_SETTING).map(LlmModelSetting::read) {
            None => LlmModelSetting::default(),
            Some(Ok(models)) => models,
            Some(Err(problem)) => {
                tracing::error!(event = "site_var_malformed", key = LLM_MODEL_SETTING, problem);
                LlmModelSetting::default()
            }
        };
        Self { values, flags, models }
    }

    /// A variable; `None` when it is not set.
    #[must_use]
    pub fn get(&self, key: &SiteKey) -> Option<&Value> {
        self.values.get(key.as_str())
    }
}

/// The deployment's variables; one per process.
#[derive(Debug)]
pub struct SiteVars {
    store: Store,
    cached: Mutex<Option<(EpochSeconds, Arc<SiteSnapshot>)>>,
}

impl SiteVars {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, cached: Mutex::default() }
    }

    /// All variables, at most [`SITE_SECONDS_MAX`] old. When they cannot be read, none is set.
    pub async fn read(&self) -> Arc<SiteSnapshot> {
        let now = self.store.clock().now();
        let known = self.cached.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, snapshot)) = known.filter(|(until, _)| now < *until) {
            return snapshot;
        }
        let (lasts, snapshot) = match self.store.site_vars().await {
            Ok(vars) => {
                let values = vars.into_iter().map(|var| (var.key, read_value(&var.text)));
                (SITE_SECONDS_MAX, SiteSnapshot::new(values.collect()))
            }
            Err(error) => {
                tracing::error!(event = "site_vars_unavailable", %error);
                (SITE_FAILURE_SECONDS, SiteSnapshot::default())
            }
        };
        let snapshot = Arc::new(snapshot);
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Some((now + lasts, Arc::clone(&snapshot)));
        snapshot
    }

    /// Forgets what was read, so that the next reader looks.
    pub fn evict(&self) {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
