//! Two servers as they were when the cases were recorded, and sending cases to them.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use api::LoopbackPeer;
use axum::Router;
use axum::body::{Body, to_bytes};
use domain::time::Clock;
use http::Request;
use regex::Regex;
use retrospect::admin::seed_key;
use retrospect::cloud::handlers::Running;
use retrospect::deployment::{Data, Deployment, Options};
use runtime::clock::SystemClock;
use serde::Deserialize;
use serde_json::Value;
use tower::ServiceExt;

/// Times this near the recording are meant relative to it, in seconds.
const NEAR_SECONDS: f64 = 30.0 * 86_400.0;
/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\{([^{}:]+):(/[^{}]*)\}\}").unwrap());

/// A recorded exchange.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    server: Server,
    recorded_at: i64,
    method: String,
    path: String,
    #[serde(default)]
    query: BTreeMap<String, Value>,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Value,
    pub(crate) expected: Option<Expected>,
}

/// Which of the two servers.
#[derive(Debug, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Server {
    Plain,
    Keyed,
}

/// What was answered.
#[derive(Debug, Deserialize)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    /// Absent where only the status counts.
    pub(crate) body: Option<Value>,
    #[serde(default)]
    pub(crate) volatile: Vec<String>,
    #[serde(default)]
    pub(crate) shape_only: bool,
}

/// What we answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// Both servers, and what they answered so far.
pub(crate) struct Replay {
    plain: Router,
    keyed: Router,
    running: Vec<Running>,
    answers: HashMap<String, Value>,
}

impl Replay {
    /// One server that needs no key, and one that does and cannot reach its embedder.
    pub(crate) async fn start() -> Self {
        let mut running = Vec::new();
        let plain = deployment(true, &[], &mut running);
        let closed_port = [
            ("RETROSPECT_ALLOW_MY_CONFIG", "true"),
            ("RETROSPECT_EMBEDDING_BASE_URL", "http://127.0.0.1:9/v1"),
            ("RETROSPECT_EMBEDDING_API_KEY", "x"),
            ("RETROSPECT_EMBEDDING_MODEL", "closed-port"),
        ];
        let keyed = deployment(false, &closed_port, &mut running);
        seed_key(&keyed.app, "golden-secret").await.unwrap();
        Self {
            plain: api::router(Arc::clone(&plain.app)),
            keyed: api::router(Arc::clone(&keyed.app)),
            running,
            answers: HashMap::new(),
        }
    }

    pub(crate) async fn stop(self) {
        for running in self.running {
            running.stop().await;
        }
    }

    /// Seconds between the recording and now.
    fn shift(case: &Case) -> i64 {
        SystemClock.now() - case.recorded_at
    }

    pub(crate) async fn send(&mut self, case: &Case) -> Answer {
        let body = match &case.body {
            Value::String(text) => self.resolve_text(text),
            Value::Null => String::new(),
            body => shifted(&self.resolve(body), case.recorded_at, Self::shift(case)).to_string(),
        };
        let mut request = Request::builder().method(case.method.as_str()).uri(self.target(case));
        for (name, value) in &case.headers {
            request = request.header(name, value);
        }
        let mut request = request.body(Body::from(body)).unwrap();
        let peer: SocketAddr = "127.0.0.1:9".parse().unwrap();
        request.extensions_mut().insert(LoopbackPeer(peer));
        let router = match case.server {
            Server::Plain => &self.plain,
            Server::Keyed => &self.keyed,
        };
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        self.answers.insert(case.id.clone(), body.clone());
        Answer { status, body }
    }

    fn target(&self, case: &Case) -> String {
        let mut target = self.resolve_text(&case.path);
        for (index, (name, value)) in case.query.iter().enumerate() {
            let value = value.as_str().map_or_else(|| value.to_string(), |text| self.resolve_text(text));
            target.push(if index == 0 { '?' } else { '&' });
            target.push_str(&format!("{name}={}", value.replace(' ', "%20")));
        }
        target
    }

    /// Puts earlier answers in the place of `{{case:/pointer}}`.
    fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match PLACEHOLDER.captures(text) {
                Some(found) if found[0].len() == text.len() => self.look_up(&found[1], &found[2]),
                _ => Value::String(self.resolve_text(text)),
            },
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, item)| (name.clone(), self.resolve(item))).collect()
            }
            other => other.clone(),
        }
    }

    fn resolve_text(&self, text: &str) -> String {
        let replaced = PLACEHOLDER.replace_all(text, |found: &regex::Captures<'_>| {
            let value = self.look_up(&found[1], &found[2]);
            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
        });
        replaced.into_owned()
    }

    fn look_up(&self, case: &str, pointer: &str) -> Value {
        let answer = self.answers.get(case).and_then(|answer| answer.pointer(pointer));
        answer.cloned().unwrap_or_else(|| Value::String(format!("unresolved-{case}")))
    }
}

fn deployment(open: bool, environment: &[(&str, &str)], running: &mut Vec<Running>) -> Deployment {
    let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = Options { open_to_loopback: open, environment };
    let deployment = Deployment::new(Data::Ephemeral, Arc::new(SystemClock), &options).unwrap();
    running.push(deployment.start().unwrap());
    deployment
}

/// Moves every time that lies near the recording.
fn shifted(value: &Value, recorded_at: i64, seconds: i64) -> Value {
    let is_near = |at: f64| {
        #[expect(clippy::cast_precision_loss, reason = "epoch seconds")]
        let recorded_at = recorded_at as f64;
        (at - recorded_at).abs() < NEAR_SECONDS
    };
    match value {
        Value::Array(items) => items.iter().map(|item| shifted(item, recorded_at, seconds)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, item)| (name.clone(), shifted(item, recorded_at, seconds))).collect()
        }
        Value::Number(number) if number.as_f64().is_some_and(is_near) => {
            number.as_i64().map_or_else(|| value.clone(), |at| (at + seconds).into())
        }
        Value::String(text) => match text.parse::<jiff::Timestamp>() {
            #[expect(clippy::cast_precision_loss, reason = "epoch seconds")]
            Ok(at) if is_near(at.as_second() as f64) => {
                (at + jiff::SignedDuration::from_secs(seconds)).to_string().into()
            }
            _ => value.clone(),
        },
        other => other.clone(),
    }
}
