//! Verdicts that callers ask for: one item per organisation, session, agent version and evaluation, which is the
//! attempt under way and, once that is over, what it came to.

use domain::ids::{OrgId, UserHash};
use domain::judging::RetrievedLearningStatus;
use domain::time::{DAY_SECONDS, EpochSeconds};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::attributes::{
    AT, ATTEMPT_OUTCOME, ATTEMPTS, DOCUMENT, DUE_AT, DUE_PK, Item, ItemBuilder, ItemReader, OPERATION, PK,
    SK, TTL, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::keys::{self, GRADE_PREFIX};
use crate::rows::encode;
use crate::transaction::Expression;

/// Whoever is at an attempt that is older than this, in seconds, is dead: a worker never runs so long.
pub const GRADE_STALE_SECONDS: i64 = 900;
/// How long an attempt and its outcome are kept, in seconds.
const KEPT_SECONDS: i64 = 2 * DAY_SECONDS;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeOrder {
    /// Who took part in the session first, and is judged.
    pub user: UserHash,
    /// The session.
    pub session_id: String,
    /// The agent version.
    pub agent_version: String,
    /// The evaluation.
    pub evaluation_name: String,
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeOutcome {
    /// The verdict.
    pub result_id: Option<i64>,
    /// Why there is none.
    pub skipped_reason: Option<String>,
    /// How the judgement of the retrieved learnings ended.
    pub retrieved_learning: RetrievedLearningStatus,
    /// Of what session that was.
    pub retrieved_fingerprint: Option<String>,
    /// Version of the user's part in the session before it was judged: a later request raises it.
    pub session_version: i64,
    /// When.
    pub graded_at: EpochSeconds,
}

/// An attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grade {
    /// What is asked for.
    pub order: GradeOrder,
    /// Tells this attempt from others.
    pub attempt_id: String,
    /// When it was begun.
    pub started_at: EpochSeconds,
    /// What it came to; `None` while it is under way.
    pub outcome: Option<GradeOutcome>,
}

impl Grade {
    fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let outcome = reader.text_opt(ATTEMPT_OUTCOME).map(|_| reader.json(ATTEMPT_OUTCOME)).transpose()?;
        Ok(Self {
            order: reader.json(DOCUMENT)?,
            attempt_id: reader.text(OPERATION)?.to_owned(),
            started_at: reader.number(AT)?,
            outcome,
        })
    }
}

/// An attempt that is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueGrade {
    /// The tenant.
    pub org: OrgId,
    /// The item's name.
    pub grade_id: String,
    /// Since when.
    pub due_at: EpochSeconds,
}

impl Store {
    /// The last attempt of this name.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn grade(&self, org: &OrgId, grade_id: &str) -> Result<Option<Grade>, StoreError> {
        self.get(&keys::grade(org, grade_id)).await?.as_ref().map(Grade::from_item).transpose()
    }

    /// Begins an attempt in place of `seen`; `false` when somebody else did so meanwhile.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn begin_grade(
        &self,
        org: &OrgId,
        grade_id: &str,
        order: &GradeOrder,
        attempt_id: &str,
        seen: Option<&Grade>,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let item = ItemBuilder::new(&keys::grade(org, grade_id))
            .text(DOCUMENT, &encode(order)?)
            .text(OPERATION, attempt_id)
            .number(AT, now)
            .number(ATTEMPTS, 0)
            .text(DUE_PK, &due::partition_of(grade_id))
            .number(DUE_AT, now)
            .number(TTL, now + KEPT_SECONDS)
            .build();
        let mine = (":me", text(attempt_id));
        match seen {
            None => {
                // It may be ours already, when the answer to an earlier try was lost.
                let condition = format!("attribute_not_exists({PK}) OR {OPERATION} = :me");
                self.put_one(item, Some(&condition), vec![mine]).await
            }
            Some(seen) => {
                let condition = format!("{OPERATION} = :seen OR {OPERATION} = :me");
                self.put_one(item, Some(&condition), vec![mine, (":seen", text(&seen.attempt_id))]).await
            }
        }
    }

    /// Counts that an attempt is tried, and keeps the sweep from it until `due_at`; how often it was, or `None` when
    /// it is over.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn try_grade(
        &self,
        org: &OrgId,
        grade_id: &str,
        attempt_id: &str,
        due_at: EpochSeconds,
    ) -> Result<Option<i64>, StoreError> {
        let expression = Expression::new(format!("SET {DUE_AT} = :due ADD {ATTEMPTS} :one"))
            .condition(format!("{OPERATION} = :me AND attribute_not_exists({ATTEMPT_OUTCOME})"))
            .value(":due", number(due_at))
            .value(":one", number(1))
            .value(":me", text(attempt_id));
        let item = self.update_one(&keys::grade(org, grade_id), expression).await?;
        Ok(item.map(|item| ItemReader(&item).count(ATTEMPTS)))
    }

    /// Takes back that an attempt was tried: it is looked at again at `due_at`.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn put_off_grade(
        &self,
        org: &OrgId,
        grade_id: &str,
        attempt_id: &str,
        due_at: EpochSeconds,
    ) -> Result<(), StoreError> {
        let expression = Expression::new(format!("SET {DUE_AT} = :due ADD {ATTEMPTS} :less"))
            .condition(format!("{OPERATION} = :me AND attribute_not_exists({ATTEMPT_OUTCOME})"))
            .value(":due", number(due_at))
            .value(":less", number(-1))
            .value(":me", text(attempt_id));
        self.update_one(&keys::grade(org, grade_id), expression).await?;
        Ok(())
    }

    /// Notes what an attempt came to, unless another one took its place.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn finish_grade(
        &self,
        org: &OrgId,
        grade_id: &str,
        attempt_id: &str,
        outcome: &GradeOutcome,
    ) -> Result<(), StoreError> {
        let expression =
            Expression::new(format!("SET {ATTEMPT_OUTCOME} = :outcome REMOVE {DUE_AT}, {DUE_PK}"))
                .condition(format!("{OPERATION} = :me"))
                .value(":outcome", text(&encode(outcome)?))
                .value(":me", text(attempt_id));
        self.update_one(&keys::grade(org, grade_id), expression).await?;
        Ok(())
    }

    /// Moves an overdue attempt to `next`; `false` when it is not overdue as seen any more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn push_due_grade(&self, due: &DueGrade, next: EpochSeconds) -> Result<bool, StoreError> {
        let expression = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen"))
            .value(":next", number(next))
            .value(":seen", number(due.due_at));
        Ok(self.update_one(&keys::grade(&due.org, &due.grade_id), expression).await?.is_some())
    }
}

/// The attempt behind an index entry, if it is one.
pub(crate) fn parse_key(item: &Item) -> Option<DueGrade> {
    let reader = ItemReader(item);
    let grade_id = reader.text_opt(SK)?.strip_prefix(GRADE_PREFIX)?.to_owned();
    let org = reader.text_opt(PK)?.strip_prefix("O#")?.parse().ok()?;
    Some(DueGrade { org, grade_id, due_at: reader.number_opt(DUE_AT)? })
}
