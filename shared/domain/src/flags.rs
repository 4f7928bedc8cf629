//! Feature flags: which features are on for which organisations, from the site variable `feature_flags`.
//!
//! They fail open: a flag that nobody set, or that cannot be read, is on. There are two exceptions, which are off when
//! they are absent: `invitation_only`, which closes something when it is on, and `infer_session_outcomes`, which writes
//! what nobody asked for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::ids::OrgId;

/// Comparing what was newly learned with what is stored: profiles and user playbooks.
pub const DEDUPLICATOR: &str = "deduplicator";
/// Extraction that may ask people and go on when they answered.
pub const RESUMABLE_EXTRACTION_AGENT: &str = "resumable_extraction_agent";
/// A verdict on a session becomes its outcome, for as long as nobody reports one. Off unless it is set.
pub const INFER_SESSION_OUTCOMES: &str = "infer_session_outcomes";
/// Creating an organisation needs an invitation code.
pub const INVITATION_ONLY: &str = "invitation_only";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Flag {
    enabled: bool,
    enabled_org_ids: BTreeSet<String>,
}

/// All flags of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureFlags(BTreeMap<String, Flag>);

/// What the flags say for one organisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgFlags {
    /// See [`DEDUPLICATOR`].
    pub deduplicator: bool,
    /// See [`RESUMABLE_EXTRACTION_AGENT`]. No extraction asks people yet, so nothing depends on it.
    pub resumable_extraction_agent: bool,
    /// See [`INFER_SESSION_OUTCOMES`].
    pub infer_session_outcomes: bool,
}

impl Default for OrgFlags {
    /// As where no flag is set.
    fn default() -> Self {
        Self { deduplicator: true, resumable_extraction_agent: true, infer_session_outcomes: false }
    }
}

impl FeatureFlags {
    /// Reads the site variable. Anything but an object sets no flag. The names of malformed flags come with it: they
    /// count as not set.
    #[must_use]
    pub fn read(value: &Value) -> (Self, Vec<String>) {
        let Value::Object(members) = value else { return (Self::default(), Vec::new()) };
        let (mut flags, mut malformed) = (BTreeMap::new(), Vec::new());
        for (name, value) in members {
            match flag(value) {
                Some(flag) => drop(flags.insert(name.clone(), flag)),
                None => malformed.push(name.clone()),
            }
        }
        (Self(flags), malformed)
    }

    /// Whether a feature is on for an organisation; a flag that is not set is.
    #[must_use]
    pub fn is_enabled(&self, org: &OrgId, name: &str) -> bool {
        self.0.get(name).is_none_or(|flag| flag.enabled || flag.enabled_org_ids.contains(org.as_str()))
    }

    /// Whether a feature was switched on for an organisation; a flag that is not set is off.
    fn is_asked_for(&self, org: &OrgId, name: &str) -> bool {
        self.0.contains_key(name) && self.is_enabled(org, name)
    }

    /// Whether creating an organisation needs an invitation; for all alike, so the list of organisations is ignored.
    #[must_use]
    pub fn invitation_only(&self) -> bool {
        self.0.get(INVITATION_ONLY).is_some_and(|flag| flag.enabled)
    }

    /// Every flag that is set, as it is for an organisation.
    #[must_use]
    pub fn all(&self, org: &OrgId) -> BTreeMap<&str, bool> {
        self.0.keys().map(|name| (name.as_str(), self.is_enabled(org, name))).collect()
    }

    /// The flags that the workers ask for.
    #[must_use]
    pub fn of(&self, org: &OrgId) -> OrgFlags {
        OrgFlags {
            deduplicator: self.is_enabled(org, DEDUPLICATOR),
            resumable_extraction_agent: self.is_enabled(org, RESUMABLE_EXTRACTION_AGENT),
            infer_session_outcomes: self.is_asked_for(org, INFER_SESSION_OUTCOMES),
        }
    }
}

