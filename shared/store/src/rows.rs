//! What rows of memory have in common: a JSON document, a status, a version, perhaps a vector.

use domain::entities::Status;

use crate::attributes::{Item, ItemReader, VECTOR, VECTOR_MODEL};
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

/// What an item holds, or `None` when it is damaged, which is logged: work on many items must not stand still for
/// one of them. A failed read is no damage.
pub(crate) fn unless_damaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(error @ StoreError::Corrupt { .. }) => {
            tracing::error!(event = "stored_data_damaged", %error);
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// What the items hold that are not damaged.
pub(crate) fn undamaged<T>(
    items: &[Item],
    read: impl Fn(&Item) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    items.iter().filter_map(|item| unless_damaged(read(item)).transpose()).collect()
}

pub(crate) fn encode<T: serde::Serialize>(row: &T) -> Result<String, StoreError> {
    serde_json::to_string(row)
        .map_err(|error| StoreError::Refused { operation: "encode row", detail: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{DOCUMENT, ItemBuilder};
    use crate::keys::Key;

    fn item(document: &str) -> Item {
        ItemBuilder::new(&Key::from_parts("p", "s")).text(DOCUMENT, document).build()
    }

    #[test]
    fn damaged_items_are_left_out_and_the_others_are_not() {
        let items = [item("1"), item("{"), item("3")];
        let read = |item: &Item| ItemReader(item).json::<i64>(DOCUMENT);
        assert_eq!(undamaged(&items, read).unwrap(), [1, 3]);
    }

    #[test]
    fn what_could_not_be_read_is_not_taken_for_damaged() {
        let unavailable = || StoreError::Unavailable { operation: "Query", detail: String::new() };
        let read = |_: &Item| Err::<i64, _>(unavailable());
        assert!(matches!(undamaged(&[item("1")], read), Err(StoreError::Unavailable { .. })));
        let contended = Err::<i64, _>(StoreError::Contended { operation: "read" });
        assert!(matches!(unless_damaged(contended), Err(StoreError::Contended { .. })));
    }
}
