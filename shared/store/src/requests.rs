//! Request documents: a request and all its interactions are one item.
//!
//! Interactions above [`INTERACTION_BYTES_INLINE_MAX`] (and, when the rest is still too much, the largest of
//! the others) are kept in one object per request in S3, of which the item keeps the digest. Images in base64
//! always go to S3.

use std::collections::BTreeMap;

use domain::entities::{Interaction, Request};
use domain::ids::{OrgId, RequestId};
use domain::learning::AdmissionPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Store;
use crate::access::Range;
use crate::attributes::{
    COUNT, DOCUMENT, FINISHED, Item, ItemReader, OBJECT, OBJECT_DIGEST, POSITION, USER_NUMBER,
    USER_NUMBER_BASE,
};
use crate::error::StoreError;
use crate::keys::{REQUEST_PREFIX, UserKeys, padded};
use crate::objects::digest;

/// Positions that one user number covers: an interaction id is number × this + position, below 2⁵³.
pub const POSITIONS_PER_USER_NUMBER: i64 = 1 << 22;
/// An interaction whose JSON is longer goes to S3: a large transactional put costs 75 times an S3 put.
pub const INTERACTION_BYTES_INLINE_MAX: usize = 32 * 1024;
/// Bytes of all inline interactions of one document; an item may hold 400 KB, keys and names included.
pub const DOCUMENT_BYTES_INLINE_MAX: usize = 256 * 1024;

/// The id of the interaction at `position` of a user whose number counts from `base`.
#[must_use]
pub fn interaction_id(user_number: i64, base: i64, position: i64) -> i64 {
    user_number * POSITIONS_PER_USER_NUMBER + (position - base)
}

/// The user number of an interaction id, and the distance from that number's base.
#[must_use]
pub fn split_interaction_id(id: i64) -> (i64, i64) {
    (id.div_euclid(POSITIONS_PER_USER_NUMBER), id.rem_euclid(POSITIONS_PER_USER_NUMBER))
}

/// A stored request with its interactions, ids assigned.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDocument {
    /// Position of the first interaction in the user's stream.
    pub first_position: i64,
    /// The request.
    pub request: Request,
    /// Its interactions in the order in which they were sent.
    pub interactions: Vec<Interaction>,
    /// How it counts for learning.
    pub policy: AdmissionPolicy,
}

impl RequestDocument {
    /// The position after the last interaction.
    #[must_use]
    pub fn end_position(&self) -> i64 {
        self.first_position + i64::try_from(self.interactions.len()).unwrap_or(i64::MAX)
    }
}

/// What of a document stands in the item beside its positions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredDocument {
    #[serde(rename = "r")]
    request: Request,
    #[serde(rename = "p")]
    policy: AdmissionPolicy,
    /// `null` stands for an interaction that is in the object.
    #[serde(rename = "i")]
    interactions: Vec<Option<Value>>,
}

/// A document ready to be written: the item's text, and what goes to S3.
#[derive(Debug)]
pub(crate) struct EncodedDocument {
    pub(crate) text: String,
    pub(crate) spilled: Option<Vec<u8>>,
    /// Where what was cut off is kept, and the digest of it.
    pub(crate) object: Option<(String, String)>,
}

/// Cuts a request into what the item keeps and what S3 keeps.
pub(crate) fn encode(
    request: &Request,
    policy: &AdmissionPolicy,
    interactions: &[Interaction],
) -> Result<EncodedDocument, StoreError> {
    let unencodable = |error: serde_json::Error| StoreError::Refused {
        operation: "encode request",
        detail: error.to_string(),
    };
    let mut inline = Vec::with_capacity(interactions.len());
    let mut sizes = Vec::with_capacity(interactions.len());
    for interaction in interactions {
        let value = without_defaults(interaction).map_err(unencodable)?;
        sizes.push(serde_json::to_string(&value).map_err(unencodable)?.len());
        inline.push(Some(value));
    }
    let mut spilled = BTreeMap::new();
    for index in to_spill(&sizes) {
        if let Some(value) = inline[index].take() {
            spilled.insert(index, value);
        }
    }
    let stored = StoredDocument { request: request.clone(), policy: *policy, interactions: inline };
    let text = serde_json::to_string(&stored).map_err(unencodable)?;
    let spilled = match spilled.is_empty() {
        true => None,
        false => Some(serde_json::to_vec(&spilled).map_err(unencodable)?),
    };
    Ok(EncodedDocument { text, spilled, object: None })
}

