//! Organisations whose learning stands still, since their model provider refuses the credentials or wants money.
//!
//! Users who are due meanwhile leave the common part of the index for one of their organisation's own, where they
//! crowd out nobody. Now and then one of them is let through to see whether the provider answers again; once it does,
//! all are put back.

use domain::ids::{OrgId, UserHash};
use domain::time::{EpochMillis, EpochSeconds};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::attributes::{DOCUMENT, DUE_AT, DUE_PK, Item, ItemBuilder, ItemReader, PK, SK, STATUS, VERSION};
use crate::cursors::cursor_condition;
use crate::due;
use crate::error::StoreError;
use crate::keys::{self, Key};
use crate::retry::ATTEMPTS_MAX;
use crate::rows::encode;

/// How often a user of a stalled organisation is let through, to see whether the provider answers, in seconds.
pub const STALL_PROBE_SECONDS: i64 = 300;
/// Longest message of a provider that is kept, in characters.
pub const STALL_MESSAGE_CHARS_MAX: usize = 1_000;

/// Sort key of the item.
const STALL: &str = "STALL";
/// The item's status while the organisation is stalled.
pub(crate) const STALLED: &str = "stalled";

/// Why learning stands still, or what is left to do since it does no longer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// Whether it stands still now.
    pub stalled: bool,
    /// `auth_error` or `billing_error`.
    pub reason: String,
    /// Since when.
    pub since_ms: EpochMillis,
    /// When the provider says that it will answer again.
    pub reset_estimate: Option<EpochSeconds>,
    /// Whether somebody was told.
    pub notified: bool,
    /// The provider's words.
    pub message: String,
    /// The role of the model that failed: that another one answers says nothing about it.
    pub role: String,
    /// The version of the configuration under which it failed: a change of it is another chance.
    pub config_version: i64,
    /// Hash of the user who is let through.
    pub probe: Option<String>,
    /// When it went on, while users may have to be put back.
    pub cleared_at: EpochSeconds,
    /// Raised by every write.
    #[serde(skip)]
    pub version: i64,
}

impl Stall {
    /// Whether calls under this version of the configuration are held back.
    #[must_use]
    pub fn holds(&self, config_version: i64) -> bool {
        self.stalled && self.config_version == config_version
    }

    /// Whether the learning of this user is.
    #[must_use]
    pub fn holds_user(&self, user: &UserHash, config_version: i64) -> bool {
        self.holds(config_version) && self.probe.as_deref() != Some(user.as_str())
    }
}

/// A call of a model that says that learning stands still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStall {
    /// See [`Stall::reason`].
    pub reason: &'static str,
    /// See [`Stall::message`].
    pub message: String,
    /// See [`Stall::role`].
    pub role: &'static str,
    /// See [`Stall::config_version`].
    pub config_version: i64,
    /// See [`Stall::reset_estimate`].
    pub reset_estimate: Option<EpochSeconds>,
}

pub(crate) fn stall_key(org: &OrgId) -> Key {
    keys::org_item(org, STALL)
}

/// The organisation behind an index entry, if it is one of a stall.
pub(crate) fn parse_key(item: &Item) -> Option<OrgId> {
    let reader = ItemReader(item);
    if reader.text_opt(SK)? != STALL {
        return None;
    }
    reader.text_opt(PK)?.strip_prefix("O#")?.parse().ok()
}

