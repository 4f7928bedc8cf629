//! The rows behind attached learnings.

use std::collections::HashMap;

use domain::entities::RetrievedLearningKind;
use domain::ids::{OrgId, ProfileId, UserHash};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::{Store, StoreError, UserKeys};

use super::snapshot::Candidate;

/// Agent playbooks that are read at once.
const READS_AT_ONCE: usize = 8;

/// What a learning says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Learning {
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) trigger: Option<String>,
    /// Of what a playbook says; `None` for profiles.
    pub(crate) digest: Option<String>,
}

impl Learning {
    fn playbook(title: String, content: String, trigger: Option<String>) -> Self {
        let digest = hex::encode(Sha256::digest(json!([content, trigger]).to_string()));
        Self { title, content, trigger, digest: Some(digest) }
    }
}

/// Rows by kind and id.
pub(crate) type Learnings = HashMap<(RetrievedLearningKind, String), Learning>;

/// Reads the rows of some candidates, whatever their status. Those that are not there are left out, and so are
/// profiles of other users: what is known of one person is not shown in judging another one's session.
pub(crate) async fn resolve(
    store: &Store,
    keys: &UserKeys<'_>,
    candidates: &[Candidate],
) -> Result<Learnings, StoreError> {
    let mut found = Learnings::new();
    let profile_ids: Vec<ProfileId> = ids(candidates, RetrievedLearningKind::Profile)
        .into_iter()
        .filter_map(|id| ProfileId::new(id).ok())
        .collect();
    for profile in store.profiles_by_ids(keys.org, &profile_ids).await? {
        if UserHash::of(&profile.user_id) == *keys.user {
            let key = (RetrievedLearningKind::Profile, profile.profile_id.as_str().to_owned());
            found.insert(key, Learning { content: profile.content, ..Learning::default() });
        }
    }
    let playbook_ids = numbers(candidates, RetrievedLearningKind::UserPlaybook);
    for playbook in store.user_playbooks_by_ids(keys.org, &playbook_ids).await? {
        let key = (RetrievedLearningKind::UserPlaybook, playbook.user_playbook_id.to_string());
        found.insert(key, Learning::playbook(playbook.playbook_name, playbook.content, playbook.trigger));
    }
    found.extend(agent_playbooks(store, keys.org, candidates).await?);
    Ok(found)
}

async fn agent_playbooks(
    store: &Store,
    org: &OrgId,
    candidates: &[Candidate],
) -> Result<Learnings, StoreError> {
    let ids = numbers(candidates, RetrievedLearningKind::AgentPlaybook);
    let mut reads = Vec::with_capacity(ids.len());
    for id in ids {
        reads.push(store.agent_playbook_by_id(org, id));
    }
    let rows: Vec<_> = stream::iter(reads).buffer_unordered(READS_AT_ONCE).try_collect().await?;
    let learning = |row: store::AgentPlaybookRow| {
        let playbook = row.playbook;
        let key = (RetrievedLearningKind::AgentPlaybook, playbook.agent_playbook_id.to_string());
        (key, Learning::playbook(playbook.playbook_name, playbook.content, playbook.trigger))
    };
    Ok(rows.into_iter().flatten().map(learning).collect())
}

/// The ids of one kind, each once.
fn ids(candidates: &[Candidate], kind: RetrievedLearningKind) -> Vec<&str> {
    let own = candidates.iter().filter(|candidate| candidate.kind == kind);
    let mut ids: Vec<&str> = own.map(|candidate| candidate.learning_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The same, of kinds that have numbers; what is spelled otherwise than we spell numbers is none.
fn numbers(candidates: &[Candidate], kind: RetrievedLearningKind) -> Vec<i64> {
    let number = |id: &str| id.parse::<i64>().ok().filter(|number| *number > 0 && number.to_string() == id);
    ids(candidates, kind).into_iter().filter_map(number).collect()
}
