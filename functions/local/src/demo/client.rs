//! The few calls that the demo makes.

use std::net::SocketAddr;

use reqwest::Method;
use serde_json::Value;

use crate::serve::ServeError;

/// A caller of the API.
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    pub(super) fn new(address: SocketAddr) -> Result<Self, ServeError> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { http, base: format!("http://{address}") })
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, ServeError> {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, ServeError> {
        self.call(Method::GET, path, None).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, ServeError> {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        let status = response.status();
        let answer: Value = response.json().await?;
        if !status.is_success() || answer.get("success") == Some(&Value::Bool(false)) {
            return Err(format!("{path} answered {status}: {answer}").into());
        }
        Ok(answer)
    }
}
