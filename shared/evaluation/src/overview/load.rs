//! Reads what the overview is made of.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::config::Config;
use domain::entities::EvaluationResult;
use domain::ids::{OrgId, RequestId, SessionId, UserHash, UserId};
use domain::requests::overview::GetEvaluationOverview;
use domain::time::EpochSeconds;
use domain::views::{OverviewAnswer, SessionSlice};
use futures::{StreamExt, TryStreamExt, stream};
use store::{RequestDocument, Store, StoreError, UserKeys};

use super::stretches::{pieces, stretches};
use super::windows::Windows;
use super::{Rule, ShadowVerdict, Slice, Slices, Standing, overview, slice_of};

/// Users whose sessions are read at once.
const USERS_AT_ONCE: usize = 8;

/// The overview of an organisation as it is at `now`.
///
/// # Errors
/// [`StoreError`] when the store fails.
pub async fn evaluation_overview(
    store: &Store,
    org: &OrgId,
    config: &Config,
    request: &GetEvaluationOverview,
    now: EpochSeconds,
) -> Result<OverviewAnswer, StoreError> {
    let windows = Windows::of(request.from_ts, request.to_ts);
    let (from, to) = windows.span();
    let (results, earliest, shadow) = tokio::try_join!(
        store.evaluations_between(org, from, to, None),
        store.earliest_evaluation(org),
        comparisons(store, org, config, request),
    )?;
    let standing = Standing {
        now,
        earliest,
        is_shadow_enabled: config.shadow_mode_enabled,
        judge_prompt_version: &config.shadow_comparison_judge_prompt_version,
    };
    // Sets compare the week before by source, too; all else needs sources in the span itself only.
    let is_wanted = |result: &&EvaluationResult| {
        !request.source_sets.is_empty() || windows.is_in_trend(result.created_at)
    };
    let wanted = results.iter().filter(is_wanted).map(slice_of).collect();
    let slices = load_slices(store, org, wanted).await?;
    Ok(overview(request, &standing, &results, &slices, &shadow))
}

/// Comparisons to the shadow, where they are to be shown or decide the state.
async fn comparisons(
    store: &Store,
    org: &OrgId,
    config: &Config,
    request: &GetEvaluationOverview,
) -> Result<Vec<ShadowVerdict>, StoreError> {
    if !request.include_shadow && !config.shadow_mode_enabled {
        return Ok(Vec::new());
    }
    let version = &config.shadow_comparison_judge_prompt_version;
    let verdicts = store.shadow_verdicts_between(org, version, request.from_ts, request.to_ts, None).await?;
    Ok(verdicts.iter().map(ShadowVerdict::from).collect())
}

async fn load_slices(store: &Store, org: &OrgId, wanted: Vec<SessionSlice>) -> Result<Slices, StoreError> {
    let mut by_user: BTreeMap<UserId, BTreeSet<SessionId>> = BTreeMap::new();
    for slice in wanted {
        by_user.entry(slice.user_id).or_default().insert(slice.session_id);
    }
    let read: Vec<(UserId, HashMap<SessionId, Reading>)> = stream::iter(by_user)
        .map(|(user_id, sessions)| async move {
            let readings = read_user(store, org, &user_id, sessions).await?;
            Ok::<_, StoreError>((user_id, readings))
        })
        .buffer_unordered(USERS_AT_ONCE)
        .try_collect()
        .await?;
    let (mut known, mut titles) = (HashMap::new(), BTreeMap::new());
    for (user_id, readings) in read {
        for (session_id, reading) in readings {
            known.insert(SessionSlice { user_id: user_id.clone(), session_id }, reading.slice);
            for (rule, title) in reading.titles {
                keep_newer(&mut titles, rule, title);
            }
        }
    }
    let titles = titles.into_iter().map(|(rule, title)| (rule, title.text)).collect();
    Ok(Slices { known, titles })
}

/// What the requests of a user say of some sessions. Sessions go on side by side: each request is read once, however
/// many of them it lies between the ends of.
async fn read_user(
    store: &Store,
    org: &OrgId,
    user_id: &UserId,
    sessions: BTreeSet<SessionId>,
) -> Result<HashMap<SessionId, Reading>, StoreError> {
    let user = UserHash::of(user_id);
    let keys = UserKeys { org, user: &user };
    let sessions: Vec<SessionId> = sessions.into_iter().collect();
    let records = store.sessions_of(&keys, &sessions).await?;
    let spans = records.values().map(|record| (record.first_position, record.last_position + 1)).collect();
    // A session that is gone says nothing.
    let mut readings: HashMap<SessionId, Reading> =
        sessions.into_iter().map(|session| (session, Reading::default())).collect();
    for (from, to) in stretches(spans).into_iter().flat_map(pieces) {
        for document in store.documents(&keys, from, to).await? {
            if let Some(reading) = readings.get_mut(&document.request.session_id) {
                reading.add(&document);
            }
        }
    }
    Ok(readings)
}

/// What an agent called a learning, and in which interaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Title {
    at: EpochSeconds,
    interaction_id: i64,
    text: String,
}

/// What the requests of a slice say; to add one of them twice is to add it once.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    /// The earliest request so far.
    first: Option<(EpochSeconds, RequestId)>,
    slice: Slice,
    titles: BTreeMap<Rule, Title>,
}

impl Reading {
    fn add(&mut self, document: &RequestDocument) {
        let request = &document.request;
        let when = (request.created_at, request.request_id.clone());
        if self.first.as_ref().is_none_or(|first| when < *first) {
            self.slice.source.clone_from(&request.source);
            self.slice.arm = request.retrieval_experiment_arm;
            self.first = Some(when);
        }
        for interaction in &document.interactions {
            for citation in &interaction.citations {
                let rule = Rule { kind: citation.kind.clone(), id: citation.real_id.clone() };
                if !citation.title.trim().is_empty() {
                    let title = Title {
                        at: interaction.created_at,
                        interaction_id: interaction.interaction_id,
                        text: citation.title.clone(),
                    };
                    keep_newer(&mut self.titles, rule.clone(), title);
                }
                self.slice.cited.insert(rule);
            }
        }
    }
}

/// Of two titles the one that was given last holds; of one interaction, the first.
fn keep_newer(titles: &mut BTreeMap<Rule, Title>, rule: Rule, title: Title) {
    let when = |title: &Title| (title.at, title.interaction_id);
    match titles.get(&rule) {
        Some(known) if when(known) >= when(&title) => {}
        _ => {
            titles.insert(rule, title);
        }
    }
}
