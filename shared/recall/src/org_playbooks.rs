//! The playbooks of all users of an organisation, until segments carry them.

use std::collections::HashMap;
use std::sync::Arc;

use domain::ids::OrgId;
use llm::EmbeddingModel;
use parking_lot::Mutex;
use store::StoreError;

use crate::memory::{PlaybookSet, playbook_set};
use crate::{Recall, version_of};

/// After this time the playbooks of an organisation are loaded anew, even if no change was announced.
pub const ORG_PLAYBOOKS_AGE_SECONDS_MAX: i64 = 30;

impl Recall {
    /// The playbooks of all users. A user's own are read by [`Self::memory`], which never lags; this list may,
    /// by [`ORG_PLAYBOOKS_AGE_SECONDS_MAX`] at most.
    ///
    /// # Errors
    /// [`StoreError`]; never an empty list instead.
    pub async fn org_playbooks(
        &self,
        org: &OrgId,
        model: &dyn EmbeddingModel,
    ) -> Result<Arc<PlaybookSet>, StoreError> {
        let announced = self.store.org_playbooks_version(org).await?;
        let age = self.store.clock().now().div_euclid(ORG_PLAYBOOKS_AGE_SECONDS_MAX);
        let version = version_of((announced, age, model.model_name()));
        if let Some(playbooks) = self.org_playbooks.get(org, version) {
            return Ok(playbooks);
        }
        let gate = self.org_loads.gate(org);
        let loaded = {
            let _turn = gate.lock().await;
            // Somebody may have loaded them while this call waited for its turn.
            match self.org_playbooks.get(org, version) {
                Some(playbooks) => Ok(playbooks),
                None => self.load_org_playbooks(org, version, model).await,
            }
        };
        self.org_loads.leave(org, gate);
        loaded
    }

    async fn load_org_playbooks(
        &self,
        org: &OrgId,
        version: u64,
        model: &dyn EmbeddingModel,
    ) -> Result<Arc<PlaybookSet>, StoreError> {
        let rows = self.store.all_user_playbooks(org).await?;
        let playbooks = Arc::new(playbook_set(rows, model).await);
        self.org_playbooks.put(org.clone(), version, Arc::clone(&playbooks), playbooks.memory_bytes());
        Ok(playbooks)
    }
}

/// Lets one call at a time load the list of an organisation: whoever comes meanwhile waits and finds it loaded.
#[derive(Debug, Default)]
pub(crate) struct OrgLoads(Mutex<HashMap<OrgId, Gate>>);

type Gate = Arc<tokio::sync::Mutex<()>>;

impl OrgLoads {
    pub(crate) fn gate(&self, org: &OrgId) -> Gate {
        Arc::clone(self.0.lock().entry(org.clone()).or_default())
    }

    /// Forgets the gate when nobody else stands before it. A call that was cancelled leaves one behind, for the
    /// next one to use.
    pub(crate) fn leave(&self, org: &OrgId, gate: Gate) {
        let mut gates = self.0.lock();
        drop(gate);
        if gates.get(org).is_some_and(|gate| Arc::strong_count(gate) == 1) {
            gates.remove(org);
        }
    }
}
