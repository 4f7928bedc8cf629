//! Keys of the table: built here and nowhere else, and never without an organisation, but for the API keys that name
//! one and for what belongs to the deployment itself.
//!
//! Text that callers choose stands in a key only as its SHA-256, so that no id can be mistaken for a part
//! of another key. Numbers are padded, so that text order is number order.
//!
//! Over 400 lines, so that all keys but those of lists and of verdicts on learnings can be compared in one place.

use domain::ids::{OrgId, ProfileId, RequestId, SessionId, UserHash, hash_hex};

use domain::learning::LearningKind;
use domain::operations::OperationService;
use domain::site_vars::SiteKey;

use crate::cursors::CursorName;

mod judging;
mod listings;
mod retrieved;
mod sessions;

pub(crate) use judging::{
    GRADE_PREFIX, LANE_PREFIX, REGENERATION_DONE_PREFIX, REGENERATION_FAILED_PREFIX, REGENERATION_PARTITION,
    SHADOW_JOB_PREFIX, VERSION_HASH_CHARS, experiment_partition, grade, regeneration_candidate,
    regeneration_in_progress, regeneration_job, regeneration_lane, regeneration_partition, waiting_in_lane,
};
pub use listings::Listing;
pub(crate) use listings::shadow_verdicts_partition;
pub(crate) use retrieved::{RETRIEVED_ROW_PREFIX, RETRIEVED_STATE_PREFIX};
pub(crate) use sessions::{
    SESSION_CENSUS_PREFIX, SESSION_MEMBER_PREFIX, SESSION_OUTCOME, session_census, session_outcome,
};

/// Digits that hold any position, count or epoch second.
const NUMBER_DIGITS: usize = 12;

/// Partition and sort key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
        Key::new(self.partition(), format!("{SESSION_PREFIX}{}", session.hash()))
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

/// All rows of one agent version: its agent playbooks, and how they come to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentKeys<'a> {
    /// The tenant.
    pub org: &'a OrgId,
    /// The agent version.
    pub agent_version: &'a str,
}

impl AgentKeys<'_> {
    pub(crate) fn partition(&self) -> String {
        format!("O#{}{AGENT_PARTITION}{}", self.org, self.hash())
    }

    /// Stands in keys for the agent version, which may be any text.
    pub(crate) fn hash(&self) -> String {
        hash_hex(self.agent_version)
    }

    pub(crate) fn aggregation(&self) -> Key {
        Key::new(self.partition(), AGGREGATION)
    }

    pub(crate) fn agent_playbook(&self, id: i64) -> Key {
        Key::new(self.partition(), format!("{AGENT_PLAYBOOK_PREFIX}{}", padded(id)))
    }

    pub(crate) fn inbox_mark(&self, user_playbook_id: i64) -> Key {
        Key::new(self.partition(), format!("{INBOX_PREFIX}{}", padded(user_playbook_id)))
    }

    pub(crate) fn member(&self, user_playbook_id: i64) -> Key {
        Key::new(self.partition(), format!("{MEMBER_PREFIX}{}", padded(user_playbook_id)))
    }

    pub(crate) fn cluster_result(&self, name: &str) -> Key {
        Key::new(self.partition(), format!("{CLUSTER_RESULT_PREFIX}{name}"))
    }

    pub(crate) fn queued_operation(&self, operation_id: &str) -> Key {
        Key::new(self.partition(), format!("{QUEUED_OPERATION_PREFIX}{}", hash_hex(operation_id)))
    }

    pub(crate) fn aggregation_change(&self, at: i64, run: i64) -> Key {
        Key::new(self.partition(), format!("{AGGREGATION_CHANGE_PREFIX}{}#{}", padded(at), padded(run)))
    }
}

/// Between the organisation and the hash of an agent version.
pub(crate) const AGENT_PARTITION: &str = "#A#";
/// Sort key of the state of an aggregation.
pub(crate) const AGGREGATION: &str = "STATE";
/// Sort keys of agent playbooks begin so.
pub(crate) const AGENT_PLAYBOOK_PREFIX: &str = "B#";
/// Sort keys of user playbooks that changed since the last aggregation begin so.
pub(crate) const INBOX_PREFIX: &str = "I#";
/// Sort keys of user playbooks that the last aggregation knew begin so.
pub(crate) const MEMBER_PREFIX: &str = "M#";
/// Sort keys of what models said of clusters in an unfinished aggregation begin so.
pub(crate) const CLUSTER_RESULT_PREFIX: &str = "C#";
/// Sort keys of operations that wait for an aggregation begin so.
pub(crate) const QUEUED_OPERATION_PREFIX: &str = "Q#";
/// Sort keys of the log of aggregations begin so.
pub(crate) const AGGREGATION_CHANGE_PREFIX: &str = "L#";

/// The state of an aggregation that an index names by its hash.
pub(crate) fn aggregation_by_hash(org: &OrgId, hash: &str) -> Key {
    Key::new(format!("O#{org}{AGENT_PARTITION}{hash}"), AGGREGATION)
}

