//! When a user's part in a session is to be judged, who is at it, and what was judged last.
//!
//! All of it stands on the session's own item: publishing sets the time once, and only a judge moves or clears it, on
//! the condition that the session is as the judge saw it.

use domain::entities::EvaluationResult;
use domain::ids::{OrgId, SessionId, UserHash};
use domain::sampling::JudgesWanted;
use domain::time::{EpochMillis, EpochSeconds};

use crate::Store;
use crate::attributes::{
    AGENT_VERSION, ATTEMPTS, DUE_AT, DUE_PK, GENERATION, Item, ItemReader, JUDGED_VERSION, NOT_BEFORE, OWNER,
    PK, RETRIEVED_WANTED, SESSION, SK, SOURCE, SUCCESS_WANTED, UNTIL, VERSION, number, text,
};
use crate::due;
use crate::error::StoreError;
use crate::evaluations::{EvaluationCommit, EvaluationCommitError};
use crate::keys::{Key, SESSION_PREFIX, UserKeys};
use crate::retry::ATTEMPTS_MAX;
use crate::sessions::SessionRecord;
use crate::transaction::{Expression, Transaction};

/// The sweep takes an entry for lost so long after its time, in seconds. A session must not wait longer than its
/// timer may be late, so that its entry stands so much earlier in the index.
pub const SWEEP_GRACE_SECONDS: i64 = 30;

/// That a session is to be judged at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationWanted {
    /// By whom.
    pub judges: JudgesWanted,
    /// When, unless it goes on.
    pub due_at: EpochSeconds,
}

/// A timer that is to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTimer {
    /// Hash of the session id.
    pub session: String,
    /// Which of the session's timers it is.
    pub generation: i64,
    /// When it is to go off.
    pub due_at: EpochSeconds,
}

/// A session as a judge took it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHeld {
    /// The session.
    pub session_id: SessionId,
    /// What is known of it.
    pub record: SessionRecord,
    /// When it is to be judged; `None` when it is not.
    pub due_at: Option<EpochSeconds>,
    /// Which timer was set last.
    pub generation: i64,
    /// Which judges its requests asked for.
    pub judges: JudgesWanted,
    /// The agent version of its last request.
    pub agent_version: String,
    /// The source of its last request.
    pub source: String,
    /// It is not judged again before this time: the last time was in vain.
    pub not_before: Option<EpochSeconds>,
    /// How often it was judged in vain since it was judged last.
    pub attempts: i64,
    /// The version of the session that was judged last.
    pub judged_version: Option<i64>,
    owner: String,
}

/// A session that is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSession {
    /// The tenant.
    pub org: OrgId,
    /// The user.
    pub user: UserHash,
    /// Hash of the session id.
    pub session: String,
    /// As it stands in the index.
    pub(crate) indexed_at: EpochSeconds,
}

/// What taking a session led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionTaken {
    /// It is the caller's.
    Held(Box<SessionHeld>),
    /// Another judge is at it.
    Busy,
    /// There is no such session.
    Unknown,
}

/// What is to become of a session's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextLook {
    /// Never, unless something is published.
    Never,
    /// At this time, by a new timer.
    At(EpochSeconds),
    /// As before: a judge who was not sent by a timer leaves timers alone.
    Unchanged,
}

