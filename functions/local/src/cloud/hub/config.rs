//! The SDK configuration that makes every client speak to the hub.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use aws_smithy_async::time::TimeSource;
use domain::time::Clock;
use parking_lot::Mutex;

use super::Hub;

/// The region that the local cloud stands in.
pub const REGION: &str = "us-east-1";

/// Builds the configuration: nothing is looked up in the environment, in profiles or on the network, and the
/// SDK's retries, time-outs and signatures follow the hub's clock.
pub(super) fn sdk_config(hub: &Hub, clock: &Arc<dyn Clock>, retry: RetryConfig) -> SdkConfig {
    let credentials = Credentials::new("LOCALCLOUD", "local-cloud-secret", None, None, "local cloud");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::from_static(REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .identity_cache(aws_config::identity::IdentityCache::no_cache())
        .http_client(hub.clone())
        .sleep_impl(ClockSleep(clock.clone()))
        .time_source(ClockTime(clock.clone()))
        .retry_config(retry)
        // Answers come whole: there is no stream that could stall.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build()
}

#[derive(Debug)]
struct ClockTime(Arc<dyn Clock>);

impl TimeSource for ClockTime {
    fn now(&self) -> SystemTime {
        // A clock before 1970 is a test's; no signature can express it.
        let millis = u64::try_from(self.0.now_ms()).unwrap_or_default();
        UNIX_EPOCH + Duration::from_millis(millis)
    }
}

#[derive(Debug)]
struct ClockSleep(Arc<dyn Clock>);

impl AsyncSleep for ClockSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        let clock = self.0.clone();
        Sleep::new(Shareable(Mutex::new(Box::pin(async move { clock.sleep(duration).await }))))
    }
}

/// The SDK wants its sleeps `Sync`; the clock's are only `Send`. Never locked: it is polled by its one owner.
struct Shareable(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Future for Shareable {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.get_mut().0.get_mut().as_mut().poll(context)
    }
}
