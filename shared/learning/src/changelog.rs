//! What a run of profile learning changed, for those who want to look.

use domain::entities::UserProfile;
use domain::ids::{RequestId, UserId};
use domain::time::EpochSeconds;
use serde::{Deserialize, Serialize};

use crate::profile::{DedupOutcome, Retirement};

/// One entry of a user's profile change log. Its id is given by the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileChangeLog {
    /// About whom.
    pub user_id: UserId,
    /// The request that triggered the run.
    pub request_id: RequestId,
    /// When.
    pub created_at: EpochSeconds,
    /// Rows that were inserted.
    pub added_profiles: Vec<UserProfile>,
    /// Rows that were retired. Of one that the user asked to forget only the identity is left.
    pub removed_profiles: Vec<UserProfile>,
    /// Historical; always empty on new entries.
    #[serde(default)]
    pub mentioned_profiles: Vec<UserProfile>,
}

impl ProfileChangeLog {
    /// The entry for a run's outcome; `None` when nothing changed.
    #[must_use]
    pub fn of(
        outcome: &DedupOutcome,
        existing: &[UserProfile],
        user_id: &UserId,
        request_id: &RequestId,
        now: EpochSeconds,
    ) -> Option<Self> {
        let removed: Vec<UserProfile> = outcome
            .retire
            .iter()
            .filter_map(|(id, retirement)| {
                let row = existing.iter().find(|row| &row.profile_id == id)?;
                let is_forgotten = *retirement == Retirement::Deleted;
                Some(if is_forgotten { without_content(row) } else { row.clone() })
            })
            .collect();
        let changed = !outcome.insert.is_empty() || !removed.is_empty();
        changed.then(|| Self {
            user_id: user_id.clone(),
            request_id: request_id.clone(),
            created_at: now,
            added_profiles: outcome.insert.clone(),
            removed_profiles: removed,
            mentioned_profiles: Vec::new(),
        })
    }
}

/// The row's identity without anything that was said.
fn without_content(row: &UserProfile) -> UserProfile {
    UserProfile {
        content: String::new(),
        custom_features: None,
        expanded_terms: None,
        tags: None,
        source_interaction_ids: Vec::new(),
        source_span: None,
        notes: None,
        reader_angle: None,
        ..row.clone()
    }
}

#[cfg(test)]
mod tests {
    use domain::ids::ProfileId;
    use serde_json::json;

    use super::*;

    fn row(id: &str) -> UserProfile {
        serde_json::from_value(json!({
            "profile_id": id, "user_id": "ana", "content": format!("SECRET of {id}"),
            "last_modified_timestamp": 1, "generated_from_request_id": "r", "source_span": "SECRET",
            "notes": "SECRET", "expanded_terms": "SECRET", "tags": ["SECRET"], "custom_features": {"k": "SECRET"},
        }))
        .unwrap()
    }

    fn entry(insert: Vec<UserProfile>, retire: Vec<(ProfileId, Retirement)>) -> Option<ProfileChangeLog> {
        let outcome = DedupOutcome { insert, retire, ..DedupOutcome::default() };
        let (user, request) = (UserId::new("ana").unwrap(), RequestId::new("r").unwrap());
        ProfileChangeLog::of(&outcome, &[row("a"), row("b")], &user, &request, 5)
    }

    #[test]
    fn an_entry_holds_what_came_and_what_went() {
        let id = ProfileId::new("a").unwrap();
        let log =
            entry(vec![row("c")], vec![(id, Retirement::MergedInto(ProfileId::new("c").unwrap()))]).unwrap();
        assert_eq!((log.added_profiles, log.removed_profiles), (vec![row("c")], vec![row("a")]));
        assert_eq!(log.mentioned_profiles, []);
    }

    #[test]
    fn nothing_that_was_forgotten_is_left_in_the_log() {
        let log = entry(vec![], vec![(ProfileId::new("b").unwrap(), Retirement::Deleted)]).unwrap();
        assert_eq!(log.removed_profiles[0].profile_id.as_str(), "b");
        assert!(!serde_json::to_string(&log).unwrap().contains("SECRET"));
    }

    #[test]
    fn a_run_that_changes_nothing_leaves_no_entry() {
        assert_eq!(entry(vec![], vec![]), None);
    }
}
