//! `POST /api/search`: all kinds of memory at once.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::entities::{AgentPlaybook, PlaybookStatus, Status, UserPlaybook, UserProfile};
use domain::ids::UserHash;
use domain::requests::SearchedEntity;
use domain::requests::search::UnifiedSearch;
use domain::views::{AgentPlaybookView, ProfileView, UnifiedSearchAnswer, UserPlaybookView, WITHHELD};
use recall::{AgentPlaybookSet, PlaybookSet, UserMemory};
use runtime::App;
use search::opts_out_of_personalisation;

use super::Experiment;
use super::plan::{Plan, wants_scores};
use super::{agent_playbooks, playbooks, profiles};
use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;
use crate::routes::select::{equals, has_tag, is_live};

pub(crate) async fn search(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = UnifiedSearch::parse(&body)?;
    let loaded = app.orgs.load(&caller.org).await?;
    let experiment = Experiment::of(&loaded.config, &caller, wanted.user_id.as_ref())?;
    if let Experiment::Holdout(assignment) = experiment {
        let msg = Some(WITHHELD.to_owned());
        let experiment = Some(assignment);
        return ok(UnifiedSearchAnswer { success: true, msg, experiment, ..UnifiedSearchAnswer::default() });
    }
    let mut answer = UnifiedSearchAnswer {
        success: true,
        experiment: experiment.assignment(),
        ..UnifiedSearchAnswer::default()
    };
    if !opts_out_of_personalisation(&wanted.query) {
        fill(&app, &caller, &wanted, wants_scores(query.as_deref()), &mut answer).await?;
    }
    ok(answer)
}

/// Searches what was asked for and leaves out what the session was served before.
async fn fill(
    app: &App,
    caller: &Caller,
    wanted: &UnifiedSearch,
    scores: bool,
    answer: &mut UnifiedSearchAnswer,
) -> Result<(), Failure> {
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    let mut plan =
        Plan::new(app, &caller.org, &model, Some(&wanted.query), wanted.search_mode, wanted.threshold).await;
    plan.scores = scores;
    answer.degraded = plan.degraded;
    answer.search_mode_effective = plan.degraded.then(|| search::SearchMode::Fts.as_str().to_owned());
    let now = app.services.clock.now();
    let scope = wanted.session_id.as_ref().map(|session| format!("{}\u{0}{session}", caller.org));
    let served = scope.as_ref().map(|scope| app.served.served(scope, now)).unwrap_or_default();
    let agent_playbooks = async {
        if !asks_for(wanted, SearchedEntity::AgentPlaybooks) {
            return Ok(None);
        }
        app.recall.agent_playbooks(&caller.org, model.as_ref()).await.map(Some)
    };
    let memory = async {
        let Some(user) = &wanted.user_id else { return Ok(None) };
        app.recall.memory(&caller.org, &UserHash::of(user), model.as_ref()).await.map(Some)
    };
    // Side by side, since each begins with a read.
    let (agent_playbooks, memory) = tokio::join!(agent_playbooks, memory);
    match memory? {
        Some(memory) => {
            if asks_for(wanted, SearchedEntity::Profiles) {
                answer.profiles = find_profiles(&plan, &memory, wanted, &served, now);
            }
            if asks_for(wanted, SearchedEntity::UserPlaybooks) {
                answer.user_playbooks = find_playbooks(&plan, &memory.playbooks, wanted, &served);
            }
        }
        // Without a user there are no profiles to look through.
        None if asks_for(wanted, SearchedEntity::UserPlaybooks) => {
            let all = app.recall.org_playbooks(&caller.org, model.as_ref()).await?;
            answer.user_playbooks = find_playbooks(&plan, &all, wanted, &served);
        }
        None => {}
    }
    if let Some(all) = agent_playbooks? {
        answer.agent_playbooks = find_agent_playbooks(&plan, &all, wanted, &served);
        drop_sources(answer, &all);
    }
    if let Some(scope) = scope {
        let agent_playbooks =
            answer.agent_playbooks.iter().map(|row| agent_playbook_mark(row.agent_playbook_id));
        let profiles = answer.profiles.iter().map(|row| profile_mark(row.profile_id.as_str()));
        let playbooks = answer.user_playbooks.iter().map(|row| playbook_mark(row.user_playbook_id));
        app.served.record(&scope, profiles.chain(playbooks).chain(agent_playbooks), now);
    }
    Ok(())
}

