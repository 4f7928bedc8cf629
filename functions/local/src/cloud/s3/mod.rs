//! S3 on the laptop: the protocol crate `s3s` over a store of ours whose every change is atomic.
//!
//! Objects in one piece, their metadata, ranges, conditions, copies and listings; no multipart uploads and no
//! versions (a listing of versions shows each object once, as S3 does for buckets that keep none).

pub(crate) mod address;
mod chunked;
mod files;
mod listing;
mod names;
mod object;
mod protocol;
mod store;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use domain::time::Clock;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt;
use s3s::service::{S3Service, S3ServiceBuilder};

use super::service::LocalService;
use protocol::Protocol;
use store::Store;

/// The local S3. Clones share the buckets.
#[derive(Clone)]
pub struct LocalS3 {
    store: Arc<Store>,
    service: S3Service,
}

impl LocalS3 {
    /// Opens the buckets in `folder`, creating it if absent, or an S3 in memory; `clock` dates the objects.
    ///
    /// # Errors
    /// When the folder cannot be made or cleared of objects in the making.
    pub fn open(folder: Option<&Path>, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let store = Arc::new(Store::open(folder)?);
        let service = S3ServiceBuilder::new(Protocol::new(store.clone(), clock)).build();
        Ok(Self { store, service })
    }

    /// Creates the bucket unless it is there. Names are S3's: 3 to 63 lower-case letters, digits, dots and hyphens.
    ///
    /// # Errors
    /// When the name is none of a bucket or its folder cannot be made.
    pub fn ensure_bucket(&self, name: &str) -> io::Result<()> {
        let is_name = (3..=63).contains(&name.len())
            && name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name
                .chars()
                .all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || ".-".contains(char));
        if !is_name {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no bucket name")));
        }
        self.store.ensure_bucket(name)
    }
}

#[async_trait]
impl LocalService for LocalS3 {
    async fn call(&self, request: http::Request<Bytes>) -> http::Response<Bytes> {
        let is_head = request.method() == Method::HEAD;
        let Some(request) = translate(request) else { return status(StatusCode::BAD_REQUEST) };
        let Ok(response) = self.service.call(request).await else {
            return status(StatusCode::INTERNAL_SERVER_ERROR);
        };
        let (parts, body) = response.into_parts();
        // HEAD has no body on the wire, and the SDK tells a missing object by that.
        let body = if is_head { Bytes::new() } else { collected(body).await };
        http::Response::from_parts(parts, body)
    }
}

async fn collected(body: s3s::Body) -> Bytes {
    // The protocol crate's bodies are in memory: there is nothing that could fail.
    body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default()
}

/// The request as the protocol crate reads it: path style, plain content, and no signature, for who may call is
/// not a question within one process.
fn translate(request: http::Request<Bytes>) -> Option<http::Request<s3s::Body>> {
    let (mut parts, mut body) = request.into_parts();
    parts.uri = address::in_path_style(&parts.uri).ok()?;
    parts.headers.remove(AUTHORIZATION);
    let encoding =
        parts.headers.get(CONTENT_ENCODING).and_then(|encoding| encoding.to_str().ok()).unwrap_or_default();
    if let Some(rest) = encoding.strip_prefix("aws-chunked") {
        let rest = HeaderValue::from_str(rest.trim_start_matches([',', ' '])).ok()?;
        body = chunked::decode(body)?;
        if rest.is_empty() {
            parts.headers.remove(CONTENT_ENCODING);
        } else {
            parts.headers.insert(CONTENT_ENCODING, rest);
        }
        parts.headers.remove("x-amz-decoded-content-length");
        parts.headers.remove("x-amz-trailer");
        parts.headers.insert("x-amz-content-sha256", HeaderValue::from_static("UNSIGNED-PAYLOAD"));
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    Some(http::Request::from_parts(parts, s3s::Body::from(body)))
}

fn status(status: StatusCode) -> http::Response<Bytes> {
    let mut response = http::Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}
