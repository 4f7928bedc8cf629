//! Requests with shadow answers that wait for the judge: an entry of the due index each, written with the request and
//! removed once every turn is judged or given up; and how often each turn was tried.

use domain::ids::{OrgId, UserHash};
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{
    ATTEMPTS, BARRIER, COUNT, DOCUMENT, DUE_AT, DUE_PK, ERROR, Item, ItemBuilder, ItemReader, PK, SK, UNTIL,
    number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::keys::{SHADOW_JOB_PREFIX, UserKeys};
use crate::retry::ATTEMPTS_MAX;
use crate::transaction::{Expression, Transaction};

/// A request whose shadow answers are overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueShadow {
    /// The tenant.
    pub org: OrgId,
    /// The user.
    pub user: UserHash,
    /// Position of the request's first interaction.
    pub first_position: i64,
    /// Since when.
    pub due_at: EpochSeconds,
}

/// How far the judgement of one turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShadowTurn {
    /// How often it was begun.
    pub attempts: u32,
    /// Whether nothing is left to do: there is a verdict, or it was given up.
    pub is_settled: bool,
}

/// The item of a request with shadow answers, due now.
pub(crate) fn job_item(keys: &UserKeys<'_>, first_position: i64, now: EpochSeconds) -> Item {
    ItemBuilder::new(&keys.shadow_job(first_position))
        .text(DUE_PK, &due::partition(keys.user))
        .number(DUE_AT, now)
        .build()
}

/// The request behind an index entry, if it is one with shadow answers.
pub(crate) fn parse_key(item: &Item) -> Option<DueShadow> {
    let reader = ItemReader(item);
    let first_position = reader.text_opt(SK)?.strip_prefix(SHADOW_JOB_PREFIX)?.parse().ok()?;
    let (org, user) = reader.text_opt(PK)?.strip_prefix("O#")?.split_once("#U#")?;
    let due_at = reader.number_opt(DUE_AT)?;
    Some(DueShadow { org: org.parse().ok()?, user: UserHash::parse(user)?, first_position, due_at })
}