fn asks_for(wanted: &UnifiedSearch, entity: SearchedEntity) -> bool {
    wanted.entity_types.as_ref().is_none_or(|types| types.is_empty() || types.contains(&entity))
}

fn profile_mark(id: &str) -> String {
    format!("profile:{id}")
}

fn playbook_mark(id: i64) -> String {
    format!("user_playbook:{id}")
}

fn agent_playbook_mark(id: i64) -> String {
    format!("agent_playbook:{id}")
}

/// What an agent playbook was made of is not shown beside it.
fn drop_sources(answer: &mut UnifiedSearchAnswer, all: &AgentPlaybookSet) {
    let shown: HashSet<i64> = answer.agent_playbooks.iter().map(|row| row.agent_playbook_id).collect();
    let rows = all.rows.iter().zip(&all.sources).filter(|(row, _)| shown.contains(&row.agent_playbook_id));
    let sources: HashSet<i64> = rows.flat_map(|(_, sources)| sources.iter().copied()).collect();
    answer.user_playbooks.retain(|row| !sources.contains(&row.user_playbook_id));
}

fn find_agent_playbooks(
    plan: &Plan,
    set: &AgentPlaybookSet,
    wanted: &UnifiedSearch,
    served: &HashSet<String>,
) -> Vec<AgentPlaybookView> {
    let is_approval_wanted = |status: PlaybookStatus| match &wanted.agent_playbook_status_filter {
        Some(wanted) if !wanted.is_empty() => wanted.contains(&status),
        _ => status != PlaybookStatus::Rejected,
    };
    let keep = |playbook: &AgentPlaybook| {
        playbook.status.is_none()
            && is_approval_wanted(playbook.playbook_status)
            && equals(wanted.agent_version.as_ref(), Some(&playbook.agent_version))
            && equals(wanted.playbook_name.as_ref(), Some(&playbook.playbook_name))
            && has_tag(wanted.tags.as_ref(), playbook.tags.as_ref())
            && !served.contains(&agent_playbook_mark(playbook.agent_playbook_id))
    };
    let found = agent_playbooks::find(plan, set, wanted.top_k, keep);
    found.into_iter().map(|found| agent_playbooks::view(set, found)).collect()
}

fn find_profiles(
    plan: &Plan,
    memory: &UserMemory,
    wanted: &UnifiedSearch,
    served: &HashSet<String>,
    now: i64,
) -> Vec<ProfileView> {
    let keep = |profile: &UserProfile| {
        is_live(profile, now)
            && has_tag(wanted.tags.as_ref(), profile.tags.as_ref())
            && !served.contains(&profile_mark(profile.profile_id.as_str()))
    };
    let found = profiles::find(plan, &memory.profiles, wanted.top_k, keep);
    found.into_iter().map(|found| profiles::view(&memory.profiles, found)).collect()
}

fn find_playbooks(
    plan: &Plan,
    set: &PlaybookSet,
    wanted: &UnifiedSearch,
    served: &HashSet<String>,
) -> Vec<UserPlaybookView> {
    let keep = |playbook: &UserPlaybook| {
        !playbook.status.is_some_and(Status::is_tombstone)
            && wanted.user_id.as_ref().is_none_or(|user| Some(user) == playbook.user_id.as_ref())
            && equals(wanted.agent_version.as_ref(), Some(&playbook.agent_version))
            && equals(wanted.playbook_name.as_ref(), Some(&playbook.playbook_name))
            && equals(wanted.source.as_ref(), playbook.source.as_deref())
            && has_tag(wanted.tags.as_ref(), playbook.tags.as_ref())
            && !served.contains(&playbook_mark(playbook.user_playbook_id))
    };
    let found = playbooks::find(plan, set, wanted.top_k, keep);
    found.into_iter().map(|found| playbooks::view(set, found)).collect()
}
