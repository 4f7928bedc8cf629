//! The configuration of the caller's organisation.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use domain::config::{Change, Config, ConfigFault};
use domain::errors::ApiError;
use domain::requests::InvalidateCache;
use domain::views::{ConfigAnswer, InvalidateCacheAnswer};
use runtime::{App, SaveError};
use serde_json::Value;

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// The configuration with its secrets masked, and its version as `ETag`.
pub(crate) async fn get_config(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    // What is read here may be edited and written back: no version but the stored one will do.
    let loaded = app.orgs.load_stored(&caller.org).await?;
    let mut answer = ok(loaded.config.masked().to_wire())?;
    if let Ok(tag) = HeaderValue::from_str(&tag(loaded.version)) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    Ok(answer)
}

fn tag(version: i64) -> String {
    format!("\"{version}\"")
}

/// Whether a caller who says which version it read (`If-Match`) read the stored one.
fn is_expected(headers: &HeaderMap, version: i64) -> bool {
    let Some(expected) = headers.get(header::IF_MATCH) else { return true };
    let Ok(expected) = expected.to_str() else { return false };
    let mut tags = expected.split(',').map(str::trim);
    tags.any(|expected| expected == "*" || expected == tag(version))
}

pub(crate) async fn set_config(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    match change(&app, &caller, &headers, &body, Config::replaced_by).await? {
        // Replacing a configuration by itself is a success like any other.
        Changed::Yes | Changed::No => ok(ConfigAnswer::set()),
    }
}

pub(crate) async fn update_config(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    match change(&app, &caller, &headers, &body, Config::merged_with).await? {
        Changed::Yes => ok(ConfigAnswer::set()),
        Changed::No => ok(ConfigAnswer::unchanged()),
    }
}

/// Forgets what this process has loaded of the caller's organisation. Other processes look within seconds anyhow.
pub(crate) async fn invalidate_cache(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let request = InvalidateCache::parse(&body)?;
    if request.org_id.is_some_and(|org| org != caller.org.as_str()) {
        return Err(ApiError::forbidden("Cannot invalidate the cache of another organization").into());
    }
    let invalidated = app.orgs.evict(&caller.org);
    ok(InvalidateCacheAnswer { invalidated, org_id: caller.org.to_string() })
}

enum Changed {
    Yes,
    No,
}

/// Applies a caller's document to the configuration as it is stored now; the write fails when somebody else
/// wrote meanwhile, since two changes that are valid alone may not be so together.
async fn change(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    body: &Value,
    apply: fn(&Config, &Value) -> Result<Change, ConfigFault>,
) -> Result<Changed, Failure> {
    let stored = app.orgs.load_stored(&caller.org).await?;
    if !is_expected(headers, stored.version) {
        return Err(ApiError::config_write_conflict().into());
    }
    match apply(&stored.config, body).map_err(ApiError::from)? {
        Change::Unchanged => Ok(Changed::No),
        Change::Changed(config) => match app.orgs.save(&caller.org, stored.version, *config).await {
            Ok(()) => Ok(Changed::Yes),
            Err(SaveError::Conflict) => Err(ApiError::config_write_conflict().into()),
            Err(SaveError::Org(error)) => Err(error.into()),
        },
    }
}
