//! `POST /api/get_learning_provenance`: from a memory back to the turns that it was learned from.

use std::sync::Arc;

use axum::extract::State;
use domain::entities::UserPlaybook;
use domain::ids::{OrgId, ProfileId, RequestId, UserId};
use domain::requests::provenance::{GetLearningProvenance, MemoryKind};
use domain::views::{InteractionView, ProvenanceAnswer, ProvenanceStatus, SourcePlaybookView};
use learning::aggregation::prompt::SHOWN_MEMBERS_MAX;
use learning::provenance::SOURCE_INTERACTIONS_MAX;
use runtime::App;
use store::{Store, StoreError, StoredTurn};

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

/// An answer gets no further source beyond this size, in bytes: Lambda carries 6 MB, and the route has no pages.
const SOURCES_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(crate) async fn get_learning_provenance(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let asked = GetLearningProvenance::parse(&body)?;
    let (store, org) = (&app.services.store, &caller.org);
    ok(match asked.kind {
        MemoryKind::Profile => of_profile(store, org, asked).await?,
        MemoryKind::UserPlaybook => of_user_playbook(store, org, asked).await?,
        MemoryKind::AgentPlaybook => of_agent_playbook(store, org, asked).await?,
    })
}

/// What a row says of its own origin.
struct Origin<'a> {
    /// Whose turns they can be; `None`: anybody's.
    user: Option<&'a UserId>,
    request_id: &'a str,
    interaction_ids: &'a [i64],
}

async fn of_profile(
    store: &Store,
    org: &OrgId,
    asked: GetLearningProvenance,
) -> Result<ProvenanceAnswer, StoreError> {
    let row = match ProfileId::new(&asked.id) {
        Ok(id) => store.profile_by_id(org, &id).await?,
        Err(_) => None,
    };
    let Some(row) = row else { return Ok(ProvenanceAnswer::not_found(asked)) };
    let origin = Origin {
        user: Some(&row.profile.user_id),
        request_id: &row.profile.generated_from_request_id,
        interaction_ids: &row.profile.source_interaction_ids,
    };
    of_origin(store, org, asked, &origin).await
}

async fn of_user_playbook(
    store: &Store,
    org: &OrgId,
    asked: GetLearningProvenance,
) -> Result<ProvenanceAnswer, StoreError> {
    let Some(id) = number(&asked) else { return Ok(ProvenanceAnswer::no_number(asked)) };
    let Some(row) = store.user_playbook_by_id(org, id).await? else {
        return Ok(ProvenanceAnswer::not_found(asked));
    };
    of_origin(store, org, asked, &playbook_origin(&row.playbook)).await
}

fn playbook_origin(playbook: &UserPlaybook) -> Origin<'_> {
    Origin {
        user: playbook.user_id.as_ref(),
        request_id: &playbook.request_id,
        interaction_ids: &playbook.source_interaction_ids,
    }
}

async fn of_agent_playbook(
    store: &Store,
    org: &OrgId,
    asked: GetLearningProvenance,
) -> Result<ProvenanceAnswer, StoreError> {
    let Some(id) = number(&asked) else { return Ok(ProvenanceAnswer::no_number(asked)) };
    let Some(row) = store.agent_playbook_by_id(org, id).await? else {
        return Ok(ProvenanceAnswer::not_found(asked));
    };
    let (status, sources) = source_views(store, org, &row.sources).await?;
    if sources.is_empty() {
        return Ok(ProvenanceAnswer::no_sources(asked));
    }
    Ok(ProvenanceAnswer::of_sources(asked, status, sources))
}

