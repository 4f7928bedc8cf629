//! Secrets inside a configuration: hidden in logs, masked on the wire, kept apart at rest.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::Config;
use crate::validation::{Faults, Path, rules};

/// What a secret begins with when it is shown.
const MASK: &str = "********";
/// From this length, in characters, the end of a secret is shown.
const SHOWN_FROM_CHARS: usize = 12;
/// So many characters of the end are shown.
const SHOWN_CHARS: usize = 4;

/// A text that must not appear in logs. It serialises as it is.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SecretString(String);

impl SecretString {
    /// Wraps a secret.
    #[must_use]
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The secret itself, for the one who needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is shown in its place: the end if it is long enough to stay secret.
    #[must_use]
    pub fn mask(&self) -> String {
        let length = self.0.chars().count();
        let hidden = if length >= SHOWN_FROM_CHARS { length - SHOWN_CHARS } else { length };
        MASK.chars().chain(self.0.chars().skip(hidden)).collect()
    }

    fn looks_masked(&self) -> bool {
        self.0.starts_with(MASK)
    }

    pub(super) fn read<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Self> {
        rules::text(value, at, faults).map(Self)
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretString(…)")
    }
}

impl Config {
    /// Visits every secret under its path, such as `api_key_config.openai.api_key`.
    fn visit_secrets(&mut self, visit: &mut dyn FnMut(String, &mut SecretString)) {
        if let Some(keys) = &mut self.api_key_config {
            keys.visit_secrets(&mut |path, secret| visit(format!("api_key_config.{path}"), secret));
        }
        if let Some(header) = &mut self.playbook_optimizer_config.webhook_auth_header {
            visit("playbook_optimizer_config.webhook_auth_header".to_owned(), header);
        }
        for (index, secret) in self.pending_tool_call_config.hmac_secrets.iter_mut().enumerate() {
            visit(format!("{HMAC_SECRETS}{index}"), secret);
        }
    }

    /// Takes all secrets out, leaving empty ones in their places; by path.
    pub fn take_secrets(&mut self) -> BTreeMap<String, String> {
        let mut taken = BTreeMap::new();
        self.visit_secrets(&mut |path, secret| {
            taken.insert(path, std::mem::take(&mut secret.0));
        });
        taken
    }

    /// Puts secrets back that [`Config::take_secrets`] took; those whose place is gone are dropped.
    pub fn put_secrets(&mut self, mut secrets: BTreeMap<String, String>) {
        self.visit_secrets(&mut |path, secret| {
            if let Some(text) = secrets.remove(&path) {
                secret.0 = text;
            }
        });
    }

    /// A copy to show: every secret is masked.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut copy = self.clone();
        copy.visit_secrets(&mut |_, secret| secret.0 = secret.mask());
        copy
    }

    /// Puts the stored secrets back where the caller sent a mask, so that what was read can be written.
    /// Returns the paths of masks that hide nothing that is stored.
    pub fn restore_masked(&mut self, stored: &Self) -> Vec<String> {
        let known = stored.clone().take_secrets();
        let mut unknown = Vec::new();
        self.visit_secrets(&mut |path, secret| {
            if !secret.looks_masked() {
                return;
            }
            let same_place = known.get(&path).into_iter();
            // A list may have lost elements, so its masks are looked for in the whole list.
            let same_list = known.iter().filter(|(other, _)| both_hmac(other, &path)).map(|(_, text)| text);
            let matches = |text: &&String| SecretString((*text).clone()).mask() == secret.0;
            match same_place.chain(same_list).find(matches) {
                Some(text) => secret.0.clone_from(text),
                None => unknown.push(path),
            }
        });
        unknown
    }
}

const HMAC_SECRETS: &str = "pending_tool_call_config.hmac_secrets.";

fn both_hmac(a: &str, b: &str) -> bool {
    a.starts_with(HMAC_SECRETS) && b.starts_with(HMAC_SECRETS)
}
