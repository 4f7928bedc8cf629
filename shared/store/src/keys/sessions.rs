//! What is kept of a session as a whole, beside its users.

use domain::ids::{OrgId, SessionId};

use super::{Key, session_partition};

/// How many users there are in a session whose hashes begin with one hex digit: raised by each user's first request in
/// it. Sixteen items instead of one, since agents reuse session ids without bound.
pub(crate) fn session_census(org: &OrgId, session: &SessionId, digit: char) -> Key {
    Key::new(session_partition(org, session), format!("{SESSION_CENSUS_PREFIX}{digit}"))
}

/// The outcome of a session.
pub(crate) fn session_outcome(org: &OrgId, session: &SessionId) -> Key {
    Key::new(session_partition(org, session), SESSION_OUTCOME)
}

/// Sort keys of the counts of a session's users begin so: before those of the users, which are read after them.
pub(crate) const SESSION_CENSUS_PREFIX: &str = "C#";
/// Sort key of the outcome of a session.
pub(crate) const SESSION_OUTCOME: &str = "OUT";
/// Sort keys of the users of a session begin so.
pub(crate) const SESSION_MEMBER_PREFIX: &str = "U#";
