//! Who is calling: a Bearer key names the organisation; without one, only callers on this machine are let in,
//! and only where the deployment says so.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri, header};
use domain::errors::ApiError;
use domain::ids::OrgId;
use domain::time::EpochSeconds;
use runtime::keys::{PresentedKey, matches};
use runtime::{Access, App};
use store::ApiKeyRecord;

use crate::answer::Failure;

/// How long a key that was looked up is remembered, in seconds: a revoked key works no longer than this.
pub const KEY_CACHE_SECONDS: i64 = 5;
/// Keys remembered.
const KEY_CACHE_ENTRIES_MAX: usize = 10_000;

/// Paths that anyone may read.
const PUBLIC_PATHS: [&str; 10] = [
    "/",
    "/health",
    "/healthz",
    "/healthz/eval",
    "/health/live",
    "/health/ready",
    "/meta/version",
    "/docs",
    "/redoc",
    "/openapi.json",
];

/// The address of the caller, where the server knows it. Set by the local server on each connection.
#[derive(Debug, Clone, Copy)]
pub struct LoopbackPeer(pub SocketAddr);

/// The organisation on whose behalf a request is made. No handler can be written without it.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) org: OrgId,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        // The access layer stands before every route and has put it there.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| ApiError::unauthenticated().into())
    }
}

/// Keys that were looked up lately.
#[derive(Debug, Default)]
pub(crate) struct KeyCache(Mutex<HashMap<String, (EpochSeconds, Option<ApiKeyRecord>)>>);

impl KeyCache {
    async fn find(&self, app: &App, lookup: &str) -> Result<Option<ApiKeyRecord>, Failure> {
        let now = app.services.clock.now();
        let known = {
            let cache = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            cache.get(lookup).cloned()
        };
        if let Some((at, record)) = known.filter(|(at, _)| now - at < KEY_CACHE_SECONDS) {
            let _ = at;
            return Ok(record);
        }
        let record = app.services.store.api_key(lookup).await?;
        let mut cache = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if cache.len() >= KEY_CACHE_ENTRIES_MAX {
            cache.clear();
        }
        cache.insert(lookup.to_owned(), (now, record.clone()));
        Ok(record)
    }
}

/// Whether anyone may call this.
pub(crate) fn is_public(method: &Method, uri: &Uri) -> bool {
    method == Method::OPTIONS
        || ((method == Method::GET || method == Method::HEAD) && PUBLIC_PATHS.contains(&uri.path()))
}

/// Finds the organisation of a request.
pub(crate) async fn authenticate(
    app: &App,
    cache: &KeyCache,
    headers: &HeaderMap,
    peer: Option<SocketAddr>,
) -> Result<Caller, Failure> {
    if let Some(token) = bearer(headers) {
        let presented = PresentedKey::read(token);
        if let Some(record) = cache.find(app, &presented.lookup).await?
            && !record.revoked
            && matches(&presented, &record.secret_hash)
        {
            return Ok(Caller { org: record.org });
        }
        return Err(ApiError::unauthenticated().into());
    }
    match &app.settings.access {
        Access::LoopbackAs(org) if is_local(headers, peer) => Ok(Caller { org: org.clone() }),
        Access::LoopbackAs(_) | Access::KeysOnly => Err(ApiError::unauthenticated().into()),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// Whether a request without a key comes from this very machine, and from no page of another site and through
/// no proxy.
fn is_local(headers: &HeaderMap, peer: Option<SocketAddr>) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let forwarded =
        ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| headers.contains_key(*name));
    let local_origin = match headers.get(header::ORIGIN) {
        None => true,
        Some(origin) => origin.to_str().is_ok_and(is_loopback_origin),
    };
    peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback())
        && !forwarded
        && text("host").is_some_and(is_loopback_host)
        && local_origin
}

fn is_loopback_origin(origin: &str) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.authority().is_some_and(|a| is_loopback_host(a.as_str()))
}

/// Whether a `Host` header names this machine; a port may follow.
fn is_loopback_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn local(pairs: &[(&'static str, &str)]) -> bool {
        is_local(&headers(pairs), Some("127.0.0.1:9".parse().unwrap()))
    }

    #[test]
    fn only_this_machine_is_local() {
        assert!(local(&[("host", "127.0.0.1:8081")]));
        assert!(local(&[("host", "localhost")]));
        assert!(local(&[("host", "[::1]:8081")]));
        assert!(!is_local(&headers(&[("host", "localhost")]), Some("10.0.0.1:9".parse().unwrap())));
        assert!(!is_local(&headers(&[("host", "localhost")]), None));
    }

    #[test]
    fn a_foreign_host_origin_or_proxy_is_not_local() {
        assert!(!local(&[("host", "evil.example")]));
        assert!(!local(&[]));
        assert!(!local(&[("host", "localhost"), ("origin", "https://evil.example")]));
        assert!(!local(&[("host", "localhost"), ("origin", "null")]));
        assert!(local(&[("host", "localhost"), ("origin", "http://localhost:3000")]));
        for name in ["x-forwarded-for", "forwarded", "x-real-ip"] {
            assert!(!local(&[("host", "localhost"), (name, "127.0.0.1")]), "{name}");
        }
    }

    #[test]
    fn the_scheme_of_a_key_is_read_in_any_case_and_only_bearer_counts() {
        assert_eq!(bearer(&headers(&[("authorization", "Bearer k")])), Some("k"));
        assert_eq!(bearer(&headers(&[("authorization", "bEARER  k ")])), Some("k"));
        assert_eq!(bearer(&headers(&[("authorization", "Basic k")])), None);
        assert_eq!(bearer(&headers(&[("authorization", "Bearer ")])), None);
    }
}