impl Store {
    /// Takes a session for judging until `until_ms`. `session` is the hash of the session id. An attempt is counted
    /// from the start, so that who dies of it is counted; giving the session back says how many there were.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn take_session(
        &self,
        keys: &UserKeys<'_>,
        session: &str,
        owner: &str,
        until_ms: EpochMillis,
        is_attempt: bool,
    ) -> Result<SessionTaken, StoreError> {
        let key = keys.session_by_hash(session);
        let expression =
            Expression::new(format!("SET {OWNER} = :me, {UNTIL} = :until ADD {ATTEMPTS} :attempt"))
                .condition(format!(
                    "attribute_exists({VERSION}) AND \
                 (attribute_not_exists({UNTIL}) OR {UNTIL} < :now OR {OWNER} = :me)"
                ))
                .value(":me", text(owner))
                .value(":until", number(until_ms))
                .value(":attempt", number(i64::from(is_attempt)))
                .value(":now", number(self.clock.now_ms()));
        match self.update_one(&key, expression).await? {
            Some(item) => {
                let mut held = held(&item, owner)?;
                held.attempts -= i64::from(is_attempt);
                Ok(SessionTaken::Held(Box::new(held)))
            }
            None if self.get(&key).await?.is_some() => Ok(SessionTaken::Busy),
            None => Ok(SessionTaken::Unknown),
        }
    }

    /// Gives a session back. A look `At` a time needs the session to be as it was taken: `None` when it is not, and
    /// nothing changed. `attempts` are those in vain so far. The timer to be set, if any.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn leave_session(
        &self,
        keys: &UserKeys<'_>,
        held: &SessionHeld,
        next: NextLook,
        attempts: i64,
    ) -> Result<Option<Option<SessionTimer>>, StoreError> {
        let expression = leaving(keys, held, next, attempts, None);
        let key = keys.session(&held.session_id);
        let left = self.update_one(&key, expression).await?;
        Ok(left.map(|_| timer(held, next)))
    }

    /// Puts a verdict in force and gives its session back, in one. Should somebody have published meanwhile, the
    /// session is to be looked at once more, `delay` seconds after its last request. `attempts` are those in vain so far; a
    /// verdict that is not on the whole session leaves it to be judged. The timer to be set, if any.
    ///
    /// # Errors
    /// [`EvaluationCommitError`]; nothing was written but after a lost answer.
    pub async fn commit_evaluation(
        &self,
        keys: &UserKeys<'_>,
        held: &SessionHeld,
        commit: &EvaluationCommit<'_>,
        (next, attempts): (NextLook, i64),
        delay: i64,
        is_whole: bool,
    ) -> Result<Option<SessionTimer>, EvaluationCommitError> {
        let judged = held.record.version;
        let mut seen = held.clone();
        let mut next = next;
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                self.retries.wait(attempt).await;
            }
            let mut transaction = Transaction::default();
            let placed = self.add_evaluation(&mut transaction, keys, commit)?;
            let leaving = leaving(keys, &seen, next, attempts, is_whole.then_some(judged));
            let session = transaction.update(self, &keys.session(&held.session_id), leaving);
            match transaction.commit(self).await {
                Ok(()) => return Ok(timer(&seen, next)),
                Err(error) if error.condition_failed(placed.head) => {
                    return Err(EvaluationCommitError::Erased);
                }
                Err(error) if error.condition_failed(session) => {
                    let Some(item) = self.get(&keys.session(&held.session_id)).await? else {
                        return Err(EvaluationCommitError::Erased);
                    };
                    if ItemReader(&item).text_opt(OWNER) != Some(&held.owner) {
                        // Ours already, or taken away while we were silent for too long.
                        let is_ours = self.is_in_force(keys, commit.result).await?;
                        return if is_ours { Ok(None) } else { Err(EvaluationCommitError::Superseded) };
                    }
                    seen = self::held(&item, &held.owner)?;
                    if next != NextLook::Unchanged {
                        next = NextLook::At(seen.record.last_at + delay);
                    }
                }
                Err(error) if error.condition_failed(placed.result) => {
                    return Err(EvaluationCommitError::Superseded);
                }
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into_store_error("commit evaluation").into()),
            }
        }
        Err(StoreError::Contended { operation: "commit evaluation" }.into())
    }

    async fn is_in_force(&self, keys: &UserKeys<'_>, result: &EvaluationResult) -> Result<bool, StoreError> {
        let in_force = self.session_evaluations(keys, &result.session_id.hash()).await?;
        Ok(in_force.iter().any(|one| one.result_id == result.result_id))
    }

    /// Moves an overdue session's entry to `next`; the generation of its timer, or `None` when it is not overdue as
    /// seen any more.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn push_due_session(
        &self,
        due: &DueSession,
        next: EpochSeconds,
    ) -> Result<Option<i64>, StoreError> {
        let keys = UserKeys { org: &due.org, user: &due.user };
        let expression = Expression::new(format!("SET {DUE_AT} = :next"))
            .condition(format!("{DUE_AT} = :seen"))
            .value(":next", number(next))
            .value(":seen", number(due.indexed_at));
        let item = self.update_one(&keys.session_by_hash(&due.session), expression).await?;
        Ok(item.map(|item| ItemReader(&item).count(GENERATION)))
    }
}