/// A flag, if both of its members are what they must be. `"false"` is no boolean.
fn flag(value: &Value) -> Option<Flag> {
    let members = value.as_object()?;
    let enabled = match members.get("enabled") {
        None => false,
        Some(value) => value.as_bool()?,
    };
    let ids = match members.get("enabled_org_ids") {
        None => &Vec::new(),
        Some(value) => value.as_array()?,
    };
    let ids = ids.iter().map(|id| id.as_str().map(str::to_owned)).collect::<Option<_>>()?;
    Some(Flag { enabled, enabled_org_ids: ids })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> FeatureFlags {
        FeatureFlags::read(value).0
    }

    fn org(name: &str) -> OrgId {
        name.parse().unwrap()
    }

    #[test]
    fn a_flag_is_on_unless_it_is_set_and_says_otherwise() {
        let flags = read(&json!({
            "on": { "enabled": true },
            "off": { "enabled": false },
            "some": { "enabled": false, "enabled_org_ids": ["acme"] },
            "listed": { "enabled_org_ids": ["acme"] },
        }));
        let acme = [("on", true), ("off", false), ("some", true), ("listed", true), ("absent", true)];
        for (name, expected) in acme {
            assert_eq!(flags.is_enabled(&org("acme"), name), expected, "{name}");
        }
        assert!(!flags.is_enabled(&org("other"), "some"));
        assert!(!flags.is_enabled(&org("other"), "listed"));
    }

    #[test]
    fn every_configured_flag_is_resolved_for_an_organisation() {
        let flags = read(&json!({
            "a": { "enabled": true }, "b": { "enabled": false, "enabled_org_ids": ["acme"] },
        }));
        assert_eq!(flags.all(&org("acme")), BTreeMap::from([("a", true), ("b", true)]));
        assert_eq!(flags.all(&org("other")), BTreeMap::from([("a", true), ("b", false)]));
    }

    #[test]
    fn outcomes_are_inferred_only_where_somebody_asked_for_it() {
        for (value, acme, other) in [
            (json!({}), false, false),
            (json!({ "infer_session_outcomes": { "enabled": true } }), true, true),
            (json!({ "infer_session_outcomes": { "enabled_org_ids": ["acme"] } }), true, false),
            (json!({ "infer_session_outcomes": { "enabled": false } }), false, false),
            (json!({ "infer_session_outcomes": { "enabled": "true" } }), false, false),
        ] {
            let flags = read(&value);
            assert_eq!(flags.of(&org("acme")).infer_session_outcomes, acme, "{value}");
            assert_eq!(flags.of(&org("other")).infer_session_outcomes, other, "{value}");
        }
    }

    #[test]
    fn what_is_not_an_object_sets_no_flag() {
        for value in [json!(null), json!("deduplicator"), json!([{ "deduplicator": { "enabled": false } }])] {
            assert_eq!(read(&value).of(&org("acme")), OrgFlags::default(), "{value}");
            assert!(!read(&value).invitation_only());
        }
    }

    #[test]
    fn a_malformed_flag_counts_as_not_set_and_is_named() {
        for broken in [
            json!({ "enabled": "false" }),
            json!({ "enabled": 0 }),
            json!({ "enabled": null }),
            json!({ "enabled": false, "enabled_org_ids": "acme" }),
            json!({ "enabled": false, "enabled_org_ids": [1] }),
            json!(false),
        ] {
            let value = json!({ "deduplicator": broken, "other": { "enabled": false } });
            let (flags, malformed) = FeatureFlags::read(&value);
            assert_eq!(malformed, ["deduplicator"], "{value}");
            assert!(flags.is_enabled(&org("acme"), DEDUPLICATOR), "{value}");
            assert!(!flags.is_enabled(&org("acme"), "other"), "one bad flag leaves the others: {value}");
        }
    }

    #[test]
    fn invitations_are_needed_only_when_a_real_boolean_says_so_and_for_all_alike() {
        for (value, needed) in [
            (json!({}), false),
            (json!({ "invitation_only": { "enabled": true } }), true),
            (json!({ "invitation_only": { "enabled": false, "enabled_org_ids": ["acme"] } }), false),
            (json!({ "invitation_only": { "enabled": "true" } }), false),
        ] {
            assert_eq!(read(&value).invitation_only(), needed, "{value}");
        }
    }
}
