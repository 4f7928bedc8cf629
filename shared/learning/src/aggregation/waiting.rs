//! Attempts that come to nothing by no fault of the run: they do not count, and what is due waits.

use domain::time::EpochSeconds;
use store::{AggregationOperation, AggregationRecord};

use super::operations;
use super::round::{Round, RoundEnd, RoundError, Work};

impl Round<'_> {
    /// The organisation's learning stands still: looked at again then, or when it becomes due meanwhile.
    pub(super) async fn wait_until(&self, work: &Work, at: EpochSeconds) -> Result<RoundEnd, RoundError> {
        tracing::info!(event = "aggregation_put_off", org = self.keys.org.as_str(), until = at);
        let (store, sequence) = (&self.services.store, work.state.due_sequence);
        let finished = store.finish_aggregation(self.keys, self.lease, sequence, Some(at)).await?;
        Ok(if finished { RoundEnd::Settled } else { RoundEnd::Changed })
    }

    /// As [`Self::wait_until`], for an attempt that had begun: it does not count.
    pub(super) async fn put_off(&self, mut work: Work, at: EpochSeconds) -> Result<RoundEnd, RoundError> {
        let record = &mut work.state.record;
        record.attempts = record.attempts.saturating_sub(1);
        record.retry_at = Some(at);
        let now = self.services.clock.now();
        for operation in &mut work.operations {
            operations::put_off(operation, now, at);
        }
        let (store, record) = (&self.services.store, &work.state.record);
        store.save_aggregation(self.keys, self.lease, record, &work.operations).await?;
        self.wait_until(&work, at).await
    }

    /// If this write fails too, the attempt counts as interrupted.
    pub(super) async fn uncount(&self, counted: (AggregationRecord, Vec<AggregationOperation>)) {
        let (mut record, mut operations) = counted;
        record.attempts = record.attempts.saturating_sub(1);
        for operation in &mut operations {
            operation.attempts = operation.attempts.saturating_sub(1);
        }
        let saved = self.services.store.save_aggregation(self.keys, self.lease, &record, &operations).await;
        if let Err(error) = saved {
            tracing::warn!(event = "attempt_not_uncounted", org = self.keys.org.as_str(), %error);
        }
    }
}
