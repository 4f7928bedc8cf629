//! Reads what the overview is made of.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::config::Config;
use domain::entities::EvaluationResult;
use domain::ids::{OrgId, UserHash};
use domain::requests::overview::GetEvaluationOverview;
use domain::time::EpochSeconds;
use domain::views::{OverviewAnswer, SessionSlice};
use futures::{StreamExt, TryStreamExt, stream};
use store::{RequestDocument, Store, StoreError, UserKeys};

use super::windows::Windows;
use super::{Rule, ShadowVerdict, Slice, Slices, Standing, overview, slice_of};

/// Sessions that are read at once.
const READS_AT_ONCE: usize = 8;

/// The overview of an organisation as it is at `now`, with what is known of comparisons to the shadow.
///
/// # Errors
/// [`StoreError`] when the store fails.
pub async fn evaluation_overview(
    store: &Store,
    org: &OrgId,
    config: &Config,
    request: &GetEvaluationOverview,
    shadow: &[ShadowVerdict],
    now: EpochSeconds,
) -> Result<OverviewAnswer, StoreError> {
    let windows = Windows::of(request.from_ts, request.to_ts);
    let (from, to) = windows.span();
    let results = store.evaluations_between(org, from, to, None).await?;
    let standing = Standing {
        now,
        earliest: store.earliest_evaluation(org).await?,
        is_shadow_enabled: config.shadow_mode_enabled,
        judge_prompt_version: &config.shadow_comparison_judge_prompt_version,
    };
    // Sets compare the week before by source, too; all else needs sources in the span itself only.
    let is_wanted = |result: &&EvaluationResult| {
        !request.source_sets.is_empty() || windows.is_in_trend(result.created_at)
    };
    let wanted = results.iter().filter(is_wanted).map(slice_of).collect();
    let slices = load_slices(store, org, wanted).await?;
    Ok(overview(request, &standing, &results, &slices, shadow))
}

async fn load_slices(
    store: &Store,
    org: &OrgId,
    wanted: HashSet<SessionSlice>,
) -> Result<Slices, StoreError> {
    let read: Vec<(SessionSlice, Reading)> = stream::iter(wanted)
        .map(|slice| async move {
            let reading = Reading::of(&documents(store, org, &slice).await?);
            Ok::<_, StoreError>((slice, reading))
        })
        .buffer_unordered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let (mut known, mut titles) = (HashMap::new(), BTreeMap::new());
    for (slice, reading) in read {
        known.insert(slice, reading.slice);
        for (rule, title) in reading.titles {
            keep_newer(&mut titles, rule, title);
        }
    }
    let titles = titles.into_iter().map(|(rule, title)| (rule, title.text)).collect();
    Ok(Slices { known, titles })
}

/// The requests of one user's part in a session; none when it is gone.
async fn documents(
    store: &Store,
    org: &OrgId,
    slice: &SessionSlice,
) -> Result<Vec<RequestDocument>, StoreError> {
    let user = UserHash::of(&slice.user_id);
    let keys = UserKeys { org, user: &user };
    let Some(session) = store.session(&keys, &slice.session_id).await? else { return Ok(Vec::new()) };
    let mut documents = store.documents(&keys, session.first_position, session.last_position + 1).await?;
    // The user may have been in other sessions meanwhile.
    documents.retain(|document| document.request.session_id == slice.session_id);
    Ok(documents)
}

/// What an agent called a learning, and in which interaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Title {
    at: EpochSeconds,
    interaction_id: i64,
    text: String,
}

/// What the requests of a slice say.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    slice: Slice,
    titles: BTreeMap<Rule, Title>,
}

impl Reading {
    fn of(documents: &[RequestDocument]) -> Self {
        let mut reading = Self::default();
        let requests = documents.iter().map(|document| &document.request);
        if let Some(first) = requests.min_by_key(|request| (request.created_at, &request.request_id)) {
            reading.slice.source.clone_from(&first.source);
            reading.slice.arm = first.retrieval_experiment_arm;
        }
        for interaction in documents.iter().flat_map(|document| &document.interactions) {
            for citation in &interaction.citations {
                let rule = Rule { kind: citation.kind.clone(), id: citation.real_id.clone() };
                if !citation.title.trim().is_empty() {
                    let title = Title {
                        at: interaction.created_at,
                        interaction_id: interaction.interaction_id,
                        text: citation.title.clone(),
                    };
                    keep_newer(&mut reading.titles, rule.clone(), title);
                }
                reading.slice.cited.insert(rule);
            }
        }
        reading
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
