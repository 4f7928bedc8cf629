//! One run: at most two attempts, each judged on a snapshot and committed only if the session still is what it was.

use domain::entities::{RetrievedLearningDiagnostics, RetrievedLearningResult, RetrievedLearningState};
use domain::ids::{RequestId, SessionId};
use domain::judging::RetrievedLearningStatus as Status;
use learning::services::{OrgServicesError, Services};
use llm::providers::ModelRole;
use store::{RetrievedLearningCommit, RetrievedLearningCommitError as CommitError, StoreError, UserKeys};

use super::ask::{Judges, Verdict, Verdicts};
use super::resolve::{Learning, resolve};
use super::snapshot::{Candidate, Snapshot};
use super::{ATTEMPTS_PER_RUN, EVALUATION_VERSION, JUDGE_TIME_MAX_MS, RetrievedError, RetrievedOutcome};

/// Times that a commit is tried on the same judgement, when other requests came in that do not concern it.
const COMMITS_PER_ATTEMPT: usize = 3;

/// What to judge, and with what.
pub(super) struct Run<'a> {
    pub(super) services: &'a Services,
    pub(super) keys: &'a UserKeys<'a>,
    pub(super) session: &'a SessionId,
    pub(super) through: Option<&'a RequestId>,
}

/// How an attempt ended.
enum Attempt {
    Ended(RetrievedOutcome),
    /// The session changed under it; as it is now, if there is anything of it.
    Stale(Option<Snapshot>),
}

