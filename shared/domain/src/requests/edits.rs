//! Edits and deletes of single rows of memory: `PUT /api/update_user_profile`, `PUT /api/update_user_playbook`,
//! `DELETE /api/delete_profile`, `DELETE /api/delete_user_playbook`, and deletes by lists of ids.

use serde_json::{Map, Value};

use crate::ids::UserId;
use crate::validation::rules::{self, Bounds, POSITIVE};
use crate::validation::{Rule, ValidationErrors, read_body};

/// Most ids of one call.
pub const DELETED_IDS_MAX: usize = 10_000;

/// What to change of a profile; `None` leaves it as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateUserProfile {
    /// Whose, as written.
    pub user_id: String,
    /// Which, as written.
    pub profile_id: String,
    /// What is known; not blank.
    pub content: Option<String>,
    /// More of it; takes the place of what was there.
    pub custom_features: Option<Map<String, Value>>,
}

impl UpdateUserProfile {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_id = fields.required("user_id", rules::text);
                let profile_id = fields.required("profile_id", rules::text);
                let content = fields.nullable("content", rules::non_blank);
                let custom_features = fields.nullable("custom_features", rules::json_object);
                Some(Self {
                    user_id: user_id?,
                    profile_id: profile_id?,
                    content: content?,
                    custom_features: custom_features?,
                })
            },
            |_| Ok(()),
        )
    }
}

/// What to change of a user playbook; `None` leaves it as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateUserPlaybook {
    /// Which.
    pub user_playbook_id: i64,
    /// Its name.
    pub playbook_name: Option<String>,
    /// The rule.
    pub content: Option<String>,
    /// When it applies.
    pub trigger: Option<String>,
    /// Why.
    pub rationale: Option<String>,
}

impl UpdateUserPlaybook {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_playbook_id = fields.required("user_playbook_id", rules::integer(POSITIVE));
                let playbook_name = fields.nullable("playbook_name", rules::text);
                let content = fields.nullable("content", rules::text);
                let trigger = fields.nullable("trigger", rules::text);
                let rationale = fields.nullable("rationale", rules::text);
                Some(Self {
                    user_playbook_id: user_playbook_id?,
                    playbook_name: playbook_name?,
                    content: content?,
                    trigger: trigger?,
                    rationale: rationale?,
                })
            },
            |_| Ok(()),
        )
    }
}

/// Which profile of a user to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteProfile {
    /// Whose.
    pub user_id: UserId,
    /// Which, as written; may be empty.
    pub profile_id: String,
    /// Part of the contract, but nothing is deleted by it.
    pub search_query: String,
}

impl DeleteProfile {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let user_id = fields.required("user_id", rules::identifier(UserId::new));
                let profile_id = fields.optional("profile_id", String::new(), rules::text);
                let search_query = fields.optional("search_query", String::new(), rules::text);
                Some(Self { user_id: user_id?, profile_id: profile_id?, search_query: search_query? })
            },
            |_| Ok(()),
        )
    }
}

/// The one id of a body such as `{"user_playbook_id": 7}`.
///
/// # Errors
/// [`ValidationErrors`] unless it is a positive integer.
pub fn deleted_id(body: &Value, name: &str) -> Result<i64, ValidationErrors> {
    read_body(body, |fields| fields.required(name, rules::integer(POSITIVE)), |_| Ok(()))
}

/// The numbers of a body such as `{"user_playbook_ids": [7]}`, one to [`DELETED_IDS_MAX`] of them.
///
/// # Errors
/// [`ValidationErrors`] with every broken rule.
pub fn deleted_numbers(body: &Value, name: &str) -> Result<Vec<i64>, ValidationErrors> {
    ids(body, name, rules::integer(Bounds::NONE))
}

/// The texts of a body such as `{"profile_ids": ["p"]}`, one to [`DELETED_IDS_MAX`] of them.
///
/// # Errors
/// [`ValidationErrors`] with every broken rule.
pub fn deleted_texts(body: &Value, name: &str) -> Result<Vec<String>, ValidationErrors> {
    ids(body, name, rules::text)
}

fn ids<'v, T>(body: &'v Value, name: &str, rule: impl Rule<'v, T>) -> Result<Vec<T>, ValidationErrors> {
    read_body(body, |fields| fields.required(name, rules::list(1, DELETED_IDS_MAX, rule)), |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_of_ids_is_bounded_and_not_empty() {
        for (count, ok) in
            [(0, false), (DELETED_IDS_MAX - 1, true), (DELETED_IDS_MAX, true), (DELETED_IDS_MAX + 1, false)]
        {
            let body = json!({ "user_playbook_ids": vec![1; count] });
            assert_eq!(deleted_numbers(&body, "user_playbook_ids").is_ok(), ok, "{count}");
        }
    }

    #[test]
    fn a_profile_cannot_be_emptied_by_an_edit() {
        let body = |content: &str| json!({ "user_id": "u", "profile_id": "p", "content": content });
        assert!(UpdateUserProfile::parse(&body(" \n")).is_err());
        assert_eq!(UpdateUserProfile::parse(&body(" tea ")).unwrap().content.as_deref(), Some("tea"));
        let nothing = json!({ "user_id": "u", "profile_id": "p" });
        assert_eq!(UpdateUserProfile::parse(&nothing).unwrap().content, None);
    }
}
