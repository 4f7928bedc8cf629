//! The net beneath the queues: once a minute it finds overdue work that no message woke.

mod judging;
mod stalls;

use std::sync::Arc;

use domain::time::EpochMillis;
use futures::future::join_all;
use learning::aggregation::follow_up;
use learning::versions::service_of;
use runtime::App;
use store::{
    DUE_SHARDS, DueAggregation, DueEntry, DueOperation, DueShadow, DueUser, DueVersions, StoreError,
};
use wake::{AggregateWake, EvaluateTask, EvaluateWake, OperateWake, ShadowTask, WakeReason};

use crate::stalls::{Stalls, park, tend};

/// Work is overdue when it was due this long ago: until then the publish's own wake is on its way. In seconds.
pub const GRACE_SECONDS: i64 = 30;
/// An entry that was woken is looked at again after this time, in seconds, so that one that does not get done
/// crowds out nobody.
pub const AGAIN_SECONDS: i64 = 300;
/// Entries that are read at a time.
const PAGE_ENTRIES: usize = 100;
/// A sweep begins no further page with less time than this left, in milliseconds.
const RESERVE_MS: i64 = 10_000;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Users and operations that were woken.
    pub woken: usize,
    /// Users that were taken out of the common index, since their organisation's learning stands still.
    pub parked: usize,
    /// Users that were put back into it.
    pub put_back: usize,
    /// Effects of commits that their handler had left over.
    pub carried_out: usize,
    /// Entries that could not be dealt with; they stay overdue.
    pub failed: usize,
}

impl Swept {
    /// Entries that are overdue no more.
    fn moved(self) -> usize {
        self.woken + self.parked + self.carried_out
    }
}

/// Wakes overdue users and carries out left-over effects, the longest overdue first, until none is left or the
/// time is up.
///
/// # Errors
/// [`StoreError`] when the index cannot be read; the next sweep tries again.
pub async fn handle(app: &Arc<App>, deadline_ms: EpochMillis) -> Result<Swept, StoreError> {
    let mut swept = Swept::default();
    let mut stalls = Stalls::default();
    // Each sweep begins at another shard, so that a full one does not keep the others waiting.
    let first =
        u32::try_from(app.services.clock.now().div_euclid(60).rem_euclid(i64::from(DUE_SHARDS))).unwrap_or(0);
    for shard in (0..DUE_SHARDS).map(|step| (first + step) % DUE_SHARDS) {
        loop {
            if app.services.clock.now_ms() > deadline_ms - RESERVE_MS {
                return Ok(swept);
            }
            let due_before = app.services.clock.now() - GRACE_SECONDS;
            let due = app.services.store.due_entries(shard, due_before, PAGE_ENTRIES).await?;
            let before = swept;
            let (held, free) = stalls.separate(app, &due).await;
            swept.parked += park(app, held, &mut swept.failed).await;
            for settled in join_all(free.into_iter().map(|entry| settle(app, entry))).await {
                match settled {
                    Ok(Settled::Woken) => swept.woken += 1,
                    Ok(Settled::PutBack(many)) => swept.put_back += many,
                    Ok(Settled::CarriedOut) => swept.carried_out += 1,
                    Ok(Settled::Gone) => {}
                    Err(error) => {
                        swept.failed += 1;
                        tracing::warn!(event = "sweep_failed", error);
                    }
                }
            }
            // A page that moved nothing would be read again for ever.
            let moved = swept.moved() > before.moved();
            if due.len() < PAGE_ENTRIES || !moved {
                break;
            }
        }
    }
    if swept != Swept::default() {
        tracing::info!(
            event = "swept",
            woken = swept.woken,
            parked = swept.parked,
            put_back = swept.put_back,
            carried_out = swept.carried_out,
            failed = swept.failed,
        );
    }
    Ok(swept)
}

enum Settled {
    Woken,
    PutBack(usize),
    CarriedOut,
    /// It was not overdue any more.
    Gone,
}

async fn settle(app: &App, entry: &DueEntry) -> Result<Settled, String> {
    match entry {
        DueEntry::Stall(org) => tend(app, org).await,
        DueEntry::User(user) => Ok(if wake(app, user).await? { Settled::Woken } else { Settled::Gone }),
        DueEntry::Outbox(org, id) => {
            let store = &app.services.store;
            let Some(entry) = store.outbox_entry(org, id).await.map_err(|error| error.to_string())? else {
                return Ok(Settled::Gone);
            };
            let next = store.carry_out(&entry).await.map_err(|error| error.to_string())?;
            follow_up(&app.services, org, next).await;
            Ok(Settled::CarriedOut)
        }
        DueEntry::Versions(due) => {
            Ok(if wake_versions(app, due).await? { Settled::Woken } else { Settled::Gone })
        }
        DueEntry::Operation(due) => {
            Ok(if wake_operation(app, due).await? { Settled::Woken } else { Settled::Gone })
        }
        DueEntry::Session(due) => {
            Ok(if judging::wake_session(app, due).await? { Settled::Woken } else { Settled::Gone })
        }
        DueEntry::Lane(due) => {
            Ok(if judging::wake_lane(app, due).await? { Settled::Woken } else { Settled::Gone })
        }
        DueEntry::Grade(due) => {
            Ok(if judging::wake_grade(app, due).await? { Settled::Woken } else { Settled::Gone })
        }
        DueEntry::Shadow(due) => {
            Ok(if wake_shadow(app, due).await? { Settled::Woken } else { Settled::Gone })
        }
        DueEntry::Aggregation(due) => {
            Ok(if wake_aggregation(app, due).await? { Settled::Woken } else { Settled::Gone })
        }
    }
}

