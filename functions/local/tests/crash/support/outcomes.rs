//! One session whose outcome is reported and inferred, and what its digest may be.

use std::sync::Arc;
use std::time::Duration;

use domain::entities::{AGENT_SUCCESS, EvaluationResult};
use domain::ids::{RequestId, SessionId, UserId};
use domain::outcomes::TrajectoryHasher;
use domain::time::{Clock, EpochMillis};
use evaluation::outcomes::{InferredOutcome, infer_outcome};
use http::StatusCode;
use serde_json::{Value, json};
use store::{RequestDocument, UserKeys};

use super::publish::Publish;
use super::world::{Process, org};

/// The session of all users.
pub(crate) const SESSION: &str = "shared";

fn session() -> SessionId {
    SessionId::new(SESSION).unwrap()
}

fn call(user: &str, n: usize) -> Publish {
    Publish { session: SESSION.to_owned(), ..Publish::new(user, n, 1) }
}

/// A user publishes in the session.
pub(crate) async fn say(process: &Process, user: &str, n: usize) -> StatusCode {
    process.publish(&call(user, n)).await
}

/// A publish, and when it was made.
pub(crate) struct Published {
    pub(crate) request: String,
    pub(crate) began_ms: EpochMillis,
    pub(crate) acknowledged_ms: EpochMillis,
}

/// Publishes after a while.
pub(crate) async fn published(
    process: &Process,
    clock: &Arc<dyn Clock>,
    user: &str,
    n: usize,
    after: Duration,
) -> Published {
    tokio::time::sleep(after).await;
    let began_ms = clock.now_ms();
    assert_eq!(say(process, user, n).await, StatusCode::OK, "{user} {n}");
    Published { request: call(user, n).request, began_ms, acknowledged_ms: clock.now_ms() }
}

/// Reports an outcome of the session; what was answered.
pub(crate) async fn report(process: &Process, outcome: &str, occurred_at: i64) -> Value {
    let body = json!({ "session_id": SESSION, "outcome": outcome, "occurred_at": occurred_at });
    process.call("POST", "/api/session_outcome", Some(&body)).await.1
}

/// A verdict of success on the session as it is, which one user has to himself, where verdicts become outcomes.
pub(crate) async fn inferable(process: &Process) -> EvaluationResult {
    let key = "feature_flags".parse().unwrap();
    let flags = json!({ "infer_session_outcomes": { "enabled": true } });
    process.app.services.store.put_site_var(&key, &flags.to_string()).await.unwrap();
    process.app.site.evict();
    let documents = trajectory(process).await;
    let (first, last) = (&documents[0].request, &documents[documents.len() - 1].request);
    EvaluationResult {
        result_id: 1,
        user_id: first.user_id.clone(),
        session_id: session(),
        agent_version: first.agent_version.clone(),
        evaluation_name: AGENT_SUCCESS.into(),
        is_success: true,
        failure_type: None,
        failure_reason: String::new(),
        created_at: first.created_at,
        number_of_correction_per_session: 0,
        user_turns_to_resolution: Some(1),
        is_escalated: false,
        tags: None,
        trajectory_through_request_id: RequestId::new(last.request_id.as_str()).unwrap(),
        trajectory_interaction_count: documents.iter().map(|one| one.interactions.len() as i64).sum(),
        judged_at: process.app.services.clock.now(),
        is_windowed: false,
    }
}

/// Infers the outcome from a verdict.
pub(crate) async fn infer(process: &Process, result: &EvaluationResult) -> InferredOutcome {
    infer_outcome(&process.app.services, &org(), result).await.unwrap()
}

/// The stored row as it is, with what is never shown; `None` when there is none.
pub(crate) async fn stored(process: &Process) -> Option<Value> {
    let parts = process.app.services.store.session_parts(&org(), &session()).await.unwrap();
    parts.outcome.map(|outcome| serde_json::to_value(outcome.row).unwrap())
}

/// Everything in the session, in its order, read user by user.
pub(crate) async fn trajectory(process: &Process) -> Vec<RequestDocument> {
    let (org, store) = (org(), &process.app.services.store);
    let mut documents = Vec::new();
    for user in store.session_members(&org, &session()).await.unwrap() {
        documents.extend(store.documents(&UserKeys { org: &org, user: &user }, 0, 1 << 30).await.unwrap());
    }
    documents.sort_by_key(|one: &RequestDocument| (one.request.created_at, one.request.request_id.clone()));
    documents
}

fn digest_of<'a>(documents: impl Iterator<Item = &'a RequestDocument>) -> String {
    let mut hasher = TrajectoryHasher::default();
    for document in documents {
        hasher.add(&document.request, &document.interactions).unwrap();
    }
    hasher.finish(&session())
}

/// The digest of the session as it is.
pub(crate) async fn digest(process: &Process) -> String {
    digest_of(trajectory(process).await.iter())
}

/// The digests of the session at any moment at which all of `certain` and some of `possible` were published; of each
/// user the first ones.
pub(crate) fn digests_of_subsets(
    all: &[RequestDocument],
    certain: &[&str],
    possible: &[&str],
) -> Vec<String> {
    let id = |one: &RequestDocument| one.request.request_id.as_str().to_owned();
    let open: Vec<String> = all
        .iter()
        .map(id)
        .filter(|id| possible.contains(&id.as_str()) && !certain.contains(&id.as_str()))
        .collect();
    let named = |id: &str| certain.contains(&id) || open.iter().any(|one| one == id);
    let mut digests = Vec::new();
    for chosen in 0..1_u32 << open.len() {
        let is_in = |one: &&RequestDocument| {
            let id = id(one);
            let place = open.iter().position(|known| *known == id);
            let is_late = possible.contains(&id.as_str()) || certain.contains(&id.as_str());
            // What was there from the start is in neither list, but neither is what came afterwards.
            place.map_or(named(&id) || (!is_late && id.ends_with("-0")), |place| chosen & (1 << place) != 0)
        };
        let subset: Vec<&RequestDocument> = all.iter().filter(is_in).collect();
        let is_prefix = |user: &UserId| {
            let mut of_user: Vec<&RequestDocument> =
                all.iter().filter(|one| one.request.user_id == *user).collect();
            of_user.sort_by_key(|one| one.first_position);
            let flags: Vec<bool> = of_user.iter().map(is_in).collect();
            flags.is_sorted_by(|before, after| before >= after)
        };
        if all.iter().all(|one| is_prefix(&one.request.user_id)) {
            digests.push(digest_of(subset.into_iter()));
        }
    }
    digests
}
