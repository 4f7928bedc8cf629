//! The hub: the HTTP client beneath every AWS SDK client of the process. It knows the service by the signature
//! of the request, counts the call, lets the fault plan and the kill switch have their way, and hands it over.

mod config;
mod kill;
mod operation;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::Bytes;
use domain::time::Clock;
use parking_lot::{Mutex, RwLock};

use super::counters::{Counters, Units};
use super::faults::{Action, Failure, FaultPlan, Verdict};
use super::random::SplitMix64;
use super::service::LocalService;
pub use config::REGION;
pub use kill::Moment;
use kill::{KillSwitch, Life};
use operation::Target;

/// Why the hub gave no answer; inside the `DispatchFailure` that the SDK reports.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The kill switch fired, at this call or before it. Not retried by the SDK.
    #[error("the process died here")]
    Dead,
    /// The fault plan broke the connection before the call or lost its answer. The SDK retries it.
    #[error("connection reset by the fault plan")]
    ConnectionReset,
    /// The fault plan dropped the call and the read time-out passed. The SDK retries it.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// No service is registered under the name that the request is signed for.
    #[error("no local service named {0:?}")]
    NoService(String),
    /// The request carries no SigV4 signature to tell the service by.
    #[error("the request is not signed")]
    Unsigned,
    /// The request cannot be read, or the service's answer not be expressed.
    #[error("malformed message")]
    Malformed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The in-process cloud as one HTTP client. Clones share everything.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Arc<dyn Clock>,
    services: RwLock<HashMap<String, Arc<dyn LocalService>>>,
    counters: Counters,
    faults: Mutex<Option<FaultPlan>>,
    kill: Mutex<KillSwitch>,
}

impl Hub {
    /// A hub without services, whose delays, SDK retries and signatures follow `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            clock,
            services: RwLock::default(),
            counters: Counters::default(),
            faults: Mutex::default(),
            kill: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Answers calls signed for `name` (`dynamodb`, `s3`, `sqs`, `kms`, `scheduler`, `events`) with `service`,
    /// in place of any service that did so before.
    pub fn register(&self, name: &str, service: Arc<dyn LocalService>) {
        self.inner.services.write().insert(name.to_owned(), service);
    }

    /// The configuration for every SDK client: fixed credentials, `REGION`, three attempts with the SDK's
    /// usual back-off on the hub's clock, and no look-up in the environment or in profiles.
    #[must_use]
    pub fn sdk_config(&self) -> SdkConfig {
        config::sdk_config(self, &self.inner.clock, RetryConfig::standard())
    }

    /// As `sdk_config`, but retries follow at once: for tests whose clock nobody moves meanwhile.
    #[must_use]
    pub fn sdk_config_without_backoff(&self) -> SdkConfig {
        let retry = RetryConfig::standard().with_initial_backoff(Duration::ZERO);
        config::sdk_config(self, &self.inner.clock, retry)
    }

    /// What the calls cost so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// From now on calls fail by this plan, in place of any other.
    pub fn set_faults(&self, plan: FaultPlan) {
        *self.inner.faults.lock() = Some(plan);
    }

    /// From now on calls fail only by themselves.
    pub fn clear_faults(&self) {
        *self.inner.faults.lock() = None;
    }

    /// The process dies at the `n`-th call from now (1 = the next), before or after it takes effect: that call
    /// and all later ones get no answer until `revive`.
    pub fn kill_after(&self, n: u64, moment: Moment) {
        self.inner.kill.lock().arm(n, moment);
    }

    /// As `kill_after`, at one of the next `calls` calls and on the side of it that `seed` chooses; returns both.
    pub fn kill_within(&self, calls: u64, seed: u64) -> (u64, Moment) {
        let mut random = SplitMix64::new(seed);
        let n = random.below(calls) + 1;
        let moment = if random.chance(0.5) { Moment::Before } else { Moment::After };
        self.kill_after(n, moment);
        (n, moment)
    }

