//! The net beneath the queues: once a minute it finds overdue work that no message woke.

use std::sync::Arc;

use domain::time::EpochMillis;
use runtime::App;
use store::{DUE_SHARDS, DueUser, StoreError};
use wake::WakeReason;

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
    /// Users that were woken.
    pub woken: usize,
    /// Users that could not be woken; they stay overdue.
    pub failed: usize,
}

/// Wakes overdue users, the longest overdue first, until none is left or the time is up.
///
/// # Errors
/// [`StoreError`] when the index cannot be read; the next sweep tries again.
pub async fn handle(app: &Arc<App>, deadline_ms: EpochMillis) -> Result<Swept, StoreError> {
    let mut swept = Swept::default();
    for shard in 0..DUE_SHARDS {
        loop {
            if app.services.clock.now_ms() > deadline_ms - RESERVE_MS {
                return Ok(swept);
            }
            let due_before = app.services.clock.now() - GRACE_SECONDS;
            let due = app.services.store.due_users(shard, due_before, PAGE_ENTRIES).await?;
            let before = swept;
            for user in &due {
                match wake(app, user).await {
                    Ok(true) => swept.woken += 1,
                    Ok(false) => {}
                    Err(error) => {
                        swept.failed += 1;
                        tracing::warn!(event = "sweep_wake_failed", org = user.org.as_str(), error);
                    }
                }
            }
            // A page that moved nothing would be read again for ever.
            if due.len() < PAGE_ENTRIES || swept.woken == before.woken {
                break;
            }
        }
    }
    if swept != Swept::default() {
        tracing::info!(event = "swept", woken = swept.woken, failed = swept.failed);
    }
    Ok(swept)
}

/// Wakes one user and moves the entry; `false` when it was not overdue any more.
async fn wake(app: &App, due: &DueUser) -> Result<bool, String> {
    let now = app.services.clock.now();
    // First the wake, then the mark: a crash in between wakes twice, which does no harm.
    let sent = app.services.wakes.learn(&due.org, &due.user, WakeReason::Swept, now).await;
    sent.map_err(|error| error.to_string())?;
    app.services.store.push_due(due, now + AGAIN_SECONDS).await.map_err(|error| error.to_string())
}
