//! A session as a whole: who takes part in it, and the proof that nothing was published in it since it was read.
//!
//! A session has no item that all its users write: agents reuse session ids without bound, and such an item would be
//! written by everybody at once. Instead, whoever writes about the session as a whole demands in one transaction that
//! each user's part of it still has the version that was read, and that no user was added. The latter is what the
//! sixteen counts are for, one of which each user's first request raises.

use std::collections::HashMap;

use domain::entities::SessionOutcome;
use domain::ids::{OrgId, SessionId, UserHash};
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    AT, BARRIER, COUNT, DOCUMENT, FIRST_POSITION, Item, ItemReader, LAST_POSITION, PK, PURGE_EPOCH, SK,
    VERSION, number,
};
use crate::error::StoreError;
use crate::keys::{self, SESSION_CENSUS_PREFIX, SESSION_MEMBER_PREFIX, SESSION_OUTCOME, UserKeys};
use crate::lookups::user_hash;
use crate::transaction::{Expression, Transaction};

/// Most users of a session that can be looked at as a whole.
pub const SESSION_USERS_MAX: usize = 1_000;
/// Most users of a session whose parts one transaction checks: two items each, beside the counts and what is written.
pub const SESSION_USERS_CHECKED_MAX: usize = 40;
/// What hashes of users begin with.
const CENSUS_DIGITS: &str = "0123456789abcdef";

/// Which count a user belongs to.
pub(crate) fn census_digit(user: &UserHash) -> char {
    user.as_str().chars().next().filter(|digit| CENSUS_DIGITS.contains(*digit)).unwrap_or('0')
}

/// A session as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionParts {
    /// Its outcome.
    pub outcome: Option<StoredSessionOutcome>,
    /// One of each user, in the order of their hashes.
    pub(crate) parts: Vec<SessionPart>,
    /// Of each digit.
    census: Vec<Option<i64>>,
}

/// An outcome, and the version under which it may be replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSessionOutcome {
    /// The outcome.
    pub row: SessionOutcome,
    pub(crate) version: i64,
}

/// One user's part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionPart {
    pub(crate) user: UserHash,
    /// `None` when nothing is left of it.
    pub(crate) requests: Option<PartOfRequests>,
    purge_epoch: Option<i64>,
    is_barred: bool,
}

/// Where the requests of a part are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartOfRequests {
    version: i64,
    pub(crate) first_position: i64,
    pub(crate) last_position: i64,
    last_at: EpochSeconds,
}

/// Why a session cannot be looked at as a whole.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionPartsError {
    /// More users than [`SESSION_USERS_MAX`] take part in it.
    #[error("more than {SESSION_USERS_MAX} users take part in the session")]
    TooManyUsers,
    /// The table failed or an item is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SessionParts {
    /// Whether the data of any of its users are being erased.
    #[must_use]
    pub fn is_barred(&self) -> bool {
        self.parts.iter().any(|part| part.is_barred)
    }

    /// How many users take part in it.
    #[must_use]
    pub fn users(&self) -> usize {
        self.parts.len()
    }

    /// The parts that a transaction checks: all, or those with the latest requests.
    fn checked(&self) -> Vec<&SessionPart> {
        let mut parts: Vec<_> = self.parts.iter().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.requests.map(|requests| requests.last_at)));
        parts.truncate(SESSION_USERS_CHECKED_MAX);
        parts
    }
}

impl Store {
    /// A session: its outcome and its users, consistently read. Users without requests are among them.
    ///
    /// # Errors
    /// [`SessionPartsError`].
    pub async fn session_parts(
        &self,
        org: &OrgId,
        session: &SessionId,
    ) -> Result<SessionParts, SessionPartsError> {
        let mut found = SessionParts { outcome: None, parts: Vec::new(), census: vec![None; 16] };
        let partition = keys::session_partition(org, session);
        let range = Range {
            partition: &partition,
            from: SESSION_CENSUS_PREFIX.to_owned(),
            to: format!("{SESSION_MEMBER_PREFIX}\u{7f}"),
            ascending: true,
            limit: None,
        };
        let mut start = None;
        loop {
            let (items, next) = self.query_page(&range, start).await?;
            for item in &items {
                read_into(&mut found, item)?;
            }
            if found.parts.len() > SESSION_USERS_MAX {
                return Err(SessionPartsError::TooManyUsers);
            }
            match next {
                Some(next) => start = Some(next),
                None => break,
            }
        }
        self.read_parts(org, session, &mut found.parts).await?;
        Ok(found)
    }

