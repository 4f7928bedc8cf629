//! The requests of a session in their order, of all its users, one after the other: a session may be larger than
//! memory.

use domain::entities::Request;
use domain::ids::{OrgId, RequestId, SessionId};

use serde::Deserialize;

use crate::Store;
use crate::access::Range;
use crate::attributes::{COUNT, DOCUMENT, Item, ItemReader, PK, POSITION, SESSION, SK};
use crate::error::StoreError;
use crate::keys::{Key, REQUEST_PREFIX, UserKeys, padded};
use crate::requests::RequestDocument;
use crate::session_parts::{SessionPart, SessionParts};

/// Bytes of requests that are kept from the first reading, so that short sessions are read once. What is beyond is read
/// again when its turn comes.
pub const SESSION_BYTES_KEPT_MAX: usize = 4 * 1024 * 1024;
/// Requests that are read again at a time: at most 400 KB each.
const REREAD_REQUESTS: usize = 8;

/// A request of a session, without what was said.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// The request.
    pub request: Request,
    /// How many interactions it has.
    pub interactions: i64,
    key: Key,
    item: Option<Item>,
}

/// The requests of a session, ordered by `(created_at, request_id)`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionIndex {
    /// All of them.
    pub entries: Vec<SessionEntry>,
}

impl SessionIndex {
    /// How many of the first requests are those up to and including this one; `None` when it is not among them.
    #[must_use]
    pub fn through(&self, request: &RequestId) -> Option<usize> {
        self.entries.iter().position(|entry| entry.request.request_id == *request).map(|place| place + 1)
    }
}

impl Store {
    /// The requests of a session whose parts were read before, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a request is damaged.
    pub async fn session_index(
        &self,
        org: &OrgId,
        session: &SessionId,
        parts: &SessionParts,
    ) -> Result<SessionIndex, StoreError> {
        let mut index = SessionIndex::default();
        let mut room = SESSION_BYTES_KEPT_MAX;
        for part in &parts.parts {
            self.index_part(org, session, part, &mut room, &mut index).await?;
        }
        index.entries.sort_by(|a, b| {
            let (a, b) = (&a.request, &b.request);
            a.created_at.cmp(&b.created_at).then_with(|| a.request_id.cmp(&b.request_id))
        });
        Ok(index)
    }

    async fn index_part(
        &self,
        org: &OrgId,
        session: &SessionId,
        part: &SessionPart,
        room: &mut usize,
        index: &mut SessionIndex,
    ) -> Result<(), StoreError> {
        let Some(requests) = part.requests else { return Ok(()) };
        let keys = UserKeys { org, user: &part.user };
        let partition = keys.partition();
        let range = Range {
            partition: &partition,
            from: format!("{REQUEST_PREFIX}{}", padded(requests.first_position)),
            to: format!("{REQUEST_PREFIX}{}", padded(requests.last_position)),
            ascending: true,
            limit: None,
        };
        let mut start = None;
        loop {
            let (items, next) = self.query_page(&range, start).await?;
            for item in items {
                let reader = ItemReader(&item);
                if reader.text_opt(SESSION) != Some(session.as_str()) {
                    continue;
                }
                let (request, interactions) = (request_of(reader)?, reader.number(COUNT)?);
                let key = keys.request(reader.number(POSITION)?);
                let bytes = reader.text(DOCUMENT)?.len();
                let is_kept = bytes <= *room;
                // Once one does not fit, none is kept: the rest is read in larger pieces.
                *room = if is_kept { *room - bytes } else { 0 };
                index.entries.push(SessionEntry {
                    request,
                    interactions,
                    key,
                    item: is_kept.then_some(item),
                });
            }
            match next {
                Some(next) => start = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Shows the first requests of a session to `visit`, in their order, whole and with their images; `false` when one
    /// of them is gone, and with it the reason to go on.
    ///
    /// # Errors
    /// [`StoreError`] when the table or bucket fails or a request is damaged; what `visit` returns.
    pub async fn visit_session<E: From<StoreError> + Send>(
        &self,
        entries: &[SessionEntry],
        mut visit: impl FnMut(&RequestDocument) -> Result<(), E> + Send,
    ) -> Result<bool, E> {
        for chunk in entries.chunks(REREAD_REQUESTS) {
            let wanted: Vec<Key> =
                chunk.iter().filter(|entry| entry.item.is_none()).map(|entry| entry.key.clone()).collect();
            let mut read_again = self.get_many(&wanted).await?;
            for entry in chunk {
                let again = || {
                    let place = read_again.iter().position(|item| is_at(item, &entry.key))?;
                    Some(read_again.swap_remove(place))
                };
                let Some(item) = entry.item.clone().or_else(again) else { return Ok(false) };
                let document = self.with_images(self.decode_document(&item).await?).await?;
                visit(&document)?;
            }
        }
        Ok(true)
    }

    /// A document with the images that are kept outside of it.
    async fn with_images(&self, mut document: RequestDocument) -> Result<RequestDocument, StoreError> {
        for interaction in &mut document.interactions {
            if let Some(object) = interaction.image_object.take() {
                let bytes = self.objects.get(&object).await?;
                interaction.image_encoding = String::from_utf8(bytes)
                    .map_err(|_| StoreError::Corrupt { key: object, attribute: DOCUMENT })?;
            }
        }
        Ok(document)
    }
}

fn is_at(item: &Item, key: &Key) -> bool {
    let reader = ItemReader(item);
    reader.text_opt(PK) == Some(key.pk()) && reader.text_opt(SK) == Some(key.sk())
}

/// The request of a document, without its interactions.
fn request_of(reader: ItemReader<'_>) -> Result<Request, StoreError> {
    #[derive(Deserialize)]
    struct RequestOnly {
        r: Request,
    }
    Ok(reader.json::<RequestOnly>(DOCUMENT)?.r)
}
