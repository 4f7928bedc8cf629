//! How long rows live, and what becomes of them.

use serde::{Deserialize, Serialize};

use crate::time::{DAY_SECONDS, EpochSeconds, NEVER_EXPIRES};

/// How long a profile stays true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileTimeToLive {
    /// One day.
    OneDay,
    /// Seven days.
    OneWeek,
    /// Thirty days.
    OneMonth,
    /// Ninety days.
    OneQuarter,
    /// 365 days.
    OneYear,
    /// For ever.
    #[default]
    Infinity,
}

impl ProfileTimeToLive {
    /// All values in the order of the contract.
    pub const ALL: [Self; 6] =
        [Self::OneDay, Self::OneWeek, Self::OneMonth, Self::OneQuarter, Self::OneYear, Self::Infinity];

    /// The value on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneDay => "one_day",
            Self::OneWeek => "one_week",
            Self::OneMonth => "one_month",
            Self::OneQuarter => "one_quarter",
            Self::OneYear => "one_year",
            Self::Infinity => "infinity",
        }
    }

    /// Reads a value of the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ttl| ttl.as_str() == text)
    }

    /// When a profile that was last modified at `modified` stops being true.
    #[must_use]
    pub fn expiration(self, modified: EpochSeconds) -> EpochSeconds {
        let days = match self {
            Self::OneDay => 1,
            Self::OneWeek => 7,
            Self::OneMonth => 30,
            Self::OneQuarter => 90,
            Self::OneYear => 365,
            Self::Infinity => return NEVER_EXPIRES,
        };
        modified + days * DAY_SECONDS
    }
}

/// The lifecycle of profiles and playbooks. `None` in an `Option<Status>` is the current version (`null`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The version before the current one.
    Archived,
    /// A preview that an upgrade would make current.
    Pending,
    /// On its way to the archive.
    ArchiveInProgress,
    /// A tombstone: merged into another row.
    Merged,
    /// A tombstone: replaced by another row.
    Superseded,
    /// A tombstone: its time to live ran out.
    Expired,
}

impl Status {
    /// All values in the order of the contract.
    pub const ALL: [Self; 6] = [
        Self::Archived,
        Self::Pending,
        Self::ArchiveInProgress,
        Self::Merged,
        Self::Superseded,
        Self::Expired,
    ];

    /// The value on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Pending => "pending",
            Self::ArchiveInProgress => "archive_in_progress",
            Self::Merged => "merged",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
        }
    }

    /// Reads a value of the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether the row is kept only as a trace of what replaced it.
    #[must_use]
    pub fn is_tombstone(self) -> bool {
        matches!(self, Self::Merged | Self::Superseded | Self::Expired)
    }
}

/// Whether people have approved an agent playbook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaybookStatus {
    /// Not looked at yet.
    #[default]
    Pending,
    /// Good.
    Approved,
    /// Not to be used.
    Rejected,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expirations_are_counted_in_utc_days() {
        let modified = 1_750_000_000;
        let expected =
            [1_750_086_400, 1_750_604_800, 1_752_592_000, 1_757_776_000, 1_781_536_000, 4_102_444_800];
        for (ttl, at) in ProfileTimeToLive::ALL.into_iter().zip(expected) {
            assert_eq!(ttl.expiration(modified), at, "{}", ttl.as_str());
        }
    }

    #[test]
    fn enumerations_read_back_what_they_write() {
        for ttl in ProfileTimeToLive::ALL {
            assert_eq!(ProfileTimeToLive::parse(ttl.as_str()), Some(ttl));
            assert_eq!(serde_json::to_value(ttl).unwrap(), ttl.as_str());
        }
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
    }
}
