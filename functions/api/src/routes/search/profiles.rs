//! `POST /api/search_profiles`.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::entities::UserProfile;
use domain::ids::UserHash;
use domain::requests::search::SearchProfiles;
use domain::views::{ProfileView, ProfilesAnswer};
use recall::ProfileSet;
use runtime::App;
use search::opts_out_of_personalisation;

use super::Experiment;
use super::plan::{Found, Plan, newest_first, wants_scores};
use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;
use crate::routes::select::{equals, has_tag, is_live};

pub(crate) async fn search_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = SearchProfiles::parse(&body)?;
    let loaded = app.orgs.load(&caller.org).await?;
    let experiment = Experiment::of(&loaded.config, &caller, Some(&wanted.user_id))?;
    if let Experiment::Holdout(assignment) = experiment {
        return ok(ProfilesAnswer::withheld(assignment));
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
        let memory = app.recall.memory(&caller.org, &UserHash::of(&wanted.user_id), model.as_ref()).await?;
        let now = app.services.clock.now();
        let keep = |profile: &UserProfile| is_live(profile, now) && is_wanted(profile, &wanted);
        let found = find(&plan, &memory.profiles, wanted.top_k, keep);
        views.extend(found.into_iter().map(|found| view(&memory.profiles, found)));
    }
    ok(ProfilesAnswer { experiment: experiment.assignment(), ..ProfilesAnswer::matching(views) })
}

/// Places of the best rows, or of the last modified when there is nothing to look for.
pub(super) fn find(
    plan: &Plan,
    profiles: &ProfileSet,
    limit: usize,
    keep: impl Fn(&UserProfile) -> bool,
) -> Vec<Found> {
    if plan.has_text() {
        return plan.run(&profiles.index, limit, |place| keep(&profiles.rows[place]));
    }
    let at = |profile: &UserProfile| (profile.last_modified_timestamp, 0);
    Found::unscored(newest_first(&profiles.rows, keep, at, limit))
}

/// A row that was found, as the caller sees it.
pub(super) fn view(profiles: &ProfileSet, found: Found) -> ProfileView {
    ProfileView { score: found.score, ..ProfileView::from(profiles.rows[found.place].clone()) }
}

fn is_wanted(profile: &UserProfile, wanted: &SearchProfiles) -> bool {
    let feature = wanted.custom_feature.as_ref().map(|feature| feature.to_lowercase());
    let has_feature = feature.is_none_or(|feature| {
        let features = profile.custom_features.clone().map(serde_json::Value::Object);
        features.is_some_and(|features| features.to_string().to_lowercase().contains(&feature))
    });
    has_feature
        && equals(wanted.generated_from_request_id.as_ref(), Some(&profile.generated_from_request_id))
        && wanted.time.contains(profile.last_modified_timestamp)
        && equals(wanted.source.as_ref(), profile.source.as_deref())
        && has_tag(wanted.tags.as_ref(), profile.tags.as_ref())
}
