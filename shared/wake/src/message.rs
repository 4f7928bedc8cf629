//! What a wake says: "look at this user". All that is to be done is derived from the table.

use domain::ids::{OrgId, UserHash};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Version of the body; a reader refuses one that it does not know.
pub const BODY_VERSION: u8 = 1;
/// Hex digits of a group's hash: 160 bits, well under the 128 characters that SQS allows with any prefix.
const GROUP_HASH_CHARS: usize = 40;
/// Hex digits of the user's hash in a deduplication id.
const DEDUPLICATION_HASH_CHARS: usize = 16;

/// Why a user is looked at. For the log; the work does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeReason {
    /// A publish filled a window.
    Published,
    /// A session was declared over.
    SessionFinished,
    /// A worker ran out of time with work left.
    Continued,
    /// The sweep found the user overdue.
    Swept,
}

/// Look at this user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnWake {
    /// [`BODY_VERSION`].
    pub v: u8,
    /// The tenant.
    pub org: OrgId,
    /// The user.
    pub user: UserHash,
    /// Why.
    pub reason: WakeReason,
}

impl LearnWake {
    /// A wake of the current version.
    #[must_use]
    pub fn new(org: OrgId, user: UserHash, reason: WakeReason) -> Self {
        Self { v: BODY_VERSION, org, user, reason }
    }

    /// The FIFO group: one user's wakes are handled one after the other. The sweep has a group of its own,
    /// so that a message that is still invisible after a crash does not hold its wakes back; the lease
    /// excludes.
    #[must_use]
    pub fn group(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.org.as_str().as_bytes());
        hash.update([0]);
        hash.update(self.user.as_str().as_bytes());
        let hash = hex::encode(hash.finalize());
        let suffix = if self.reason == WakeReason::Swept { "-s" } else { "" };
        format!("u-{}{suffix}", &hash[..GROUP_HASH_CHARS])
    }

    /// The deduplication id. SQS swallows a repeat for five minutes even after the first was handled, so
    /// `changing` must differ whenever there is something new to look at.
    #[must_use]
    pub fn deduplication_id(&self, changing: i64) -> String {
        let letter = match self.reason {
            WakeReason::Published => 'p',
            WakeReason::SessionFinished => 'f',
            WakeReason::Continued => 'c',
            WakeReason::Swept => 's',
        };
        let group = self.group();
        format!("{letter}:{}:{changing}", &group[2..2 + DEDUPLICATION_HASH_CHARS])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wake(org: &str, user: &str, reason: WakeReason) -> LearnWake {
        let user = UserHash::of(&domain::ids::UserId::new(user).unwrap());
        LearnWake::new(org.parse().unwrap(), user, reason)
    }

    #[test]
    fn a_group_belongs_to_one_user_of_one_organisation() {
        let group = wake("a", "ana", WakeReason::Published).group();
        assert_eq!(group, wake("a", "ana", WakeReason::Continued).group());
        assert_ne!(group, wake("b", "ana", WakeReason::Published).group());
        assert_ne!(group, wake("a", "bo", WakeReason::Published).group());
        assert_eq!(wake("a", "ana", WakeReason::Swept).group(), format!("{group}-s"));
    }

    #[test]
    fn ids_fit_what_sqs_allows_whatever_the_user_is_called() {
        let long = "ü::#".repeat(500);
        let wake = wake(&"o".repeat(64), &long, WakeReason::Swept);
        for id in [wake.group(), wake.deduplication_id(i64::MIN)] {
            assert!(id.len() <= 128 && id.bytes().all(|b| b.is_ascii_graphic()), "{id}");
        }
    }
}
