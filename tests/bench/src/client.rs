//! One connection that is kept open, and the calls that are made on it.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::BenchError;

/// A call, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    path: &'static str,
    /// `None` makes it a GET.
    body: Option<Bytes>,
}

impl Call {
    pub(crate) fn get(path: &'static str) -> Self {
        Self { path, body: None }
    }

    pub(crate) fn post(path: &'static str, body: &Value) -> Self {
        Self { path, body: Some(body.to_string().into()) }
    }

    /// The request that a server at `host` is sent.
    ///
    /// # Errors
    /// When the parts make no request.
    pub(crate) fn request(&self, host: &str) -> Result<http::Request<Full<Bytes>>, BenchError> {
        let method = if self.body.is_some() { http::Method::POST } else { http::Method::GET };
        let request = http::Request::builder()
            .method(method)
            .uri(self.path)
            .header(http::header::HOST, host)
            .header(http::header::CONTENT_TYPE, "application/json");
        Ok(request.body(Full::new(self.body.clone().unwrap_or_default()))?)
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens there.
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // It ends with the sender; its failures are seen by whoever sends.
        tokio::spawn(connection);
        Ok(Self { sender, host: address.to_string() })
    }

    /// Makes a call and returns the answer's body.
    ///
    /// # Errors
    /// When there is no answer, or another than 200.
    pub(crate) async fn call(&mut self, call: &Call) -> Result<Bytes, BenchError> {
        self.sender.ready().await?;
        let response = self.sender.send_request(call.request(&self.host)?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status != http::StatusCode::OK {
            return Err(format!("{} answered {status}: {}", call.path, String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    /// Makes a call and reads the answer, which must say that it succeeded.
    ///
    /// # Errors
    /// As [`Self::call`], and when it does not say so.
    pub(crate) async fn call_json(&mut self, call: &Call) -> Result<Value, BenchError> {
        let answer: Value = serde_json::from_slice(&self.call(call).await?)?;
        if answer["success"] == Value::Bool(true) {
            return Ok(answer);
        }
        Err(format!("{} failed: {answer}", call.path).into())
    }
}
