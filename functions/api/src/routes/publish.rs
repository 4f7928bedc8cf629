//! `POST /api/publish_interaction`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use domain::entities::{Interaction, Request};
use domain::errors::ApiError;
use domain::ids::{RequestId, UserHash};
use domain::requests::publish::{PublishQuery, PublishRequest};
use domain::views::{LearningReason, LearningState, PublishAnswer};
use evaluation::timers::set_timer;
use learning::admission::admit;
use learning::coverage::{Coverage, CoverageState, coverage};
use runtime::App;
use store::{Admission, EvaluationWanted, NewRequest, PublishError, Published};
use wake::{EvaluateTask, EvaluateWake, ShadowTask, WakeReason};

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;
use crate::routes::account::{STORAGE_LABEL, STORAGE_TYPE};

/// How often a waiting publish looks whether it was learned.
const POLL: Duration = Duration::from_millis(250);

pub(crate) async fn publish_interaction(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
    JsonBody(body): JsonBody,
) -> Answer {
    let wait = PublishQuery::parse(query.as_deref().unwrap_or(""))?.wait_for_response;
    let request = PublishRequest::parse(&body)?;
    let loaded = app.orgs.load(&caller.org).await?;
    if let Some((experiment, arm)) = &request.experiment
        && let Err(refusal) = loaded.config.check_attribution(&caller.org, &request.user_id, experiment, *arm)
    {
        return ok(PublishAnswer::refused(refusal.to_owned()));
    }
    let mut warnings = request.warnings.clone();
    let overrides_stall = request.override_learning_stall;
    let new = new_request(&app, request, &caller, &loaded.config)?;
    let now = app.services.clock.now();
    let published = app.services.store.publish(&caller.org, &new, |head| admit(head, &new.policy, now)).await;
    let published = match published {
        Ok(published) => published,
        Err(PublishError::RequestIdInUse(_)) => {
            return ok(PublishAnswer::duplicate(new.request.request_id.as_str()));
        }
        Err(PublishError::Barred) => {
            return Err(ApiError::conflict("The data of this user are being erased").into());
        }
        Err(PublishError::Store(error)) => return Err(error.into()),
    };
    if let Some(timer) = &published.timer {
        let user = UserHash::of(&new.request.user_id);
        set_timer(&app.services, &caller.org, &user, timer).await;
    }
    if !published.repeated && new.interactions.iter().any(Interaction::is_shadowed_answer) {
        wake_judge(&app, &caller, &new, &published).await;
    }
    let is_due = matches!(published.admission, Admission::DueSince(_));
    let stall = published.stall.as_ref().filter(|stall| stall.holds(loaded.version) && !overrides_stall);
    if let Some(stall) = stall {
        // Stored, and due when it is: it is learned once learning goes on.
        warnings.insert(0, PublishAnswer::stall_warning(Some(&stall.reason)));
        return ok(stalled(&new, warnings));
    }
    if is_due {
        wake(&app, &caller, &new, &published).await;
    }
    let coverage = if wait {
        wait_for_coverage(&app, &caller, &new, &published).await?
    } else if published.repeated {
        Some(look_at_coverage(&app, &caller, &new, &published).await?)
    } else {
        None
    };
    ok(answer(&new, warnings, is_due, wait, coverage))
}

/// The request as it will be stored. Whatever could be refused was refused before.
fn new_request(
    app: &App,
    request: PublishRequest,
    caller: &Caller,
    config: &domain::config::Config,
) -> Result<NewRequest, Failure> {
    let now = app.services.clock.now();
    let (user, session) = (&request.user_id, &request.session_id);
    let judges = config.judges_wanted(&caller.org, user, session, request.evaluation_only);
    let due_at = now + app.services.evaluation_delay_seconds;
    let evaluation = Some(EvaluationWanted { judges, due_at });
    let policy = config.admission_policy(&request);
    let payload_hash = request.payload_hash();
    let request_id = match &request.request_id {
        Some(id) => id.clone(),
        None => {
            RequestId::new(&app.services.ids.uuid()).map_err(|error| ApiError::internal(error.to_string()))?
        }
    };
    let agent_version = match request.agent_version.trim() {
        "" => app.settings.agent_version.clone(),
        version => version.to_owned(),
    };
    let (experiment, arm) = request.experiment.unzip();
    Ok(NewRequest {
        request: Request {
            request_id,
            user_id: request.user_id,
            created_at: now,
            source: request.source,
            agent_version,
            session_id: request.session_id,
            evaluation_only: request.evaluation_only,
            retrieval_experiment_id: experiment,
            retrieval_experiment_arm: arm,
        },
        interactions: request.interactions.into_iter().map(|i| i.into_interaction(0, now)).collect(),
        policy,
        payload_hash,
        evaluation,
    })
}

