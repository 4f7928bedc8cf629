//! Keys of the table: built here and nowhere else, and never without an organisation, but for the API keys that name
//! one and for what belongs to the deployment itself.
//!
//! Text that callers choose stands in a key only as its SHA-256, so that no id can be mistaken for a part
//! of another key. Numbers are padded, so that text order is number order.

use domain::ids::{OrgId, ProfileId, RequestId, SessionId, UserHash};

use domain::site_vars::SiteKey;

use crate::cursors::CursorName;

/// Digits that hold any position, count or epoch second.
const NUMBER_DIGITS: usize = 12;

/// Partition and sort key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pk: String,
    sk: String,
}

impl Key {
    fn new(pk: String, sk: impl Into<String>) -> Self {
        Self { pk, sk: sk.into() }
    }

    /// A key that was read from an index.
    pub(crate) fn from_parts(pk: &str, sk: &str) -> Self {
        Self::new(pk.to_owned(), sk)
    }

    pub(crate) fn pk(&self) -> &str {
        &self.pk
    }

    pub(crate) fn sk(&self) -> &str {
        &self.sk
    }
}

/// All rows of one user: conversations, memory, and what the workers know of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserKeys<'a> {
    /// The tenant.
    pub org: &'a OrgId,
    /// The user.
    pub user: &'a UserHash,
}

impl UserKeys<'_> {
    pub(crate) fn partition(&self) -> String {
        format!("O#{}#U#{}", self.org, self.user.as_str())
    }

    pub(crate) fn head(&self) -> Key {
        Key::new(self.partition(), "HEAD")
    }

    pub(crate) fn lease(&self) -> Key {
        Key::new(self.partition(), "LEASE")
    }

    pub(crate) fn request(&self, first_position: i64) -> Key {
        Key::new(self.partition(), format!("{REQUEST_PREFIX}{}", padded(first_position)))
    }

    pub(crate) fn session(&self, session: &SessionId) -> Key {
        Key::new(self.partition(), format!("S#{}", session.hash()))
    }

    pub(crate) fn cursor(&self, name: CursorName) -> Key {
        Key::new(self.partition(), format!("CUR#{}", name.as_str()))
    }

    pub(crate) fn window(&self, name: CursorName, end: i64) -> Key {
        Key::new(self.partition(), format!("{}{}", window_prefix(name), padded(end)))
    }

    pub(crate) fn profile(&self, id: &ProfileId) -> Key {
        Key::new(self.partition(), format!("{PROFILE_PREFIX}{}", id.hash()))
    }

    pub(crate) fn user_playbook(&self, id: i64) -> Key {
        Key::new(self.partition(), format!("{USER_PLAYBOOK_PREFIX}{}", padded(id)))
    }

    pub(crate) fn turn_vectors(&self, first_position: i64) -> Key {
        Key::new(self.partition(), format!("{TURN_VECTORS_PREFIX}{}", padded(first_position)))
    }

    pub(crate) fn turn_vector_progress(&self) -> Key {
        Key::new(self.partition(), "VCUR")
    }

    pub(crate) fn tagging_progress(&self) -> Key {
        Key::new(self.partition(), "TCUR")
    }

    pub(crate) fn profile_change(&self, at: i64, id: &str) -> Key {
        Key::new(self.partition(), format!("{PROFILE_CHANGE_PREFIX}{}#{id}", padded(at)))
    }
}

/// Sort keys of request documents begin so.
pub(crate) const REQUEST_PREFIX: &str = "R#";
/// Sort keys of the vectors beside request documents begin so.
pub(crate) const TURN_VECTORS_PREFIX: &str = "V#";
/// Sort keys of profiles begin so.
pub(crate) const PROFILE_PREFIX: &str = "P#";
/// Sort keys of user playbooks begin so.
pub(crate) const USER_PLAYBOOK_PREFIX: &str = "B#";
/// Sort keys of profile changes begin so.
pub(crate) const PROFILE_CHANGE_PREFIX: &str = "PCL#";

pub(crate) fn window_prefix(name: CursorName) -> String {
    format!("WIN#{}#", name.as_str())
}

pub(crate) fn request_lookup(org: &OrgId, request: &RequestId) -> Key {
    Key::new(format!("O#{org}#REQ#{}", request.hash()), "-")
}

/// Who took part in a session: one item per user, since agents reuse session ids without bound.
pub(crate) fn session_member(org: &OrgId, session: &SessionId, user: &UserHash) -> Key {
    Key::new(session_partition(org, session), format!("U#{}", user.as_str()))
}

pub(crate) fn session_partition(org: &OrgId, session: &SessionId) -> String {
    format!("O#{org}#SES#{}", session.hash())
}

pub(crate) fn user_number_lookup(org: &OrgId, number: i64) -> Key {
    Key::new(format!("O#{org}#UNO#{number}"), "-")
}