impl Run<'_> {
    pub(super) async fn run(&self) -> Result<RetrievedOutcome, RetrievedError> {
        let store = &self.services.store;
        let Some(mut snapshot) = self.snapshot().await? else {
            return Ok(RetrievedOutcome::of(Status::Skipped));
        };
        let known = store.retrieved_learning_state(self.keys, &self.session.hash()).await?;
        if let Some(record) = &known {
            let state = &record.state;
            let is_settled = state.status.is_terminal()
                && state.evaluation_version == EVALUATION_VERSION
                && state.session_fingerprint.as_ref() == Some(&snapshot.fingerprint);
            if is_settled {
                return Ok(RetrievedOutcome::from_state(state));
            }
        }
        let mut latest = known.map_or(0, |record| record.state.generation);
        for attempt in 1..=ATTEMPTS_PER_RUN {
            let state = self.new_state(&snapshot, latest + 1);
            match store.save_retrieved_learning_state(self.keys, &state, latest).await {
                Ok(()) => latest = state.generation,
                Err(error) => return refused(error),
            }
            snapshot = match self.attempt(snapshot, &state).await? {
                Attempt::Ended(outcome) => return Ok(outcome),
                Attempt::Stale(None) => return Ok(RetrievedOutcome::of(Status::Skipped)),
                Attempt::Stale(Some(_)) if attempt == ATTEMPTS_PER_RUN => {
                    return self.record(state, Status::Pending, "stale_snapshot").await;
                }
                Attempt::Stale(Some(snapshot)) => snapshot,
            };
        }
        // There is at least one attempt, and the last one returns.
        Ok(RetrievedOutcome::of(Status::Stale))
    }

    async fn snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        Snapshot::read(&self.services.store, self.keys, self.session, self.through).await
    }

    fn new_state(&self, snapshot: &Snapshot, generation: i64) -> RetrievedLearningState {
        RetrievedLearningState {
            user_id: snapshot.user_id.clone(),
            session_id: self.session.clone(),
            generation,
            attempt_id: self.services.ids.uuid(),
            evaluation_version: EVALUATION_VERSION,
            attempted_at: self.services.clock.now(),
            status: Status::InProgress,
            session_fingerprint: Some(snapshot.fingerprint.clone()),
            resolvable_count: 0,
            committed_count: 0,
            completed_at: None,
            diagnostics: RetrievedLearningDiagnostics::default(),
        }
    }

    async fn attempt(
        &self,
        snapshot: Snapshot,
        begun: &RetrievedLearningState,
    ) -> Result<Attempt, RetrievedError> {
        let mut state = begun.clone();
        let candidates = match snapshot.candidates() {
            Ok(candidates) => candidates,
            Err(too_many) => return self.failed(state, too_many.error_type()).await,
        };
        let asked = self.resolvable(candidates).await?;
        state.resolvable_count = count(asked.len());
        if asked.is_empty() {
            state.status = Status::NotApplicable;
            return self.commit(snapshot, state, Vec::new()).await;
        }
        let verdicts = match self.verdicts(&snapshot, &asked).await {
            Ok(verdicts) => verdicts,
            Err(OrgServicesError::Store(error)) => return Err(error.into()),
            Err(OrgServicesError::Configuration(detail)) => {
                tracing::warn!(event = "retrieved_learning_judge_unusable", detail);
                return self.failed(state, "configuration").await;
            }
        };
        state.diagnostics.failed_relevance_chunks = count(verdicts.failed_relevance);
        state.diagnostics.failed_impact_chunks = count(verdicts.failed_impact);
        if verdicts.by_ref.is_empty() {
            return self.failed(state, "all_judges_failed").await;
        }
        state.status = if verdicts.has_failures() { Status::Degraded } else { Status::Complete };
        let rows = self.rows(&snapshot, &asked, verdicts);
        self.commit(snapshot, state, rows).await
    }

    /// The candidates whose rows are there, with what these say.
    async fn resolvable(&self, candidates: Vec<Candidate>) -> Result<Vec<(Candidate, Learning)>, StoreError> {
        let learnings = resolve(&self.services.store, self.keys, &candidates).await?;
        let with_row = |candidate: Candidate| {
            let learning = learnings.get(&(candidate.kind, candidate.learning_id.clone()))?.clone();
            Some((candidate, learning))
        };
        Ok(candidates.into_iter().filter_map(with_row).collect())
    }

    async fn verdicts(
        &self,
        snapshot: &Snapshot,
        asked: &[(Candidate, Learning)],
    ) -> Result<Verdicts, OrgServicesError> {
        let orgs = &self.services.orgs;
        let config = orgs.config(self.keys.org).await?.config;
        let model = orgs.chat(self.keys.org, ModelRole::Evaluation).await?;
        let deadline_ms = self.services.clock.now_ms().saturating_add(JUDGE_TIME_MAX_MS);
        let judges = Judges { model: model.as_ref(), config: &config, deadline_ms };
        Ok(judges.judge(snapshot, asked).await)
    }

    /// The rows of what was judged, without their ids.
    fn rows(
        &self,
        snapshot: &Snapshot,
        asked: &[(Candidate, Learning)],
        mut verdicts: Verdicts,
    ) -> Vec<RetrievedLearningResult> {
        let judged = asked.iter().filter_map(|(candidate, learning)| {
            let verdict = verdicts.by_ref.remove(&candidate.reference())?;
            Some(self.row(snapshot, candidate, learning, verdict))
        });
        judged.collect()
    }

    /// The rows whose learnings are still stored, with ids. The commit sees to it that they are still attached.
    async fn still_stored(
        &self,
        mut rows: Vec<RetrievedLearningResult>,
    ) -> Result<Vec<RetrievedLearningResult>, StoreError> {
        let candidates: Vec<Candidate> = rows.iter().map(Candidate::of).collect();
        let learnings = resolve(&self.services.store, self.keys, &candidates).await?;
        rows.retain(|row| learnings.contains_key(&(row.kind, row.learning_id.clone())));
        let missing = rows.iter().filter(|row| row.result_id == 0).count();
        if missing > 0 {
            let first = self.services.store.take_retrieved_learning_ids(self.keys.org, missing).await?;
            for (row, id) in rows.iter_mut().filter(|row| row.result_id == 0).zip(first..) {
                row.result_id = id;
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        snapshot: &Snapshot,
        candidate: &Candidate,
        learning: &Learning,
        verdict: Verdict,
    ) -> RetrievedLearningResult {
        let (is_relevant, relevance_reason) = verdict.relevance.unzip();
        let (impact, impact_reason, diagnosis) = match verdict.impact {
            Some((impact, reason, diagnosis)) => (Some(impact), reason, diagnosis),
            None => (None, String::new(), None),
        };
        RetrievedLearningResult {
            result_id: 0,
            user_id: snapshot.user_id.clone(),
            session_id: self.session.clone(),
            agent_version: snapshot.agent_version.clone(),
            interaction_id: Some(candidate.interaction_id),
            interaction_created_at: Some(candidate.interaction_created_at),
            kind: candidate.kind,
            learning_id: candidate.learning_id.clone(),
            is_relevant,
            relevance_reason: relevance_reason.unwrap_or_default(),
            impact,
            impact_reason,
            diagnosis_evidence_complete: diagnosis.is_some() && verdict.is_evidence_complete,
            diagnosis,
            evaluated_playbook_digest: learning.digest.clone(),
            created_at: if snapshot.began_at > 0 { snapshot.began_at } else { self.services.clock.now() },
        }
    }

    /// Puts verdicts in force if the session still is what was judged. Requests that came in meanwhile change its
    /// version, but not always that: then the commit is tried again.
    async fn commit(
        &self,
        mut snapshot: Snapshot,
        mut state: RetrievedLearningState,
        mut rows: Vec<RetrievedLearningResult>,
    ) -> Result<Attempt, RetrievedError> {
        let store = &self.services.store;
        for pass in 0..COMMITS_PER_ATTEMPT {
            let before = rows.len();
            rows = self.still_stored(rows).await?;
            if pass > 0 && rows.len() < before {
                // Rows of the pass before may be staged under this generation, that of the deleted one too.
                return Ok(Attempt::Stale(Some(snapshot)));
            }
            if rows.is_empty() && state.status == Status::Complete {
                // All of them were deleted while they were judged.
                state.status = Status::NotApplicable;
            }
            state.committed_count = count(rows.len());
            state.completed_at = Some(self.services.clock.now());
            let commit = RetrievedLearningCommit {
                state: &state,
                rows: &rows,
                session_version: snapshot.session_version,
                purge_epoch: snapshot.purge_epoch,
            };
            match store.commit_retrieved_learnings(self.keys, &commit).await {
                Ok(()) => {
                    let tidied = store.tidy_retrieved_learnings(self.keys, &self.session.hash()).await;
                    if let Err(error) = tidied {
                        // Readers pass over what is left, and the next run tidies it.
                        tracing::warn!(event = "retrieved_learnings_not_tidied", %error);
                    }
                    return Ok(Attempt::Ended(RetrievedOutcome::from_state(&state)));
                }
                Err(CommitError::Changed) => match self.snapshot().await? {
                    Some(now) if now.fingerprint == snapshot.fingerprint => snapshot = now,
                    changed => return Ok(Attempt::Stale(changed)),
                },
                Err(error) => return refused(error).map(Attempt::Ended),
            }
        }
        Ok(Attempt::Stale(Some(snapshot)))
    }

    async fn failed(
        &self,
        state: RetrievedLearningState,
        error_type: &'static str,
    ) -> Result<Attempt, RetrievedError> {
        self.record(state, Status::Failed, error_type).await.map(Attempt::Ended)
    }

    /// Records how an attempt ended that leaves the verdicts of before in force.
    async fn record(
        &self,
        mut state: RetrievedLearningState,
        status: Status,
        error_type: &'static str,
    ) -> Result<RetrievedOutcome, RetrievedError> {
        state.status = status;
        state.completed_at = Some(self.services.clock.now());
        state.diagnostics.error_type = Some(error_type.to_owned());
        let seen = state.generation;
        match self.services.store.save_retrieved_learning_state(self.keys, &state, seen).await {
            Ok(()) => Ok(RetrievedOutcome::from_state(&state)),
            Err(error) => refused(error),
        }
    }
}

/// What it means that the table refused a state.
fn refused(error: CommitError) -> Result<RetrievedOutcome, RetrievedError> {
    match error {
        CommitError::Superseded => Ok(RetrievedOutcome::of(Status::Superseded)),
        // The user is being erased.
        CommitError::Changed => Ok(RetrievedOutcome::of(Status::Skipped)),
        CommitError::Store(error) => Err(error.into()),
    }
}

fn count(many: usize) -> i64 {
    i64::try_from(many).unwrap_or(i64::MAX)
}
