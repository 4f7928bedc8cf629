//! Identifiers that cannot be mixed up.
//!
//! Each is a newtype over text that was checked once, when it entered the system. Everything below the
//! HTTP layer takes these types, so that no function can be called without its tenant or with a request id
//! where a session id belongs.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Longest organisation id, in characters.
pub const ORG_ID_CHARS_MAX: usize = 64;

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// An organisation id holds a character outside `[A-Za-z0-9_-]`, is empty, or is too long.
    #[error("an organisation id is 1 to {ORG_ID_CHARS_MAX} characters of A-Z, a-z, 0-9, '_' and '-'")]
    Org,
    /// A caller-chosen id is blank.
    #[error("String must not be empty or whitespace-only")]
    Blank,
}

/// An organisation: the tenant, and the first part of every key.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OrgId(String);

impl OrgId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for OrgId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if text.is_empty() || text.len() > ORG_ID_CHARS_MAX || !text.chars().all(allowed) {
            return Err(InvalidId::Org);
        }
        Ok(Self(text))
    }
}

impl std::str::FromStr for OrgId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::try_from(text.to_owned())
    }
}

impl From<OrgId> for String {
    fn from(id: OrgId) -> Self {
        id.0
    }
}

impl fmt::Debug for OrgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OrgId({})", self.0)
    }
}

impl fmt::Display for OrgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! caller_chosen_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the text without its surrounding white space.
            ///
            /// # Errors
            /// [`InvalidId::Blank`] when nothing is left.
            pub fn new(text: &str) -> Result<Self, InvalidId> {
                let text = text.trim();
                if text.is_empty() { Err(InvalidId::Blank) } else { Ok(Self(text.to_owned())) }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Hex SHA-256 of the id: what stands for it in keys, since callers choose ids freely.
            #[must_use]
            pub fn hash(&self) -> String {
                hash_hex(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

caller_chosen_id! {
    /// The person (or agent) whose conversations are learned from.
    UserId
}
caller_chosen_id! {
    /// One publish call; unique in the organisation.
    RequestId
}
caller_chosen_id! {
    /// A conversation. Agents choose these, so the same id may occur for several users.
    SessionId
}
caller_chosen_id! {
    /// One profile; unique in the organisation.
    ProfileId
}

/// Hex SHA-256 of a user id: what stands for the user in keys and messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserHash(String);

/// Stands for the absent user of rows that were written without one.
const NO_USER: &str = "-";

impl UserHash {
    /// The hash of a user.
    #[must_use]
    pub fn of(user: &UserId) -> Self {
        Self(user.hash())
    }

    /// The partition of rows that belong to no user.
    #[must_use]
    pub fn none() -> Self {
        Self(NO_USER.to_owned())
    }

    /// The partition of rows of `user`, or of no user.
    #[must_use]
    pub fn of_optional(user: Option<&UserId>) -> Self {
        user.map_or_else(Self::none, Self::of)
    }

    /// The hash as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a hash that came in a message: 64 hex digits, or the mark of no user.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_hash = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        (is_hash || text == NO_USER).then(|| Self(text.to_owned()))
    }
}

/// Hex SHA-256 of a text.
#[must_use]
pub fn hash_hex(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// The version of the agent that spoke; `agent-v0` when the caller names none.
pub const DEFAULT_AGENT_VERSION: &str = "agent-v0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_org_id_is_accepted_up_to_its_limit_and_not_beyond() {
        for (length, ok) in [(0, false), (1, true), (63, true), (64, true), (65, false)] {
            assert_eq!("a".repeat(length).parse::<OrgId>().is_ok(), ok, "{length}");
        }
    }

    #[test]
    fn an_org_id_that_could_break_a_key_is_refused() {
        for text in ["a#b", "a b", "a/b", "ü", "a\u{0}"] {
            assert_eq!(text.parse::<OrgId>(), Err(InvalidId::Org), "{text:?}");
        }
    }

    #[test]
    fn caller_chosen_ids_lose_their_surrounding_white_space_and_must_not_be_blank() {
        assert_eq!(UserId::new("  ana ").unwrap().as_str(), "ana");
        assert_eq!(UserId::new(" \t\n"), Err(InvalidId::Blank));
    }

    #[test]
    fn only_a_hash_or_the_mark_of_no_user_is_read_from_a_message() {
        let hash = UserHash::of(&UserId::new("ana").unwrap());
        assert_eq!(UserHash::parse(hash.as_str()), Some(hash));
        assert_eq!(UserHash::parse("-"), Some(UserHash::none()));
        assert_eq!(UserHash::parse("ana"), None);
    }
}