/// Wakes one operation and moves the entry; `false` when it was not overdue any more.
async fn wake_operation(app: &App, due: &DueOperation) -> Result<bool, String> {
    let (store, now) = (&app.services.store, app.services.clock.now());
    let again = now + AGAIN_SECONDS;
    let pushed = store.push_due_operation(&due.org, due.service, due.due_at, again).await;
    let Some(run) = pushed.map_err(|error| error.to_string())? else { return Ok(false) };
    let service = due.service.as_str().to_owned();
    let wake = OperateWake::new(due.org.clone(), service, run, WakeReason::Swept);
    let Err(error) = app.services.wakes.operate(&wake, &now.to_string()).await else { return Ok(true) };
    match store.push_due_operation(&due.org, due.service, again, due.due_at).await {
        Ok(_) => Err(error.to_string()),
        Err(undo) => Err(format!("{error}; and for a round it is not overdue: {undo}")),
    }
}

/// Wakes a change of versions and moves the entry; `false` when it was not overdue any more.
async fn wake_versions(app: &App, due: &DueVersions) -> Result<bool, String> {
    let (store, now) = (&app.services.store, app.services.clock.now());
    let again = now + AGAIN_SECONDS;
    let pushed = store.push_due_versions(due, again).await;
    let Some(run) = pushed.map_err(|error| error.to_string())? else { return Ok(false) };
    let service = service_of(due.kind).to_owned();
    let wake = OperateWake::new(due.org.clone(), service, run, WakeReason::Swept);
    let Err(error) = app.services.wakes.operate(&wake, &now.to_string()).await else { return Ok(true) };
    let moved = DueVersions { due_at: again, ..due.clone() };
    match store.push_due_versions(&moved, due.due_at).await {
        Ok(_) => Err(error.to_string()),
        Err(undo) => Err(format!("{error}; and for a round it is not overdue: {undo}")),
    }
}

/// Wakes the judge of one request's shadow answers and moves the entry; `false` when it was not overdue any more.
async fn wake_shadow(app: &App, due: &DueShadow) -> Result<bool, String> {
    let (store, now) = (&app.services.store, app.services.clock.now());
    let again = now + AGAIN_SECONDS;
    if !store.push_due_shadow(due, again).await.map_err(|error| error.to_string())? {
        return Ok(false);
    }
    let task = ShadowTask { user: due.user.clone(), first_position: due.first_position };
    let wake = EvaluateWake::new(due.org.clone(), EvaluateTask::Shadow(task), WakeReason::Swept);
    let Err(error) = app.services.wakes.evaluate(&wake, &now.to_string()).await else { return Ok(true) };
    let moved = DueShadow { due_at: again, ..due.clone() };
    match store.push_due_shadow(&moved, due.due_at).await {
        Ok(_) => Err(error.to_string()),
        Err(undo) => Err(format!("{error}; and for a round it is not overdue: {undo}")),
    }
}

/// Wakes one aggregation and moves the entry; `false` when it was not overdue any more.
async fn wake_aggregation(app: &App, due: &DueAggregation) -> Result<bool, String> {
    let (store, now) = (&app.services.store, app.services.clock.now());
    let again = now + AGAIN_SECONDS;
    let pushed = store.push_due_aggregation(due, again).await.map_err(|error| error.to_string())?;
    let Some(agent_version) = pushed else { return Ok(false) };
    let message = AggregateWake::new(due.org.clone(), agent_version, WakeReason::Swept);
    let Err(error) = app.services.wakes.aggregate(&message, &now.to_string()).await else { return Ok(true) };
    match store.push_due_aggregation(&due.moved_to(again), due.due_at).await {
        Ok(_) => Err(error.to_string()),
        Err(undo) => Err(format!("{error}; and for a round it is not overdue: {undo}")),
    }
}

/// Wakes one user and moves the entry; `false` when it was not overdue any more.
async fn wake(app: &App, due: &DueUser) -> Result<bool, String> {
    let (store, now) = (&app.services.store, app.services.clock.now());
    let again = now + AGAIN_SECONDS;
    // The index lags: the mark tells whether the entry is as it says. A crash before the wake costs one round.
    if !store.push_due(due, again).await.map_err(|error| error.to_string())? {
        return Ok(false);
    }
    let Err(error) = app.services.wakes.learn(&due.org, &due.user, WakeReason::Swept, now).await else {
        return Ok(true);
    };
    let moved = DueUser { due_at: again, ..due.clone() };
    match store.push_due(&moved, due.due_at).await {
        Ok(_) => Err(error.to_string()),
        Err(undo) => Err(format!("{error}; and for a round it is not overdue: {undo}")),
    }
}
