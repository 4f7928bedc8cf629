//! Metering: what models cost is kept in memory and added to the day's totals when a handler is done.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use domain::ids::OrgId;
use domain::time::utc_date;
use llm::meter::{UsageRecord, UsageSink};
use store::{Store, UsageTotals};

/// What was used since the last flush.
#[derive(Debug, Default)]
pub struct UsageBuffer(Mutex<BTreeMap<(OrgId, &'static str, String), UsageTotals>>);

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
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = totals.entry((record.org, record.purpose, record.model)).or_default();
        entry.calls += 1;
        entry.failures += i64::from(record.outcome != "success");
        entry.input_tokens += i64::try_from(record.input_tokens).unwrap_or(i64::MAX);
        entry.output_tokens += i64::try_from(record.output_tokens).unwrap_or(i64::MAX);
    }
}

impl UsageBuffer {
    /// Adds everything to the totals of the current day. What cannot be added is kept for the next flush.
    pub async fn flush(&self, store: &Store) {
        let taken = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let day = utc_date(store.clock().now()).unwrap_or_default();
        for ((org, purpose, model), totals) in taken {
            if let Err(error) = store.add_usage(&org, &day, purpose, &model, &totals).await {
                tracing::warn!(event = "usage_not_stored", org = org.as_str(), %error);
                let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let entry = kept.entry((org, purpose, model)).or_default();
                entry.calls += totals.calls;
                entry.failures += totals.failures;
                entry.input_tokens += totals.input_tokens;
                entry.output_tokens += totals.output_tokens;
            }
        }
    }
}