    /// Reads what the users' own items say.
    async fn read_parts(
        &self,
        org: &OrgId,
        session: &SessionId,
        parts: &mut [SessionPart],
    ) -> Result<(), StoreError> {
        let mut wanted = Vec::with_capacity(parts.len() * 2);
        for part in parts.iter() {
            let keys = UserKeys { org, user: &part.user };
            wanted.extend([keys.session(session), keys.head()]);
        }
        let mut items = HashMap::new();
        for item in self.get_many(&wanted).await? {
            let reader = ItemReader(&item);
            let key = keys::Key::from_parts(reader.text(PK)?, reader.text(SK)?);
            items.insert(key, item);
        }
        for part in parts {
            let keys = UserKeys { org, user: &part.user };
            if let Some(item) = items.get(&keys.session(session)) {
                let reader = ItemReader(item);
                part.requests = Some(PartOfRequests {
                    version: reader.number(VERSION)?,
                    first_position: reader.number(FIRST_POSITION)?,
                    last_position: reader.number(LAST_POSITION)?,
                    last_at: reader.number(AT)?,
                });
            }
            if let Some(item) = items.get(&keys.head()) {
                let reader = ItemReader(item);
                part.purge_epoch = reader.number_opt(PURGE_EPOCH);
                part.is_barred = reader.mark(BARRIER);
            }
        }
        Ok(())
    }

    /// Makes a transaction fail if anything was published in the session since it was read, or deleted from it.
    /// Of more users than [`SESSION_USERS_CHECKED_MAX`] only those with the latest requests are checked.
    pub(crate) fn check_unchanged(
        &self,
        transaction: &mut Transaction,
        org: &OrgId,
        session: &SessionId,
        parts: &SessionParts,
    ) {
        for (digit, count) in CENSUS_DIGITS.chars().zip(&parts.census) {
            let key = keys::session_census(org, session, digit);
            transaction.check(self, &key, as_read(COUNT, *count));
        }
        for part in parts.checked() {
            let keys = UserKeys { org, user: &part.user };
            let version = part.requests.map(|requests| requests.version);
            transaction.check(self, &keys.session(session), as_read(VERSION, version));
            let mut head = as_read(PURGE_EPOCH, part.purge_epoch);
            let unbarred = format!("attribute_not_exists({BARRIER})");
            head.condition = head.condition.map(|condition| format!("{condition} AND {unbarred}"));
            transaction.check(self, &keys.head(), head);
        }
    }

    /// Whether a session with too many users for one transaction is still as it was read.
    pub(crate) async fn is_unchanged(
        &self,
        org: &OrgId,
        session: &SessionId,
        parts: &SessionParts,
    ) -> Result<bool, SessionPartsError> {
        if parts.users() <= SESSION_USERS_CHECKED_MAX {
            return Ok(true);
        }
        let now = self.session_parts(org, session).await?;
        Ok(now.parts == parts.parts && now.census == parts.census)
    }
}

/// The condition that an item has the number that was read, or none as it had none.
fn as_read(attribute: &'static str, number_read: Option<i64>) -> Expression {
    match number_read {
        None => Expression::default().condition(format!("attribute_not_exists({attribute})")),
        Some(read) => {
            Expression::default().condition(format!("{attribute} = :read")).value(":read", number(read))
        }
    }
}

fn read_into(found: &mut SessionParts, item: &Item) -> Result<(), StoreError> {
    let reader = ItemReader(item);
    let sort_key = reader.text(SK)?;
    if let Some(digit) = sort_key.strip_prefix(SESSION_CENSUS_PREFIX) {
        let place = CENSUS_DIGITS.find(digit).ok_or_else(|| reader.corrupt(SK))?;
        found.census[place] = Some(reader.number(COUNT)?);
    } else if sort_key == SESSION_OUTCOME {
        found.outcome = Some(stored_outcome(reader)?);
    } else if sort_key.starts_with(SESSION_MEMBER_PREFIX) {
        let user = user_hash(reader)?;
        found.parts.push(SessionPart { user, requests: None, purge_epoch: None, is_barred: false });
    }
    Ok(())
}

pub(crate) fn stored_outcome(reader: ItemReader<'_>) -> Result<StoredSessionOutcome, StoreError> {
    Ok(StoredSessionOutcome { row: reader.json(DOCUMENT)?, version: reader.number(VERSION)? })
}
