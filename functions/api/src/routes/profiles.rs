//! Lists of profiles, and profiles that callers write.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::entities::UserProfile;
use domain::errors::ApiError;
use domain::ids::{ProfileId, UserHash};
use domain::requests::profiles::{AddUserProfiles, GetAllProfiles, GetProfiles, ProfileDate};
use domain::views::{AddedAnswer, ProfileView, ProfilesAnswer};
use runtime::App;
use store::{DirectWriteError, ProfileRow};

use super::interactions::LIST_ROWS_MAX;
use super::select::{check_sizes, contains_any, equals, has_status, has_tag};
use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

pub(crate) async fn get_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GetProfiles::parse(&body)?;
    let user = UserHash::of(&wanted.user_id);
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    let memory = app.recall.memory(&caller.org, &user, model.as_ref()).await?;
    let now = app.services.clock.now();
    let is_wanted = |profile: &&UserProfile| {
        profile.expiration_timestamp >= now
            && has_status(&wanted.status_filter, profile.status, |status| status.is_none())
            && wanted
                .profile_id
                .as_ref()
                .is_none_or(|id| id.eq_ignore_ascii_case(profile.profile_id.as_str()))
            && contains_any(wanted.query.as_ref(), texts(profile))
            && wanted.time.contains(profile.last_modified_timestamp)
            && equals(wanted.source.as_ref(), profile.source.as_deref())
            && equals(wanted.profile_time_to_live.as_ref(), Some(profile.profile_time_to_live.as_str()))
            && has_tag(wanted.tags.as_ref(), profile.tags.as_ref())
    };
    let mut found: Vec<&UserProfile> = memory.profiles.rows.iter().filter(is_wanted).collect();
    found.sort_by_key(|profile| std::cmp::Reverse(profile.last_modified_timestamp));
    found.truncate(wanted.top_k);
    ok(ProfilesAnswer::found(found.into_iter().cloned().map(ProfileView::from).collect()))
}

fn texts(profile: &UserProfile) -> [&str; 3] {
    [&profile.content, profile.profile_id.as_str(), profile.user_id.as_str()]
}

pub(crate) async fn get_all_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer {
    let wanted = GetAllProfiles::parse(query.as_deref().unwrap_or(""))?;
    let limit = wanted.limit.unwrap_or(LIST_ROWS_MAX).min(LIST_ROWS_MAX);
    let found = match &wanted.profile_id {
        Some(id) if wanted.include_tombstones => match ProfileId::new(id) {
            Ok(id) => app.services.store.profile_by_id(&caller.org, &id).await?.into_iter().collect(),
            Err(_) => Vec::new(),
        },
        _ => {
            let is_wanted = |profile: &UserProfile| is_wanted(profile, &wanted);
            app.services.store.newest_profiles(&caller.org, limit, is_wanted).await?
        }
    };
    let views = found.into_iter().take(limit).map(|row| ProfileView::from(row.profile)).collect();
    ok(ProfilesAnswer::found(views))
}

/// Expired rows are listed: this is the operator's view.
fn is_wanted(profile: &UserProfile, wanted: &GetAllProfiles) -> bool {
    let at = match wanted.date_field {
        ProfileDate::LastModified => profile.last_modified_timestamp,
        ProfileDate::Created => profile.created_at,
    };
    profile.status == wanted.status
        && wanted.profile_id.as_ref().is_none_or(|id| id.eq_ignore_ascii_case(profile.profile_id.as_str()))
        && wanted.user_id.as_ref().is_none_or(|user| *user == profile.user_id)
        && contains_any(wanted.query.as_ref(), texts(profile))
        && equals(wanted.source.as_ref(), profile.source.as_deref())
        && equals(wanted.profile_time_to_live.as_ref(), Some(profile.profile_time_to_live.as_str()))
        && wanted.start_time.is_none_or(|start| at >= start)
        && wanted.end_time.is_none_or(|end| at <= end)
}

pub(crate) async fn add_user_profile(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = AddUserProfiles::parse(&body)?;
    check_sizes("user_profiles", &wanted.user_profiles)?;
    let count = wanted.user_profiles.len();
    let now = app.services.clock.now();
    let texts: Vec<_> = wanted.user_profiles.iter().map(UserProfile::embedding_text).collect();
    let vectors = app.orgs.stored_vectors(&caller.org, &texts).await?;
    // Of several rows with one id the last one wins, as it would if they came one by one.
    let mut by_user: BTreeMap<UserHash, BTreeMap<ProfileId, ProfileRow>> = BTreeMap::new();
    for (mut profile, vector) in wanted.user_profiles.into_iter().zip(vectors) {
        if profile.created_at == 0 {
            profile.created_at = now;
        }
        let user = UserHash::of(&profile.user_id);
        let id = profile.profile_id.clone();
        by_user.entry(user).or_default().insert(id, ProfileRow::new(profile, vector));
    }
    for (user, rows) in by_user {
        let rows = rows.into_values().collect();
        app.services.store.put_profiles(&caller.org, &user, rows).await.map_err(refused)?;
    }
    ok(AddedAnswer::profiles(count))
}

pub(crate) fn refused(error: DirectWriteError) -> Failure {
    match error {
        DirectWriteError::ForeignId => {
            ApiError::conflict("A profile_id is in use for another user of this organization").into()
        }
        DirectWriteError::Barred => ApiError::conflict("The data of this user are being erased").into(),
        DirectWriteError::Store(error) => error.into(),
    }
}
