//! One run of the judges over a session.

use domain::config::Config;
use domain::entities::{AGENT_SUCCESS, EvaluationResult};
use domain::ids::{OrgId, RequestId, UserHash};
use domain::judging::{AgentSuccessStatus, RetrievedLearningStatus, SkipReason};
use domain::time::EpochMillis;
use futures::future::BoxFuture;
use learning::services::{OrgServicesError, Services};
use store::{
    EvaluationCommit, EvaluationCommitError, NextLook, RequestDocument, SessionHeld, SessionTaken,
    SessionTimer, StoreError, UserKeys,
};

use super::trajectory;
use crate::judge::transcript::session_transcript;
use crate::judge::{JudgeError, Judgement, judge_session};
use crate::outcomes::infer_outcome;
use crate::retrieved::evaluate_retrieved_learnings;

/// How often learnings that lack a verdict are judged again.
const RETRIEVED_RETRIES_MAX: i64 = 3;
/// A session is held so much longer than its judge may run, in milliseconds.
const GRACE_MS: i64 = 30_000;

/// What is to be judged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOrder {
    /// The tenant.
    pub org: OrgId,
    /// The user.
    pub user: UserHash,
    /// Hash of the session id.
    pub session: String,
    /// The agent version that the verdict is on.
    pub agent_version: String,
    /// Where the traffic came from that is judged; `None` when that is not known.
    pub source: Option<String>,
    /// Whether it is judged whatever was judged before, and though it may go on.
    pub is_forced: bool,
    /// Whether the session as a whole is judged.
    pub run_agent_success: bool,
    /// Whether the learnings are judged that it was given.
    pub run_retrieved_learning: bool,
    /// The last request that is judged; the last of all when `None`.
    pub through: Option<RequestId>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// How the judgement of the session as a whole ended.
    pub agent_success: AgentSuccessStatus,
    /// Why the session was not judged.
    pub skip_reason: Option<SkipReason>,
    /// The verdict in force.
    pub result_id: Option<i64>,
    /// How the judgement of the retrieved learnings ended.
    pub retrieved_learning: RetrievedLearningStatus,
    /// Of what session that was.
    pub retrieved_fingerprint: Option<String>,
    /// Why there is no verdict, for the log.
    pub failure: Option<String>,
}

impl RunOutcome {
    pub(super) fn skipped(agent_success: AgentSuccessStatus, reason: SkipReason) -> Self {
        Self { skip_reason: Some(reason), ..Self::new(agent_success) }
    }

    fn new(agent_success: AgentSuccessStatus) -> Self {
        Self {
            agent_success,
            skip_reason: None,
            result_id: None,
            retrieved_learning: RetrievedLearningStatus::Skipped,
            retrieved_fingerprint: None,
            failure: None,
        }
    }

    fn failed(why: String) -> Self {
        Self { failure: Some(why), ..Self::new(AgentSuccessStatus::Failed) }
    }
}

/// Whether there was a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// There was.
    Over(RunOutcome),
    /// Another judge is at the session.
    Busy,
}

/// The infrastructure failed; nothing is known to have changed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is configured is not at hand.
    #[error(transparent)]
    Org(#[from] OrgServicesError),
}

/// Judges a session, unless another judge is at it. Timers stay as they are.
///
/// # Errors
/// [`RunError`].
pub async fn run(services: &Services, order: &RunOrder, deadline_ms: EpochMillis) -> Result<Run, RunError> {
    let keys = UserKeys { org: &order.org, user: &order.user };
    let owner = services.ids.uuid();
    match services.store.take_session(&keys, &order.session, &owner, deadline_ms + GRACE_MS, false).await? {
        SessionTaken::Busy => Ok(Run::Busy),
        SessionTaken::Unknown => {
            let status = AgentSuccessStatus::NotApplicable;
            Ok(Run::Over(RunOutcome::skipped(status, SkipReason::NoRequests)))
        }
        SessionTaken::Held(held) => {
            let judged = judge_held(services, order, &held, NextLook::Unchanged).await;
            if !matches!(&judged, Ok(Held { committed: true, .. })) {
                services.store.leave_session(&keys, &held, NextLook::Unchanged, held.attempts).await?;
            }
            Ok(Run::Over(judged?.outcome))
        }
    }
}

/// What came of judging a session that is held.
pub(super) struct Held {
    pub(super) outcome: RunOutcome,
    /// Whether the session was given back with the verdict.
    pub(super) committed: bool,
    /// The timer to be set.
    pub(super) timer: Option<SessionTimer>,
    /// When the session is looked at again, and how often it was in vain so far, unless the session as a whole was
    /// judged in vain.
    pub(super) again: (NextLook, i64),
}

impl Held {
    fn kept(outcome: RunOutcome) -> Self {
        Self { outcome, committed: false, timer: None, again: (NextLook::Unchanged, 0) }
    }
}

