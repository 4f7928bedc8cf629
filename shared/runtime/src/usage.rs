//! Metering: what models cost is kept in memory and added to the day's totals when a handler is done.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::OrgId;
use domain::time::utc_date;
use llm::meter::{UsageRecord, UsageSink};
use store::{Store, UsageTotals};

/// A handler that serves many requests adds what it used this often, in seconds.
pub const FLUSH_SECONDS: i64 = 60;

type Totals = BTreeMap<(OrgId, &'static str, String), UsageTotals>;

/// What was used since the last flush.
#[derive(Default)]
pub struct UsageBuffer {
    totals: Mutex<Totals>,
    flushed_at: AtomicI64,
    watcher: Mutex<Option<Arc<dyn UsageSink>>>,
}

impl std::fmt::Debug for UsageBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UsageBuffer")
    }
}

impl UsageSink for UsageBuffer {
    fn record(&self, record: UsageRecord) {
        tracing::info!(
            event = "llm_usage",
            org = record.org.as_str(),
            purpose = record.purpose,
            model = record.model,
            provider = record.provider,
            input_tokens = record.input_tokens,
            output_tokens = record.output_tokens,
            outcome = record.outcome,
            duration_ms = record.duration_ms,
        );
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(watcher) = watcher {
            watcher.record(record.clone());
        }
        let mut totals = self.totals();
        let entry = totals.entry((record.org, record.purpose, record.model)).or_default();
        entry.calls += 1;
        entry.failures += i64::from(record.outcome != "success");
        entry.input_tokens += i64::try_from(record.input_tokens).unwrap_or(i64::MAX);
        entry.output_tokens += i64::try_from(record.output_tokens).unwrap_or(i64::MAX);
    }
}

impl UsageBuffer {
    /// Tells `watcher` of every call too, from now on, in place of whoever watched before.
    pub fn watch(&self, watcher: Arc<dyn UsageSink>) {
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::flush`], when there is something to add and the last time was [`FLUSH_SECONDS`] ago.
    pub async fn flush_if_due(&self, store: &Store) {
        let now = store.clock().now();
        let is_due = now - self.flushed_at.load(Ordering::Relaxed) >= FLUSH_SECONDS;
        if is_due && !self.totals().is_empty() {
            self.flush(store).await;
        }
    }

    /// Adds everything to the totals of the current day. What cannot be added is kept for the next flush.
    pub async fn flush(&self, store: &Store) {
        let now = store.clock().now();
        self.flushed_at.store(now, Ordering::Relaxed);
        let taken = std::mem::take(&mut *self.totals());
        let day = utc_date(now).unwrap_or_default();
        for ((org, purpose, model), totals) in taken {
            if let Err(error) = store.add_usage(&org, &day, purpose, &model, &totals).await {
                tracing::warn!(event = "usage_not_stored", org = org.as_str(), %error);
                let mut kept = self.totals();
                let entry = kept.entry((org, purpose, model)).or_default();
                entry.calls += totals.calls;
                entry.failures += totals.failures;
                entry.input_tokens += totals.input_tokens;
                entry.output_tokens += totals.output_tokens;
            }
        }
    }
}