pub(crate) fn profile_lookup(org: &OrgId, id: &ProfileId) -> Key {
    Key::new(format!("O#{org}#PRO#{}", id.hash()), "-")
}

pub(crate) fn user_playbook_lookup(org: &OrgId, id: i64) -> Key {
    Key::new(format!("O#{org}#PB#{id}"), "-")
}

pub(crate) fn org_item(org: &OrgId, name: &str) -> Key {
    Key::new(org_partition(org), name)
}

/// What concerns an organisation as a whole.
pub(crate) fn org_partition(org: &OrgId) -> String {
    format!("O#{org}")
}

pub(crate) fn counter(org: &OrgId, name: &str) -> Key {
    org_item(org, &format!("CTR#{name}"))
}

/// A key without an organisation: it is what names the organisation of a caller.
pub(crate) fn api_key(lookup: &str) -> Key {
    Key::new(format!("{API_KEY_PREFIX}{lookup}"), "-")
}

/// Partition keys of API keys begin so.
pub(crate) const API_KEY_PREFIX: &str = "K#";

/// Names an API key of an organisation, so that its keys can be listed.
pub(crate) fn org_api_key(org: &OrgId, lookup: &str) -> Key {
    org_item(org, &format!("{ORG_API_KEY_PREFIX}{lookup}"))
}

/// Sort keys of the names of an organisation's API keys begin so.
pub(crate) const ORG_API_KEY_PREFIX: &str = "KEY#";

/// Variables of the deployment, which belong to no organisation: they hold for all.
pub(crate) const SITE_PARTITION: &str = "SITE";
/// Sort keys of the deployment's variables begin so.
pub(crate) const SITE_VARIABLE_PREFIX: &str = "VAR#";

pub(crate) fn site_variable(key: &SiteKey) -> Key {
    Key::new(SITE_PARTITION.to_owned(), format!("{SITE_VARIABLE_PREFIX}{key}"))
}

/// Invitations, which belong to no organisation: they come before it.
pub(crate) const INVITATION_PARTITION: &str = "INVITATIONS";
/// Sort keys of invitations begin so.
pub(crate) const INVITATION_PREFIX: &str = "INV#";

pub(crate) fn invitation(code_hash: &str) -> Key {
    Key::new(INVITATION_PARTITION.to_owned(), format!("{INVITATION_PREFIX}{code_hash}"))
}

/// One shard for now; more can only be added.
pub(crate) fn outbox(org: &OrgId, id: &str) -> Key {
    Key::new(format!("O#{org}#OUT#0"), id)
}

/// What is listed by time across users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Requests, by when the server received them.
    Requests,
    /// Requests, by the latest time of their interactions.
    Interactions,
    /// Profiles, by last modification.
    Profiles,
    /// User playbooks, by creation.
    UserPlaybooks,
    /// Profile changes, by when they were made.
    ProfileChanges,
}

impl Listing {
    /// The partition of the index `by_time`. One shard for now; more can only be added.
    pub(crate) fn partition(self, org: &OrgId) -> String {
        let kind = match self {
            Self::Requests => "R",
            Self::Interactions => "I",
            Self::Profiles => "P",
            Self::UserPlaybooks => "B",
            Self::ProfileChanges => "PCL",
        };
        format!("O#{org}#{kind}#0")
    }
}

/// Sort key of `by_time`: time first, then what makes it unique and breaks ties.
pub(crate) fn time_key(at: i64, tie: &str) -> String {
    format!("{}#{tie}", padded(at))
}

/// A non-negative number as text that sorts by value; negative times (before 1970) sort first.
pub(crate) fn padded(number: i64) -> String {
    format!("{:0NUMBER_DIGITS$}", number.max(0))
}

#[cfg(test)]
mod tests {
    use domain::ids::UserId;

    use super::*;

    fn org(name: &str) -> OrgId {
        name.parse().unwrap()
    }

    #[test]
    fn two_organisations_never_share_a_key() {
        let user = UserHash::of(&UserId::new("ana").unwrap());
        let (a, b) = (org("a"), org("b"));
        let keys = |org| {
            let keys = UserKeys { org, user: &user };
            vec![
                keys.head(),
                keys.lease(),
                keys.request(7),
                keys.user_playbook(7),
                request_lookup(org, &RequestId::new("r").unwrap()),
                session_member(org, &SessionId::new("s").unwrap(), &user),
                profile_lookup(org, &ProfileId::new("p").unwrap()),
                user_playbook_lookup(org, 7),
                counter(org, "user"),
                org_api_key(org, "id#a"),
            ]
        };
        for (left, right) in keys(&a).iter().zip(keys(&b)) {
            assert_ne!(left.pk(), right.pk());
        }
    }

    #[test]
    fn text_order_of_positions_is_number_order() {
        let numbers = [0, 1, 9, 10, 99, 4_194_304, 999_999_999_999];
        let keys: Vec<_> = numbers.iter().map(|n| padded(*n)).collect();
        assert!(keys.is_sorted());
    }
}
