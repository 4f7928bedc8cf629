//! Reading bodies within their limit.

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header;
use domain::errors::ApiError;
use domain::validation::read_json_body;
use serde_json::Value;

use crate::answer::Failure;

/// Longest body, in bytes (10 MiB). API Gateway's own limit in front of it is 10 MB, Lambda's 6 MB.
pub const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;

/// A body as JSON; `null` when there is none, one text when it says that it is something else.
#[derive(Debug)]
pub(crate) struct JsonBody(pub(crate) Value);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Failure> {
        let content_type = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let bytes = read(request.into_body()).await?;
        Ok(Self(read_json_body(content_type.as_deref(), &bytes)?))
    }
}

async fn read(body: Body) -> Result<axum::body::Bytes, Failure> {
    to_bytes(body, BODY_BYTES_MAX).await.map_err(|error| {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(error) = cause {
            if error.is::<http_body_util::LengthLimitError>() {
                return ApiError::body_too_large().into();
            }
            cause = error.source();
        }
        ApiError::unreadable_body().into()
    })
}
