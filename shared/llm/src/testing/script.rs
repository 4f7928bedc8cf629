//! What a scripted server is told to say.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// Path without query.
    pub path: String,
    /// Query, without the question mark.
    pub query: String,
    /// Headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body; null when it was not JSON.
    pub body: Value,
}

impl ReceivedRequest {
    /// All text of the messages in the body, whatever the format; for replies that depend on the prompt.
    #[must_use]
    pub fn prompt(&self) -> String {
        let mut texts = Vec::new();
        for key in ["system", "systemInstruction", "messages", "contents"] {
            collect(&self.body[key], &mut texts);
        }
        texts.join("\n")
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(object) => {
            for key in ["content", "parts", "text"] {
                if let Some(inner) = object.get(key) {
                    collect(inner, texts);
                }
            }
        }
        _ => {}
    }
}

/// A reply down to the byte.
#[derive(Debug, Clone, Default)]
pub struct HttpReply {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// How long to keep the caller waiting.
    pub delay: Duration,
}

impl HttpReply {
    /// A JSON reply.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes(), delay: Duration::ZERO }
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// One reply, in the format of whichever path is asked.
pub enum Scripted {
    /// The model says this and stops.
    Text(String),
    /// The model says this and is cut at its output limit.
    Cut(String),
    /// The model says nothing: `null` content.
    Null,
    /// The provider's filter intervenes.
    Filtered,
    /// The model calls tools: names and arguments.
    Tools(Vec<(String, Value)>),
    /// As it is.
    Raw(HttpReply),
    /// No answer, ever.
    Hang,
    /// Depends on the request.
    With(Box<dyn Fn(&ReceivedRequest) -> Scripted + Send + Sync>),
}

impl Scripted {
    /// The model says this and stops.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The model says this JSON and stops.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        Self::Text(value.to_string())
    }

    /// The model calls one tool.
    #[must_use]
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::Tools(vec![(name.to_owned(), arguments)])
    }

    /// A JSON reply with a status, for errors.
    #[must_use]
    pub fn status(status: u16, body: &Value) -> Self {
        Self::Raw(HttpReply::json(status, body))
    }

    /// Depends on the request.
    pub fn with(reply: impl Fn(&ReceivedRequest) -> Scripted + Send + Sync + 'static) -> Self {
        Self::With(Box::new(reply))
    }
}
