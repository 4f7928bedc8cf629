//! The agent playbooks of an organisation, of all agent versions.

use std::sync::Arc;

use domain::entities::AgentPlaybook;
use domain::ids::OrgId;
use llm::EmbeddingModel;
use search::{Document, MemoryIndex};
use store::{AgentPlaybookRow, StoreError};

use crate::embed::row_vectors;
use crate::org_playbooks::ORG_PLAYBOOKS_AGE_SECONDS_MAX;
use crate::{Recall, version_of};

/// Agent playbooks, whatever their status, ready to be searched.
#[derive(Debug)]
pub struct AgentPlaybookSet {
    /// The playbooks.
    pub rows: Vec<AgentPlaybook>,
    /// Ids of the user playbooks that each row was made of.
    pub sources: Vec<Vec<i64>>,
    /// Their index; hits name rows by their place. Among equals later ids come first.
    pub index: MemoryIndex<std::cmp::Reverse<i64>>,
}

impl Recall {
    /// The agent playbooks. An aggregation announces itself in its commit, so that they are those of now; what a
    /// caller wrote and could not announce shows after [`ORG_PLAYBOOKS_AGE_SECONDS_MAX`] at most.
    ///
    /// # Errors
    /// [`StoreError`]; never an empty list instead.
    pub async fn agent_playbooks(
        &self,
        org: &OrgId,
        model: &dyn EmbeddingModel,
    ) -> Result<Arc<AgentPlaybookSet>, StoreError> {
        let announced = self.store.agent_playbooks_version(org).await?;
        let age = self.store.clock().now().div_euclid(ORG_PLAYBOOKS_AGE_SECONDS_MAX);
        let version = version_of((announced, age, model.model_name()));
        if let Some(playbooks) = self.agent_playbooks.get(org, version) {
            return Ok(playbooks);
        }
        let gate = self.agent_loads.gate(org);
        let loaded = {
            let _turn = gate.lock().await;
            // Somebody may have loaded them while this call waited for its turn.
            match self.agent_playbooks.get(org, version) {
                Some(playbooks) => Ok(playbooks),
                None => self.load_agent_playbooks(org, version, model).await,
            }
        };
        self.agent_loads.leave(org, gate);
        loaded
    }

    async fn load_agent_playbooks(
        &self,
        org: &OrgId,
        version: u64,
        model: &dyn EmbeddingModel,
    ) -> Result<Arc<AgentPlaybookSet>, StoreError> {
        let rows = self.store.org_agent_playbooks(org).await?;
        let set = Arc::new(agent_playbook_set(rows, model).await);
        self.agent_playbooks.put(org.clone(), version, Arc::clone(&set), set.memory_bytes());
        Ok(set)
    }
}

impl AgentPlaybookSet {
    fn memory_bytes(&self) -> usize {
        let text = |row: &AgentPlaybook| {
            let optional = [&row.trigger, &row.rationale];
            row.content.len()
                + row.playbook_metadata.len()
                + optional.into_iter().flatten().map(String::len).sum::<usize>()
        };
        let rows: usize = self.rows.iter().map(|row| size_of::<AgentPlaybook>() + text(row)).sum();
        let sources: usize = self.sources.iter().map(|ids| size_of_val(ids.as_slice())).sum();
        self.index.memory_bytes() + rows + sources
    }
}

async fn agent_playbook_set(rows: Vec<AgentPlaybookRow>, model: &dyn EmbeddingModel) -> AgentPlaybookSet {
    let texts: Vec<_> = rows.iter().map(|row| row.playbook.embedding_text().to_owned()).collect();
    let stored: Vec<_> = rows.iter().map(|row| row.vector.clone()).collect();
    let vectors = row_vectors(model, &texts, &stored).await;
    let documents = rows.iter().zip(vectors).map(|(row, vector)| Document {
        key: std::cmp::Reverse(row.playbook.agent_playbook_id),
        lexical: words(&row.playbook),
        vector,
        newest: row.playbook.created_at,
    });
    let index = MemoryIndex::build(documents.collect());
    let (rows, sources) = rows.into_iter().map(|row| (row.playbook, row.sources)).unzip();
    AgentPlaybookSet { rows, sources, index }
}

fn words(playbook: &AgentPlaybook) -> Vec<(String, f32)> {
    let mut words = vec![(playbook.content.clone(), 1.0)];
    words.extend(playbook.trigger.iter().map(|trigger| (trigger.clone(), 1.0)));
    words.extend(playbook.expanded_terms.iter().map(|terms| (terms.clone(), 1.0)));
    words
}
