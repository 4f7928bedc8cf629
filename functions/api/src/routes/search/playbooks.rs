//! `POST /api/search_user_playbooks`.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::entities::UserPlaybook;
use domain::ids::UserHash;
use domain::requests::search::SearchUserPlaybooks;
use domain::views::{UserPlaybookView, UserPlaybooksAnswer};
use recall::PlaybookSet;
use runtime::App;
use search::opts_out_of_personalisation;

use super::Experiment;
use super::plan::{Found, Plan, newest_first, wants_scores};
use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;
use crate::routes::select::{equals, has_status, has_tag};

pub(crate) async fn search_user_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = SearchUserPlaybooks::parse(&body)?;
    let loaded = app.orgs.load(&caller.org).await?;
    let experiment = Experiment::of(&loaded.config, &caller, wanted.user_id.as_ref())?;
    if let Experiment::Holdout(assignment) = experiment {
        return ok(UserPlaybooksAnswer::withheld(assignment));
    }
    let mut views = Vec::new();
    if !wanted.query.as_deref().is_some_and(opts_out_of_personalisation) {
        let model = app.orgs.embedding_or_local(&caller.org).await?;
        let mut plan = Plan::new(
            &app,
            &caller.org,
            &model,
            wanted.query.as_deref(),
            wanted.search_mode,
            wanted.threshold,
        )
        .await;
        plan.scores = wants_scores(query.as_deref());
        let keep = |playbook: &UserPlaybook| is_wanted(playbook, &wanted);
        let mut collect = |set: &PlaybookSet| {
            let found = find(&plan, set, wanted.top_k, keep);
            views.extend(found.into_iter().map(|found| view(set, found)));
        };
        match &wanted.user_id {
            Some(user) => {
                let memory = app.recall.memory(&caller.org, &UserHash::of(user), model.as_ref()).await?;
                collect(&memory.playbooks);
            }
            None => collect(app.recall.org_playbooks(&caller.org, model.as_ref()).await?.as_ref()),
        }
    }
    ok(UserPlaybooksAnswer { experiment: experiment.assignment(), ..UserPlaybooksAnswer::matching(views) })
}

/// Places of the best rows, or of the newest when there is nothing to look for.
pub(super) fn find(
    plan: &Plan,
    playbooks: &PlaybookSet,
    limit: usize,
    keep: impl Fn(&UserPlaybook) -> bool,
) -> Vec<Found> {
    if plan.has_text() {
        return plan.run(&playbooks.index, limit, |place| keep(&playbooks.rows[place]));
    }
    let at = |row: &UserPlaybook| (row.created_at, row.user_playbook_id);
    Found::unscored(newest_first(&playbooks.rows, keep, at, limit))
}

/// A row that was found, as the caller sees it.
pub(super) fn view(playbooks: &PlaybookSet, found: Found) -> UserPlaybookView {
    UserPlaybookView { score: found.score, ..UserPlaybookView::from(playbooks.rows[found.place].clone()) }
}

fn is_wanted(playbook: &UserPlaybook, wanted: &SearchUserPlaybooks) -> bool {
    has_status(&wanted.status_filter, playbook.status, |status| !status.is_some_and(|s| s.is_tombstone()))
        && wanted.user_id.as_ref().is_none_or(|user| Some(user) == playbook.user_id.as_ref())
        && equals(wanted.agent_version.as_ref(), Some(&playbook.agent_version))
        && equals(wanted.playbook_name.as_ref(), Some(&playbook.playbook_name))
        && equals(wanted.source.as_ref(), playbook.source.as_deref())
        && wanted.time.contains(playbook.created_at)
        && has_tag(wanted.tags.as_ref(), playbook.tags.as_ref())
}
