//! What each operation asks of AWS: the application in this process, over the local cloud, which counts.

use std::net::SocketAddr;
use std::sync::Arc;

use api::LoopbackPeer;
use axum::Router;
use http_body_util::BodyExt;
use retrospect::cloud::counters::Snapshot;
use retrospect::deployment::{Data, Deployment, Options};
use runtime::clock::SystemClock;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::BenchError;
use crate::client::Call;
use crate::data::{SEARCHED_USER, Texts};
use crate::report::{Cost, Report};

/// Where requests seem to come from: this machine needs no key.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
/// Publishes of one user before a window of the default size is due: two turns each.
const PUBLISHES_BEFORE_DUE: usize = 3;

/// The application, without its workers: only what a request itself asks for is counted.
struct InProcess {
    deployment: Deployment,
    router: Router,
}

impl InProcess {
    fn new() -> Result<Self, BenchError> {
        let options = Options { open_to_loopback: true, ..Options::default() };
        let deployment = Deployment::new(Data::Ephemeral, Arc::new(SystemClock), &options)?;
        let router = api::router(Arc::clone(&deployment.app));
        Ok(Self { deployment, router })
    }

    /// Makes a call and returns what it asked of AWS.
    async fn call(&self, path: &'static str, body: &Value) -> Result<Cost, BenchError> {
        let before = self.deployment.hub.counters().snapshot();
        let mut request = Call::post(path, body).request("localhost")?;
        request.extensions_mut().insert(LoopbackPeer(PEER));
        let response = self.router.clone().oneshot(request).await?;
        let body = response.into_body().collect().await?.to_bytes();
        let answer: Value = serde_json::from_slice(&body)?;
        if answer["success"] != Value::Bool(true) {
            return Err(format!("{path} failed: {answer}").into());
        }
        Ok(cost(&(&self.deployment.hub.counters().snapshot() - &before)))
    }
}

fn cost(added: &Snapshot) -> Cost {
    Cost {
        dynamodb: added.service_calls("dynamodb"),
        sqs: added.service_calls("sqs"),
        s3: added.service_calls("s3"),
        read_units: added.read_units(),
        write_units: added.write_units(),
    }
}

/// Counts what each operation asks of AWS.
///
/// # Errors
/// When an operation fails.
pub(crate) async fn measure(report: &mut Report) -> Result<(), BenchError> {
    let app = InProcess::new()?;
    publish(&app, report).await?;
    read(&app, report).await
}

async fn publish(app: &InProcess, report: &mut Report) -> Result<(), BenchError> {
    let (path, mut texts) = ("/api/publish_interaction", Texts::new(4));
    // The first call of a process also reads the configuration.
    app.call(path, &texts.publish(0)).await?;
    let first = app.call(path, &texts.publish(1)).await?;
    report.cost("publish, first of a user", &first);
    for number in 1..PUBLISHES_BEFORE_DUE {
        let usual = app.call(path, &texts.publish(1)).await?;
        if number == 1 {
            report.cost("publish", &usual);
        }
    }
    report.cost("publish that fills a window", &app.call(path, &texts.publish(1)).await?);
    Ok(())
}

async fn read(app: &InProcess, report: &mut Report) -> Result<(), BenchError> {
    let mut texts = Texts::new(5);
    for of_searched_user in [true, false] {
        app.call("/api/add_user_playbook", &texts.playbooks(1_000, of_searched_user)).await?;
    }
    app.call("/api/add_user_profile", &texts.profiles(200)).await?;
    let search = json!({ "user_id": SEARCHED_USER, "query": texts.query() });
    let list = json!({ "user_id": SEARCHED_USER, "top_k": 200 });
    let path = "/api/search_user_playbooks";
    // Every few seconds a process looks whether the configuration changed; not in one of these calls.
    app.call(path, &json!({ "user_id": "nobody", "query": "refund" })).await?;
    report.cost("search_user_playbooks, nothing loaded yet", &app.call(path, &search).await?);
    report.cost("search_user_playbooks", &app.call(path, &search).await?);
    report.cost("search of all kinds", &app.call("/api/search", &search).await?);
    report.cost("get_profiles, 200 rows", &app.call("/api/get_profiles", &list).await?);
    Ok(())
}
