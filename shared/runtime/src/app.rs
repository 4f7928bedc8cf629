//! The application: everything that a handler needs, built once per process.

use std::sync::Arc;

use aws_config::SdkConfig;
use domain::time::Clock;
use learning::services::{Ids, OrgServices, Services};
use llm::connect::Models;
use recall::{QueryVectors, Recall};
use search::ServedLearnings;
use store::{Objects, Retries, Store};
use wake::Wakes;

use crate::clock::SystemClock;
use crate::ids::{RandomIds, random_share};
use crate::orgs::Orgs;
use crate::process::{Process, ProcessReport, Waiters};
use crate::secrets::Secrets;
use crate::settings::{Settings, SettingsError};
use crate::site::SiteVars;
use crate::usage::UsageBuffer;

/// Everything that handlers use.
#[derive(Debug)]
pub struct App {
    /// What the deployment says.
    pub settings: Settings,
    /// Store, queues, time, identifiers, organisations.
    pub services: Services,
    /// Configuration and models per organisation.
    pub orgs: Arc<Orgs>,
    /// The deployment's variables: feature flags, default models.
    pub site: Arc<SiteVars>,
    /// Loaded memories.
    pub recall: Recall,
    /// Vectors of recent queries.
    pub query_vectors: QueryVectors,
    /// What sessions were served.
    pub served: ServedLearnings,
    /// Who waits for learning.
    pub waiters: Waiters,
    /// What models cost since the last flush.
    pub usage: Arc<UsageBuffer>,
    process: Process,
}

/// What differs between a deployment, a laptop and a test.
pub struct World {
    /// The AWS SDK's configuration; its HTTP client decides who answers.
    pub aws: SdkConfig,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
    /// Numbers in `[0, 1)`, for jitter.
    pub random: Arc<dyn Fn() -> f64 + Send + Sync>,
}

impl App {
    /// The application of a Lambda function.
    ///
    /// # Errors
    /// [`SettingsError`] when the environment lacks something.
    pub async fn from_env() -> Result<Arc<Self>, SettingsError> {
        let settings = Settings::from_env()?;
        let aws = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
        let world = World {
            aws,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            random: Arc::new(random_share),
        };
        Ok(Self::new(settings, world))
    }

    /// The application in a given world.
    #[must_use]
    pub fn new(settings: Settings, world: World) -> Arc<Self> {
        let World { aws, clock, ids, random } = world;
        let objects = Objects::new(s3_client(&aws), settings.bucket.clone());
        let retries = Retries::new(Arc::clone(&random), Arc::clone(&clock));
        let store = Store::new(
            aws_sdk_dynamodb::Client::new(&aws),
            settings.table.clone(),
            objects,
            retries,
            Arc::clone(&clock),
        );
        let usage = Arc::new(UsageBuffer::default());
        let sink: Arc<dyn llm::meter::UsageSink> = usage.clone();
        let models = Models::new(Arc::clone(&clock), random, sink);
        #[cfg(feature = "bedrock")]
        let models = models.with_aws(aws.clone());
        let secrets = Secrets::new(aws_sdk_kms::Client::new(&aws), settings.kms_key.clone());
        let site = Arc::new(SiteVars::new(store.clone()));
        let orgs = Arc::new(Orgs::new(store.clone(), secrets, settings.clone(), models, Arc::clone(&site)));
        let wakes = Wakes::new(
            aws_sdk_sqs::Client::new(&aws),
            settings.queues.clone(),
            aws_sdk_scheduler::Client::new(&aws),
            settings.timers.clone(),
        );
        let evaluation_delay_seconds = settings.evaluation_delay_seconds;
        let org_services: Arc<dyn OrgServices> = orgs.clone();
        let services = Services {
            store: store.clone(),
            wakes,
            clock,
            ids,
            orgs: org_services,
            evaluation_delay_seconds,
        };
        Arc::new(Self {
            settings,
            services,
            orgs,
            site,
            recall: Recall::new(store),
            query_vectors: QueryVectors::default(),
            served: ServedLearnings::new(),
            waiters: Waiters::default(),
            usage,
            process: Process::new(),
        })
    }

    /// Counts a request that came in.
    pub fn count_request(&self) {
        self.process.count_request();
    }

    /// What there is to tell about this process.
    #[must_use]
    pub fn process(&self) -> ProcessReport {
        self.process.report()
    }
}

/// Path style works everywhere: in AWS and in the local cloud, whatever the bucket's name.
fn s3_client(aws: &SdkConfig) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::config::Builder::from(aws).force_path_style(true).build();
    aws_sdk_s3::Client::from_conf(config)
}
