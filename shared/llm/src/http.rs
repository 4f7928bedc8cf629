//! One JSON request to a model provider, bounded in time, size and address.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use crate::addresses::{AddressPolicy, FilteringResolver, SystemResolver, check_literal, refused};
use crate::classify::{Refusal, retry_after};
use crate::error::{ChatError, shorten};
use crate::secret::Secret;

/// How long a connection may take to come about.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer that is read.
pub const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What providers see as our name.
const USER_AGENT: &str = concat!("retrospect/", env!("CARGO_PKG_VERSION"));

/// A client for one address policy; cheap to clone, shares its connections.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    policy: AddressPolicy,
    response_bytes_max: usize,
}

/// A request ready to go: where to, with which headers, what.
pub(crate) struct Call<'a> {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
    pub(crate) timeout: Duration,
    /// Masked in error texts.
    pub(crate) secret: &'a Secret,
}

impl Http {
    /// A client that reaches what `policy` allows, follows no redirects and uses no proxy.
    ///
    /// # Errors
    /// [`ChatError::Network`] when no TLS configuration can be had on this machine.
    pub fn new(policy: AddressPolicy) -> Result<Self, ChatError> {
        let resolver = FilteringResolver::new(Arc::new(SystemResolver), policy);
        let client = reqwest::Client::builder()
            .dns_resolver(resolver)
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would resolve names itself, past our check.
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(USER_AGENT)
            .build()
            .map_err(|error| ChatError::Network { detail: shorten(&chain(&error)) })?;
        Ok(Self { client, policy, response_bytes_max: RESPONSE_BYTES_MAX })
    }

    #[cfg(test)]
    pub(crate) fn with_response_bytes_max(mut self, bytes: usize) -> Self {
        self.response_bytes_max = bytes;
        self
    }

    /// Sends the call and reads the JSON of a successful answer.
    pub(crate) async fn post(&self, call: Call<'_>) -> Result<Value, ChatError> {
        check_literal(&call.url, self.policy)
            .map_err(|error| ChatError::AddressRefused { detail: error.to_string() })?;
        let secret = call.secret;
        let request = self
            .client
            .post(call.url)
            .headers(header_map(&call.headers)?)
            .json(&call.body)
            .timeout(call.timeout);
        let response = request.send().await.map_err(|error| transport_error(&error, secret))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = self.read(response, secret).await?;
        if (200..300).contains(&status) {
            return serde_json::from_slice(&body).map_err(|_| ChatError::Malformed {
                detail: format!("{status} with {} bytes that are not JSON", body.len()),
            });
        }
        let parsed = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let mut refusal = Refusal::from_body(status, &parsed);
        refusal.message = secret.redact(&refusal.message);
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(told) = retry_after(header("retry-after-ms"), header("retry-after")) {
            refusal.retry_after = Some(told);
        }
        Err(refusal.into_error())
    }

    async fn read(&self, mut response: reqwest::Response, secret: &Secret) -> Result<Vec<u8>, ChatError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| transport_error(&error, secret))? {
            if body.len() + chunk.len() > self.response_bytes_max {
                let detail = format!("the answer is longer than {} bytes", self.response_bytes_max);
                return Err(ChatError::BadRequest { detail });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

fn header_map(headers: &[(&'static str, String)]) -> Result<HeaderMap, ChatError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        // A key with a line break in it is a mistake in the configuration, not a fault of the network.
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| ChatError::Auth {
            detail: format!("the value for the header {name} cannot be sent"),
        })?;
        value.set_sensitive(true);
        map.insert(HeaderName::from_static(name), value);
    }
    Ok(map)
}

fn transport_error(error: &reqwest::Error, secret: &Secret) -> ChatError {
    if let Some(refused) = refused(error) {
        return ChatError::AddressRefused { detail: refused.to_string() };
    }
    let detail = shorten(&secret.redact(&chain(error)));
    if error.is_timeout() { ChatError::Timeout { detail } } else { ChatError::Network { detail } }
}

/// An error and its causes, without the URL: some carry keys in their query.
fn chain(error: &reqwest::Error) -> String {
    let mut text = match (error.is_connect(), error.is_body() || error.is_decode()) {
        (true, _) => "connecting failed".to_owned(),
        (_, true) => "reading failed".to_owned(),
        _ => "sending failed".to_owned(),
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// `base` with `path` appended, whether or not `base` ends in a slash; its query is kept.
pub(crate) fn join(base: &str, path: &str) -> Result<Url, ChatError> {
    let bad = |why: &str| ChatError::BadRequest { detail: format!("the base URL is not usable: {why}") };
    let mut url = Url::parse(base.trim()).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("only http and https"));
    }
    let joined = format!("{}/{}", url.path().trim_end_matches('/'), path.trim_start_matches('/'));
    url.set_path(&joined);
    Ok(url)
}
