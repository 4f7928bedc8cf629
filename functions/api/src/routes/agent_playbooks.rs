//! Lists of agent playbooks, agent playbooks that callers write, and whether people approve of them.

use std::sync::Arc;

use axum::extract::State;
use domain::entities::{AgentPlaybook, Status};
use domain::requests::agent_playbooks::{AddAgentPlaybooks, GetAgentPlaybooks, UpdatePlaybookStatus};
use domain::views::{AddedAnswer, AgentPlaybookView, AgentPlaybooksAnswer, ChangedAnswer};
use runtime::App;
use store::AgentPlaybookRow;

use super::select::{agent_playbook_texts, check_sizes, contains_any, equals, has_status, has_tag};
use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

pub(crate) async fn get_agent_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GetAgentPlaybooks::parse(&body)?;
    let is_wanted = |playbook: &AgentPlaybook| {
        has_status(&wanted.status_filter, playbook.status, |status: Option<Status>| status.is_none())
            && wanted.agent_playbook_id.is_none_or(|id| id == playbook.agent_playbook_id)
            && wanted.playbook_status_filter.is_none_or(|status| status == playbook.playbook_status)
            && contains_any(wanted.query.as_ref(), agent_playbook_texts(playbook))
            && equals(wanted.playbook_name.as_ref(), Some(&playbook.playbook_name))
            && equals(wanted.agent_version.as_ref(), Some(&playbook.agent_version))
            && wanted.time.contains(playbook.created_at)
            && has_tag(wanted.tags.as_ref(), playbook.tags.as_ref())
    };
    let mut found = candidates(&app, &caller, wanted.agent_playbook_id).await?;
    found.retain(is_wanted);
    found.sort_by_key(|playbook| std::cmp::Reverse((playbook.created_at, playbook.agent_playbook_id)));
    found.truncate(wanted.limit);
    ok(AgentPlaybooksAnswer::found(found.into_iter().map(AgentPlaybookView::from).collect()))
}

/// The rows that the filters can let through, through the narrowest way that they leave.
async fn candidates(app: &App, caller: &Caller, id: Option<i64>) -> Result<Vec<AgentPlaybook>, Failure> {
    if let Some(id) = id {
        let row = app.services.store.agent_playbook_by_id(&caller.org, id).await?;
        return Ok(row.into_iter().map(|row| row.playbook).collect());
    }
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    Ok(app.recall.agent_playbooks(&caller.org, model.as_ref()).await?.rows.clone())
}

pub(crate) async fn add_agent_playbook(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = AddAgentPlaybooks::parse(&body)?;
    check_sizes("agent_playbooks", &wanted.agent_playbooks)?;
    let count = wanted.agent_playbooks.len();
    let now = app.services.clock.now();
    let texts: Vec<_> =
        wanted.agent_playbooks.iter().map(|playbook| playbook.embedding_text().to_owned()).collect();
    let vectors = app.orgs.stored_vectors(&caller.org, &texts).await?;
    let store = &app.services.store;
    let first = store.take_agent_playbook_ids(&caller.org, count).await?;
    let playbooks = (first..).zip(wanted.agent_playbooks.into_iter().zip(vectors));
    let rows = playbooks.map(|(id, (playbook, vector))| {
        let playbook = AgentPlaybook { agent_playbook_id: id, created_at: now, ..playbook };
        AgentPlaybookRow::new(playbook, vector, Vec::new())
    });
    store.create_agent_playbooks(&caller.org, rows.collect()).await?;
    store.bump_agent_playbooks(&caller.org).await?;
    ok(AddedAnswer::playbooks(count))
}

pub(crate) async fn update_agent_playbook_status(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = UpdatePlaybookStatus::parse(&body)?;
    let (store, id) = (&app.services.store, wanted.agent_playbook_id);
    let is_found = store.set_agent_playbook_status(&caller.org, id, wanted.playbook_status).await?;
    if is_found {
        store.bump_agent_playbooks(&caller.org).await?;
    }
    ok(if is_found {
        ChangedAnswer::done("Agent playbook status updated successfully")
    } else {
        ChangedAnswer::refused(format!("Agent playbook with ID {id} not found"))
    })
}
