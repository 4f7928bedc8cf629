//! What rows of memory have in common: a JSON document, a status, a version, perhaps a vector.

use domain::entities::Status;

use crate::attributes::{ItemReader, VECTOR, VECTOR_MODEL};
use crate::error::StoreError;

/// A vector beside a row, in the encoding of the search crate, and the model that made it: vectors of
/// different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVector {
    /// The embedding model.
    pub model: String,
    /// The encoded vector.
    pub bytes: Vec<u8>,
}

pub(crate) fn stored_vector(reader: ItemReader<'_>) -> Option<StoredVector> {
    Some(StoredVector {
        model: reader.text_opt(VECTOR_MODEL)?.to_owned(),
        bytes: reader.bytes_opt(VECTOR)?.to_vec(),
    })
}

/// The row's status attribute is the truth; its document may be older.
pub(crate) fn status(reader: ItemReader<'_>) -> Result<Option<Status>, StoreError> {
    match reader.text_opt(crate::attributes::STATUS) {
        None => Ok(None),
        Some(text) => Status::parse(text).map(Some).ok_or_else(|| reader.corrupt(crate::attributes::STATUS)),
    }
}

pub(crate) fn encode<T: serde::Serialize>(row: &T) -> Result<String, StoreError> {
    serde_json::to_string(row)
        .map_err(|error| StoreError::Refused { operation: "encode row", detail: error.to_string() })
}
