//! `POST /api/upgrade_all_profiles`, `/api/downgrade_all_profiles`, `/api/upgrade_all_user_playbooks`,
//! `/api/downgrade_all_user_playbooks`.

use serde_json::Value;

use crate::ids::{ProfileId, UserId};
use crate::validation::rules::{self, IDENTIFIER_CHARS_MAX};
use crate::validation::{ValidationErrors, read_body};

/// Most ids of one call.
pub const PROFILE_IDS_MAX: usize = 1_000;

/// Whose profiles change their version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeProfileVersions {
    /// Only of this user.
    pub user_id: Option<UserId>,
    /// Only these; none of them when the list is empty.
    pub profile_ids: Option<Vec<ProfileId>>,
    /// Only users that have profiles which would become current.
    pub only_affected_users: bool,
}

impl ChangeProfileVersions {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        let read = |fields: &mut crate::validation::Fields<'_, '_>| {
            // Blank is refused: taken for nobody in particular, it would reach everybody.
            let user_id = fields.nullable("user_id", rules::identifier(UserId::new));
            let ids = rules::list(0, PROFILE_IDS_MAX, rules::identifier(ProfileId::new));
            let profile_ids = fields.nullable("profile_ids", ids);
            let only_affected_users = fields.optional("only_affected_users", false, rules::boolean);
            Some(Self {
                user_id: user_id?,
                profile_ids: profile_ids?,
                only_affected_users: only_affected_users?,
            })
        };
        read_body(body, read, |_| Ok(()))
    }
}

/// Which user playbooks change their version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePlaybookVersions {
    /// Only those for this version of the agent.
    pub agent_version: Option<String>,
    /// Whether an upgrade archives what was current.
    pub archive_current: bool,
}

impl ChangePlaybookVersions {
    /// Reads the body of an upgrade. The playbook's name is checked and ignored, as recorded.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse_upgrade(body: &Value) -> Result<Self, ValidationErrors> {
        let read = |fields: &mut crate::validation::Fields<'_, '_>| {
            let agent_version = fields.nullable("agent_version", rules::bounded(IDENTIFIER_CHARS_MAX));
            let playbook_name = fields.nullable("playbook_name", rules::text);
            let archive_current = fields.optional("archive_current", true, rules::boolean);
            playbook_name?;
            Some(Self { agent_version: agent_version?, archive_current: archive_current? })
        };
        read_body(body, read, |_| Ok(()))
    }

    /// Reads the body of a downgrade.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse_downgrade(body: &Value) -> Result<Self, ValidationErrors> {
        let read = |fields: &mut crate::validation::Fields<'_, '_>| {
            let agent_version = fields.nullable("agent_version", rules::bounded(IDENTIFIER_CHARS_MAX));
            let playbook_name = fields.nullable("playbook_name", rules::text);
            playbook_name?;
            Some(Self { agent_version: agent_version?, archive_current: true })
        };
        read_body(body, read, |_| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_blank_user_is_refused_and_not_taken_for_everybody() {
        for user in [json!(""), json!("  "), json!(7)] {
            assert!(ChangeProfileVersions::parse(&json!({ "user_id": user })).is_err(), "{user}");
        }
        let all = ChangeProfileVersions::parse(&json!({ "user_id": null })).unwrap();
        assert_eq!(all, ChangeProfileVersions::parse(&json!({})).unwrap());
        assert_eq!((all.user_id, all.profile_ids, all.only_affected_users), (None, None, false));
    }

    #[test]
    fn a_call_names_a_thousand_profiles_and_no_more() {
        let ids = |many: usize| json!({ "profile_ids": vec!["p"; many] });
        assert!(ChangeProfileVersions::parse(&ids(PROFILE_IDS_MAX - 1)).is_ok());
        assert!(ChangeProfileVersions::parse(&ids(PROFILE_IDS_MAX)).is_ok());
        assert!(ChangeProfileVersions::parse(&ids(PROFILE_IDS_MAX + 1)).is_err());
    }

    #[test]
    fn an_upgrade_of_playbooks_archives_unless_told_otherwise() {
        let body = json!({ "agent_version": "v1", "playbook_name": null });
        assert!(ChangePlaybookVersions::parse_upgrade(&body).unwrap().archive_current);
        let body = json!({ "archive_current": false });
        assert!(!ChangePlaybookVersions::parse_upgrade(&body).unwrap().archive_current);
        assert!(ChangePlaybookVersions::parse_upgrade(&json!({ "archive_current": 3 })).is_err());
    }
}
