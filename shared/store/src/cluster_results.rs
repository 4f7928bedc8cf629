//! What models said of clusters in an aggregation that is not committed yet: whoever continues it need not ask again.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Store;
use crate::access::Range;
use crate::attributes::{DOCUMENT, ItemBuilder, ItemReader};
use crate::error::StoreError;
use crate::keys::{AgentKeys, CLUSTER_RESULT_PREFIX, Key};
use crate::rows::{encode, unless_damaged};
use crate::transaction::{Expression, TRANSACTION_ITEMS_MAX, Transaction};

impl Store {
    /// What was said of a cluster, if it was asked before; one that is damaged is logged, and asked again.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn cluster_result<T: DeserializeOwned>(
        &self,
        keys: &AgentKeys<'_>,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        let item = self.get(&keys.cluster_result(name)).await?;
        let Some(item) = item else { return Ok(None) };
        unless_damaged(ItemReader(&item).json(DOCUMENT))
    }

    /// Keeps what was said of a cluster.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn keep_cluster_result<T: Serialize + Sync>(
        &self,
        keys: &AgentKeys<'_>,
        name: &str,
        result: &T,
    ) -> Result<(), StoreError> {
        let item = ItemBuilder::new(&keys.cluster_result(name)).text(DOCUMENT, &encode(result)?).build();
        self.put_one(item, None, Vec::new()).await?;
        Ok(())
    }

    /// Forgets all of it, once it is committed.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn forget_cluster_results(&self, keys: &AgentKeys<'_>) -> Result<(), StoreError> {
        let partition = keys.partition();
        let items = self.query_all(Range::prefix(&partition, CLUSTER_RESULT_PREFIX)).await?;
        for chunk in items.chunks(TRANSACTION_ITEMS_MAX) {
            let mut transaction = Transaction::default();
            for item in chunk {
                let reader = ItemReader(item);
                let key =
                    Key::from_parts(reader.text(crate::attributes::PK)?, reader.text(crate::attributes::SK)?);
                transaction.delete(self, &key, Expression::default());
            }
            let deleted = transaction.commit(self).await;
            deleted.map_err(|error| error.into_store_error("forget cluster results"))?;
        }
        Ok(())
    }
}
