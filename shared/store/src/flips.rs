//! Flips: a user's change of versions becomes visible in one write, however many rows it concerns.
//!
//! The write sets a record on the user's lease. From then on, until the record is cleared, no row of the user changes
//! except by the flip itself (writers finish it first), and every reader maps the statuses of rows that are not
//! rewritten yet. A rewritten row carries the flip's number, so that it is neither mapped nor rewritten again.

use std::collections::BTreeSet;

use domain::entities::Status;
use domain::ids::ProfileId;
use domain::learning::LearningKind;
use domain::versions::{Becomes, VersionChange};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::attributes::{
    AGENT_VERSION, BARRIER, FLIP, FLIP_NUMBER, FLIP_STAMP, Item, ItemReader, SK, STATUS, text,
};
use crate::error::StoreError;
use crate::keys::{UserKeys, row_prefix};
use crate::rows::status;

/// Which rows of a user a change of versions concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowScope {
    /// All.
    All,
    /// User playbooks for this agent version.
    AgentVersion(String),
    /// Profiles whose ids have these hashes.
    Profiles(BTreeSet<String>),
}

impl RowScope {
    /// These profiles.
    pub fn profiles<'a>(ids: impl IntoIterator<Item = &'a ProfileId>) -> Self {
        Self::Profiles(ids.into_iter().map(ProfileId::hash).collect())
    }

    fn contains(&self, item: &Item) -> bool {
        let reader = ItemReader(item);
        match self {
            Self::All => true,
            Self::AgentVersion(version) => reader.text_opt(AGENT_VERSION) == Some(version),
            Self::Profiles(hashes) => profile_hash(item).is_some_and(|hash| hashes.contains(hash)),
        }
    }
}

/// The hash of a profile's id, which is in its key.
fn profile_hash(item: &Item) -> Option<&str> {
    ItemReader(item).text_opt(SK)?.strip_prefix(row_prefix(LearningKind::Profile))
}

/// The record of a flip under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flip {
    /// The operation that counts what it does.
    pub(crate) operation_id: String,
    /// How many flips of this user there were, this one included.
    pub(crate) number: i64,
    pub(crate) kind: LearningKind,
    pub(crate) change: VersionChange,
    pub(crate) scope: RowScope,
}

impl Flip {
    /// What still has to become of a row; one that is rewritten is as it shall be.
    pub(crate) fn becomes(&self, item: &Item) -> Result<Becomes, StoreError> {
        let is_rewritten = ItemReader(item).count(FLIP_STAMP) >= self.number;
        if is_rewritten { Ok(Becomes::Same) } else { becomes(self.kind, self.change, &self.scope, item) }
    }
}

/// What a change makes of a row of any kind.
pub(crate) fn becomes(
    kind: LearningKind,
    change: VersionChange,
    scope: &RowScope,
    item: &Item,
) -> Result<Becomes, StoreError> {
    let reader = ItemReader(item);
    if !reader.text(SK)?.starts_with(row_prefix(kind)) || !scope.contains(item) {
        return Ok(Becomes::Same);
    }
    Ok(change.of(status(reader)?))
}

/// Whether a row is in the scope and has this status.
pub(crate) fn is_in_scope(item: &Item, scope: &RowScope, wanted: Status) -> Result<bool, StoreError> {
    Ok(scope.contains(item) && status(ItemReader(item))? == Some(wanted))
}

/// The part of a scope that concerns these rows: a record that names ids names no more than it must.
pub(crate) fn narrowed(scope: &RowScope, rows: &[&Item]) -> RowScope {
    match scope {
        RowScope::Profiles(_) => {
            RowScope::Profiles(rows.iter().copied().filter_map(profile_hash).map(str::to_owned).collect())
        }
        other => other.clone(),
    }
}

/// How a user's rows must be read: equal before and after, what was read in between belongs together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FlipState {
    pub(crate) number: i64,
    pub(crate) flip: Option<Flip>,
}

impl FlipState {
    pub(crate) fn of(lease: Option<&Item>) -> Result<Self, StoreError> {
        let Some(item) = lease else { return Ok(Self::default()) };
        let reader = ItemReader(item);
        // Whoever erases a user ends the flip by removing its rows.
        let is_set = reader.text_opt(FLIP).is_some() && !reader.mark(BARRIER);
        let flip = if is_set { Some(reader.json(FLIP)?) } else { None };
        Ok(Self { number: reader.count(FLIP_NUMBER), flip })
    }

    /// Rows as they are to be seen.
    pub(crate) fn show(&self, items: Vec<Item>) -> Result<Vec<Item>, StoreError> {
        let Some(flip) = &self.flip else { return Ok(items) };
        let mut shown = Vec::with_capacity(items.len());
        for mut item in items {
            match flip.becomes(&item)? {
                Becomes::Same => {}
                Becomes::Current => {
                    item.remove(STATUS);
                }
                Becomes::Archived => {
                    item.insert(STATUS.to_owned(), text(Status::Archived.as_str()));
                }
                Becomes::Gone => continue,
            }
            shown.push(item);
        }
        Ok(shown)
    }
}

impl Store {
    /// How a user's rows must be read now.
    pub(crate) async fn flip_state(&self, keys: &UserKeys<'_>) -> Result<FlipState, StoreError> {
        FlipState::of(self.get(&keys.lease()).await?.as_ref())
    }
}

#[cfg(test)]
#[path = "flips_tests.rs"]
mod tests;
