//! The playbooks of all users of an organisation, until segments carry them.

use std::sync::Arc;

use domain::ids::OrgId;
use llm::EmbeddingModel;
use store::{Listing, StoreError};

use crate::memory::{PlaybookSet, playbook_set};
use crate::{Recall, version_of};

/// After this time the playbooks of an organisation are loaded anew, even if no change was announced.
pub const ORG_PLAYBOOKS_AGE_SECONDS_MAX: i64 = 30;
/// Entries of the index that are read at a time.
const PAGE_ENTRIES: usize = 500;

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
        let mut rows = Vec::new();
        let mut page = None;
        loop {
            let (entries, next) = self.store.list(org, Listing::UserPlaybooks, PAGE_ENTRIES, page).await?;
            let keys: Vec<_> = entries.into_iter().map(|entry| entry.key).collect();
            rows.extend(self.store.user_playbooks_by_keys(&keys).await?);
            match next {
                Some(next) => page = Some(next),
                None => break,
            }
        }
        let playbooks = Arc::new(playbook_set(rows, model).await);
        self.org_playbooks.put(org.clone(), version, Arc::clone(&playbooks), playbooks.memory_bytes());
        Ok(playbooks)
    }
}
