//! Edits and deletes of single rows of memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use domain::entities::{Status, UserPlaybook, UserProfile};
use domain::errors::ApiError;
use domain::ids::{ProfileId, UserHash, UserId};
use domain::requests::edits::{
    DeleteProfile, UpdateUserPlaybook, UpdateUserProfile, deleted_id, deleted_numbers, deleted_texts,
};
use domain::views::{BulkDeletedAnswer, ChangedAnswer, DeletedAnswer};
use learning::aggregation::announcement;
use learning::profile::tombstones_of;
use runtime::App;
use store::{ProfileRow, UserKeys};

use super::playbooks::carry_out;
use super::profiles::refused;
use super::select::{check_size, is_live};
use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// Readings of a row that others keep changing before an edit gives up.
const EDIT_ATTEMPTS_MAX: usize = 5;

pub(crate) async fn update_user_profile(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = UpdateUserProfile::parse(&body)?;
    for _ in 0..EDIT_ATTEMPTS_MAX {
        let Some((user, mut row)) = editable_profile(&app, &caller, &wanted).await? else {
            return ok(ChangedAnswer::refused(format!(
                "Profile not found: user_id='{}' profile_id='{}'",
                wanted.user_id, wanted.profile_id
            )));
        };
        let profile = &mut row.profile;
        if let Some(content) = &wanted.content {
            profile.content.clone_from(content);
            // They described the words that were there.
            profile.expanded_terms = None;
        }
        if let Some(features) = &wanted.custom_features {
            profile.custom_features = Some(features.clone());
        }
        profile.last_modified_timestamp = app.services.clock.now();
        check_size("content", &row.profile)?;
        let vectors = app.orgs.stored_vectors(&caller.org, &[row.profile.embedding_text()]).await?;
        row.vector = vectors.into_iter().next().flatten();
        let keys = UserKeys { org: &caller.org, user: &user };
        if app.services.store.replace_profile(&keys, &row).await.map_err(refused)? {
            return ok(ChangedAnswer::done("User profile updated successfully"));
        }
    }
    Err(contended())
}

/// The profile, if it is the user's, current and true now.
async fn editable_profile(
    app: &App,
    caller: &Caller,
    wanted: &UpdateUserProfile,
) -> Result<Option<(UserHash, ProfileRow)>, Failure> {
    let (Ok(user), Ok(id)) = (UserId::new(&wanted.user_id), ProfileId::new(&wanted.profile_id)) else {
        return Ok(None);
    };
    let row = app.services.store.profile_by_id(&caller.org, &id).await?;
    let now = app.services.clock.now();
    let is_editable = |profile: &UserProfile| profile.user_id == user && is_live(profile, now);
    Ok(row.filter(|row| is_editable(&row.profile)).map(|row| (UserHash::of(&user), row)))
}

pub(crate) async fn update_user_playbook(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = UpdateUserPlaybook::parse(&body)?;
    let store = &app.services.store;
    for _ in 0..EDIT_ATTEMPTS_MAX {
        let row = store.user_playbook_by_id(&caller.org, wanted.user_playbook_id).await?;
        let Some(mut row) = row.filter(|row| matches!(row.playbook.status, None | Some(Status::Pending)))
        else {
            let id = wanted.user_playbook_id;
            return ok(ChangedAnswer::refused(format!("User playbook with ID {id} not found")));
        };
        edit(&mut row.playbook, &wanted)?;
        check_size("content", &row.playbook)?;
        let text = row.playbook.embedding_text().to_owned();
        row.vector = app.orgs.stored_vectors(&caller.org, &[text]).await?.into_iter().next().flatten();
        let user = UserHash::of_optional(row.playbook.user_id.as_ref());
        let keys = UserKeys { org: &caller.org, user: &user };
        let config = app.orgs.load(&caller.org).await?.config.clone();
        let version = row.playbook.agent_version.as_str();
        let effects = announcement(&app.services, &caller.org, &config, [version]);
        if store.replace_user_playbook(&keys, &row, &effects).await.map_err(refused)? {
            carry_out(&app, &caller, &effects).await;
            store.bump_org_playbooks(&caller.org).await?;
            return ok(ChangedAnswer::done("User playbook updated successfully"));
        }
    }
    Err(contended())
}

