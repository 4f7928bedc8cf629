//! Whether the service is there, and what it is.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use runtime::App;
use serde_json::json;

use crate::answer::{Answer, ok};

/// The version of the API, and the oldest client that it serves.
const API_VERSION: &str = "v1";
const CLIENT_VERSION_MIN: &str = "0.1.0";
/// What the recorded server answers; clients compare it with nothing.
const SERVER_VERSION: &str = "0.0.0-dev";

pub(crate) async fn root() -> Answer {
    ok(json!({ "service": "Reflexio API", "docs": "/docs", "health": "/health" }))
}

/// Answers without asking anything else: it says that this process serves.
pub(crate) async fn health() -> Response {
    let mut response = axum::Json(json!({ "status": "healthy" })).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(crate) async fn live() -> Answer {
    ok(json!({ "status": "alive" }))
}

/// What this process is doing.
pub(crate) async fn process(State(app): State<Arc<App>>) -> Answer {
    let process = app.process();
    ok(json!({
        "pid": process.pid,
        "uptime_sec": process.uptime_seconds,
        "request_count": process.requests,
        "rss_mb": process.resident_mib,
    }))
}

pub(crate) async fn version() -> Answer {
    ok(json!({
        "server_version": SERVER_VERSION,
        "api_version": API_VERSION,
        "min_client_version": CLIENT_VERSION_MIN,
    }))
}

pub(crate) async fn openapi(State(app): State<Arc<App>>) -> Answer {
    ok(crate::openapi::document(app.settings.access == runtime::Access::KeysOnly))
}

/// A page about the API that needs nothing from elsewhere.
pub(crate) async fn docs() -> Html<String> {
    Html(crate::openapi::page())
}