/// What a publish adds to the update of its session, and the timer to be set. `seen` is the session before.
pub(crate) fn arm(
    mut expression: Expression,
    wanted: Option<EvaluationWanted>,
    seen: Option<&Item>,
    keys: &UserKeys<'_>,
    session: &SessionId,
) -> (Expression, Option<SessionTimer>) {
    let Some(wanted) = wanted.filter(|wanted| !wanted.judges.is_none()) else { return (expression, None) };
    let mut set =
        format!(", {DUE_AT} = if_not_exists({DUE_AT}, :evdue), {DUE_PK} = if_not_exists({DUE_PK}, :evshard)");
    // What one request asked for, a later one does not take back.
    if wanted.judges.agent_success {
        set.push_str(&format!(", {SUCCESS_WANTED} = :evyes"));
    }
    if wanted.judges.retrieved_learning {
        set.push_str(&format!(", {RETRIEVED_WANTED} = :evyes"));
    }
    let is_armed = seen.is_some_and(|item| item.contains_key(DUE_AT));
    let timer = (!is_armed).then(|| {
        let generation = seen.map_or(0, |item| ItemReader(item).count(GENERATION)) + 1;
        SessionTimer { session: session.hash(), generation, due_at: wanted.due_at }
    });
    if let Some(timer) = &timer {
        set.push_str(&format!(", {GENERATION} = :evgen"));
        expression = expression.value(":evgen", number(timer.generation));
    }
    let at = expression.update.find(" ADD ").unwrap_or(expression.update.len());
    expression.update.insert_str(at, &set);
    let expression = expression
        .value(":evdue", number(wanted.due_at - SWEEP_GRACE_SECONDS))
        .value(":evshard", text(&due::partition(keys.user)))
        .value(":evyes", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
    (expression, timer)
}

/// The update that gives a session back. `judged` is the version that a verdict is about.
fn leaving(
    keys: &UserKeys<'_>,
    held: &SessionHeld,
    next: NextLook,
    attempts: i64,
    judged: Option<i64>,
) -> Expression {
    let mut set = vec![format!("{ATTEMPTS} = :attempts")];
    let mut remove = vec![OWNER, UNTIL];
    let mut condition = format!("{OWNER} = :me");
    let mut values = vec![(":me", text(&held.owner)), (":attempts", number(attempts))];
    if let Some(version) = judged {
        set.push(format!("{JUDGED_VERSION} = :judged"));
        values.push((":judged", number(version)));
    }
    match next {
        NextLook::Unchanged => {}
        NextLook::Never => remove.extend([DUE_AT, DUE_PK, SUCCESS_WANTED, RETRIEVED_WANTED, NOT_BEFORE]),
        NextLook::At(at) => {
            set.push(format!("{DUE_AT} = :due, {DUE_PK} = :shard, {GENERATION} = :gen"));
            values.push((":due", number(at - SWEEP_GRACE_SECONDS)));
            values.push((":shard", text(&due::partition(keys.user))));
            values.push((":gen", number(held.generation + 1)));
            if attempts > held.attempts {
                set.push(format!("{NOT_BEFORE} = :at"));
                values.push((":at", number(at)));
            }
        }
    }
    if next != NextLook::Unchanged {
        condition.push_str(&format!(" AND {VERSION} = :seen"));
        values.push((":seen", number(held.record.version)));
    }
    let update = format!("SET {} REMOVE {}", set.join(", "), remove.join(", "));
    let mut expression = Expression::new(update).condition(condition);
    expression.values.extend(values);
    expression
}

fn timer(held: &SessionHeld, next: NextLook) -> Option<SessionTimer> {
    let NextLook::At(due_at) = next else { return None };
    Some(SessionTimer { session: held.session_id.hash(), generation: held.generation + 1, due_at })
}

fn held(item: &Item, owner: &str) -> Result<SessionHeld, StoreError> {
    let reader = ItemReader(item);
    Ok(SessionHeld {
        session_id: SessionId::new(reader.text(SESSION)?).map_err(|_| reader.corrupt(SESSION))?,
        record: SessionRecord::from_item(item)?,
        due_at: reader.number_opt(DUE_AT).map(|at| at + SWEEP_GRACE_SECONDS),
        generation: reader.count(GENERATION),
        judges: JudgesWanted {
            agent_success: reader.mark(SUCCESS_WANTED),
            retrieved_learning: reader.mark(RETRIEVED_WANTED),
        },
        agent_version: reader.text_opt(AGENT_VERSION).unwrap_or("").to_owned(),
        source: reader.text_opt(SOURCE).unwrap_or("").to_owned(),
        not_before: reader.number_opt(NOT_BEFORE),
        attempts: reader.count(ATTEMPTS),
        judged_version: reader.number_opt(JUDGED_VERSION),
        owner: owner.to_owned(),
    })
}

/// The session behind an index entry, if it is one.
pub(crate) fn parse_key(item: &Item) -> Option<DueSession> {
    let reader = ItemReader(item);
    let session = reader.text_opt(SK)?.strip_prefix(SESSION_PREFIX)?.to_owned();
    let (org, user) = reader.text_opt(PK)?.strip_prefix("O#")?.split_once("#U#")?;
    Some(DueSession {
        org: org.parse().ok()?,
        user: UserHash::parse(user)?,
        session,
        indexed_at: reader.number_opt(DUE_AT)?,
    })
}

/// For callers that know the hash alone.
impl UserKeys<'_> {
    pub(crate) fn session_by_hash(&self, session: &str) -> Key {
        Key::from_parts(&self.partition(), &format!("{SESSION_PREFIX}{session}"))
    }
}
