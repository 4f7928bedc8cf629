//! Answers that Lambda can carry.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use domain::errors::ApiError;

use crate::answer::Failure;

/// Longest answer, in bytes. Lambda carries 6 MB, in which the body is a JSON string beside status and headers.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
pub const LAMBDA_ANSWER_BYTES_MAX: usize = 6 * 1024 * 1024 - 16 * 1024;

/// Replaces answers that are longer than Lambda can carry by an error that says what to do. Without it the caller
/// would get a bare 502.
pub fn limit_answers(router: Router) -> Router {
    router.layer(map_response(limit))
}

async fn limit(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    match to_bytes(body, LAMBDA_ANSWER_BYTES_MAX).await {
        Ok(bytes) if escaped_bytes(&bytes) <= LAMBDA_ANSWER_BYTES_MAX => {
            Response::from_parts(parts, Body::from(bytes))
        }
        _ => {
            // The correlation id and the security headers stay; what describes the body does not.
            let mut failure = Failure(ApiError::answer_too_large()).into_response();
            let about_body = [header::CONTENT_TYPE, header::CONTENT_LENGTH];
            let kept = parts.headers.iter().filter(|(name, _)| !about_body.contains(name));
            failure.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
            failure
        }
    }
}

/// Length within a JSON string, in bytes. JSON bodies hold no bare control characters.
fn escaped_bytes(body: &[u8]) -> usize {
    body.len() + body.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    async fn status(body: Vec<u8>) -> StatusCode {
        limit(Response::new(Body::from(body))).await.status()
    }

    #[tokio::test]
    async fn answers_up_to_what_lambda_carries_pass_unchanged_and_longer_ones_say_so() {
        let max = LAMBDA_ANSWER_BYTES_MAX;
        assert_eq!(status(vec![b'x'; max - 1]).await, StatusCode::OK);
        assert_eq!(status(vec![b'x'; max]).await, StatusCode::OK);
        assert_eq!(status(vec![b'x'; max + 1]).await, StatusCode::PAYLOAD_TOO_LARGE);
        let mut long = Response::new(Body::from(vec![b'x'; max + 1]));
        long.headers_mut().insert("x-correlation-id", "1234abcd".parse().unwrap());
        assert_eq!(limit(long).await.headers()["x-correlation-id"], "1234abcd");
        let kept = limit(Response::new(Body::from("{\"a\":1}"))).await;
        assert_eq!(to_bytes(kept.into_body(), max).await.unwrap(), "{\"a\":1}");
    }

    #[tokio::test]
    async fn quotes_and_backslashes_count_twice_as_lambda_escapes_them() {
        let half = LAMBDA_ANSWER_BYTES_MAX / 2;
        assert_eq!(status(vec![b'"'; half]).await, StatusCode::OK);
        assert_eq!(status(vec![b'\\'; half + 1]).await, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