/// Judges a session that is held, and gives it back with the verdict, if there is one.
pub(super) async fn judge_held(
    services: &Services,
    order: &RunOrder,
    held: &SessionHeld,
    next: NextLook,
) -> Result<Held, RunError> {
    let (skip, not_applicable) = (AgentSuccessStatus::Skipped, AgentSuccessStatus::NotApplicable);
    let keys = UserKeys { org: &order.org, user: &order.user };
    let store = &services.store;
    let config = services.orgs.config(&order.org).await?.config;
    // Before the requests: of what is deleted after this, no verdict comes.
    let purge_epoch = match store.head(&keys).await? {
        Some(head) if !head.barred => head.purge_epoch,
        _ => return Ok(Held::kept(RunOutcome::skipped(not_applicable, SkipReason::NoRequests))),
    };
    let requests = trajectory::requests(store, &keys, &held.session_id, &held.record).await?;
    if requests.is_empty() {
        return Ok(Held::kept(RunOutcome::skipped(not_applicable, SkipReason::NoRequests)));
    }
    let requests = match &order.through {
        None => requests,
        Some(last) => match trajectory::up_to(requests, last) {
            Some(requests) => requests,
            None => return Ok(Held::kept(RunOutcome::skipped(skip, SkipReason::CutoverNotFound))),
        },
    };
    let is_scheduled = !order.is_forced && order.through.is_none();
    let silence = services.clock.now() - held.record.last_at;
    if is_scheduled && silence < services.evaluation_delay_seconds {
        return Ok(Held::kept(RunOutcome::skipped(skip, SkipReason::NotYetComplete)));
    }
    let retrieved = retrieved(services, order, held).await;
    let (next, attempts) = again(services, &retrieved, held, next);
    let mut judged =
        judge_whole(services, order, held, &config, requests, (next, attempts, purge_epoch)).await?;
    judged.outcome.retrieved_learning = retrieved.status;
    judged.outcome.retrieved_fingerprint = retrieved.fingerprint;
    judged.again = (next, attempts);
    Ok(judged)
}

/// How the judgement of the retrieved learnings ended.
struct Retrieved {
    status: RetrievedLearningStatus,
    fingerprint: Option<String>,
}

/// Judges the learnings that the session was given. It never changes what becomes of the session as a whole.
async fn retrieved(services: &Services, order: &RunOrder, held: &SessionHeld) -> Retrieved {
    if !order.run_retrieved_learning {
        return Retrieved { status: RetrievedLearningStatus::Skipped, fingerprint: None };
    }
    let keys = UserKeys { org: &order.org, user: &order.user };
    // Boxed, or else the compiler cannot follow the lifetimes within.
    let judged: BoxFuture<'_, _> =
        Box::pin(evaluate_retrieved_learnings(services, &keys, &held.session_id, order.through.as_ref()));
    match judged.await {
        Ok(outcome) => Retrieved { status: outcome.status, fingerprint: outcome.fingerprint },
        Err(error) => {
            tracing::warn!(event = "retrieved_learning_failed", org = order.org.as_str(), %error);
            Retrieved { status: RetrievedLearningStatus::Failed, fingerprint: None }
        }
    }
}

/// When the session is looked at again, and how often it was in vain so far: learnings that lack a verdict are judged
/// again, a few times.
fn again(services: &Services, retrieved: &Retrieved, held: &SessionHeld, next: NextLook) -> (NextLook, i64) {
    let is_in_vain = matches!(
        retrieved.status,
        RetrievedLearningStatus::Failed
            | RetrievedLearningStatus::Pending
            | RetrievedLearningStatus::Degraded
    );
    if next == NextLook::Never && is_in_vain && held.attempts < RETRIEVED_RETRIES_MAX {
        let at = services.clock.now() + services.evaluation_delay_seconds;
        return (NextLook::At(at), held.attempts + 1);
    }
    (next, if next == NextLook::Unchanged { held.attempts } else { 0 })
}

/// Judges the session as a whole.
async fn judge_whole(
    services: &Services,
    order: &RunOrder,
    held: &SessionHeld,
    config: &Config,
    requests: Vec<RequestDocument>,
    (next, attempts, purge_epoch): (NextLook, i64, i64),
) -> Result<Held, RunError> {
    let (skip, not_applicable) = (AgentSuccessStatus::Skipped, AgentSuccessStatus::NotApplicable);
    let keys = UserKeys { org: &order.org, user: &order.user };
    let is_scheduled = !order.is_forced && order.through.is_none();
    if !order.run_agent_success {
        return Ok(Held::kept(RunOutcome::new(skip)));
    }
    if is_scheduled && held.judged_version == Some(held.record.version) {
        return Ok(Held::kept(RunOutcome::skipped(skip, SkipReason::AlreadyEvaluated)));
    }
    if trajectory::interactions(&requests) == 0 {
        return Ok(Held::kept(RunOutcome::skipped(not_applicable, SkipReason::NoInteractions)));
    }
    let requests = of_enabled_sources(config, order.source.as_deref(), requests);
    if session_transcript(&requests).text.is_empty() {
        return Ok(Held::kept(RunOutcome::skipped(not_applicable, SkipReason::NoDataModels)));
    }
    let judgement = match judge_session(services, &order.org, config, &requests).await {
        Ok(judgement) => judgement,
        Err(error @ (JudgeError::Unavailable(_) | JudgeError::Unusable(_))) => {
            tracing::warn!(event = "evaluation_failed", org = order.org.as_str(), %error);
            return Ok(Held::kept(RunOutcome::failed(error.to_string())));
        }
    };
    commit(services, &keys, order, held, &requests, judgement, (next, attempts, purge_epoch)).await
}

