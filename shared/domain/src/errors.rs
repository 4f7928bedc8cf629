//! What a route answers when it does not do what was asked.

use serde_json::{Value, json};

use crate::validation::{BodyFault, ValidationErrors};

/// A refusal: what the caller sees, and what only the log sees.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{status} {code}: {detail}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// A stable word for logs and metrics.
    pub code: &'static str,
    /// The body of the answer. Boxed, since most results carry no error.
    pub body: Box<Value>,
    /// What happened, for the log. Never sent.
    pub detail: String,
    /// The header `Retry-After`, in seconds.
    pub retry_after_seconds: Option<u32>,
}

impl ApiError {
    /// An answer of the usual form `{"detail": …}`.
    #[must_use]
    pub fn new(status: u16, code: &'static str, public: impl Into<Value>) -> Self {
        let public = public.into();
        let detail = public.as_str().map_or_else(|| code.to_owned(), str::to_owned);
        Self { status, code, body: Box::new(json!({ "detail": public })), detail, retry_after_seconds: None }
    }

    /// The same with words for the log that the caller must not see.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    /// The same, to be tried again later.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after_seconds: Some(seconds), ..self }
    }

    /// 400: the body cannot even be looked at.
    #[must_use]
    pub fn unreadable_body() -> Self {
        Self::new(400, "unreadable_body", "There was an error parsing the body")
    }

    /// 401: no key, or a wrong one. The answer also needs `WWW-Authenticate: Bearer`.
    #[must_use]
    pub fn unauthenticated() -> Self {
        Self::new(401, "unauthenticated", "Authentication required")
    }

    /// 403.
    #[must_use]
    pub fn forbidden(public: &str) -> Self {
        Self::new(403, "forbidden", public)
    }

    /// 404: no such route.
    #[must_use]
    pub fn no_such_route() -> Self {
        Self::new(404, "no_such_route", "Not Found")
    }

    /// 404: the route is there, the thing is not.
    #[must_use]
    pub fn not_found(public: &str) -> Self {
        Self::new(404, "not_found", public)
    }

    /// 405. The answer also needs `Allow`.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(405, "method_not_allowed", "Method Not Allowed")
    }

    /// 409: it contradicts what is stored.
    #[must_use]
    pub fn conflict(public: impl Into<Value>) -> Self {
        Self::new(409, "conflict", public)
    }

    /// 409: somebody else wrote the configuration meanwhile.
    #[must_use]
    pub fn config_write_conflict() -> Self {
        Self::new(
            409,
            "config_write_conflict",
            json!({
                "error": "config_write_conflict",
                "message": "The configuration was changed by another request; read it again and repeat the change",
            }),
        )
    }

    /// 413.
    #[must_use]
    pub fn body_too_large() -> Self {
        Self::new(413, "body_too_large", "Request body too large")
    }

    /// 413, of an answer: Lambda could not carry it.
    #[must_use]
    pub fn answer_too_large() -> Self {
        Self::new(
            413,
            "answer_too_large",
            "The answer is too large: ask for fewer rows (top_k, limit) at once",
        )
    }

    /// 422 in words, for rules that need more than the request to judge.
    #[must_use]
    pub fn unprocessable(public: &str) -> Self {
        Self::new(422, "unprocessable", public)
    }

    /// 422: a search without a user while users are assigned to arms.
    #[must_use]
    pub fn experiment_needs_user() -> Self {
        Self::unprocessable("user_id is required while a retrieval experiment is active")
    }

    /// 429 of the rate limits, which know another body than the rest.
    #[must_use]
    pub fn rate_limited(per_minute: u32) -> Self {
        let text = format!("Rate limit exceeded: {per_minute} per 1 minute");
        let body = Box::new(json!({ "error": text }));
        Self { status: 429, code: "rate_limited", body, detail: text, retry_after_seconds: None }
    }

    /// 429: too many of an organisation's searches run at once.
    #[must_use]
    pub fn search_busy() -> Self {
        Self::new(429, "search_busy", "search concurrency limit reached").retry_after(2)
    }

    /// 500: our fault. The caller learns nothing but that.
    #[must_use]
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(500, "internal", "Internal Server Error").with_detail(detail)
    }

    /// 503: a part that is needed does not answer.
    #[must_use]
    pub fn unavailable(public: &str, detail: impl Into<String>) -> Self {
        Self::new(503, "unavailable", public).with_detail(detail).retry_after(1)
    }

    /// 504, with the reason and the id under which the log knows the request.
    #[must_use]
    pub fn timed_out(reason: &'static str, correlation_id: &str) -> Self {
        let body = json!({ "detail": "Request timeout", "reason": reason, "correlation_id": correlation_id });
        Self {
            status: 504,
            code: "timed_out",
            body: Box::new(body),
            detail: reason.to_owned(),
            retry_after_seconds: None,
        }
    }
}

impl From<ValidationErrors> for ApiError {
    fn from(errors: ValidationErrors) -> Self {
        Self {
            status: 422,
            code: "invalid_request",
            detail: errors.summary(),
            body: Box::new(errors.to_json()),
            retry_after_seconds: None,
        }
    }
}

impl From<BodyFault> for ApiError {
    fn from(fault: BodyFault) -> Self {
        match fault {
            BodyFault::Invalid(errors) => errors.into(),
            BodyFault::NotText => Self::unreadable_body(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_sees_more_than_the_caller() {
        let error = ApiError::internal("the table is gone");
        assert_eq!(*error.body, json!({ "detail": "Internal Server Error" }));
        assert_eq!(error.to_string(), "500 internal: the table is gone");
    }

    #[test]
    fn a_rate_limit_has_a_body_of_its_own() {
        assert_eq!(
            *ApiError::rate_limited(5).body,
            json!({ "error": "Rate limit exceeded: 5 per 1 minute" })
        );
    }
}