/// Which agent versions an organisation has agent playbooks of.
pub(crate) fn agent_version_entry(keys: &AgentKeys<'_>) -> Key {
    Key::new(agent_versions_partition(keys.org), format!("{AGENT_VERSION_PREFIX}{}", keys.hash()))
}

/// Sort keys of agent versions begin so.
pub(crate) const AGENT_VERSION_PREFIX: &str = "V#";

pub(crate) fn agent_versions_partition(org: &OrgId) -> String {
    format!("O#{org}#AV")
}

pub(crate) fn agent_playbook_lookup(org: &OrgId, id: i64) -> Key {
    Key::new(format!("O#{org}#AP#{id}"), "-")
}

pub(crate) fn aggregation_operation(org: &OrgId, operation_id: &str) -> Key {
    Key::new(format!("O#{org}#AGO#{}", hash_hex(operation_id)), "-")
}

pub(crate) fn aggregation_request(org: &OrgId, request_id: &str) -> Key {
    Key::new(format!("O#{org}#AGR#{}", hash_hex(request_id)), "-")
}

/// Sort keys of a user's parts in sessions begin so.
pub(crate) const SESSION_PREFIX: &str = "S#";
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

/// Users of an organisation by what their memory may hold: a mark each, under which they are found
/// consistently. A mark may outlive its rows, but no rows are without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionMark {
    /// Rows of any status.
    Any,
    /// Pending rows.
    Pending,
    /// Archived rows, or such on their way to the archive.
    Archived,
}

impl VersionMark {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Any, Self::Pending, Self::Archived];
}

pub(crate) fn version_partition(org: &OrgId, kind: LearningKind, mark: VersionMark) -> String {
    let mark = match mark {
        VersionMark::Any => "ANY",
        VersionMark::Pending => "PEND",
        VersionMark::Archived => "ARCH",
    };
    format!("O#{org}#VER#{}#{mark}", kind.as_str())
}

pub(crate) fn version_mark(org: &OrgId, kind: LearningKind, mark: VersionMark, user: &UserHash) -> Key {
    Key::new(version_partition(org, kind, mark), user.as_str())
}

/// The change of versions of an organisation, of which there is one of a kind at a time.
pub(crate) fn version_operation(org: &OrgId, kind: LearningKind) -> Key {
    org_item(org, &format!("{VERSION_OPERATION_PREFIX}{}", kind.as_str()))
}

/// Sort keys of changes of versions begin so.
pub(crate) const VERSION_OPERATION_PREFIX: &str = "VOP#";

/// Sort keys of the rows of a kind begin so.
pub(crate) fn row_prefix(kind: LearningKind) -> &'static str {
    match kind {
        LearningKind::Profile => PROFILE_PREFIX,
        LearningKind::Playbook => USER_PLAYBOOK_PREFIX,
    }
}

/// The look-up of a row, from the row's own sort key; `None` when it is not one of a row.
pub(crate) fn row_lookup(org: &OrgId, kind: LearningKind, sk: &str) -> Option<Key> {
    let id = sk.strip_prefix(row_prefix(kind))?;
    let partition = match kind {
        LearningKind::Profile => format!("O#{org}#PRO#{id}"),
        LearningKind::Playbook => format!("O#{org}#PB#{}", id.parse::<i64>().ok()?),
    };
    Some(Key::new(partition, "-"))
}

/// The lease of the user in whose partition a row is.
pub(crate) fn lease_beside(row: &Key) -> Key {
    Key::new(row.pk.clone(), "LEASE")
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

/// The operation of a kind, of which an organisation has one at a time.
pub(crate) fn operation(org: &OrgId, service: OperationService) -> Key {
    org_item(org, &format!("{OPERATION_PREFIX}{}", service.as_str()))
}

/// Sort keys of operations begin so.
pub(crate) const OPERATION_PREFIX: &str = "OP#";

/// The users of one run of an operation. The id of the run is ours, not a caller's.
pub(crate) fn operation_users(org: &OrgId, operation_id: &str) -> String {
    format!("O#{org}#OPU#{operation_id}")
}

/// A user of one run of an operation, whose turn is still to come, is over, or was in vain.
pub(crate) fn operation_user(org: &OrgId, operation_id: &str, prefix: &str, user: &UserHash) -> Key {
    Key::new(operation_users(org, operation_id), format!("{prefix}{}", user.as_str()))
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

/// Sort key of `by_time`: time first, then what makes it unique and breaks ties.
pub(crate) fn time_key(at: i64, tie: &str) -> String {
    format!("{}#{tie}", padded(at))
}

/// A non-negative number as text that sorts by value; negative times (before 1970) sort first.
pub(crate) fn padded(number: i64) -> String {
    format!("{:0NUMBER_DIGITS$}", number.max(0))
}

#[cfg(test)]
mod tests;
