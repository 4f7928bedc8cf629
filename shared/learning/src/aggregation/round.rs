//! One run: is it worth it, what changed, what do the models say, one commit.

use domain::time::{EpochMillis, EpochSeconds};
use store::{
    AgentKeys, AggregationCommit, AggregationCommitError, AggregationInputs, AggregationOperation,
    AggregationResult, AggregationState, InboxMark, Lease, OPERATIONS_PER_RUN_MAX, StoreError,
};

use super::ask::{Answers, Question};
use super::changes::Changes;
use super::inputs::clusters_of;
use super::operations;
use super::plan::{Plan, plan};
use super::report::{NO_CHANGES, log_gate, not_enough, skipped};
use super::rows::{change_of, mode, retired};
use super::settings::{AggregationSettings, NOT_CONFIGURED};
use crate::services::{OrgServicesError, Services};
use crate::worker::failure::{ATTEMPTS_MAX, retry_at};

/// Wait after so many failures that trying soon again is pointless, in seconds.
const PARKED_SECONDS: i64 = 3_600;
/// What a run is told that failed in part.
const RETRYABLE_FAILURE: &str = "retryable_failure";

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundEnd {
    /// Nothing is due now.
    Settled,
    /// It became due again meanwhile.
    Changed,
    /// There is more, but no time for it.
    OutOfTime,
}

/// Why a run came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum RoundError {
    #[error("rows changed since they were read")]
    Stale,
    #[error("another worker took over")]
    Superseded,
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run is committed; what follows it is left to the next one.
    #[error("after the commit: {0}")]
    AfterCommit(StoreError),
}

impl RoundError {
    /// What failed once the run was committed.
    fn after_commit(self) -> Self {
        match self {
            Self::Store(error) => Self::AfterCommit(error),
            other => other,
        }
    }
}

impl From<AggregationCommitError> for RoundError {
    fn from(error: AggregationCommitError) -> Self {
        match error {
            AggregationCommitError::Superseded => Self::Superseded,
            AggregationCommitError::Stale => Self::Stale,
            AggregationCommitError::Store(error) => Self::Store(error),
        }
    }
}

/// One run of one worker.
pub(super) struct Round<'a> {
    pub(super) services: &'a Services,
    pub(super) keys: &'a AgentKeys<'a>,
    pub(super) lease: &'a Lease,
    /// No model call begins after this.
    pub(super) stop_at_ms: EpochMillis,
}

/// What a run begins with.
pub(super) struct Work {
    pub(super) state: AggregationState,
    /// Operations that this run is for.
    pub(super) operations: Vec<AggregationOperation>,
    /// When others may be tried.
    later: Option<EpochSeconds>,
    inputs: AggregationInputs,
    rerun: bool,
}

