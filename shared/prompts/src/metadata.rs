//! `metadata.json` of one prompt: which versions there are and which of them is in use.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// What is known of a prompt beside its text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The id; the name of the folder.
    pub prompt_id: String,
    /// What the prompt is for.
    pub description: String,
    /// The version in use; always the highest active one, written down so that a reader need not search.
    pub active_version: String,
    /// All versions.
    pub versions: BTreeMap<String, VersionMetadata>,
}

/// What is known of one version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionMetadata {
    /// The file beside `metadata.json`.
    pub file: String,
    /// Whether the version may be chosen without being named.
    pub active: bool,
    /// The variables of the template, exactly.
    pub variables: BTreeSet<String>,
    /// What changed.
    pub changelog: String,
}

impl Metadata {
    /// The highest version that is active.
    #[must_use]
    pub fn highest_active(&self) -> Option<&str> {
        self.versions
            .iter()
            .filter(|(_, version)| version.active)
            .map(|(name, _)| name.as_str())
            .max_by(|a, b| compare_versions(a, b))
    }
}

/// Orders versions by their numbers; one that is not made of numbers sorts as `0`.
#[must_use]
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    numbers(a).cmp(&numbers(b))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(str::parse).collect::<Result<_, _>>().unwrap_or_else(|_| vec![0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(versions: &[(&str, bool)]) -> Metadata {
        let version = |active: bool| VersionMetadata {
            file: String::new(),
            active,
            variables: BTreeSet::new(),
            changelog: String::new(),
        };
        Metadata {
            prompt_id: "p".into(),
            description: String::new(),
            active_version: String::new(),
            versions: versions.iter().map(|(name, active)| ((*name).into(), version(*active))).collect(),
        }
    }

    #[test]
    fn versions_are_compared_as_numbers_and_not_as_text() {
        assert_eq!(metadata(&[("1.9.0", true), ("1.10.0", true)]).highest_active(), Some("1.10.0"));
    }

    #[test]
    fn an_inactive_version_is_passed_over_however_high() {
        assert_eq!(metadata(&[("1.0.0", true), ("2.0.0", false)]).highest_active(), Some("1.0.0"));
        assert_eq!(metadata(&[("1.0.0", false)]).highest_active(), None);
    }

    #[test]
    fn a_version_that_is_not_made_of_numbers_is_the_lowest() {
        let versions = [("1.0.0-deprecated", true), ("0.0.1", true)];
        assert_eq!(metadata(&versions).highest_active(), Some("0.0.1"));
    }
}
