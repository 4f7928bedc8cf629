//! A user's head: how much was published, how much of it was learned, and when to look again.

use std::collections::HashMap;

use domain::ids::{OrgId, UserHash, UserId};
use domain::learning::LearningKind;
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{
    ADMITTED_PLAYBOOK, ADMITTED_PROFILE, BARRIER, COUNT, DUE_AT, DUE_PK, DUE_REVISION, Item, ItemReader,
    LEARNED_PLAYBOOK, LEARNED_PROFILE, PURGE_EPOCH, USER, USER_NUMBER, USER_NUMBER_BASE, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::keys::UserKeys;
use crate::transaction::Expression;

/// Written by publishes and by a worker's finishing step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The user.
    pub user_id: UserId,
    /// Number of the user in the organisation; part of interaction ids.
    pub user_number: i64,
    /// The position from which that number counts.
    pub user_number_base: i64,
    /// Interactions stored so far: the next position.
    pub count: i64,
    /// Eligible interactions admitted, per kind.
    pub admitted_profile: i64,
    /// See [`Self::admitted_profile`].
    pub admitted_playbook: i64,
    /// Eligible interactions that were learned from, as of the last finishing step.
    pub learned_profile: i64,
    /// See [`Self::learned_profile`].
    pub learned_playbook: i64,
    /// When a worker should look; `None` when there is nothing to look for.
    pub due_at: Option<EpochSeconds>,
    /// Raised by whatever makes the user due without a publish.
    pub due_revision: i64,
    /// Raised by erasures and deletions of inputs.
    pub purge_epoch: i64,
    /// Whether the user is being erased: nothing may be written.
    pub barred: bool,
}

impl Head {
    pub(crate) fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        Ok(Self {
            user_id: UserId::new(reader.text(USER)?).map_err(|_| reader.corrupt(USER))?,
            user_number: reader.number(USER_NUMBER)?,
            user_number_base: reader.count(USER_NUMBER_BASE),
            count: reader.number(COUNT)?,
            admitted_profile: reader.count(ADMITTED_PROFILE),
            admitted_playbook: reader.count(ADMITTED_PLAYBOOK),
            learned_profile: reader.count(LEARNED_PROFILE),
            learned_playbook: reader.count(LEARNED_PLAYBOOK),
            due_at: reader.number_opt(DUE_AT),
            due_revision: reader.count(DUE_REVISION),
            purge_epoch: reader.count(PURGE_EPOCH),
            barred: reader.mark(BARRIER),
        })
    }

    /// Eligible interactions admitted for one kind.
    #[must_use]
    pub fn admitted(&self, kind: LearningKind) -> i64 {
        match kind {
            LearningKind::Profile => self.admitted_profile,
            LearningKind::Playbook => self.admitted_playbook,
        }
    }

    /// Eligible interactions learned from for one kind.
    #[must_use]
    pub fn learned(&self, kind: LearningKind) -> i64 {
        match kind {
            LearningKind::Profile => self.learned_profile,
            LearningKind::Playbook => self.learned_playbook,
        }
    }
}

/// What a worker leaves behind on the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishHead {
    /// The count that the worker saw: if more was published since, it must look again.
    pub seen_count: i64,
    /// The revision that it saw: if it was raised since, it must look again.
    pub seen_revision: i64,
    /// Eligible interactions learned from.
    pub learned_profile: i64,
    /// Eligible interactions learned from.
    pub learned_playbook: i64,
    /// When to look again; `None` leaves the index.
    pub due_at: Option<EpochSeconds>,
}

impl Store {
    /// The head of a user, consistently read; `None` before the first publish.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn head(&self, keys: &UserKeys<'_>) -> Result<Option<Head>, StoreError> {
        self.get(&keys.head()).await?.as_ref().map(Head::from_item).transpose()
    }

    /// The ids behind hashes of users, as far as they are known, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a head is damaged.
    pub async fn user_ids(
        &self,
        org: &OrgId,
        users: &[UserHash],
    ) -> Result<HashMap<UserHash, UserId>, StoreError> {
        let keys: Vec<_> = users.iter().map(|user| UserKeys { org, user }.head()).collect();
        let heads = self.get_many(&keys).await?;
        let ids = heads.iter().filter_map(|item| UserId::new(ItemReader(item).text_opt(USER)?).ok());
        Ok(ids.map(|id| (UserHash::of(&id), id)).collect())
    }

    /// Moves or clears the due time; `false` when something was published, or made the user due, meanwhile.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn finish_head(&self, keys: &UserKeys<'_>, finish: FinishHead) -> Result<bool, StoreError> {
        let learned = format!("{LEARNED_PROFILE} = :lp, {LEARNED_PLAYBOOK} = :lb");
        let update = match finish.due_at {
            Some(_) => format!("SET {learned}, {DUE_AT} = :due, {DUE_PK} = :shard"),
            None => format!("SET {learned} REMOVE {DUE_AT}, {DUE_PK}"),
        };
        let mut expression = Expression::new(update)
            .condition(format!("{COUNT} = :seen AND {}", revision_condition(finish.seen_revision)))
            .value(":revision", number(finish.seen_revision))
            .value(":lp", number(finish.learned_profile))
            .value(":lb", number(finish.learned_playbook))
            .value(":seen", number(finish.seen_count));
        if let Some(due_at) = finish.due_at {
            expression =
                expression.value(":due", number(due_at)).value(":shard", text(&due::partition(keys.user)));
        }
        Ok(self.update_one(&keys.head(), expression).await?.is_some())
    }
}

/// The revision is the one that was read; the first one is not written. Its value is `:revision`.
fn revision_condition(seen: i64) -> String {
    match seen {
        0 => format!("(attribute_not_exists({DUE_REVISION}) OR {DUE_REVISION} = :revision)"),
        _ => format!("{DUE_REVISION} = :revision"),
    }
}