/// Wakes a worker. That it is not woken costs time, not data: the sweep finds the user.
async fn wake(app: &App, caller: &Caller, new: &NewRequest, published: &Published) {
    let user = UserHash::of(&new.request.user_id);
    let sent =
        app.services.wakes.learn(&caller.org, &user, WakeReason::Published, published.first_position).await;
    if let Err(error) = sent {
        tracing::warn!(event = "publish_followup_failed", org = caller.org.as_str(), %error);
    }
}

/// Wakes the judge of shadow answers; see [`wake`]. That learning stands still does not concern it.
async fn wake_judge(app: &App, caller: &Caller, new: &NewRequest, published: &Published) {
    let first_position = published.first_position;
    let task = ShadowTask { user: UserHash::of(&new.request.user_id), first_position };
    let wake = EvaluateWake::new(caller.org.clone(), EvaluateTask::Shadow(task), WakeReason::Published);
    if let Err(error) = app.services.wakes.evaluate(&wake, &first_position.to_string()).await {
        tracing::warn!(event = "publish_followup_failed", org = caller.org.as_str(), %error);
    }
}

/// Looks until the request is learned, or cannot be before more arrives, or the time is up.
async fn wait_for_coverage(
    app: &App,
    caller: &Caller,
    new: &NewRequest,
    published: &Published,
) -> Result<Option<Coverage>, Failure> {
    let Some(_permit) = app.waiters.enter(&caller.org) else { return Ok(None) };
    let deadline =
        app.services.clock.now_ms() + i64::try_from(app.settings.wait_seconds_max * 1000).unwrap_or(0);
    loop {
        let seen = look_at_coverage(app, caller, new, published).await?;
        let final_word = matches!(seen.state, CoverageState::Done | CoverageState::Failed)
            || (seen.state == CoverageState::Pending && seen.reason == LearningReason::WaitingForWindow);
        if final_word {
            return Ok(Some(seen));
        }
        if app.services.clock.now_ms() >= deadline {
            return Ok(Some(Coverage { reason: LearningReason::WaitTimeout, ..seen }));
        }
        app.services.clock.sleep(POLL).await;
    }
}

/// How far the learning of the request is.
async fn look_at_coverage(
    app: &App,
    caller: &Caller,
    new: &NewRequest,
    published: &Published,
) -> Result<Coverage, Failure> {
    let user = UserHash::of(&new.request.user_id);
    let many = i64::try_from(new.interactions.len()).unwrap_or(i64::MAX);
    let span = published.first_position..published.first_position + many;
    Ok(coverage(&app.services, &caller.org, &user, span, &new.policy).await?)
}

/// The answer while learning stands still: as recorded, nothing is said of learning that will follow.
fn stalled(new: &NewRequest, warnings: Vec<String>) -> PublishAnswer {
    let learning = (LearningState::Done, LearningReason::NotApplicable, 0, 0);
    PublishAnswer { message: PublishAnswer::message(1), ..stored(new, warnings, learning) }
}

fn answer(
    new: &NewRequest,
    warnings: Vec<String>,
    is_due: bool,
    waited: bool,
    coverage: Option<Coverage>,
) -> PublishAnswer {
    let eligible = new.policy.profile.eligible || new.policy.playbook.eligible;
    let learning = match coverage {
        Some(seen) => {
            let state =
                if seen.state == CoverageState::Done { LearningState::Done } else { LearningState::Deferred };
            (state, seen.reason, seen.profiles_added, seen.playbooks_added)
        }
        None if waited => (LearningState::Deferred, LearningReason::WaiterCapacity, 0, 0),
        None if !eligible => (LearningState::Done, LearningReason::NotApplicable, 0, 0),
        None if is_due => (LearningState::Deferred, LearningReason::Queued, 0, 0),
        None => (LearningState::Deferred, LearningReason::WaitingForWindow, 0, 0),
    };
    stored(new, warnings, learning)
}

/// A request that is stored, and how far its learning is: state, reason, profiles and playbooks that came of it.
fn stored(
    new: &NewRequest,
    warnings: Vec<String>,
    (state, reason, profiles, playbooks): (LearningState, LearningReason, u64, u64),
) -> PublishAnswer {
    PublishAnswer {
        success: true,
        message: PublishAnswer::message(0),
        warnings,
        request_id: Some(new.request.request_id.to_string()),
        storage_type: Some(STORAGE_TYPE.to_owned()),
        storage_label: Some(STORAGE_LABEL.to_owned()),
        profiles_added: Some(profiles),
        playbooks_added: Some(playbooks),
        learning_status: Some(state),
        learning_reason: Some(reason),
    }
}
