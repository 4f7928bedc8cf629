//! What a pass looks at: the latest turns, the memories that they cite, and these as they are stored now.

use domain::config::Config;
use domain::entities::{Interaction, UserPlaybook, UserProfile};
use domain::ids::RequestId;
use domain::learning::LearningKind;
use store::{Cursor, Head, ProfileRow, RequestDocument, StoreError, UserKeys, UserPlaybookRow};

use crate::reflection::{
    CitationContext, Cited, Counters, Horizon, SeenTurn, Target, cited, horizon, is_gate_open,
    is_revisable_playbook, is_revisable_profile,
};
use crate::services::Services;

/// Interactions behind the head beyond which nobody looks for more, however few of them are learned from.
const LOOKBACK_INTERACTIONS: i64 = 1_000;
/// Memories that one pass judges; what is cited beyond is skipped.
pub(super) const CONSIDERED_MAX: usize = 50;

/// A turn of the window.
#[derive(Debug, Clone)]
pub(super) struct OwnTurn {
    pub(super) interaction: Interaction,
    pub(super) request_id: RequestId,
    for_profiles: bool,
    for_playbooks: bool,
}

/// What one pass works with.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// The window, oldest turn first.
    pub(super) turns: Vec<OwnTurn>,
    /// The memories to be judged.
    pub(super) context: Vec<CitationContext>,
    /// The facts among them.
    pub(super) profiles: Vec<ProfileRow>,
    /// The rules among them.
    pub(super) playbooks: Vec<UserPlaybookRow>,
    /// What is known so far.
    pub(super) counters: Counters,
}

impl Inputs {
    pub(super) fn seen(&self) -> Vec<SeenTurn<'_>> {
        let seen = |turn| {
            let OwnTurn { interaction, request_id, for_profiles, for_playbooks }: &OwnTurn = turn;
            SeenTurn { interaction, request_id, for_profiles: *for_profiles, for_playbooks: *for_playbooks }
        };
        self.turns.iter().map(seen).collect()
    }

    pub(super) fn shown_profiles(&self) -> Vec<UserProfile> {
        self.profiles.iter().map(|row| row.profile.clone()).collect()
    }

    pub(super) fn shown_playbooks(&self) -> Vec<UserPlaybook> {
        self.playbooks.iter().map(|row| row.playbook.clone()).collect()
    }
}

/// The cursor behind everything that there is.
pub(super) fn behind(head: &Head, cursor: &Cursor) -> Cursor {
    Cursor {
        completed: head.count,
        learned: cursor.learned + (head.count - cursor.completed).max(0),
        started: true,
        version: cursor.version,
        ..Cursor::default()
    }
}

/// Reads what a pass needs, and no more than that: most passes end at the gate.
pub(super) async fn read_inputs(
    services: &Services,
    keys: &UserKeys<'_>,
    head: &Head,
    config: &Config,
    cursor: &Cursor,
) -> Result<Inputs, StoreError> {
    let mut inputs = Inputs::default();
    inputs.counters.gate_open = opens_gate(services, keys, head, config.stride(), cursor).await?;
    if !inputs.counters.gate_open {
        return Ok(inputs);
    }
    inputs.turns = window(services, keys, head, config.window() as usize).await?;
    let cited = cited(&inputs.seen());
    inputs.counters.cited = cited.len();
    let judged = judged(&cited, inputs.turns.len(), config);
    inputs.counters.skipped = cited.len() - judged.len();
    resolve(services, keys, &mut inputs, judged).await?;
    Ok(inputs)
}

/// Whether a document is learned from at all; what is for evaluation only is not.
fn is_learned(document: &RequestDocument) -> bool {
    LearningKind::ALL.into_iter().any(|kind| document.policy.of(kind).eligible)
}

/// What counts when documents are read backwards: those that are learned from, and all that lie too far back.
fn ends_search(head: &Head) -> impl Fn(&RequestDocument) -> bool + Send + Sync + use<> {
    let far = head.count - LOOKBACK_INTERACTIONS;
    move |document| document.end_position() <= far || is_learned(document)
}

