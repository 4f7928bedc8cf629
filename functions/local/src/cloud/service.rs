//! The seam of the local cloud: one AWS service that answers signed HTTP requests in process.

use async_trait::async_trait;
use bytes::Bytes;

/// An AWS service of the local cloud, on the far side of the SDK's HTTP client.
#[async_trait]
pub trait LocalService: Send + Sync {
    /// Answers one request, whose body is complete, as the service would on the wire: failures too are
    /// responses, with the service's own status and error body.
    async fn call(&self, request: http::Request<Bytes>) -> http::Response<Bytes>;
}
