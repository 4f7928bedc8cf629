//! What a wake says: "look at this user", "look at this operation". All that is to be done is derived from the
//! table.

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
    /// A timer went off.
    Timer,
}

/// A message that wakes a worker.
pub trait Wake: Serialize {
    /// The FIFO group: messages of one group are handled one after the other.
    fn group(&self) -> String;

    /// The deduplication id. SQS swallows a repeat for five minutes even after the first was handled, so
    /// `changing` must differ whenever there is something new to look at.
    fn deduplication_id(&self, changing: &str) -> String;
}

/// A group id: a letter and a hash of the parts, since ids that callers choose may be long and of any text.
pub(crate) fn group_of(letter: char, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            hash.update([0]);
        }
        hash.update(part.as_bytes());
    }
    let hash = hex::encode(hash.finalize());
    format!("{letter}-{}", &hash[..GROUP_HASH_CHARS])
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
}

impl Wake for LearnWake {
    /// One user's wakes are handled one after the other. The sweep has a group of its own, so that a message
    /// that is still invisible after a crash does not hold its wakes back; the lease excludes.
    fn group(&self) -> String {
        let group = group_of('u', &[self.org.as_str(), self.user.as_str()]);
        if self.reason == WakeReason::Swept { format!("{group}-s") } else { group }
    }

    fn deduplication_id(&self, changing: &str) -> String {
        deduplication_id(self.reason, &self.group(), changing)
    }
}

/// Look at the user playbooks of this agent version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregateWake {
    /// [`BODY_VERSION`].
    pub v: u8,
    /// The tenant.
    pub org: OrgId,
    /// The agent version.
    pub agent_version: String,
    /// Why.
    pub reason: WakeReason,
}

impl AggregateWake {
    /// A wake of the current version.
    #[must_use]
    pub fn new(org: OrgId, agent_version: String, reason: WakeReason) -> Self {
        Self { v: BODY_VERSION, org, agent_version, reason }
    }
}

impl Wake for AggregateWake {
    /// One aggregation per organisation and agent version at a time; the sweep apart, as for users.
    fn group(&self) -> String {
        let group = group_of('a', &[self.org.as_str(), "aggregate", &self.agent_version]);
        if self.reason == WakeReason::Swept { format!("{group}-s") } else { group }
    }

    fn deduplication_id(&self, changing: &str) -> String {
        deduplication_id(self.reason, &self.group(), changing)
    }
}

/// Look at this batch operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperateWake {
    /// [`BODY_VERSION`].
    pub v: u8,
    /// The tenant.
    pub org: OrgId,
    /// The kind of operation, of which an organisation has one at a time.
    pub service: String,
    /// Which run of it; a wake of another run is dropped.
    pub operation_id: String,
    /// Why.
    pub reason: WakeReason,
}

impl OperateWake {
    /// A wake of the current version.
    #[must_use]
    pub fn new(org: OrgId, service: String, operation_id: String, reason: WakeReason) -> Self {
        Self { v: BODY_VERSION, org, service, operation_id, reason }
    }
}

impl Wake for OperateWake {
    /// One operation of a kind and organisation at a time; the sweep apart, as for users.
    fn group(&self) -> String {
        let group = group_of('o', &[self.org.as_str(), "operate", &self.service]);
        if self.reason == WakeReason::Swept { format!("{group}-s") } else { group }
    }

    fn deduplication_id(&self, changing: &str) -> String {
        let operation = group_of('o', &[&self.operation_id]);
        deduplication_id(self.reason, &operation, &format!("{}:{changing}", &self.group()[2..10]))
    }
}

pub(crate) fn deduplication_id(reason: WakeReason, group: &str, changing: &str) -> String {
    let letter = match reason {
        WakeReason::Published => 'p',
        WakeReason::SessionFinished => 'f',
        WakeReason::Continued => 'c',
        WakeReason::Swept => 's',
        WakeReason::Timer => 't',
    };
    format!("{letter}:{}:{changing}", &group[2..2 + DEDUPLICATION_HASH_CHARS])
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
    fn organisations_agent_versions_and_operations_do_not_share_groups() {
        let aggregate = |org: &str, version: &str| {
            AggregateWake::new(org.parse().unwrap(), version.to_owned(), WakeReason::Published).group()
        };
        assert_ne!(aggregate("a", "v1"), aggregate("b", "v1"));
        assert_ne!(aggregate("a", "v1"), aggregate("a", "v2"));
        let operate = |org: &str, service: &str, id: &str| {
            OperateWake::new(org.parse().unwrap(), service.to_owned(), id.to_owned(), WakeReason::Continued)
        };
        assert_ne!(operate("a", "s", "1").group(), operate("b", "s", "1").group());
        assert_eq!(operate("a", "s", "1").group(), operate("a", "s", "2").group());
        let id = operate("a", "s", "1").deduplication_id("7");
        assert_ne!(id, operate("a", "s", "2").deduplication_id("7"));
        assert_ne!(id, operate("a", "s", "1").deduplication_id("8"));
    }

    #[test]
    fn ids_fit_what_sqs_allows_whatever_the_user_is_called() {
        let long = "ü::#".repeat(500);
        let wake = wake(&"o".repeat(64), &long, WakeReason::Swept);
        let org: OrgId = "o".repeat(64).parse().unwrap();
        let changing = i64::MIN.to_string();
        let aggregate = AggregateWake::new(org.clone(), long.clone(), WakeReason::Swept);
        let operate = OperateWake::new(org, long.clone(), long, WakeReason::Swept);
        for id in [
            wake.group(),
            wake.deduplication_id(&changing),
            aggregate.group(),
            aggregate.deduplication_id(&changing),
            operate.group(),
            operate.deduplication_id(&changing),
        ] {
            assert!(id.len() <= 128 && id.bytes().all(|b| b.is_ascii_graphic()), "{id}");
        }
    }
}
