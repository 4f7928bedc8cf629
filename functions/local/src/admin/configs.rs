//! Earlier versions of an organisation's configuration.

use domain::config::Config;
use domain::ids::OrgId;
use serde_json::Value;
use store::{ConfigConflict, PastConfig, Store, StoredConfig};

use super::{AdminError, moment};

/// Only their own routes change these: a restore would bring back an experiment that ended.
const EXPERIMENTS: [&str; 2] = ["retrieval_experiment_config", "retrieval_experiment_history"];

/// Lists the versions that are kept.
pub(super) async fn history(store: &Store, org: &OrgId) -> Result<String, AdminError> {
    let mut printed = String::from("version   written               bytes\n");
    for PastConfig { config, at } in store.config_versions(org).await? {
        printed.push_str(&format!("{:<9} {:21} {}\n", config.version, moment(at), config.document.len()));
    }
    Ok(printed)
}

/// Writes an earlier version once more, with the secrets that it had.
pub(super) async fn restore(store: &Store, org: &OrgId, version: i64) -> Result<String, AdminError> {
    let versions = store.config_versions(org).await?;
    let Some(past) = versions.into_iter().find(|past| past.config.version == version) else {
        return Err(format!("version {version} of {org} is not kept").into());
    };
    let current = store.config(org).await?.ok_or("the configuration is gone")?;
    let mut document: Value = serde_json::from_str(&past.config.document)?;
    let now: Value = serde_json::from_str(&current.document)?;
    for name in EXPERIMENTS {
        document[name] = now[name].clone();
    }
    Config::load(&document)
        .map_err(|faults| format!("version {version} cannot be read any more: {}", faults.summary()))?;
    let restored = StoredConfig { version: current.version, document: document.to_string(), ..past.config };
    match store.save_config(org, restored).await {
        Ok(()) => Ok(format!("version {version} is restored as version {}\n", current.version + 1)),
        Err(ConfigConflict::Changed) => Err("the configuration was changed meanwhile; try again".into()),
        Err(ConfigConflict::Store(error)) => Err(error.into()),
    }
}