/// The user playbooks of these ids with their turns, as far as they are stored and an answer holds them, and whether
/// that is all.
async fn source_views(
    store: &Store,
    org: &OrgId,
    ids: &[i64],
) -> Result<(ProvenanceStatus, Vec<SourcePlaybookView>), StoreError> {
    let (mut found, mut bytes, mut status) = (Vec::new(), 0, ProvenanceStatus::Exact);
    // Of a large cluster, the model that wrote the playbook was shown no others.
    for id in ids.iter().rev().take(SHOWN_MEMBERS_MAX) {
        let Some(row) = store.user_playbook_by_id(org, *id).await? else { continue };
        let (certainty, source) = source_view(store, org, row.playbook).await?;
        bytes += serde_json::to_vec(&source).map_or(0, |json| json.len());
        if bytes > SOURCES_BYTES_MAX && !found.is_empty() {
            break;
        }
        if certainty != ProvenanceStatus::Exact {
            status = ProvenanceStatus::BestEffort;
        }
        found.push(source);
    }
    if found.len() < ids.len() {
        status = ProvenanceStatus::BestEffort;
    }
    found.reverse();
    Ok((status, found))
}

/// A user playbook with the turns that it was learned from, and how sure they are.
async fn source_view(
    store: &Store,
    org: &OrgId,
    playbook: UserPlaybook,
) -> Result<(ProvenanceStatus, SourcePlaybookView), StoreError> {
    let id = playbook.user_playbook_id.to_string();
    let asked = GetLearningProvenance { kind: MemoryKind::UserPlaybook, id };
    let answer = of_origin(store, org, asked, &playbook_origin(&playbook)).await?;
    let source_interaction_ids = playbook.source_interaction_ids.clone();
    let user_playbook = playbook.into();
    let interactions = answer.interactions;
    Ok((answer.provenance_status, SourcePlaybookView { user_playbook, interactions, source_interaction_ids }))
}

fn number(asked: &GetLearningProvenance) -> Option<i64> {
    asked.id.trim().parse().ok()
}

/// The turns that a row names; where it names none that are stored, those of its request.
async fn of_origin(
    store: &Store,
    org: &OrgId,
    asked: GetLearningProvenance,
    origin: &Origin<'_>,
) -> Result<ProvenanceAnswer, StoreError> {
    let trigger = Some(origin.request_id.to_owned()).filter(|id| !id.is_empty());
    let (status, named) = named_turns(store, org, origin).await?;
    if !named.is_empty() {
        return Ok(ProvenanceAnswer::of_turns(asked, status, trigger, views(named)));
    }
    let request = match RequestId::new(origin.request_id) {
        Ok(id) => store.document_of_request(org, &id).await?,
        Err(_) => None,
    };
    let Some(document) = request.filter(|found| is_of(origin, &found.request.user_id)) else {
        return Ok(ProvenanceAnswer::no_request(asked));
    };
    let turn = |interaction| StoredTurn { request: document.request.clone(), interaction };
    let turns = document.interactions.into_iter().map(turn).collect();
    Ok(ProvenanceAnswer::of_turns(asked, ProvenanceStatus::BestEffort, trigger, views(turns)))
}

/// The turns that a row names, as far as they are stored, and whether those are all.
async fn named_turns(
    store: &Store,
    org: &OrgId,
    origin: &Origin<'_>,
) -> Result<(ProvenanceStatus, Vec<StoredTurn>), StoreError> {
    // What learning wrote names no more; callers may write anything.
    let all = origin.interaction_ids;
    let ids = &all[all.len().saturating_sub(SOURCE_INTERACTIONS_MAX)..];
    let mut turns = store.turns_by_ids(org, ids).await?;
    turns.retain(|turn| is_of(origin, &turn.request.user_id));
    let is_stored = |id: &i64| turns.iter().any(|turn| turn.interaction.interaction_id == *id);
    let is_complete = ids.len() == all.len() && ids.iter().all(is_stored);
    let status = if is_complete { ProvenanceStatus::Exact } else { ProvenanceStatus::BestEffort };
    Ok((status, turns))
}

/// A row about one user leads to nobody else's turns, whatever a caller wrote into it.
fn is_of(origin: &Origin<'_>, user: &UserId) -> bool {
    origin.user.is_none_or(|own| own == user)
}

fn views(turns: Vec<StoredTurn>) -> Vec<InteractionView> {
    let view = |turn: StoredTurn| {
        InteractionView::new(turn.request.user_id, turn.request.request_id, turn.interaction)
    };
    turns.into_iter().map(view).collect()
}