    /// Whether the kill switch has fired.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.inner.kill.lock().is_dead()
    }

    /// The next process starts: calls are answered again and the switch is not armed.
    pub fn revive(&self) {
        self.inner.kill.lock().revive();
    }

    async fn serve(
        &self,
        request: HttpRequest,
        patience: Option<Duration>,
    ) -> Result<HttpResponse, ConnectorError> {
        let request = receive(request).await?;
        let target = Target::of(&request).ok_or_else(|| ConnectorError::user(HubError::Unsigned.into()))?;
        let life = self.inner.kill.lock().arrives();
        if life == Life::Dead {
            return Err(dead());
        }
        self.inner.counters.count_call(&target.service, &target.operation);
        let answered = self.meet_fate(&target, request, patience).await;
        // Dead by this call, or by another one while this one was under way: the answer reaches nobody.
        let mut kill = self.inner.kill.lock();
        if life == Life::LastCall {
            kill.die();
        }
        if kill.is_dead() {
            return Err(dead());
        }
        answered
    }

    async fn meet_fate(
        &self,
        target: &Target,
        request: http::Request<Bytes>,
        patience: Option<Duration>,
    ) -> Result<HttpResponse, ConnectorError> {
        let Target { service, operation } = target;
        let verdict = match &mut *self.inner.faults.lock() {
            Some(plan) => plan.judge(service, operation),
            None => Verdict::default(),
        };
        if verdict.delay > Duration::ZERO {
            self.inner.clock.sleep(verdict.delay).await;
        }
        let refused = match verdict.action {
            None | Some(Action::Delay(_)) => None,
            Some(Action::FailAfter) => {
                self.call(service, request).await?;
                return Err(reset());
            }
            Some(Action::FailBefore(Failure::Connection)) => return Err(reset()),
            Some(Action::FailBefore(Failure::InternalError)) => Some(refusal::internal_error(service)),
            Some(Action::FailBefore(Failure::Unavailable)) => Some(refusal::unavailable(service)),
            Some(Action::Throttle) => Some(refusal::throttled(service)),
            Some(Action::TransactionConflict) => refusal::conflict(target, request.body(), verdict.choice),
            Some(Action::Drop) => return Err(self.keep_waiting(patience).await),
        };
        let response = match refused {
            Some(refused) => refused,
            None => self.call(service, request).await?,
        };
        send(response)
    }

    async fn call(
        &self,
        name: &str,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, ConnectorError> {
        let service = self.inner.services.read().get(name).cloned();
        let service =
            service.ok_or_else(|| ConnectorError::user(HubError::NoService(name.to_owned()).into()))?;
        let response = service.call(request).await;
        if let Some(units) = response.extensions().get::<Units>() {
            self.inner.counters.count_units(*units);
        }
        Ok(response)
    }

    async fn keep_waiting(&self, patience: Option<Duration>) -> ConnectorError {
        match patience {
            Some(patience) => {
                self.inner.clock.sleep(patience).await;
                ConnectorError::timeout(HubError::TimedOut(patience).into())
            }
            None => std::future::pending().await,
        }
    }
}

fn reset() -> ConnectorError {
    ConnectorError::io(HubError::ConnectionReset.into())
}

/// Not an I/O error for the SDK, which would retry that: a dead process retries nothing.
fn dead() -> ConnectorError {
    ConnectorError::other(HubError::Dead.into(), None)
}

fn malformed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ConnectorError {
    ConnectorError::user(HubError::Malformed(error.into()).into())
}

async fn receive(request: HttpRequest) -> Result<http::Request<Bytes>, ConnectorError> {
    let request = request.try_into_http1x().map_err(malformed)?;
    let (parts, body) = request.into_parts();
    let body = match body.bytes() {
        Some(bytes) => Bytes::copy_from_slice(bytes),
        None => ByteStream::new(body).collect().await.map_err(malformed)?.into_bytes(),
    };
    Ok(http::Request::from_parts(parts, body))
}

fn send(response: http::Response<Bytes>) -> Result<HttpResponse, ConnectorError> {
    HttpResponse::try_from(response.map(SdkBody::from)).map_err(malformed)
}

impl fmt::Debug for Hub {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl HttpClient for Hub {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connection { hub: self.clone(), patience: settings.read_timeout() })
    }
}

/// The hub with the time-out of one client.
#[derive(Debug)]
struct Connection {
    hub: Hub,
    patience: Option<Duration>,
}

impl HttpConnector for Connection {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (hub, patience) = (self.hub.clone(), self.patience);
        HttpConnectorFuture::new(async move { hub.serve(request, patience).await })
    }
}
