//! A model server inside the process, on a free port of the loopback address.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};

use super::render::{Said, embeddings, render};
use super::script::{HttpReply, ReceivedRequest, Scripted};

#[derive(Default)]
struct Script {
    replies: VecDeque<Scripted>,
    embedding_replies: VecDeque<HttpReply>,
    otherwise: Option<Arc<Scripted>>,
    requests: Vec<ReceivedRequest>,
}

/// A scripted server. Speaks OpenAI chat completions, Anthropic messages, Gemini generateContent, and both formats
/// of embeddings; stops when dropped.
pub struct ModelServer {
    script: Arc<Mutex<Script>>,
    base_url: String,
    task: tokio::task::JoinHandle<()>,
}

impl ModelServer {
    /// Starts on a free port.
    ///
    /// # Panics
    /// When no port of the loopback address can be had.
    pub async fn start() -> Self {
        let script = Arc::new(Mutex::new(Script::default()));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&script));
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let task = tokio::spawn(async move {
            // Serving ends with the task; there is nobody to tell about an error.
            let _ended = axum::serve(listener, router).await;
        });
        Self { script, base_url: format!("http://{address}/v1"), task }
    }

    /// The base URL, for any of the formats.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.base_url.clone()
    }

    /// Appends a reply to the script; each chat request takes one.
    pub fn push(&self, reply: Scripted) {
        lock(&self.script).replies.push_back(reply);
    }

    /// What is said when the script is used up; without it, status 500.
    pub fn otherwise(&self, reply: Scripted) {
        lock(&self.script).otherwise = Some(Arc::new(reply));
    }

    /// Appends a reply for embedding requests, which otherwise get vectors that depend on the text alone.
    pub fn push_embedding(&self, reply: HttpReply) {
        lock(&self.script).embedding_replies.push_back(reply);
    }

    /// All requests so far, embeddings included.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        lock(&self.script).requests.clone()
    }

    /// How many replies of the script are left.
    #[must_use]
    pub fn left(&self) -> usize {
        lock(&self.script).replies.len()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let headers = headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let request = ReceivedRequest {
        path: uri.path().to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let reply = next_reply(&script, &request);
    let Some(reply) = reply else { return std::future::pending().await };
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    let mut response =
        Response::builder().status(StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK));
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(reply.body)).expect("a well-formed scripted reply")
}

/// The reply to a request; `None` is no answer, ever.
fn next_reply(script: &Mutex<Script>, request: &ReceivedRequest) -> Option<HttpReply> {
    let mut script = lock(script);
    script.requests.push(request.clone());
    if request.path.ends_with("/embeddings") || request.path.contains("EmbedContents") {
        return Some(script.embedding_replies.pop_front().unwrap_or_else(|| embeddings(request)));
    }
    let next = script.replies.pop_front().map(Arc::new).or_else(|| script.otherwise.clone());
    drop(script);
    match next {
        Some(reply) => said(request, &reply),
        None => Some(HttpReply::json(500, &json!({"error": {"message": "the script is used up"}}))),
    }
}

fn said(request: &ReceivedRequest, reply: &Scripted) -> Option<HttpReply> {
    let said = match reply {
        Scripted::Text(text) => Said::Text(text),
        Scripted::Cut(text) => Said::Cut(text),
        Scripted::Null => Said::Null,
        Scripted::Filtered => Said::Filtered,
        Scripted::Tools(tools) => Said::Tools(tools),
        Scripted::Raw(reply) => return Some(reply.clone()),
        Scripted::Hang => return None,
        Scripted::With(reply) => return said(request, &reply(request)),
    };
    Some(render(request, &said))
}