/// Which interactions leave the item: those that are large by themselves, then the largest of the rest until
/// what remains fits.
fn to_spill(sizes: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(sizes[index]));
    let mut total: usize = sizes.iter().sum();
    let mut out = Vec::new();
    for index in order {
        if sizes[index] <= INTERACTION_BYTES_INLINE_MAX && total <= DOCUMENT_BYTES_INLINE_MAX {
            break;
        }
        total -= sizes[index];
        out.push(index);
    }
    out
}

/// An interaction as JSON without what has its default value.
fn without_defaults(interaction: &Interaction) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(interaction)?;
    let defaults = serde_json::to_value(Interaction::default())?;
    if let (Value::Object(map), Value::Object(defaults)) = (&mut value, &defaults) {
        map.retain(|name, value| defaults.get(name) != Some(value));
    }
    Ok(value)
}

/// Whether a document says that its session is over, from the beginning or since.
pub(crate) fn is_session_finished(reader: ItemReader<'_>) -> Result<bool, StoreError> {
    let stored: StoredDocument = reader.json(DOCUMENT)?;
    Ok(stored.policy.session_finished || reader.mark(FINISHED))
}

impl Store {
    /// Documents of a user whose positions lie in `from..to`, ascending; the one that spans `from` included.
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails, or a document is damaged.
    pub async fn documents(
        &self,
        keys: &UserKeys<'_>,
        from: i64,
        to: i64,
    ) -> Result<Vec<RequestDocument>, StoreError> {
        if from >= to {
            return Ok(Vec::new());
        }
        let partition = keys.partition();
        let mut first = from;
        if from > 0 {
            // A document may span the position where reading resumes.
            let range = Range {
                partition: &partition,
                from: REQUEST_PREFIX.to_owned(),
                to: format!("{REQUEST_PREFIX}{}", padded(from)),
                ascending: false,
                limit: Some(1),
            };
            if let Some(item) = self.query_page(&range, None).await?.0.first() {
                let reader = ItemReader(item);
                if reader.number(POSITION)? + reader.number(COUNT)? > from {
                    first = reader.number(POSITION)?;
                }
            }
        }
        let range = Range {
            partition: &partition,
            from: format!("{REQUEST_PREFIX}{}", padded(first)),
            to: format!("{REQUEST_PREFIX}{}", padded(to - 1)),
            ascending: true,
            limit: None,
        };
        let items = self.query_all(range).await?;
        self.decode_documents(&items).await
    }

    /// At most `limit` documents of a user that begin before `before`, the last ones first; none when there are none.
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails, or a document is damaged.
    pub async fn documents_page(
        &self,
        keys: &UserKeys<'_>,
        before: i64,
        limit: usize,
    ) -> Result<Vec<RequestDocument>, StoreError> {
        if before <= 0 {
            return Ok(Vec::new());
        }
        let partition = keys.partition();
        let range = Range {
            partition: &partition,
            from: REQUEST_PREFIX.to_owned(),
            to: format!("{REQUEST_PREFIX}{}", padded(before - 1)),
            ascending: false,
            limit: None,
        };
        let (items, _) = self.query_page(&range.limit(limit), None).await?;
        self.decode_documents(&items).await
    }

    /// The last documents of a user before `end`, newest first, until `enough` says so or none is left.
    pub(crate) async fn documents_backwards(
        &self,
        keys: &UserKeys<'_>,
        end: i64,
        page: usize,
        mut enough: impl FnMut(&RequestDocument) -> bool + Send,
    ) -> Result<Vec<RequestDocument>, StoreError> {
        let mut found = Vec::new();
        if end <= 0 {
            return Ok(found);
        }
        let partition = keys.partition();
        let range = Range {
            partition: &partition,
            from: REQUEST_PREFIX.to_owned(),
            to: format!("{REQUEST_PREFIX}{}", padded(end - 1)),
            ascending: false,
            limit: None,
        }
        .limit(page);
        let mut start = None;
        loop {
            let (items, next) = self.query_page(&range, start).await?;
            for document in self.decode_documents(&items).await? {
                let done = enough(&document);
                found.push(document);
                if done {
                    return Ok(found);
                }
            }
            match next {
                Some(next) => start = Some(next),
                None => return Ok(found),
            }
        }
    }

    /// The last documents before `end` that together hold at least `interactions` interactions for which
    /// `counts` holds; ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails, or a document is damaged.
    pub async fn documents_before(
        &self,
        keys: &UserKeys<'_>,
        end: i64,
        interactions: usize,
        counts: impl Fn(&RequestDocument) -> bool + Send + Sync,
    ) -> Result<Vec<RequestDocument>, StoreError> {
        if interactions == 0 {
            return Ok(Vec::new());
        }
        let mut seen = 0;
        let mut found = self
            .documents_backwards(keys, end, interactions.min(64), |document| {
                if counts(document) {
                    seen += document
                        .interactions
                        .len()
                        .min(usize::try_from(end - document.first_position).unwrap_or(0));
                }
                seen >= interactions
            })
            .await?;
        found.reverse();
        Ok(found)
    }

