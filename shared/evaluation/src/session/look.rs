//! A look at a session whose timer went off, in time or not, once or twice: the session's own item says what is to be
//! done.

use domain::ids::OrgId;
use domain::judging::AgentSuccessStatus;
use domain::time::{EpochMillis, EpochSeconds};
use learning::services::Services;
use store::{NextLook, SessionHeld, SessionTaken, SessionTimer, StoreError, UserKeys};
use wake::SessionTask;

use super::run::{Held, RunError, RunOrder, RunOutcome, judge_held};
use crate::timers::set_timer;

/// How often a session is judged in vain before it is left alone.
pub const ATTEMPTS_MAX: i64 = 3;
/// After a judgement in vain the session is judged again so much later, in seconds, for each time that it was.
const AGAIN_SECONDS: [i64; 2] = [60, 300];
/// A session is held so much longer than its judge may run, in milliseconds.
const GRACE_MS: i64 = 30_000;

/// What a look led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// There is no such session, or nothing is to be done.
    Nothing,
    /// Another judge is at it.
    Busy,
    /// It is not silent for long enough yet; it is looked at again.
    NotYet,
    /// The judges had their turn.
    Judged(RunOutcome),
}

/// Looks at a session and judges it, if it has been silent for long enough.
///
/// # Errors
/// [`RunError`] when the infrastructure failed; the session stays due.
pub async fn look(
    services: &Services,
    org: &OrgId,
    task: &SessionTask,
    deadline_ms: EpochMillis,
) -> Result<Looked, RunError> {
    let keys = UserKeys { org, user: &task.user };
    let owner = services.ids.uuid();
    loop {
        let taken =
            services.store.take_session(&keys, &task.session, &owner, deadline_ms + GRACE_MS, true).await?;
        let held = match taken {
            SessionTaken::Unknown => return Ok(Looked::Nothing),
            SessionTaken::Busy => return Ok(Looked::Busy),
            SessionTaken::Held(held) => held,
        };
        match look_at(services, &keys, &held).await {
            Ok(Some(looked)) => return Ok(looked),
            // Somebody published meanwhile: look again. What was no attempt is not counted as one.
            Ok(None) => {
                services.store.leave_session(&keys, &held, NextLook::Unchanged, held.attempts).await?;
            }
            Err(RunError::Store(error @ StoreError::Corrupt { .. })) => {
                tracing::error!(event = "evaluation_unreadable", org = org.as_str(), %error);
                leave(services, &keys, &held, NextLook::Never, 0).await?;
                return Ok(Looked::Nothing);
            }
            Err(error) => {
                services.store.leave_session(&keys, &held, NextLook::Unchanged, held.attempts).await?;
                return Err(error);
            }
        }
    }
}

/// `None` when the session changed meanwhile and is still held.
async fn look_at(
    services: &Services,
    keys: &UserKeys<'_>,
    held: &SessionHeld,
) -> Result<Option<Looked>, RunError> {
    let Some(due_at) = held.due_at else {
        leave(services, keys, held, NextLook::Unchanged, held.attempts).await?;
        return Ok(Some(Looked::Nothing));
    };
    if held.attempts > ATTEMPTS_MAX {
        // Whoever was at it died, every time.
        tracing::error!(event = "evaluation_given_up", org = keys.org.as_str(), attempts = held.attempts);
        let left = leave(services, keys, held, NextLook::Never, 0).await?;
        return Ok(left.then_some(Looked::Nothing));
    }
    let now = services.clock.now();
    let silent_at = held.record.last_at + services.evaluation_delay_seconds;
    if now < silent_at.max(held.not_before.unwrap_or(0)) {
        // An early timer of a session whose time stands finds nothing to move; should no other timer go off, the
        // sweep finds the session.
        let stands = due_at == silent_at || held.not_before.is_some_and(|at| at > silent_at);
        let next = if stands { NextLook::Unchanged } else { NextLook::At(silent_at) };
        let left = leave(services, keys, held, next, held.attempts).await?;
        return Ok(left.then_some(Looked::NotYet));
    }
    let order = RunOrder {
        org: keys.org.clone(),
        user: keys.user.clone(),
        session: held.session_id.hash(),
        agent_version: held.agent_version.clone(),
        source: Some(held.source.clone()),
        is_forced: false,
        run_agent_success: held.judges.agent_success,
        run_retrieved_learning: held.judges.retrieved_learning,
        through: None,
    };
    let judged = judge_held(services, &order, held, NextLook::Never).await?;
    if judged.committed {
        if let Some(timer) = judged.timer {
            set(services, keys, &timer).await;
        }
        return Ok(Some(Looked::Judged(judged.outcome)));
    }
    let left = settle(services, keys, held, &judged, now).await?;
    Ok(left.then_some(Looked::Judged(judged.outcome)))
}

/// Gives a session back of which there is no new verdict; `false` when it changed meanwhile.
async fn settle(
    services: &Services,
    keys: &UserKeys<'_>,
    held: &SessionHeld,
    judged: &Held,
    now: EpochSeconds,
) -> Result<bool, RunError> {
    if judged.outcome.agent_success != AgentSuccessStatus::Failed {
        let (next, attempts) = judged.again;
        let next = if next == NextLook::Unchanged { NextLook::Never } else { next };
        return leave(services, keys, held, next, attempts).await;
    }
    let attempts = held.attempts + 1;
    let pause = usize::try_from(held.attempts).ok().and_then(|attempt| AGAIN_SECONDS.get(attempt));
    match pause {
        // The sweep finds it: a timer for each attempt would be one call more for something that is late anyway.
        Some(pause) => {
            let next = NextLook::At(now + pause);
            Ok(services.store.leave_session(keys, held, next, attempts).await?.is_some())
        }
        None => {
            tracing::error!(event = "evaluation_given_up", org = keys.org.as_str(), attempts);
            leave(services, keys, held, NextLook::Never, 0).await
        }
    }
}

/// Gives a session back and sets the timer for its next look; `false` when it changed meanwhile.
async fn leave(
    services: &Services,
    keys: &UserKeys<'_>,
    held: &SessionHeld,
    next: NextLook,
    attempts: i64,
) -> Result<bool, RunError> {
    let Some(timer) = services.store.leave_session(keys, held, next, attempts).await? else {
        return Ok(false);
    };
    if let Some(timer) = timer {
        set(services, keys, &timer).await;
    }
    Ok(true)
}

async fn set(services: &Services, keys: &UserKeys<'_>, timer: &SessionTimer) {
    set_timer(services, keys.org, keys.user, timer).await;
}