/// The requests that a judge may see: those of the sources that are judged.
fn of_enabled_sources(
    config: &Config,
    source: Option<&str>,
    requests: Vec<RequestDocument>,
) -> Vec<RequestDocument> {
    let enabled =
        config.agent_success_config.as_ref().and_then(|config| config.request_sources_enabled.as_ref());
    // None named is all.
    let Some(enabled) = enabled.filter(|enabled| !enabled.is_empty()) else { return requests };
    let is_enabled = |source: &str| enabled.iter().any(|one| one == source);
    match source {
        Some(source) if is_enabled(source) => requests,
        Some(_) => Vec::new(),
        None => requests.into_iter().filter(|document| is_enabled(&document.request.source)).collect(),
    }
}

async fn commit(
    services: &Services,
    keys: &UserKeys<'_>,
    order: &RunOrder,
    held: &SessionHeld,
    requests: &[RequestDocument],
    judgement: Judgement,
    (next, attempts, purge_epoch): (NextLook, i64, i64),
) -> Result<Held, RunError> {
    let store = &services.store;
    let in_force = store.session_evaluations(keys, &order.session).await?;
    let is_replaced = |result: &&EvaluationResult| {
        result.evaluation_name == AGENT_SUCCESS && result.agent_version == order.agent_version
    };
    let id = store.new_evaluation_id(&order.org).await?;
    let Some(result) = result(services, order, requests, judgement, id) else {
        let status = AgentSuccessStatus::NotApplicable;
        return Ok(Held::kept(RunOutcome::skipped(status, SkipReason::NoDataModels)));
    };
    let commit =
        EvaluationCommit { result: &result, replaced: in_force.iter().find(is_replaced), purge_epoch };
    let delay = services.evaluation_delay_seconds;
    match store.commit_evaluation(keys, held, &commit, (next, attempts), delay, order.through.is_none()).await
    {
        Ok(timer) => {
            infer(services, order, &result).await;
            let outcome = RunOutcome { result_id: Some(id), ..RunOutcome::new(AgentSuccessStatus::Complete) };
            Ok(Held { outcome, committed: true, timer, again: (next, attempts) })
        }
        Err(EvaluationCommitError::Erased) => {
            let status = AgentSuccessStatus::NotApplicable;
            Ok(Held::kept(RunOutcome::skipped(status, SkipReason::NoRequests)))
        }
        Err(error @ EvaluationCommitError::Superseded) => {
            Ok(Held::kept(RunOutcome::failed(error.to_string())))
        }
        Err(EvaluationCommitError::Store(error)) => Err(error.into()),
    }
}

/// Writes the verdict as the outcome of its session, where the organisation wants that. A verdict stands whatever
/// becomes of this.
async fn infer(services: &Services, order: &RunOrder, result: &EvaluationResult) {
    let inferred: BoxFuture<'_, _> = Box::pin(infer_outcome(services, &order.org, result));
    if let Err(error) = inferred.await {
        tracing::warn!(event = "outcome_not_inferred", org = order.org.as_str(), %error);
    }
}

/// The verdict as it is stored; `None` when no request is left.
fn result(
    services: &Services,
    order: &RunOrder,
    requests: &[RequestDocument],
    judgement: Judgement,
    result_id: i64,
) -> Option<EvaluationResult> {
    let (first, last) = (&requests.first()?.request, &requests.last()?.request);
    let began = requests.iter().map(|document| document.request.created_at).filter(|at| *at > 0).min();
    let now = services.clock.now();
    Some(EvaluationResult {
        result_id,
        user_id: first.user_id.clone(),
        session_id: first.session_id.clone(),
        agent_version: order.agent_version.clone(),
        evaluation_name: AGENT_SUCCESS.to_owned(),
        is_success: judgement.is_success,
        failure_type: judgement.failure_type,
        failure_reason: judgement.failure_reason,
        created_at: began.unwrap_or(now),
        number_of_correction_per_session: judgement.number_of_correction_per_session,
        user_turns_to_resolution: judgement.is_success.then(|| trajectory::user_turns(requests)),
        is_escalated: judgement.is_escalated,
        tags: None,
        trajectory_through_request_id: last.request_id.clone(),
        trajectory_interaction_count: trajectory::interactions(requests),
        judged_at: now,
        is_windowed: judgement.is_windowed,
    })
}