impl Store {
    /// Takes a request with shadow answers until `until`; how often the judge's provider failed it in a row, or
    /// `None` when nothing is left to do, another worker has it, or its time has not come.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn take_shadow_job(
        &self,
        keys: &UserKeys<'_>,
        first_position: i64,
        until: EpochSeconds,
    ) -> Result<Option<u32>, StoreError> {
        let take = Expression::new(format!("SET {UNTIL} = :until, {DUE_AT} = :until"))
            .condition(format!(
                "attribute_exists({PK}) AND (attribute_not_exists({UNTIL}) OR {UNTIL} <= :now)"
            ))
            .value(":until", number(until))
            .value(":now", number(self.clock.now()));
        let item = self.update_one(&keys.shadow_job(first_position), take).await?;
        Ok(item.map(|item| u32::try_from(ItemReader(&item).count(ATTEMPTS)).unwrap_or(u32::MAX)))
    }

    /// Gives a request back that was taken until `taken_until`: nobody looks at it before `next`. Does nothing when
    /// another worker has it by now.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn put_off_shadow_job(
        &self,
        keys: &UserKeys<'_>,
        first_position: i64,
        taken_until: EpochSeconds,
        next: EpochSeconds,
        failures: u32,
    ) -> Result<(), StoreError> {
        let put_off =
            Expression::new(format!("SET {UNTIL} = :next, {DUE_AT} = :next, {ATTEMPTS} = :failures"))
                .condition(format!("{UNTIL} = :taken"))
                .value(":next", number(next))
                .value(":failures", number(i64::from(failures)))
                .value(":taken", number(taken_until));
        self.update_one(&keys.shadow_job(first_position), put_off).await.map(drop)
    }

    /// Removes a request of which every turn is settled.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn finish_shadow_job(
        &self,
        keys: &UserKeys<'_>,
        first_position: i64,
    ) -> Result<(), StoreError> {
        let key = keys.shadow_job(first_position);
        self.dynamo
            .delete_item()
            .table_name(&self.table)
            .key(PK, text(key.pk()))
            .key(SK, text(key.sk()))
            .send()
            .await
            .map(drop)
            .map_err(|error| StoreError::from_sdk("DeleteItem", error))
    }

    /// Moves an overdue request to `next`; `false` when it is not overdue as seen any more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn push_due_shadow(&self, due: &DueShadow, next: EpochSeconds) -> Result<bool, StoreError> {
        let keys = UserKeys { org: &due.org, user: &due.user };
        let push = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen"))
            .value(":next", number(next))
            .value(":seen", number(due.due_at));
        Ok(self.update_one(&keys.shadow_job(due.first_position), push).await?.is_some())
    }

    /// How far turns are under one version of the prompt, in their order; consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn shadow_turns(
        &self,
        keys: &UserKeys<'_>,
        interactions: &[i64],
        version: &str,
    ) -> Result<Vec<ShadowTurn>, StoreError> {
        let wanted: Vec<_> = interactions.iter().map(|id| keys.shadow_turn(*id, version)).collect();
        let items = self.get_many(&wanted).await?;
        let find = |sk: &str| items.iter().find(|item| ItemReader(item).text_opt(SK) == Some(sk));
        Ok(wanted.iter().map(|key| find(key.sk()).map_or(NEVER_TRIED, turn)).collect())
    }

    /// Counts an attempt at a turn before it is made; `false` when the turn is settled or was tried since, or the user
    /// is being erased.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn begin_shadow_turn(
        &self,
        keys: &UserKeys<'_>,
        interaction: i64,
        version: &str,
        seen: ShadowTurn,
    ) -> Result<bool, StoreError> {
        let untried =
            if seen.attempts == 0 { format!("attribute_not_exists({ATTEMPTS}) OR ") } else { String::new() };
        let begin = Expression::new(format!("SET {ATTEMPTS} = :next"))
            .condition(format!("({untried}{ATTEMPTS} = :seen) AND {}", unsettled()))
            .value(":seen", number(i64::from(seen.attempts)))
            .value(":next", number(i64::from(seen.attempts) + 1));
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let there = format!("attribute_exists({COUNT}) AND attribute_not_exists({BARRIER})");
            transaction.check(self, &keys.head(), Expression::default().condition(there));
            transaction.update(self, &keys.shadow_turn(interaction, version), begin.clone());
            match transaction.commit(self).await {
                Ok(()) => return Ok(true),
                Err(error) if error.is_conflict() => {}
                Err(error) if error.condition_failed(0) || error.condition_failed(1) => return Ok(false),
                Err(error) => return Err(error.into_store_error("begin shadow turn")),
            }
        }
        Err(StoreError::Contended { operation: "begin shadow turn" })
    }

    /// Takes back the attempt after which a turn was tried `seen` times: what failed was not the turn.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn uncount_shadow_turn(
        &self,
        keys: &UserKeys<'_>,
        interaction: i64,
        version: &str,
        seen: ShadowTurn,
    ) -> Result<(), StoreError> {
        let uncount = Expression::new(format!("SET {ATTEMPTS} = :before"))
            .condition(format!("{ATTEMPTS} = :counted"))
            .value(":before", number(i64::from(seen.attempts)))
            .value(":counted", number(i64::from(seen.attempts) + 1));
        self.update_one(&keys.shadow_turn(interaction, version), uncount).await.map(drop)
    }

    /// Records that a turn without a verdict is given up, and why (a word).
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn fail_shadow_turn(
        &self,
        keys: &UserKeys<'_>,
        interaction: i64,
        version: &str,
        why: &str,
    ) -> Result<(), StoreError> {
        let fail = Expression::new(format!("SET {ERROR} = :why"))
            .condition(format!("attribute_exists({ATTEMPTS}) AND {}", unsettled()))
            .value(":why", text(why));
        self.update_one(&keys.shadow_turn(interaction, version), fail).await.map(drop)
    }
}

const NEVER_TRIED: ShadowTurn = ShadowTurn { attempts: 0, is_settled: false };

fn unsettled() -> String {
    format!("attribute_not_exists({DOCUMENT}) AND attribute_not_exists({ERROR})")
}

fn turn(item: &Item) -> ShadowTurn {
    let reader = ItemReader(item);
    ShadowTurn {
        attempts: u32::try_from(reader.count(ATTEMPTS)).unwrap_or(u32::MAX),
        is_settled: reader.text_opt(DOCUMENT).is_some() || reader.text_opt(ERROR).is_some(),
    }
}
