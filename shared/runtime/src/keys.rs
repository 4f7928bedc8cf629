//! API keys: `rk_<id>_<secret>`, of which only the SHA-256 of the secret is stored; any other text that the
//! operator chose is found by its own SHA-256.

use domain::ids::{OrgId, hash_hex};
use domain::time::EpochSeconds;
use store::NewApiKey;
use subtle::ConstantTimeEq;

/// How our own keys begin.
const PREFIX: &str = "rk_";

/// A key as a caller presents it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedKey {
    /// What it is found by.
    pub lookup: String,
    secret_hash: String,
}

impl PresentedKey {
    /// Takes a key apart.
    #[must_use]
    pub fn read(token: &str) -> Self {
        let parts = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        match parts {
            Some((id, secret)) if is_key_id(id) && !secret.is_empty() => {
                Self { lookup: format!("id#{id}"), secret_hash: hash_hex(secret) }
            }
            _ => {
                let hash = hash_hex(token);
                Self { lookup: format!("sha#{hash}"), secret_hash: hash }
            }
        }
    }

    /// The record of this key, to be stored for an organisation.
    #[must_use]
    pub fn record(&self, org: &OrgId, now: EpochSeconds) -> NewApiKey {
        NewApiKey {
            lookup: self.lookup.clone(),
            secret_hash: self.secret_hash.clone(),
            org: org.clone(),
            created_at: now,
        }
    }
}

/// What operators call a key: its beginning, or the beginning of the hash of one that they chose. Neither admits.
#[must_use]
pub fn shown_name(lookup: &str) -> String {
    match lookup.split_once('#') {
        Some(("id", id)) => format!("{PREFIX}{id}"),
        Some((kind, hash)) => format!("{kind}:{}", hash.get(..12).unwrap_or(hash)),
        None => lookup.to_owned(),
    }
}

/// What a key is found by, from the key itself or from what [`shown_name`] makes of one of our own.
#[must_use]
pub fn lookup_of(named: &str) -> String {
    match named.strip_prefix(PREFIX).filter(|id| is_key_id(id)) {
        Some(id) => format!("id#{id}"),
        None => PresentedKey::read(named).lookup,
    }
}

fn is_key_id(id: &str) -> bool {
    id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a presented key is the one whose hash is stored. Takes the same time whatever the answer.
#[must_use]
pub fn matches(presented: &PresentedKey, stored_secret_hash: &str) -> bool {
    presented.secret_hash.as_bytes().ct_eq(stored_secret_hash.as_bytes()).into()
}

/// A new key of our own form, from random text (two UUIDs).
#[must_use]
pub fn new_key(random: [String; 2]) -> String {
    let hex: Vec<String> = random.iter().map(|uuid| uuid.replace('-', "")).collect();
    format!("{PREFIX}{}_{}{}", &hex[0][..12], &hex[0][12..], hex[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_read_back_as_itself_and_no_other_matches() {
        let uuid = |digit: &str| format!("{}-0000-4000-8000-{}", digit.repeat(8), digit.repeat(12));
        let key = new_key([uuid("a"), uuid("b")]);
        let presented = PresentedKey::read(&key);
        let record = presented.record(&"org".parse().unwrap(), 0);
        assert_eq!(record.lookup, "id#aaaaaaaa0000");
        assert!(matches(&presented, &record.secret_hash));
        let mut other = key.clone();
        other.pop();
        assert_eq!(PresentedKey::read(&other).lookup, record.lookup);
        assert!(!matches(&PresentedKey::read(&other), &record.secret_hash));
    }

    #[test]
    fn a_key_is_found_by_its_name_too() {
        let key = "rk_aaaaaaaa0000_secret";
        let lookup = PresentedKey::read(key).lookup;
        assert_eq!(shown_name(&lookup), "rk_aaaaaaaa0000");
        for named in [key, "rk_aaaaaaaa0000"] {
            assert_eq!(lookup_of(named), lookup, "{named}");
        }
        let chosen = PresentedKey::read("golden-secret").lookup;
        assert_eq!(lookup_of("golden-secret"), chosen);
        assert_eq!(shown_name(&chosen), format!("sha:{}", &hash_hex("golden-secret")[..12]));
    }

    #[test]
    fn any_text_can_be_a_key() {
        for key in ["golden-secret", "rk_", "rk_x_y", "rk_aaaaaaaa0000_", "鍵"] {
            let presented = PresentedKey::read(key);
            assert!(presented.lookup.starts_with("sha#"), "{key}");
            assert!(matches(&presented, &presented.record(&"o".parse().unwrap(), 0).secret_hash));
        }
    }
}
