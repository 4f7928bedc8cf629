//! Vectors of turns by hosted embedders, in items of their own beside the documents, written by the worker.

use std::collections::HashMap;

use crate::Store;
use crate::access::Range;
use crate::attributes::{Item, ItemBuilder, ItemReader, POSITION, VECTOR, VECTOR_MODEL};
use crate::error::StoreError;
use crate::keys::{TURN_VECTORS_PREFIX, UserKeys};
use crate::leases::{Lease, commit_under};
use crate::transaction::Transaction;

/// Vectors that one item holds: at 519 bytes each they stay well below 400 KB.
pub const VECTORS_PER_ITEM_MAX: usize = 256;

/// The vectors of consecutive turns, at most [`VECTORS_PER_ITEM_MAX`]; `None` for a turn that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnVectors {
    /// The position of the first turn.
    pub first_position: i64,
    /// The embedding model.
    pub model: String,
    /// One encoded vector per turn.
    pub vectors: Vec<Option<Vec<u8>>>,
}

/// How far the worker has come with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnVectorProgress {
    /// The model that made them; another one begins anew.
    pub model: String,
    /// Positions below this have theirs.
    pub position: i64,
}

impl TurnVectors {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for vector in &self.vectors {
            let vector = vector.as_deref().unwrap_or(&[]);
            bytes.extend(u32::try_from(vector.len()).unwrap_or(0).to_le_bytes());
            bytes.extend(vector);
        }
        bytes
    }

    fn from_item(item: &Item) -> Result<Self, StoreError> {
        let reader = ItemReader(item);
        let mut rest = reader.bytes_opt(VECTOR).ok_or_else(|| reader.corrupt(VECTOR))?;
        let mut vectors = Vec::new();
        while let Some((length, tail)) = rest.split_first_chunk::<4>() {
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let (vector, tail) = tail.split_at_checked(length).ok_or_else(|| reader.corrupt(VECTOR))?;
            vectors.push((length > 0).then(|| vector.to_vec()));
            rest = tail;
        }
        Ok(Self {
            first_position: reader.number(POSITION)?,
            model: reader.text(VECTOR_MODEL)?.to_owned(),
            vectors,
        })
    }
}

impl Store {
    /// How far turns have their vectors.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the item is damaged.
    pub async fn turn_vector_progress(&self, keys: &UserKeys<'_>) -> Result<TurnVectorProgress, StoreError> {
        let Some(item) = self.get(&keys.turn_vector_progress()).await? else {
            return Ok(TurnVectorProgress::default());
        };
        let reader = ItemReader(&item);
        Ok(TurnVectorProgress {
            model: reader.text(VECTOR_MODEL)?.to_owned(),
            position: reader.number(POSITION)?,
        })
    }

    /// Stores vectors and how far they go, under the lease: what a late worker read before an erasure must not
    /// come back. Readers of the memory look again, since the version rises.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or the lease is lost.
    pub async fn put_turn_vectors(
        &self,
        keys: &UserKeys<'_>,
        lease: &Lease,
        all: &[TurnVectors],
        progress: &TurnVectorProgress,
    ) -> Result<(), StoreError> {
        let mut transaction = Transaction::default();
        let (key, expression) = commit_under(keys.lease(), lease);
        transaction.update(self, &key, expression);
        for vectors in all {
            let item = ItemBuilder::new(&keys.turn_vectors(vectors.first_position))
                .number(POSITION, vectors.first_position)
                .text(VECTOR_MODEL, &vectors.model)
                .bytes_if(VECTOR, Some(vectors.encode()))
                .build();
            transaction.put(self, item);
        }
        let item = ItemBuilder::new(&keys.turn_vector_progress())
            .text(VECTOR_MODEL, &progress.model)
            .number(POSITION, progress.position)
            .build();
        transaction.put(self, item);
        transaction.commit(self).await.map_err(|error| error.into_store_error("put turn vectors"))
    }

    /// All stored vectors of a user's turns by one model, by the position of the turn.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an item is damaged.
    pub async fn turn_vectors(
        &self,
        keys: &UserKeys<'_>,
        model: &str,
    ) -> Result<HashMap<i64, Vec<u8>>, StoreError> {
        let partition = keys.partition();
        let items = self.query_all(Range::prefix(&partition, TURN_VECTORS_PREFIX)).await?;
        let mut found = HashMap::new();
        for item in &items {
            let vectors = TurnVectors::from_item(item)?;
            if vectors.model == model {
                let by_position = (vectors.first_position..).zip(vectors.vectors);
                found.extend(by_position.filter_map(|(position, vector)| Some((position, vector?))));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_back_as_they_were_written() {
        let vectors = TurnVectors {
            first_position: 7,
            model: "m".into(),
            vectors: vec![Some(vec![1, 2, 3]), None, Some(vec![4])],
        };
        let item = ItemBuilder::default()
            .number(POSITION, 7)
            .text(VECTOR_MODEL, "m")
            .bytes_if(VECTOR, Some(vectors.encode()))
            .build();
        assert_eq!(TurnVectors::from_item(&item).unwrap(), vectors);
        let cut = ItemBuilder::default()
            .number(POSITION, 7)
            .text(VECTOR_MODEL, "m")
            .bytes_if(VECTOR, Some(vec![9, 0, 0, 0, 1]))
            .build();
        assert!(TurnVectors::from_item(&cut).is_err());
    }
}