impl Store {
    /// What is known of an organisation's stall, consistently read; `None` when it never had one.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn stall(&self, org: &OrgId) -> Result<Option<Stall>, StoreError> {
        self.get(&stall_key(org)).await?.as_ref().map(from_item).transpose()
    }

    /// Notes that learning stands still. What is known already is not written again: the callers that were told stay
    /// told. `true` when it is news.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn begin_stall(&self, org: &OrgId, new: &NewStall) -> Result<bool, StoreError> {
        let now = self.clock.now();
        self.change_stall(org, |old| {
            let is_known = old.holds(new.config_version) && old.reason == new.reason;
            let stall = Stall {
                stalled: true,
                reason: new.reason.to_owned(),
                since_ms: if old.stalled { old.since_ms } else { self.clock.now_ms() },
                reset_estimate: new.reset_estimate,
                notified: false,
                message: new.message.chars().take(STALL_MESSAGE_CHARS_MAX).collect(),
                role: new.role.to_owned(),
                config_version: new.config_version,
                probe: None,
                cleared_at: 0,
                version: old.version,
            };
            (!is_known).then_some((stall, Some(now + STALL_PROBE_SECONDS)))
        })
        .await
    }

    /// Notes that a model answered: learning goes on, and the sweep puts back who waits. `true` when it stood still.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn end_stall(&self, org: &OrgId) -> Result<bool, StoreError> {
        let now = self.clock.now();
        self.change_stall(org, |old| {
            let cleared = Stall { cleared_at: now, version: old.version, ..Stall::default() };
            // Due at once: the sweep takes what is overdue for a while.
            old.stalled.then_some((cleared, Some(now - STALL_PROBE_SECONDS)))
        })
        .await
    }

    /// Notes that somebody was told of the stall; whether there is one.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn mark_stall_notified(&self, org: &OrgId) -> Result<bool, StoreError> {
        let mut is_stalled = false;
        self.change_stall_keeping_due(org, |old| {
            is_stalled = old.stalled;
            (old.stalled && !old.notified).then(|| Stall { notified: true, ..old.clone() })
        })
        .await?;
        Ok(is_stalled)
    }

    /// Reads, changes and writes the stall until nobody else did in between. `change` says what it shall be and when
    /// the sweep shall look at it; `None` leaves it. `true` when it was written.
    pub(crate) async fn change_stall(
        &self,
        org: &OrgId,
        mut change: impl FnMut(&Stall) -> Option<(Stall, Option<EpochSeconds>)> + Send,
    ) -> Result<bool, StoreError> {
        self.write_stall(org, |old, _| change(old)).await
    }

    async fn change_stall_keeping_due(
        &self,
        org: &OrgId,
        mut change: impl FnMut(&Stall) -> Option<Stall> + Send,
    ) -> Result<bool, StoreError> {
        self.write_stall(org, |old, due_at| change(old).map(|stall| (stall, due_at))).await
    }

    async fn write_stall(
        &self,
        org: &OrgId,
        mut change: impl FnMut(&Stall, Option<EpochSeconds>) -> Option<(Stall, Option<EpochSeconds>)> + Send,
    ) -> Result<bool, StoreError> {
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let item = self.get(&stall_key(org)).await?;
            let old = item.as_ref().map(from_item).transpose()?.unwrap_or_default();
            let due_at = item.as_ref().and_then(|item| ItemReader(item).number_opt(DUE_AT));
            let Some((stall, due_at)) = change(&old, due_at) else { return Ok(false) };
            let (condition, values) = cursor_condition(old.version);
            if self.put_one(to_item(org, &stall, due_at)?, Some(&condition), values).await? {
                return Ok(true);
            }
        }
        Err(StoreError::Contended { operation: "change stall" })
    }
}

fn from_item(item: &Item) -> Result<Stall, StoreError> {
    let reader = ItemReader(item);
    let mut stall: Stall = reader.json(DOCUMENT)?;
    stall.version = reader.number(VERSION)?;
    Ok(stall)
}

/// What `publish` found beside the head. A damaged item is no reason to refuse a publish.
pub(crate) fn found_stall(item: &Item) -> Option<Stall> {
    from_item(item).inspect_err(|error| tracing::error!(event = "stall_unreadable", %error)).ok()
}

fn to_item(org: &OrgId, stall: &Stall, due_at: Option<EpochSeconds>) -> Result<Item, StoreError> {
    let mut item = ItemBuilder::new(&stall_key(org))
        .text(DOCUMENT, &encode(stall)?)
        .number(VERSION, stall.version + 1)
        .text_if(STATUS, stall.stalled.then_some(STALLED));
    if let Some(due_at) = due_at {
        item = item.text(DUE_PK, &due::partition_of(org.as_str())).number(DUE_AT, due_at);
    }
    Ok(item.build())
}
