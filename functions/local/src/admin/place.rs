//! What a command works on: the whole application, or a deployment's table of which nothing else is known yet.

use std::sync::Arc;

use domain::time::Clock;
use runtime::clock::SystemClock;
use runtime::ids::{RandomIds, random_share};
use runtime::{App, Settings, World};
use store::{Objects, Retries, Store};

use super::AdminError;

/// What a command works on.
#[derive(Debug, Clone)]
pub enum Place {
    /// The application of this machine.
    Whole(Arc<App>),
    /// The table of a deployment.
    Table {
        /// The table alone; no bucket is reached.
        store: Store,
        /// Its name.
        name: String,
    },
}

impl Place {
    /// The table of a deployment, with the credentials and the Region of the environment.
    pub(super) async fn deployed(table: &str) -> Self {
        let aws = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        // Organisations and keys have no large bodies.
        let objects = Objects::new(aws_sdk_s3::Client::new(&aws), String::new());
        let retries = Retries::new(Arc::new(random_share), Arc::clone(&clock));
        let client = aws_sdk_dynamodb::Client::new(&aws);
        Self::Table {
            store: Store::new(client, table.to_owned(), objects, retries, clock),
            name: table.to_owned(),
        }
    }

    /// The table, for what needs nothing else.
    pub(super) fn store(&self) -> &Store {
        match self {
            Self::Whole(app) => &app.services.store,
            Self::Table { store, .. } => store,
        }
    }

    /// The application: bodies in the bucket, secrets, models. Of a deployment the environment must say where they are,
    /// as the template tells its functions.
    pub(super) async fn app(&self) -> Result<Arc<App>, AdminError> {
        let name = match self {
            Self::Whole(app) => return Ok(Arc::clone(app)),
            Self::Table { name, .. } => name,
        };
        let mut variables = runtime::settings::variables();
        variables.insert("RETROSPECT_TABLE".to_owned(), name.clone());
        // Commands wake nobody.
        for queue in ["LEARN", "AGGREGATE", "OPERATE", "EVALUATE"] {
            variables.insert(format!("RETROSPECT_{queue}_QUEUE_URL"), "none".to_owned());
        }
        for name in ["RETROSPECT_EVALUATE_QUEUE_ARN", "RETROSPECT_SCHEDULER_ROLE_ARN"] {
            variables.insert(name.to_owned(), "none".to_owned());
        }
        let settings = Settings::from_variables(variables)?;
        let world = World {
            aws: aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            random: Arc::new(random_share),
        };
        Ok(App::new(settings, world))
    }
}
