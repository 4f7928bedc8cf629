//! The deployment on this machine: the cloud of the template, and the application in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsEvent;
use domain::ids::OrgId;
use domain::time::Clock;
use runtime::ids::{RandomIds, random_share};
use runtime::{Access, App, SELF_HOST_ORG, Settings, SettingsError, World};

use crate::cloud::dynamodb::LocalDynamoDb;
use crate::cloud::handlers::{Handlers, Running, StartError};
use crate::cloud::hub::Hub;
use crate::cloud::kms::LocalKms;
use crate::cloud::s3::LocalS3;
use crate::cloud::scheduler::LocalScheduler;
use crate::cloud::sqs::Sqs;
use crate::cloud::template::{Cloud, TemplateError};
use crate::data_dir::{DataDir, DataDirError};

/// Longest wait of `wait_for_response` here, where no gateway cuts it short, in seconds.
const WAIT_SECONDS_MAX: u64 = 240;
/// The function whose environment the application runs in: it has all variables.
const API_FUNCTION: &str = "ApiFunction";

/// Why the deployment did not start.
#[derive(Debug, thiserror::Error)]
pub enum DeploymentError {
    /// The data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The template.
    #[error("infra/template.yaml: {0}")]
    Template(#[from] TemplateError),
    /// A part of the cloud.
    #[error("{part}: {reason}")]
    Part {
        /// Which.
        part: &'static str,
        /// Why.
        reason: String,
    },
    /// The environment.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The functions.
    #[error("infra/template.yaml: {0}")]
    Start(#[from] StartError),
}

/// Where data live.
#[derive(Debug)]
pub enum Data {
    /// In memory, gone with the process.
    Ephemeral,
    /// In a directory.
    Directory(DataDir),
}

impl Data {
    fn file(&self, name: &str) -> Option<std::path::PathBuf> {
        match self {
            Self::Ephemeral => None,
            Self::Directory(folder) => Some(folder.file(name)),
        }
    }
}

/// What the operator says.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether callers on this machine need no key.
    pub open_to_loopback: bool,
    /// The environment that is handed on: model providers, switches.
    pub environment: BTreeMap<String, String>,
}

/// The cloud and the application in it.
#[derive(Debug)]
pub struct Deployment {
    /// The application.
    pub app: Arc<App>,
    /// Below the AWS SDK: counters, faults.
    pub hub: Hub,
    sqs: Arc<Sqs>,
    scheduler: Arc<LocalScheduler>,
    cloud: Cloud,
    clock: Arc<dyn Clock>,
    // Held so that no other process opens the directory.
    _data: Data,
}

impl Deployment {
    /// Builds the cloud of the template over `data`, and the application in it. Nothing runs yet.
    ///
    /// # Errors
    /// [`DeploymentError`].
    pub fn new(data: Data, clock: Arc<dyn Clock>, options: &Options) -> Result<Self, DeploymentError> {
        let cloud = Cloud::deployed(&BTreeMap::new())?;
        let hub = Hub::new(Arc::clone(&clock));
        let (sqs, scheduler) = register(&hub, &cloud, &data, &clock)?;
        let settings = settings(&cloud, options)?;
        let world = World {
            aws: hub.sdk_config(),
            clock: Arc::clone(&clock),
            ids: Arc::new(RandomIds),
            random: Arc::new(random_share),
        };
        let app = App::new(settings, world);
        Ok(Self { app, hub, sqs, scheduler, cloud, clock, _data: data })
    }

    /// Starts the functions of the template, as queues and rules set them off.
    ///
    /// # Errors
    /// [`DeploymentError::Start`] when the template and the code do not fit.
    pub fn start(&self) -> Result<Running, DeploymentError> {
        let timeout = |name: &str| {
            let function = self.cloud.functions.iter().find(|function| function.logical_id == name);
            Duration::from_secs(function.map_or(60, |function| u64::from(function.timeout_seconds)))
        };
        let (learn_app, learn_clock, learn_timeout) =
            (Arc::clone(&self.app), Arc::clone(&self.clock), timeout("LearnFunction"));
        let (operate_app, operate_clock, operate_timeout) =
            (Arc::clone(&self.app), Arc::clone(&self.clock), timeout("OperateFunction"));
        let (sweep_app, sweep_clock, sweep_timeout) =
            (Arc::clone(&self.app), Arc::clone(&self.clock), timeout("SweepFunction"));
        let (aggregate_app, aggregate_clock, aggregate_timeout) =
            (Arc::clone(&self.app), Arc::clone(&self.clock), timeout("AggregateFunction"));
        let (evaluate_app, evaluate_clock, evaluate_timeout) =
            (Arc::clone(&self.app), Arc::clone(&self.clock), timeout("EvaluateFunction"));
        let handlers = Handlers::new()
            .sqs("AggregateFunction", move |event: SqsEvent| {
                let deadline = deadline(&aggregate_clock, aggregate_timeout);
                let app = Arc::clone(&aggregate_app);
                async move { Ok(aggregate::handle(&app, event, deadline).await) }
            })
            .sqs("LearnFunction", move |event: SqsEvent| {
                let (app, deadline) = (Arc::clone(&learn_app), deadline(&learn_clock, learn_timeout));
                async move { Ok(learn::handle(&app, event, deadline).await) }
            })
            .sqs("OperateFunction", move |event: SqsEvent| {
                let (app, deadline) = (Arc::clone(&operate_app), deadline(&operate_clock, operate_timeout));
                async move { Ok(operate::handle(&app, event, deadline).await) }
            })
            .sqs("EvaluateFunction", move |event: SqsEvent| {
                let (app, deadline) =
                    (Arc::clone(&evaluate_app), deadline(&evaluate_clock, evaluate_timeout));
                async move { Ok(evaluate::handle(&app, event, deadline).await) }
            })
            .schedule("SweepFunction", move |_| {
                let (app, deadline) = (Arc::clone(&sweep_app), deadline(&sweep_clock, sweep_timeout));
                async move { Ok(sweep::handle(&app, deadline).await.map(drop)?) }
            });
        let mut running = handlers.start(&self.cloud, &self.sqs, &self.clock)?;
        let (scheduler, sqs) = (Arc::clone(&self.scheduler), Arc::clone(&self.sqs));
        running.add(|stop| scheduler.run(sqs, stop));
        Ok(running)
    }