impl Round<'_> {
    pub(super) async fn run(&self) -> Result<RoundEnd, RoundError> {
        let store = &self.services.store;
        let now = self.services.clock.now();
        let state = store.aggregation_state(self.keys).await?;
        let (operations, later) = self.waiting_operations(now).await?;
        let inputs = store.aggregation_inputs(self.keys).await?;
        let rerun = operations.iter().any(|operation| !operation.partly_done);
        let mut work = Work { state, operations, later, inputs, rerun };
        let (settings, config_version) = match self.services.orgs.config(self.keys.org).await {
            Ok(config) => (AggregationSettings::of(&config.config), config.version),
            Err(OrgServicesError::Store(error)) => return Err(error.into()),
            Err(OrgServicesError::Configuration(error)) => {
                self.begin(&mut work).await?;
                return self.give_up(work, &error).await;
            }
        };
        let wanted = settings.map_or(0, |settings| settings.trigger_count);
        let new = if rerun {
            work.inputs.rows.len()
        } else {
            let damaged = &work.inputs.damaged;
            let counts = |mark: &&InboxMark| mark.counts && !damaged.contains(&mark.user_playbook_id);
            work.inputs.marks.iter().filter(counts).count()
        };
        let is_retry = work.state.record.retry_at.is_some_and(|at| at <= now)
            || work.operations.iter().any(|operation| operation.partly_done);
        let reason = match settings {
            None => Some(NOT_CONFIGURED.to_owned()),
            Some(_) if new < wanted && !is_retry => Some(not_enough(new, wanted)),
            Some(_) => None,
        };
        log_gate(self.keys.org, new, wanted, reason.as_deref());
        let (None, Some(settings)) = (&reason, settings) else {
            return self.skip(work, &skipped(reason.unwrap_or_default())).await;
        };
        if let Some(at) = self.services.held_until(self.keys.org, config_version).await? {
            return self.wait_until(&work, at).await;
        }
        if !self.begin(&mut work).await? {
            return self.give_up(work, "interrupted").await;
        }
        let counted = (work.state.record.clone(), work.operations.clone());
        let outcome = self.aggregate(work, &settings).await;
        // The run itself was not at fault: an attempt that came to nothing does not count.
        if matches!(outcome, Ok(RoundEnd::OutOfTime) | Err(RoundError::Stale | RoundError::Store(_))) {
            self.uncount(counted).await;
        }
        outcome
    }

    /// The operations that may be tried now, and when the others may.
    async fn waiting_operations(
        &self,
        now: EpochSeconds,
    ) -> Result<(Vec<AggregationOperation>, Option<EpochSeconds>), StoreError> {
        let queued = self.services.store.queued_aggregations(self.keys).await?;
        let is_ready =
            |operation: &AggregationOperation| operation.next_attempt_at.is_none_or(|at| at <= now);
        let (mut ready, rest): (Vec<_>, Vec<_>) = queued.into_iter().partition(is_ready);
        let mut later = rest.iter().filter_map(|operation| operation.next_attempt_at).min();
        if ready.len() > OPERATIONS_PER_RUN_MAX {
            ready.truncate(OPERATIONS_PER_RUN_MAX);
            later = Some(now);
        }
        Ok((ready, later))
    }

    /// Counts the attempt before it begins: a crash counts too. `false` when workers died of it too often.
    async fn begin(&self, work: &mut Work) -> Result<bool, RoundError> {
        let now = self.services.clock.now();
        let record = &mut work.state.record;
        let died = record.attempts >= ATTEMPTS_MAX && record.last_error.is_none();
        if !died {
            record.attempts += 1;
            // Cleared, so that what is found later without one was interrupted.
            record.last_error = None;
            for operation in &mut work.operations {
                operations::begin(operation, now);
            }
            self.services
                .store
                .save_aggregation(self.keys, self.lease, &work.state.record, &work.operations)
                .await?;
            for operation in &mut work.operations {
                operation.version += 1;
            }
            work.operations.retain(|operation| !operation.status.is_final());
            tracing::info!(
                event = "aggregation_started",
                org = self.keys.org.as_str(),
                rerun = work.rerun,
                user_playbooks = work.inputs.rows.len(),
            );
        }
        Ok(!died)
    }

    async fn aggregate(
        &self,
        mut work: Work,
        settings: &AggregationSettings,
    ) -> Result<RoundEnd, RoundError> {
        let store = &self.services.store;
        let model = match self.services.orgs.embedding(self.keys.org).await {
            Ok(model) => model,
            Err(OrgServicesError::Store(error)) => return Err(error.into()),
            Err(OrgServicesError::Configuration(error)) => return self.give_up(work, &error).await,
        };
        let clusters = match clusters_of(&work.inputs.rows, model.as_ref(), settings).await {
            Ok(clusters) => clusters,
            Err(error) => return self.give_up(work, &error).await,
        };
        let changes = Changes::between(&clusters, work.state.clusters.as_ref(), work.rerun);
        if changes.is_empty() {
            return self.commit_nothing(work).await;
        }
        let existing = store.undamaged_agent_playbooks(self.keys).await?;
        let scope = match work.operations.first() {
            Some(operation) if work.rerun => operation.operation_id.clone(),
            _ => String::new(),
        };
        let question = Question {
            settings,
            clusters: &clusters,
            changes: &changes,
            rows: &work.inputs.rows,
            existing: &existing,
            scope: &scope,
        };
        let Answers { outcomes, error, out_of_time } = self.ask_all(&question).await?;
        if out_of_time {
            return Ok(RoundEnd::OutOfTime);
        }
        // What was said of other clusters is kept, and need not be asked again.
        if let Some(code) = &error
            && let Some(at) = self.services.stalled_by(self.keys.org, code).await?
        {
            return self.put_off(work, at).await;
        }
        let plan = plan(&clusters, &changes, work.state.clusters.as_ref(), outcomes, &existing);
        let result = AggregationResult {
            clusters_found: clusters.len(),
            user_playbooks_processed: work.inputs.rows.len(),
            playbooks_generated: plan.insert.len(),
            skipped: None,
        };
        let (rows, records) = self.new_rows(&plan, &clusters).await?;
        self.conclude(&mut work, &result, plan.failed, error);
        let commit = AggregationCommit {
            lease: self.lease.clone(),
            insert: rows,
            retire: retired(&plan, &existing),
            record: work.state.record.clone(),
            clusters: records,
            operations: work.operations.clone(),
        };
        store.commit_aggregation(self.keys, &commit).await?;
        self.after_commit(&work, &plan, &commit).await.map_err(RoundError::after_commit)?;
        self.finish(&work).await.map_err(RoundError::after_commit)
    }

    /// What is to be known after a run, and how its operations stand.
    fn conclude(&self, work: &mut Work, result: &AggregationResult, failed: usize, error: Option<String>) {
        let now = self.services.clock.now();
        let record = &mut work.state.record;
        let newest = work.inputs.rows.last().map(|row| row.playbook.user_playbook_id);
        record.last_processed_user_playbook_id =
            newest.unwrap_or_default().max(record.last_processed_user_playbook_id);
        record.last_run_at = Some(now);
        if failed == 0 {
            (record.attempts, record.last_error, record.retry_at) = (0, None, None);
            for operation in &mut work.operations {
                operations::succeed(operation, now, result);
            }
            return;
        }
        let again = next_try(now, record.attempts);
        record.retry_at = Some(again);
        let code = error.unwrap_or_default();
        let error = format!("{RETRYABLE_FAILURE}: {failed} of {} clusters: {code}", result.clusters_found);
        record.last_error = Some(code);
        for operation in &mut work.operations {
            operations::fail(operation, now, again, &error, Some(result));
        }
    }

    /// Nothing changed: what was seen is settled, and no model was asked.
    async fn commit_nothing(&self, mut work: Work) -> Result<RoundEnd, RoundError> {
        let result =
            AggregationResult { user_playbooks_processed: work.inputs.rows.len(), ..skipped(NO_CHANGES) };
        self.conclude(&mut work, &result, 0, None);
        let commit = AggregationCommit {
            lease: self.lease.clone(),
            insert: Vec::new(),
            retire: Vec::new(),
            record: work.state.record.clone(),
            clusters: work.state.clusters.clone().unwrap_or_default(),
            operations: work.operations.clone(),
        };
        self.services.store.commit_aggregation(self.keys, &commit).await?;
        self.services.store.settle_inputs(self.keys, &work.inputs).await.map_err(RoundError::AfterCommit)?;
        tracing::info!(event = "aggregation_succeeded", org = self.keys.org.as_str(), skipped = NO_CHANGES);
        self.finish(&work).await.map_err(RoundError::after_commit)
    }

    /// What follows a commit. None of it decides anything: a crash leaves it to the next run.
    async fn after_commit(
        &self,
        work: &Work,
        plan: &Plan,
        commit: &AggregationCommit,
    ) -> Result<(), RoundError> {
        let store = &self.services.store;
        let org = self.keys.org.as_str();
        if plan.failed == 0 {
            tracing::info!(
                event = "aggregation_succeeded",
                org,
                mode = mode(plan).as_str(),
                added = commit.insert.len(),
                removed = commit.retire.len(),
            );
        } else {
            tracing::warn!(
                event = "aggregation_failed",
                org,
                failed_clusters = plan.failed,
                code = work.state.record.last_error,
                attempts = work.state.record.attempts,
            );
        }
        if let Some(change) = change_of(plan, commit, self.keys.agent_version, self.services.clock.now())
            && let Err(error) = store.log_aggregation(self.keys, self.lease.epoch, &change).await
        {
            tracing::warn!(event = "aggregation_change_not_logged", org, %error);
        }
        store.tidy_aggregation(self.keys, self.lease).await?;
        store.settle_inputs(self.keys, &work.inputs).await?;
        store.forget_cluster_results(self.keys).await?;
        Ok(())
    }

    /// Not worth a run: operations are told so.
    async fn skip(&self, mut work: Work, result: &AggregationResult) -> Result<RoundEnd, RoundError> {
        // Where nothing is aggregated nothing is tried again: it would stay due for ever.
        let record = &mut work.state.record;
        let is_off = result.skipped.as_deref() == Some(NOT_CONFIGURED);
        let waited = is_off && record.retry_at.take().is_some();
        if waited {
            record.attempts = 0;
        }
        if waited || !work.operations.is_empty() {
            let now = self.services.clock.now();
            for operation in &mut work.operations {
                operations::begin(operation, now);
                operations::succeed(operation, now, result);
            }
            self.services
                .store
                .save_aggregation(self.keys, self.lease, &work.state.record, &work.operations)
                .await?;
        }
        self.finish(&work).await
    }

    /// The whole run failed: everything stays as it is, and it is tried again later.
    async fn give_up(&self, mut work: Work, error: &str) -> Result<RoundEnd, RoundError> {
        let now = self.services.clock.now();
        let record = &mut work.state.record;
        let again = next_try(now, record.attempts);
        record.last_error = Some(error.to_owned());
        record.retry_at = Some(again);
        for operation in &mut work.operations {
            operations::fail(operation, now, again, error, None);
        }
        tracing::warn!(
            event = "aggregation_failed",
            org = self.keys.org.as_str(),
            error,
            attempts = record.attempts
        );
        self.services
            .store
            .save_aggregation(self.keys, self.lease, &work.state.record, &work.operations)
            .await?;
        self.finish(&work).await
    }

    /// Leaves word when to look again, unless it became due meanwhile.
    async fn finish(&self, work: &Work) -> Result<RoundEnd, RoundError> {
        let retrying = work.operations.iter().filter_map(|operation| operation.next_attempt_at);
        let due_at = retrying.chain(work.later).chain(work.state.record.retry_at).min();
        let sequence = work.state.due_sequence;
        let finished =
            self.services.store.finish_aggregation(self.keys, self.lease, sequence, due_at).await?;
        Ok(if finished { RoundEnd::Settled } else { RoundEnd::Changed })
    }
}

/// When to try again after so many attempts.
fn next_try(now: EpochSeconds, attempts: u32) -> EpochSeconds {
    if attempts >= ATTEMPTS_MAX { now + PARKED_SECONDS } else { retry_at(now, attempts) }
}
