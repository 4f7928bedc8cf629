//! `POST /api/search_agent_playbooks`.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::entities::{AgentPlaybook, Status};
use domain::requests::search::SearchAgentPlaybooks;
use domain::views::{AgentPlaybookView, AgentPlaybooksAnswer};
use recall::AgentPlaybookSet;
use runtime::App;

use super::Experiment;
use super::plan::{Found, Plan, newest_first, wants_scores};
use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;
use crate::routes::select::{equals, has_status, has_tag};

pub(crate) async fn search_agent_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = SearchAgentPlaybooks::parse(&body)?;
    let loaded = app.orgs.load(&caller.org).await?;
    let experiment = Experiment::of(&loaded.config, &caller, wanted.user_id.as_ref())?;
    if let Experiment::Holdout(assignment) = experiment {
        return ok(AgentPlaybooksAnswer::withheld(assignment));
    }
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    let text = wanted.query.as_deref();
    let mut plan = Plan::new(&app, &caller.org, &model, text, wanted.search_mode, wanted.threshold).await;
    plan.scores = wants_scores(query.as_deref());
    let set = app.recall.agent_playbooks(&caller.org, model.as_ref()).await?;
    let found = find(&plan, &set, wanted.top_k, |playbook| is_wanted(playbook, &wanted));
    let views = found.into_iter().map(|found| view(&set, found)).collect();
    ok(AgentPlaybooksAnswer { experiment: experiment.assignment(), ..AgentPlaybooksAnswer::matching(views) })
}

/// Places of the best rows, or of the newest when there is nothing to look for.
pub(super) fn find(
    plan: &Plan,
    playbooks: &AgentPlaybookSet,
    limit: usize,
    keep: impl Fn(&AgentPlaybook) -> bool,
) -> Vec<Found> {
    if plan.has_text() {
        return plan.run(&playbooks.index, limit, |place| keep(&playbooks.rows[place]));
    }
    let at = |row: &AgentPlaybook| (row.created_at, row.agent_playbook_id);
    Found::unscored(newest_first(&playbooks.rows, keep, at, limit))
}

/// A row that was found, as the caller sees it.
pub(super) fn view(playbooks: &AgentPlaybookSet, found: Found) -> AgentPlaybookView {
    AgentPlaybookView { score: found.score, ..AgentPlaybookView::from(playbooks.rows[found.place].clone()) }
}

fn is_wanted(playbook: &AgentPlaybook, wanted: &SearchAgentPlaybooks) -> bool {
    let by_default = |status: Option<Status>| status.is_none_or(|status| status == Status::Pending);
    has_status(&wanted.status_filter, playbook.status, by_default)
        && wanted
            .playbook_status_filter
            .as_ref()
            .is_none_or(|wanted| wanted.contains(&playbook.playbook_status))
        && equals(wanted.agent_version.as_ref(), Some(&playbook.agent_version))
        && equals(wanted.playbook_name.as_ref(), Some(&playbook.playbook_name))
        && wanted.time.contains(playbook.created_at)
        && has_tag(wanted.tags.as_ref(), playbook.tags.as_ref())
}
