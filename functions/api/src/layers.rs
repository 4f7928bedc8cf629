//! What stands around every route.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use domain::errors::ApiError;
use runtime::App;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;

use crate::access::{KeyCache, LoopbackPeer, authenticate, is_public};
use crate::answer::Failure;
use crate::body::BODY_BYTES_MAX;

/// Hex characters of a correlation id.
const CORRELATION_ID_CHARS: usize = 8;
/// What browsers are told that they may send.
const CORS_METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
/// How long a browser may remember that, in seconds.
const CORS_MAX_AGE: &str = "600";

#[derive(Clone)]
struct Guard {
    app: Arc<App>,
    keys: Arc<KeyCache>,
}

/// Puts the layers around the routes; the last added is outermost.
pub(crate) fn around(routes: Router<Arc<App>>, app: &Arc<App>) -> Router<Arc<App>> {
    let guard = Guard { app: Arc::clone(app), keys: Arc::default() };
    routes
        .layer(from_fn(refuse_head))
        .layer(from_fn(limit_body))
        .layer(from_fn_with_state(guard, admit))
        .layer(from_fn(cors))
        .layer(CatchPanicLayer::custom(|_| {
            // The panic's text is in the log already, and may hold anything.
            Failure(ApiError::internal("a handler panicked")).into_response()
        }))
        .layer(from_fn_with_state(Arc::clone(app), correlate))
}

/// No route answers HEAD, for the contract's sake; axum would by itself, wherever GET is answered.
async fn refuse_head(request: Request, next: Next) -> Response {
    if request.method() == Method::HEAD && crate::routes::has_path(request.uri().path()) {
        return wrong_method(request.uri().clone()).await;
    }
    next.run(request).await
}

/// A body that says that it is too long is refused before it is read.
async fn limit_body(request: Request, next: Next) -> Response {
    let declared = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<usize>().ok());
    if declared.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Failure(ApiError::body_too_large()).into_response();
    }
    next.run(request).await
}

/// Finds who is calling, unless anyone may.
async fn admit(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    if is_public(request.method(), request.uri()) {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<LoopbackPeer>().map(|peer| peer.0);
    match authenticate(&guard.app, &guard.keys, request.headers(), peer).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(failure) => failure.into_response(),
    }
}

/// Lets pages of any site call with a key; keys are never sent by a browser on its own.
async fn cors(request: Request, next: Next) -> Response {
    let has_origin = request.headers().contains_key(header::ORIGIN);
    let asked_headers = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let is_preflight = request.method() == Method::OPTIONS
        && has_origin
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response =
        if is_preflight { (StatusCode::OK, "OK").into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if has_origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    if is_preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(CORS_METHODS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(CORS_MAX_AGE));
        if let Some(asked) = asked_headers {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked);
        }
    }
    response
}

/// Gives every request an id of its own, in its answer and on each of its log lines. A caller's own id is not
/// adopted: it could be anything, and anybody's.
async fn correlate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    app.count_request();
    let mut id = app.services.ids.uuid();
    id.truncate(CORRELATION_ID_CHARS);
    let span = tracing::info_span!(
        "request",
        correlation_id = id,
        method = request.method().as_str(),
        path = request.uri().path(),
    );
    // Health checks wait for nothing.
    let is_probe = is_public(request.method(), request.uri());
    let is_https = request.uri().scheme_str() == Some("https") || forwarded_https(request.headers());
    let mut response = next.run(request).instrument(span).await;
    if !is_probe {
        app.usage.flush_if_due(&app.services.store).await;
    }
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-correlation-id", id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"));
    if is_https {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000; includeSubDomains"),
        );
    }
    response
}

fn forwarded_https(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https")
}

/// A path that no route has: with a slash too many it leads to the one that was meant, else there is none.
pub(crate) async fn not_found(uri: Uri, headers: HeaderMap) -> Response {
    let trimmed = uri.path().trim_end_matches('/');
    if trimmed.len() < uri.path().len() && crate::routes::has_path(trimmed) {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        let scheme = if forwarded_https(&headers) { "https" } else { "http" };
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let location = format!("{scheme}://{host}{trimmed}{query}");
        if let Ok(location) = HeaderValue::from_str(&location) {
            return Response::builder()
                .status(StatusCode::TEMPORARY_REDIRECT)
                .header(header::LOCATION, location)
                .body(Body::empty())
                .unwrap_or_else(|_| StatusCode::NOT_FOUND.into_response());
        }
    }
    Failure(ApiError::no_such_route()).into_response()
}

/// A path that knows other methods. axum would name HEAD beside GET, which no route answers.
pub(crate) async fn wrong_method(uri: Uri) -> Response {
    let mut response = Failure(ApiError::method_not_allowed()).into_response();
    let allowed = crate::routes::methods_of(uri.path()).join(", ");
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}
