//! Finding what else must go when a row is erased.

use std::collections::HashSet;

use domain::entities::UserProfile;
use domain::ids::ProfileId;

/// The tombstones that led to deleted rows, directly or through others. They hold earlier wordings of what the user
/// asked to forget, so they are erased with them.
#[must_use]
pub fn tombstones_of(deleted: &[ProfileId], tombstones: &[UserProfile]) -> Vec<ProfileId> {
    let mut gone: HashSet<&str> = deleted.iter().map(ProfileId::as_str).collect();
    let mut found: Vec<ProfileId> = Vec::new();
    loop {
        let before = found.len();
        for row in tombstones {
            let mut successors = [&row.merged_into, &row.superseded_by].into_iter().flatten();
            let leads_there = successors.any(|id| gone.contains(id.as_str()));
            if leads_there && gone.insert(row.profile_id.as_str()) {
                found.push(row.profile_id.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::entities::Status;

    use super::*;
    use crate::profile::deduplicate::tests::row;

    #[test]
    fn earlier_wordings_of_what_was_forgotten_are_found_through_all_links() {
        let link = |id: &str, merged: Option<&str>, superseded: Option<&str>| UserProfile {
            status: Some(Status::Merged),
            merged_into: merged.map(str::to_owned),
            superseded_by: superseded.map(str::to_owned),
            ..row(id, "x")
        };
        let tombstones = [link("c", None, Some("b")), link("b", Some("a"), None), link("z", Some("y"), None)];
        let found = tombstones_of(&[ProfileId::new("a").unwrap()], &tombstones);
        assert_eq!(found.iter().map(ProfileId::as_str).collect::<Vec<_>>(), ["b", "c"]);
    }
}