    /// Sends the messages of all timers whose time has come; for tests that run no functions.
    pub fn fire_timers(&self) -> usize {
        self.scheduler.fire_due(&self.sqs)
    }

    /// Sends the messages of timers that `goes_off` names, whatever their time; for tests of what is early.
    pub fn fire_timers_if(&self, goes_off: impl Fn(&str) -> bool) -> usize {
        self.scheduler.fire(&self.sqs, |name, _| goes_off(name))
    }

    /// The timers.
    #[must_use]
    pub fn scheduler(&self) -> &LocalScheduler {
        &self.scheduler
    }
}

fn deadline(clock: &Arc<dyn Clock>, timeout: Duration) -> i64 {
    clock.now_ms() + i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX)
}

/// Opens every part of the cloud and puts it behind the hub.
fn register(
    hub: &Hub,
    cloud: &Cloud,
    data: &Data,
    clock: &Arc<dyn Clock>,
) -> Result<(Arc<Sqs>, Arc<LocalScheduler>), DeploymentError> {
    fn part<E: std::fmt::Display>(part: &'static str) -> impl Fn(E) -> DeploymentError {
        move |error| DeploymentError::Part { part, reason: error.to_string() }
    }
    let dynamodb = LocalDynamoDb::open(data.file("dynamodb.sqlite").as_deref(), Arc::clone(clock))
        .map_err(part("DynamoDB"))?;
    for table in &cloud.tables {
        let mut properties = table.properties.clone();
        properties["TableName"] = table.name.clone().into();
        dynamodb.ensure_table(&properties).map_err(part("DynamoDB"))?;
    }
    let s3 = LocalS3::open(data.file("s3").as_deref(), Arc::clone(clock)).map_err(part("S3"))?;
    for bucket in &cloud.buckets {
        s3.ensure_bucket(&bucket.name).map_err(part("S3"))?;
    }
    let kms = LocalKms::open(data.file("kms.key").as_deref()).map_err(part("KMS"))?;
    let journal = data.file("sqs.journal");
    let sqs = Sqs::open(&cloud.queues, Arc::clone(clock), journal.as_deref()).map_err(part("SQS"))?;
    let sqs = Arc::new(sqs);
    hub.register("dynamodb", Arc::new(dynamodb));
    hub.register("s3", Arc::new(s3));
    hub.register("kms", Arc::new(kms));
    let service: Arc<dyn crate::cloud::service::LocalService> = sqs.clone();
    hub.register("sqs", service);
    let queues = cloud.queues.iter().map(|queue| (queue.arn(), queue.url())).collect();
    let journal = data.file("scheduler.journal");
    let scheduler = LocalScheduler::open(queues, Arc::clone(clock), journal.as_deref());
    let scheduler = Arc::new(scheduler.map_err(part("Scheduler"))?);
    hub.register("scheduler", scheduler.clone());
    Ok((sqs, scheduler))
}

/// The environment of the template's API function, with what the operator's environment adds.
fn settings(cloud: &Cloud, options: &Options) -> Result<Settings, DeploymentError> {
    let function = cloud.functions.iter().find(|function| function.logical_id == API_FUNCTION);
    let mut environment = options.environment.clone();
    for (name, value) in function.iter().flat_map(|function| &function.environment) {
        // Empty means: not set by the template.
        if !value.is_empty() {
            environment.insert(name.clone(), value.clone());
        }
    }
    let mut settings = Settings::from_variables(environment)?;
    settings.wait_seconds_max = WAIT_SECONDS_MAX;
    settings.allow_private_addresses = true;
    if options.open_to_loopback
        && let Ok(org) = SELF_HOST_ORG.parse::<OrgId>()
    {
        settings.access = Access::LoopbackAs(org);
    }
    Ok(settings)
}
