//! The deployment's variables.

use std::path::Path;

use domain::ids::OrgId;
use domain::site_vars::{
    FEATURE_FLAGS, LLM_MODEL_SETTING, SEARCH_SETTINGS, SITE_VALUE_BYTES_MAX, SiteKey, check_value,
};
use runtime::SiteVars;
use store::Store;

use super::{AdminError, moment};

/// Prints a variable as it was set.
pub(super) async fn get(store: &Store, key: &str) -> Result<String, AdminError> {
    let key: SiteKey = key.parse()?;
    let vars = store.site_vars().await?;
    match vars.into_iter().find(|var| var.key == key.as_str()) {
        Some(var) => Ok(format!("{}\n", var.text.trim_end())),
        None => Err(format!("{key} is not set").into()),
    }
}

/// Sets a variable, if its value would be read.
pub(super) async fn set(
    store: &Store,
    key: &str,
    value: Option<&str>,
    file: Option<&Path>,
) -> Result<String, AdminError> {
    let key: SiteKey = key.parse()?;
    let text = match (value, file) {
        (Some(value), _) => value.to_owned(),
        (None, Some(file)) => read(file)?,
        (None, None) => return Err("give a value, or a file with --file".into()),
    };
    check_value(&key, &text)?;
    store.put_site_var(&key, &text).await?;
    let known = [FEATURE_FLAGS, LLM_MODEL_SETTING, SEARCH_SETTINGS].contains(&key.as_str());
    let note = if known { "" } else { " (nothing in this version reads it)" };
    Ok(format!("{key} is set{note}\n"))
}

/// A file is not read whole before its length is known.
fn read(file: &Path) -> Result<String, AdminError> {
    let failed = |error| format!("{}: {error}", file.display());
    let length = std::fs::metadata(file).map_err(failed)?.len();
    if usize::try_from(length).map_or(true, |length| length > SITE_VALUE_BYTES_MAX) {
        return Err(domain::site_vars::InvalidSiteVar::TooLarge.into());
    }
    Ok(std::fs::read_to_string(file).map_err(failed)?)
}

/// Lists the keys that are set, with when and how long their values are.
pub(super) async fn list(store: &Store) -> Result<String, AdminError> {
    let mut printed = String::from("key                       set                   bytes\n");
    for var in store.site_vars().await? {
        printed.push_str(&format!("{:25} {:21} {}\n", var.key, moment(var.set_at), var.text.len()));
    }
    Ok(printed)
}

/// Prints every flag that is set, as it is for an organisation.
pub(super) async fn flags(store: &Store, org: &OrgId) -> Result<String, AdminError> {
    let site = SiteVars::new(store.clone()).read().await;
    let lines = site.flags.all(org).into_iter().map(|(flag, on)| {
        let on = if on { "on" } else { "off" };
        format!("{flag:30} {on}\n")
    });
    let printed: String = lines.collect();
    Ok(if printed.is_empty() { "no flag is set: every feature is on\n".to_owned() } else { printed })
}
