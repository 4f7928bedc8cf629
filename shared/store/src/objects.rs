//! Large bodies in S3, under keys that begin with the organisation.

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use domain::ids::{OrgId, RequestId, UserHash};
use sha2::{Digest, Sha256};

use crate::error::StoreError;

/// The bucket. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Objects {
    s3: aws_sdk_s3::Client,
    bucket: String,
}

/// Hex SHA-256 of a body.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Where the large interactions of a request are kept. The digest of the body itself makes a repeat write the same
/// object, and another body with the same request id another one.
pub(crate) fn request_object(org: &OrgId, user: &UserHash, request: &RequestId, body_digest: &str) -> String {
    format!("o/{org}/u/{}/r/{}/{body_digest}.json", user.as_str(), request.hash())
}

/// Where the image of one interaction of a request is kept.
pub(crate) fn image_object(org: &OrgId, user: &UserHash, request: &RequestId, image_digest: &str) -> String {
    format!("o/{org}/u/{}/r/{}/{image_digest}.b64", user.as_str(), request.hash())
}

impl Objects {
    /// Uses `bucket`.
    #[must_use]
    pub fn new(s3: aws_sdk_s3::Client, bucket: String) -> Self {
        Self { s3, bucket }
    }

    /// Writes an object.
    pub(crate) async fn put(&self, key: &str, body: Vec<u8>) -> Result<(), StoreError> {
        self.s3
            .put_object()
            .bucket(&self.bucket)
            .key(key)
            .body(ByteStream::from(body))
            .send()
            .await
            .map(drop)
            .map_err(|error| unavailable("PutObject", &error))
    }

    /// Reads an object whole. An absent one is a failure: only what was written is ever pointed to.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn get(&self, key: &str) -> Result<Vec<u8>, StoreError> {
        let answer = self
            .s3
            .get_object()
            .bucket(&self.bucket)
            .key(key)
            .send()
            .await
            .map_err(|error| unavailable("GetObject", &error))?;
        let body = answer
            .body
            .collect()
            .await
            .map_err(|error| StoreError::Unavailable { operation: "GetObject", detail: error.to_string() })?;
        Ok(body.to_vec())
    }
}

fn unavailable<E>(operation: &'static str, error: &aws_sdk_s3::error::SdkError<E>) -> StoreError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    StoreError::Unavailable { operation, detail: format!("{} {error}", error.code().unwrap_or("")) }
}
