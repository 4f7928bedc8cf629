//! Answers: JSON bodies, and failures with two messages, one for the caller and one for the log.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::errors::ApiError;
use domain::validation::{BodyFault, ValidationErrors};
use store::StoreError;

/// What every handler returns.
pub(crate) type Answer = Result<Response, Failure>;

/// A failure on its way out.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) ApiError);

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl From<ValidationErrors> for Failure {
    fn from(errors: ValidationErrors) -> Self {
        Self(errors.into())
    }
}

impl From<BodyFault> for Failure {
    fn from(fault: BodyFault) -> Self {
        Self(fault.into())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(match error {
            StoreError::Unavailable { .. } | StoreError::Contended { .. } => {
                ApiError::unavailable("Storage is currently unavailable", error.to_string())
            }
            StoreError::Refused { .. } | StoreError::Corrupt { .. } => ApiError::internal(error.to_string()),
        })
    }
}

impl From<runtime::OrgError> for Failure {
    fn from(error: runtime::OrgError) -> Self {
        match error {
            runtime::OrgError::Store(error) => error.into(),
            runtime::OrgError::Secrets(error) => {
                Self(ApiError::unavailable("Configuration is currently unavailable", error.to_string()))
            }
            runtime::OrgError::Damaged(detail) => Self(ApiError::internal(detail)),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = self.0;
        if error.status >= 500 {
            tracing::error!(
                event = "request_failed",
                code = error.code,
                status = error.status,
                detail = error.detail
            );
        } else {
            tracing::debug!(event = "request_refused", code = error.code, status = error.status);
        }
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(*error.body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = error.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A 200 with a JSON body.
pub(crate) fn ok(body: impl serde::Serialize) -> Answer {
    Ok(Json(body).into_response())
}