/// Whether a stride of interactions from the source that spoke last is new.
async fn opens_gate(
    services: &Services,
    keys: &UserKeys<'_>,
    head: &Head,
    stride: u32,
    cursor: &Cursor,
) -> Result<bool, StoreError> {
    let count = |positions: i64| usize::try_from(positions).unwrap_or(0);
    if !is_gate_open(count(head.count - cursor.completed), stride) {
        return Ok(false);
    }
    let newest = services.store.documents_before(keys, head.count, 1, ends_search(head)).await?;
    let Some(newest) = newest.into_iter().rev().find(is_learned) else { return Ok(false) };
    let source = newest.request.source;
    let from = cursor.completed.max(head.count - LOOKBACK_INTERACTIONS);
    let is_counted = move |document: &RequestDocument| {
        document.end_position() <= from || (is_learned(document) && document.request.source == source)
    };
    let documents = services.store.documents_before(keys, head.count, stride as usize, &is_counted).await?;
    let new: i64 = documents
        .iter()
        .filter(|document| document.end_position() > from && is_counted(document))
        .map(|document| document.end_position() - document.first_position.max(from))
        .sum();
    Ok(is_gate_open(count(new), stride))
}

/// The latest interactions that are learned from, oldest first.
async fn window(
    services: &Services,
    keys: &UserKeys<'_>,
    head: &Head,
    size: usize,
) -> Result<Vec<OwnTurn>, StoreError> {
    let documents = services.store.documents_before(keys, head.count, size, ends_search(head)).await?;
    let mut turns = Vec::new();
    for document in documents.into_iter().filter(is_learned) {
        let of = |kind| document.policy.of(kind).eligible;
        let (for_profiles, for_playbooks) = (of(LearningKind::Profile), of(LearningKind::Playbook));
        let request_id = document.request.request_id;
        turns.extend(document.interactions.into_iter().map(|interaction| OwnTurn {
            interaction,
            request_id: request_id.clone(),
            for_profiles,
            for_playbooks,
        }));
    }
    turns.drain(..turns.len().saturating_sub(size));
    Ok(turns)
}

/// What is cited and can be judged now.
fn judged(cited: &[Cited], turns: usize, config: &Config) -> Vec<CitationContext> {
    let post_horizon = config.reflection_config.post_horizon_size;
    let context = |cited: &Cited| {
        let target = cited.target.clone()?;
        match horizon(cited.position, turns, post_horizon, config.stride()) {
            Horizon::Full => Some(CitationContext { target, has_full_horizon: true }),
            Horizon::LastChance => Some(CitationContext { target, has_full_horizon: false }),
            Horizon::Deferred => None,
        }
    };
    cited.iter().filter_map(context).take(CONSIDERED_MAX).collect()
}

/// Reads the memories that are judged. What is not current any more, or too long to be shown whole, is skipped.
async fn resolve(
    services: &Services,
    keys: &UserKeys<'_>,
    inputs: &mut Inputs,
    judged: Vec<CitationContext>,
) -> Result<(), StoreError> {
    let is_cited = |target: &Target| judged.iter().any(|citation| citation.target == *target);
    if judged.iter().any(|citation| matches!(citation.target, Target::Profile(_))) {
        let now = services.clock.now();
        inputs.profiles = services.store.profiles(keys).await?;
        inputs.profiles.retain(|row| {
            let profile = &row.profile;
            let is_live = profile.status.is_none() && profile.expiration_timestamp >= now;
            is_live && is_revisable_profile(profile) && is_cited(&Target::Profile(profile.profile_id.clone()))
        });
    }
    if judged.iter().any(|citation| matches!(citation.target, Target::Playbook(_))) {
        inputs.playbooks = services.store.user_playbooks(keys).await?;
        inputs.playbooks.retain(|row| {
            let playbook = &row.playbook;
            let is_current = playbook.status.is_none() && is_revisable_playbook(playbook);
            is_current && is_cited(&Target::Playbook(playbook.user_playbook_id))
        });
    }
    let (profiles, playbooks) = (&inputs.profiles, &inputs.playbooks);
    let is_found = |target: &Target| match target {
        Target::Profile(id) => profiles.iter().any(|row| row.profile.profile_id == *id),
        Target::Playbook(id) => playbooks.iter().any(|row| row.playbook.user_playbook_id == *id),
    };
    let many = judged.len();
    let context: Vec<_> = judged.into_iter().filter(|citation| is_found(&citation.target)).collect();
    inputs.counters.skipped += many - context.len();
    inputs.counters.considered = context.len();
    inputs.context = context;
    Ok(())
}
