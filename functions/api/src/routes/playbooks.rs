//! Lists of user playbooks, and user playbooks that callers write.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use domain::entities::UserPlaybook;
use domain::ids::UserHash;
use domain::requests::playbooks::{AddUserPlaybooks, GetUserPlaybooks};
use domain::views::{AddedAnswer, UserPlaybookView, UserPlaybooksAnswer};
use learning::aggregation::{announcement, follow_up};
use runtime::App;
use store::{EFFECTS_MAX, FollowUp, OutboxEntry, UserPlaybookRow};

use super::profiles::refused;
use super::select::{check_sizes, contains_any, equals, has_status, has_tag, playbook_texts};
use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

pub(crate) async fn get_user_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GetUserPlaybooks::parse(&body)?;
    let is_wanted = |playbook: &UserPlaybook| {
        has_status(&wanted.status_filter, playbook.status, |status| !status.is_some_and(|s| s.is_tombstone()))
            && wanted.user_playbook_id.is_none_or(|id| id == playbook.user_playbook_id)
            && wanted.user_id.as_ref().is_none_or(|user| Some(user) == playbook.user_id.as_ref())
            && equals(wanted.request_id.as_ref(), Some(&playbook.request_id))
            && contains_any(wanted.query.as_ref(), playbook_texts(playbook))
            && equals(wanted.playbook_name.as_ref(), Some(&playbook.playbook_name))
            && equals(wanted.agent_version.as_ref(), Some(&playbook.agent_version))
            && wanted.time.contains(playbook.created_at)
            && has_tag(wanted.tags.as_ref(), playbook.tags.as_ref())
    };
    let mut found = candidates(&app, &caller, &wanted).await?;
    found.retain(is_wanted);
    found.sort_by_key(|playbook| std::cmp::Reverse((playbook.created_at, playbook.user_playbook_id)));
    found.truncate(wanted.limit);
    ok(UserPlaybooksAnswer::found(found.into_iter().map(UserPlaybookView::from).collect()))
}

/// The rows that the filters can let through, through the narrowest way that they leave.
async fn candidates(
    app: &App,
    caller: &Caller,
    wanted: &GetUserPlaybooks,
) -> Result<Vec<UserPlaybook>, Failure> {
    if let Some(id) = wanted.user_playbook_id {
        let row = app.services.store.user_playbook_by_id(&caller.org, id).await?;
        return Ok(row.into_iter().map(|row| row.playbook).collect());
    }
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    Ok(match &wanted.user_id {
        Some(user) => {
            let memory = app.recall.memory(&caller.org, &UserHash::of(user), model.as_ref()).await?;
            memory.playbooks.rows.clone()
        }
        None => app.recall.org_playbooks(&caller.org, model.as_ref()).await?.rows.clone(),
    })
}

pub(crate) async fn add_user_playbook(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = AddUserPlaybooks::parse(&body)?;
    check_sizes("user_playbooks", wanted.user_playbooks.iter().map(|(row, _)| row))?;
    let count = wanted.user_playbooks.len();
    let loaded = app.orgs.load(&caller.org).await?;
    let now = app.services.clock.now();
    let texts: Vec<_> =
        wanted.user_playbooks.iter().map(|(playbook, _)| playbook.embedding_text().to_owned()).collect();
    let vectors = app.orgs.stored_vectors(&caller.org, &texts).await?;
    let first = app.services.store.take_user_playbook_ids(&caller.org, count).await?;
    let mut by_user: BTreeMap<UserHash, Vec<UserPlaybookRow>> = BTreeMap::new();
    for (id, ((mut playbook, at), vector)) in (first..).zip(wanted.user_playbooks.into_iter().zip(vectors)) {
        playbook.user_playbook_id = id;
        playbook.created_at = at.unwrap_or(now);
        let user = UserHash::of_optional(playbook.user_id.as_ref());
        by_user.entry(user).or_default().push(UserPlaybookRow::new(playbook, vector));
    }
    let (store, org) = (&app.services.store, &caller.org);
    let mut effects = Vec::new();
    for (user, rows) in by_user {
        for rows in rows.chunks(EFFECTS_MAX) {
            let versions = rows.iter().map(|row| row.playbook.agent_version.as_str());
            let saved = announcement(&app.services, org, &loaded.config, versions);
            store.create_user_playbooks(org, &user, rows.to_vec(), &saved).await.map_err(refused)?;
            effects.extend(saved);
        }
    }
    store.bump_org_playbooks(org).await?;
    carry_out(&app, &caller, &effects).await;
    ok(AddedAnswer::playbooks(count))
}

/// What follows from rows that were committed. One wake for each agent version is enough.
pub(crate) async fn carry_out(app: &App, caller: &Caller, effects: &[OutboxEntry]) {
    let mut wakes = BTreeMap::new();
    for effect in effects {
        match app.services.store.carry_out(effect).await {
            Ok(FollowUp::Aggregate { agent_version, sequence }) => {
                wakes.insert(agent_version, sequence);
            }
            Ok(FollowUp::Nothing) => {}
            // It was committed with the rows: the sweep carries it out.
            Err(error) => tracing::warn!(event = "effect_left_over", %error),
        }
    }
    for (agent_version, sequence) in wakes {
        follow_up(&app.services, &caller.org, FollowUp::Aggregate { agent_version, sequence }).await;
    }
}
