//! One object as it is stored: a header and the content behind it, in one piece so that they cannot part.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::time::EpochMillis;
use serde::{Deserialize, Serialize};

/// What is known of an object beside its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// Without quotes. A digest of the content; AWS promises no particular one.
    pub(super) etag: String,
    /// Of the content, in bytes.
    pub(super) size: u64,
    pub(super) modified_ms: EpochMillis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content_encoding: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) metadata: BTreeMap<String, String>,
}

/// A whole object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) header: Header,
    pub(super) content: Bytes,
}

/// Length of the field that holds the header's length.
pub(super) const PREFIX_BYTES: usize = 4;

/// A file that is no object.
#[derive(Debug, thiserror::Error)]
#[error("a stored object is damaged")]
pub(super) struct Damaged;

impl Object {
    /// The file: the header's length (little-endian), the header as JSON, the content.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Damaged> {
        let header = serde_json::to_vec(&self.header).map_err(|_| Damaged)?;
        let length = u32::try_from(header.len()).map_err(|_| Damaged)?;
        let mut file = Vec::with_capacity(PREFIX_BYTES + header.len() + self.content.len());
        file.extend_from_slice(&length.to_le_bytes());
        file.extend_from_slice(&header);
        file.extend_from_slice(&self.content);
        Ok(file)
    }

    pub(super) fn from_bytes(file: Bytes) -> Result<Self, Damaged> {
        let prefix = file.get(..PREFIX_BYTES).ok_or(Damaged)?;
        let end = PREFIX_BYTES + header_bytes(prefix)?;
        let header: Header =
            serde_json::from_slice(file.get(PREFIX_BYTES..end).ok_or(Damaged)?).map_err(|_| Damaged)?;
        let content = file.slice(end..);
        if u64::try_from(content.len()).ok() != Some(header.size) {
            return Err(Damaged);
        }
        Ok(Self { header, content })
    }
}

/// The header's length out of its field.
pub(super) fn header_bytes(prefix: &[u8]) -> Result<usize, Damaged> {
    let prefix: [u8; PREFIX_BYTES] = prefix.try_into().map_err(|_| Damaged)?;
    usize::try_from(u32::from_le_bytes(prefix)).map_err(|_| Damaged)
}