    /// The document of a request id, found through its look-up.
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails, or a document is damaged.
    pub async fn document_of_request(
        &self,
        org: &OrgId,
        request: &RequestId,
    ) -> Result<Option<RequestDocument>, StoreError> {
        let Some(receipt) = self.request_receipt(org, request).await? else { return Ok(None) };
        let keys = UserKeys { org, user: &receipt.user };
        let Some(item) = self.get(&keys.request(receipt.first_position)).await? else { return Ok(None) };
        Ok(self.decode_documents(&[item]).await?.pop())
    }

    /// Whether the document that began at this position is still there.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn has_document(&self, keys: &UserKeys<'_>, first_position: i64) -> Result<bool, StoreError> {
        Ok(self.get(&keys.request(first_position)).await?.is_some())
    }

    /// Documents behind keys found in an index, consistently read.
    pub(crate) async fn documents_by_keys(
        &self,
        keys: &[crate::keys::Key],
    ) -> Result<Vec<RequestDocument>, StoreError> {
        let items = self.get_many(keys).await?;
        self.decode_documents(&items).await
    }

    async fn decode_documents(&self, items: &[Item]) -> Result<Vec<RequestDocument>, StoreError> {
        let mut documents = Vec::with_capacity(items.len());
        for item in items {
            documents.push(self.decode_document(item).await?);
        }
        Ok(documents)
    }

    pub(crate) async fn decode_document(&self, item: &Item) -> Result<RequestDocument, StoreError> {
        let reader = ItemReader(item);
        let mut stored: StoredDocument = reader.json(DOCUMENT)?;
        stored.policy.session_finished |= reader.mark(FINISHED);
        let first_position = reader.number(POSITION)?;
        let (number, base) = (reader.number(USER_NUMBER)?, reader.count(USER_NUMBER_BASE));
        let mut spilled: BTreeMap<usize, Value> = match reader.text_opt(OBJECT) {
            None => BTreeMap::new(),
            Some(object) => {
                let bytes = self.objects.get(object).await?;
                if digest(&bytes) != reader.text(OBJECT_DIGEST)? {
                    return Err(reader.corrupt(OBJECT_DIGEST));
                }
                serde_json::from_slice(&bytes).map_err(|_| reader.corrupt(OBJECT))?
            }
        };
        let mut interactions = Vec::with_capacity(stored.interactions.len());
        for (index, value) in stored.interactions.into_iter().enumerate() {
            let value = value.or_else(|| spilled.remove(&index)).ok_or_else(|| reader.corrupt(DOCUMENT))?;
            let mut interaction: Interaction =
                serde_json::from_value(value).map_err(|_| reader.corrupt(DOCUMENT))?;
            let position = first_position + i64::try_from(index).unwrap_or(i64::MAX);
            interaction.interaction_id = interaction_id(number, base, position);
            interactions.push(interaction);
        }
        Ok(RequestDocument { first_position, request: stored.request, interactions, policy: stored.policy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interaction_id_leads_back_to_the_users_number_and_the_position() {
        for (number, base, position) in
            [(1, 0, 0), (1, 0, 5), (7, 100, 100), (9, 0, POSITIONS_PER_USER_NUMBER - 1)]
        {
            let id = interaction_id(number, base, position);
            assert!(id < 1 << 53);
            assert_eq!(split_interaction_id(id), (number, position - base));
        }
    }

    #[test]
    fn only_an_interaction_above_the_limit_leaves_the_item() {
        let limit = INTERACTION_BYTES_INLINE_MAX;
        assert_eq!(to_spill(&[10, limit - 1, 10]), Vec::<usize>::new());
        assert_eq!(to_spill(&[10, limit, 10]), Vec::<usize>::new());
        assert_eq!(to_spill(&[10, limit + 1, 10]), vec![1]);
    }

    #[test]
    fn the_largest_leave_the_item_until_the_rest_fits() {
        let sizes = [30_000; 10];
        let out = to_spill(&sizes);
        let rest: usize = (10 - out.len()) * 30_000;
        assert!(rest <= DOCUMENT_BYTES_INLINE_MAX, "{rest}");
        assert!(rest + 30_000 > DOCUMENT_BYTES_INLINE_MAX, "no more than needed");
    }

    #[test]
    fn defaults_take_no_room() {
        let value =
            without_defaults(&Interaction { content: "hi".into(), ..Interaction::default() }).unwrap();
        assert_eq!(value, serde_json::json!({ "content": "hi" }));
    }
}
