//! A user's memory: profiles and playbooks with their indexes.

use std::sync::Arc;

use domain::entities::{UserPlaybook, UserProfile};
use domain::ids::{OrgId, UserHash};
use llm::EmbeddingModel;
use search::{Document, MemoryIndex};
use serde_json::Value;
use store::{ProfileRow, StoreError, UserKeys, UserPlaybookRow};

use crate::embed::row_vectors;
use crate::{Recall, version_of};

/// Profiles of one user, whatever their status, ready to be searched.
#[derive(Debug)]
pub struct ProfileSet {
    /// The profiles.
    pub rows: Vec<UserProfile>,
    /// Their index; hits name rows by their place.
    pub index: MemoryIndex<String>,
}

/// Playbooks, whatever their status, ready to be searched.
#[derive(Debug)]
pub struct PlaybookSet {
    /// The playbooks.
    pub rows: Vec<UserPlaybook>,
    /// Their index; hits name rows by their place. Among equals later ids come first.
    pub index: MemoryIndex<std::cmp::Reverse<i64>>,
}

/// All that is remembered of one user.
#[derive(Debug)]
pub struct UserMemory {
    /// Facts.
    pub profiles: ProfileSet,
    /// Rules for the agent.
    pub playbooks: PlaybookSet,
}

impl Recall {
    /// The memory of a user as of now. One small read when nothing changed since it was loaded.
    ///
    /// # Errors
    /// [`StoreError`]; never an empty memory instead.
    pub async fn memory(
        &self,
        org: &OrgId,
        user: &UserHash,
        model: &dyn EmbeddingModel,
    ) -> Result<Arc<UserMemory>, StoreError> {
        let keys = UserKeys { org, user };
        // The version first: rows that are newer than it are at worst loaded once more.
        let version = version_of((self.store.memory_version(&keys).await?, model.model_name()));
        let key = (org.clone(), user.clone());
        if let Some(memory) = self.memories.get(&key, version) {
            return Ok(memory);
        }
        let rows = self.store.memory_rows(&keys).await?;
        let profiles = profile_set(rows.profiles, model).await;
        let playbooks = playbook_set(rows.playbooks, model).await;
        let memory = Arc::new(UserMemory { profiles, playbooks });
        let bytes = memory.profiles.memory_bytes() + memory.playbooks.memory_bytes();
        self.memories.put(key, version, Arc::clone(&memory), bytes);
        Ok(memory)
    }
}

impl ProfileSet {
    fn memory_bytes(&self) -> usize {
        let text = |row: &UserProfile| {
            row.content.len()
                + row.source_span.as_ref().map_or(0, String::len)
                + row.profile_id.as_str().len()
        };
        self.index.memory_bytes()
            + self.rows.iter().map(|row| size_of::<UserProfile>() + text(row)).sum::<usize>()
    }
}

impl PlaybookSet {
    pub(crate) fn memory_bytes(&self) -> usize {
        let text = |row: &UserPlaybook| {
            let optional = [&row.trigger, &row.rationale, &row.source_span];
            row.content.len() + optional.into_iter().flatten().map(String::len).sum::<usize>()
        };
        self.index.memory_bytes()
            + self.rows.iter().map(|row| size_of::<UserPlaybook>() + text(row)).sum::<usize>()
    }
}

pub(crate) async fn profile_set(rows: Vec<ProfileRow>, model: &dyn EmbeddingModel) -> ProfileSet {
    let texts: Vec<_> = rows.iter().map(|row| row.profile.embedding_text()).collect();
    let stored: Vec<_> = rows.iter().map(|row| row.vector.clone()).collect();
    let vectors = row_vectors(model, &texts, &stored).await;
    let documents = rows.iter().zip(vectors).map(|(row, vector)| Document {
        key: row.profile.profile_id.as_str().to_owned(),
        lexical: profile_words(&row.profile),
        vector,
        newest: row.profile.last_modified_timestamp,
    });
    let index = MemoryIndex::build(documents.collect());
    ProfileSet { rows: rows.into_iter().map(|row| row.profile).collect(), index }
}

pub(crate) async fn playbook_set(rows: Vec<UserPlaybookRow>, model: &dyn EmbeddingModel) -> PlaybookSet {
    let texts: Vec<_> = rows.iter().map(|row| row.playbook.embedding_text().to_owned()).collect();
    let stored: Vec<_> = rows.iter().map(|row| row.vector.clone()).collect();
    let vectors = row_vectors(model, &texts, &stored).await;
    let documents = rows.iter().zip(vectors).map(|(row, vector)| Document {
        key: std::cmp::Reverse(row.playbook.user_playbook_id),
        lexical: playbook_words(&row.playbook),
        vector,
        newest: row.playbook.created_at,
    });
    let index = MemoryIndex::build(documents.collect());
    PlaybookSet { rows: rows.into_iter().map(|row| row.playbook).collect(), index }
}

fn profile_words(profile: &UserProfile) -> Vec<(String, f32)> {
    let mut words = vec![(profile.content.clone(), 1.0)];
    for value in profile.custom_features.iter().flat_map(|features| features.values()) {
        words.push((plain_text(value), 1.0));
    }
    words.extend(profile.expanded_terms.iter().map(|terms| (terms.clone(), 1.0)));
    words
}

fn playbook_words(playbook: &UserPlaybook) -> Vec<(String, f32)> {
    let mut words = vec![(playbook.content.clone(), 1.0)];
    words.extend(playbook.trigger.iter().map(|trigger| (trigger.clone(), 1.0)));
    words.extend(playbook.expanded_terms.iter().map(|terms| (terms.clone(), 1.0)));
    words
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
