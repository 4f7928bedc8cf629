//! Answers of upgrades and downgrades, with the messages of the contract.

use serde::Serialize;

use crate::versions::Direction;

/// What a change of versions came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionOutcome {
    /// There was nothing that it would make current.
    Nothing,
    /// Something else is at work on the same kind of rows.
    Busy,
    /// It is done.
    Done,
    /// It goes on after the answer.
    GoesOn,
}

/// Rows that a change of versions concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VersionTotals {
    /// Rows made current.
    pub promoted: i64,
    /// Rows archived.
    pub archived: i64,
    /// Archived rows deleted.
    pub deleted: i64,
    /// Users left as they are since a row of theirs is damaged.
    pub skipped_users: i64,
}

fn message(direction: Direction, outcome: VersionOutcome, totals: VersionTotals) -> String {
    let VersionTotals { promoted, archived, deleted, skipped_users } = totals;
    let mut message = match (direction, outcome) {
        (Direction::Upgrade, VersionOutcome::Nothing) => {
            return "No pending items found to upgrade".to_owned();
        }
        (Direction::Downgrade, VersionOutcome::Nothing) => {
            return "No archived items found to restore".to_owned();
        }
        (Direction::Upgrade, VersionOutcome::Busy) => {
            return "Failed to upgrade: another operation on these items is in progress".to_owned();
        }
        (Direction::Downgrade, VersionOutcome::Busy) => {
            return "Failed to downgrade: another operation on these items is in progress".to_owned();
        }
        (Direction::Upgrade, _) => {
            format!("Upgraded: {promoted} promoted, {archived} archived, {deleted} old archived deleted")
        }
        (Direction::Downgrade, _) => format!("Downgraded: {archived} archived, {promoted} restored"),
    };
    if outcome == VersionOutcome::GoesOn {
        message.push_str(" so far; the rest goes on in the background");
    }
    if skipped_users > 0 {
        message.push_str(&format!("; {skipped_users} user(s) left out because of damaged data"));
    }
    message
}

macro_rules! answer {
    ($(#[$doc:meta])* $name:ident, $direction:expr, $($(#[$field_doc:meta])* $field:ident: $total:ident),+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        pub struct $name {
            /// Whether anything was changed, and all users were.
            pub success: bool,
            $($(#[$field_doc])* pub $field: i64,)+
            /// In words.
            pub message: String,
        }

        impl $name {
            /// The answer for this outcome.
            #[must_use]
            pub fn new(outcome: VersionOutcome, totals: VersionTotals) -> Self {
                let is_done = matches!(outcome, VersionOutcome::Done | VersionOutcome::GoesOn);
                Self {
                    success: is_done && totals.skipped_users == 0,
                    $($field: totals.$total,)+
                    message: message($direction, outcome, totals),
                }
            }
        }
    };
}

answer!(
    /// `POST /api/upgrade_all_profiles`.
    UpgradeProfilesAnswer, Direction::Upgrade,
    /// Current profiles that were archived.
    profiles_archived: archived,
    /// Pending profiles that became current.
    profiles_promoted: promoted,
    /// Archived profiles that were deleted.
    profiles_deleted: deleted
);
answer!(
    /// `POST /api/downgrade_all_profiles`.
    DowngradeProfilesAnswer, Direction::Downgrade,
    /// Current profiles that were archived.
    profiles_demoted: archived,
    /// Archived profiles that became current.
    profiles_restored: promoted
);
answer!(
    /// `POST /api/upgrade_all_user_playbooks`.
    UpgradeUserPlaybooksAnswer, Direction::Upgrade,
    /// Archived playbooks that were deleted.
    user_playbooks_deleted: deleted,
    /// Current playbooks that were archived.
    user_playbooks_archived: archived,
    /// Pending playbooks that became current.
    user_playbooks_promoted: promoted
);
answer!(
    /// `POST /api/downgrade_all_user_playbooks`.
    DowngradeUserPlaybooksAnswer, Direction::Downgrade,
    /// Current playbooks that were archived.
    user_playbooks_demoted: archived,
    /// Archived playbooks that became current.
    user_playbooks_restored: promoted
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_contract() {
        let totals = VersionTotals { promoted: 3, archived: 2, deleted: 1, skipped_users: 0 };
        let up = UpgradeProfilesAnswer::new(VersionOutcome::Done, totals);
        assert_eq!(up.message, "Upgraded: 3 promoted, 2 archived, 1 old archived deleted");
        let down = DowngradeProfilesAnswer::new(VersionOutcome::Done, totals);
        assert_eq!(down.message, "Downgraded: 2 archived, 3 restored");
        let none = UpgradeUserPlaybooksAnswer::new(VersionOutcome::Nothing, VersionTotals::default());
        assert_eq!((none.success, none.message.as_str()), (false, "No pending items found to upgrade"));
        let none = DowngradeUserPlaybooksAnswer::new(VersionOutcome::Nothing, VersionTotals::default());
        assert_eq!((none.success, none.message.as_str()), (false, "No archived items found to restore"));
    }

    #[test]
    fn users_that_were_left_out_are_no_success() {
        let totals = VersionTotals { promoted: 1, skipped_users: 2, ..VersionTotals::default() };
        let answer = UpgradeProfilesAnswer::new(VersionOutcome::Done, totals);
        assert!(!answer.success);
        assert!(
            answer.message.ends_with("; 2 user(s) left out because of damaged data"),
            "{}",
            answer.message
        );
    }
}
