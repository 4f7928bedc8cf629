//! Versions of memory: what an upgrade and a downgrade make of each row.
//!
//! A row is pending, current, archived, or a tombstone. An upgrade makes what is pending current, archives what was
//! current, and deletes what was archived before. A downgrade swaps what is current and what is archived, so that two
//! of them change nothing. Tombstones survive both.

use serde::{Deserialize, Serialize};

use crate::entities::Status;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Pending rows become current.
    Upgrade,
    /// Archived rows become current.
    Downgrade,
}

impl Direction {
    /// The status of the rows that a change in this direction makes current.
    #[must_use]
    pub fn promoted(self) -> Status {
        match self {
            Self::Upgrade => Status::Pending,
            Self::Downgrade => Status::Archived,
        }
    }
}

/// A change of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VersionChange {
    /// Which way.
    pub direction: Direction,
    /// Whether an upgrade archives what is current and deletes what was archived; if not, both stay as they are.
    pub archive_current: bool,
}

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Becomes {
    /// It is not concerned.
    Same,
    /// The current version.
    Current,
    /// The version before.
    Archived,
    /// It is deleted.
    Gone,
}

impl VersionChange {
    /// An upgrade that archives what is current.
    pub const UPGRADE: Self = Self { direction: Direction::Upgrade, archive_current: true };
    /// An upgrade that adds to what is current.
    pub const ADDING_UPGRADE: Self = Self { direction: Direction::Upgrade, archive_current: false };
    /// A downgrade.
    pub const DOWNGRADE: Self = Self { direction: Direction::Downgrade, archive_current: true };

    /// What becomes of a row with this status. A row that an older version left on its way to the archive
    /// arrives there.
    #[must_use]
    pub fn of(self, status: Option<Status>) -> Becomes {
        use Status::{ArchiveInProgress, Archived, Expired, Merged, Pending, Superseded};
        match (self.direction, status) {
            (_, Some(Merged | Superseded | Expired)) => Becomes::Same,
            (_, Some(ArchiveInProgress)) => Becomes::Archived,
            (Direction::Upgrade, Some(Pending)) => Becomes::Current,
            (Direction::Upgrade, _) if !self.archive_current => Becomes::Same,
            (Direction::Upgrade, None) => Becomes::Archived,
            (Direction::Upgrade, Some(Archived)) => Becomes::Gone,
            (Direction::Downgrade, Some(Pending)) => Becomes::Same,
            (Direction::Downgrade, None) => Becomes::Archived,
            (Direction::Downgrade, Some(Archived)) => Becomes::Current,
        }
    }
}

impl Becomes {
    /// The status afterwards of a row whose status was `before`; `None` when it is gone.
    #[must_use]
    pub fn status(self, before: Option<Status>) -> Option<Option<Status>> {
        match self {
            Self::Same => Some(before),
            Self::Current => Some(None),
            Self::Archived => Some(Some(Status::Archived)),
            Self::Gone => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_status() -> impl Iterator<Item = Option<Status>> {
        Status::ALL.into_iter().map(Some).chain([None])
    }

    fn after(change: VersionChange, status: Option<Status>) -> Option<Option<Status>> {
        change.of(status).status(status)
    }

    #[test]
    fn an_upgrade_promotes_archives_and_deletes() {
        let upgrade = VersionChange::UPGRADE;
        assert_eq!(after(upgrade, Some(Status::Pending)), Some(None));
        assert_eq!(after(upgrade, None), Some(Some(Status::Archived)));
        assert_eq!(after(upgrade, Some(Status::Archived)), None);
    }

    #[test]
    fn an_upgrade_that_archives_nothing_only_promotes() {
        for status in every_status() {
            let expected = match status {
                Some(Status::Pending) => Some(None),
                Some(Status::ArchiveInProgress) => Some(Some(Status::Archived)),
                other => Some(other),
            };
            assert_eq!(after(VersionChange::ADDING_UPGRADE, status), expected);
        }
    }

    #[test]
    fn two_downgrades_change_nothing_but_rows_that_were_on_their_way() {
        let downgrade = VersionChange::DOWNGRADE;
        for status in every_status().filter(|status| *status != Some(Status::ArchiveInProgress)) {
            let once = after(downgrade, status).unwrap();
            assert_eq!(after(downgrade, once), Some(status));
        }
        assert_eq!(after(downgrade, Some(Status::ArchiveInProgress)), Some(Some(Status::Archived)));
    }

    #[test]
    fn tombstones_survive_every_change() {
        let changes = [VersionChange::UPGRADE, VersionChange::ADDING_UPGRADE, VersionChange::DOWNGRADE];
        for status in Status::ALL.into_iter().filter(|status| status.is_tombstone()) {
            for change in changes {
                assert_eq!(change.of(Some(status)), Becomes::Same);
            }
        }
    }
}