fn edit(playbook: &mut UserPlaybook, wanted: &UpdateUserPlaybook) -> Result<(), Failure> {
    if let Some(name) = &wanted.playbook_name {
        playbook.playbook_name.clone_from(name);
    }
    if let Some(content) = &wanted.content {
        playbook.content.clone_from(content);
    }
    if wanted.trigger.is_some() {
        playbook.trigger.clone_from(&wanted.trigger);
    }
    if wanted.rationale.is_some() {
        playbook.rationale.clone_from(&wanted.rationale);
    }
    if wanted.content.is_some() || wanted.trigger.is_some() {
        // They described the words that were there.
        playbook.expanded_terms = None;
    }
    let is_blank = |text: &str| text.trim().is_empty();
    if is_blank(&playbook.content) && playbook.trigger.as_deref().is_none_or(is_blank) {
        return Err(
            ApiError::unprocessable("content and trigger: one of them must be left in a playbook").into()
        );
    }
    Ok(())
}

pub(crate) async fn delete_profile(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = DeleteProfile::parse(&body)?;
    let Ok(id) = ProfileId::new(&wanted.profile_id) else {
        let why = if wanted.search_query.trim().is_empty() {
            "Profile id or search query is required"
        } else {
            "Deleting by search query is not supported"
        };
        return ok(DeletedAnswer::refused(why));
    };
    // Another user's profile is none of this user's.
    if app.services.store.user_of_profile(&caller.org, &id).await? == Some(UserHash::of(&wanted.user_id)) {
        delete_profiles(&app, &caller, &UserHash::of(&wanted.user_id), &[id]).await?;
    }
    ok(DeletedAnswer::done())
}

pub(crate) async fn delete_profiles_by_ids(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let ids = deleted_texts(&body, "profile_ids")?;
    let ids: Vec<_> = ids.iter().filter_map(|id| ProfileId::new(id).ok()).collect();
    let mut by_user: BTreeMap<UserHash, Vec<ProfileId>> = BTreeMap::new();
    for (id, user) in app.services.store.owners_of_profiles(&caller.org, &ids).await? {
        by_user.entry(user).or_default().push(id);
    }
    let mut deleted = 0;
    for (user, ids) in by_user {
        deleted += delete_profiles(&app, &caller, &user, &ids).await?;
    }
    ok(BulkDeletedAnswer::new(deleted))
}

/// Deletes profiles of one user with the earlier wordings that led to them; returns how many of those asked for
/// were there.
async fn delete_profiles(
    app: &App,
    caller: &Caller,
    user: &UserHash,
    ids: &[ProfileId],
) -> Result<usize, Failure> {
    let keys = UserKeys { org: &caller.org, user };
    let rows = app.services.store.profiles(&keys).await?;
    let is_tombstone = |profile: &UserProfile| profile.status.is_some_and(Status::is_tombstone);
    let tombstones: Vec<_> =
        rows.into_iter().map(|row| row.profile).filter(|profile| is_tombstone(profile)).collect();
    let earlier: Vec<_> =
        tombstones_of(ids, &tombstones).into_iter().filter(|id| !ids.contains(id)).collect();
    // Earlier wordings go first: once the row is gone, nothing leads to them.
    app.services.store.delete_profiles(&keys, &earlier).await.map_err(refused)?;
    app.services.store.delete_profiles(&keys, ids).await.map_err(refused)
}

pub(crate) async fn delete_user_playbook(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let id = deleted_id(&body, "user_playbook_id")?;
    delete_playbooks(&app, &caller, &[id]).await?;
    ok(DeletedAnswer::done())
}

pub(crate) async fn delete_user_playbooks_by_ids(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let ids = deleted_numbers(&body, "user_playbook_ids")?;
    ok(BulkDeletedAnswer::new(delete_playbooks(&app, &caller, &ids).await?))
}

async fn delete_playbooks(app: &App, caller: &Caller, ids: &[i64]) -> Result<usize, Failure> {
    let store = &app.services.store;
    let mut by_user: BTreeMap<UserHash, Vec<i64>> = BTreeMap::new();
    for (id, user) in store.owners_of_playbooks(&caller.org, ids).await? {
        by_user.entry(user).or_default().push(id);
    }
    let config = app.orgs.load(&caller.org).await?.config.clone();
    let announce = |versions: &BTreeSet<&str>| {
        announcement(&app.services, &caller.org, &config, versions.iter().copied())
    };
    let mut deleted = 0;
    for (user, ids) in by_user {
        let keys = UserKeys { org: &caller.org, user: &user };
        let done = store.delete_user_playbooks(&keys, &ids, &announce).await.map_err(refused)?;
        carry_out(app, caller, &done.effects).await;
        deleted += done.rows;
    }
    if deleted > 0 {
        store.bump_org_playbooks(&caller.org).await?;
    }
    Ok(deleted)
}

fn contended() -> Failure {
    ApiError::unavailable(
        "The row is being changed by others; try again",
        "edit: row kept changing".to_owned(),
    )
    .into()
}
