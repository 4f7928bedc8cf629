//! Retrieval experiments: `GET` and `POST /api/retrieval_experiments`, `…/stop`, `…/{experiment_id}/results`.

use std::sync::Arc;

use axum::extract::{Path, State};
use domain::config::{Config, ExperimentFault};
use domain::errors::ApiError;
use domain::requests::experiments::{parse_start, parse_stop};
use domain::time::EpochSeconds;
use domain::views::ExperimentsAnswer;
use evaluation::experiments::{ExperimentResultsError, experiment_results};
use runtime::{App, SaveError};

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

/// How often a change is tried again when others change the configuration meanwhile.
const ATTEMPTS_MAX: usize = 5;

pub(crate) async fn list(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    let loaded = app.orgs.load_stored(&caller.org).await?;
    ok(ExperimentsAnswer::from(loaded.config.as_ref()))
}

pub(crate) async fn start(State(app): State<Arc<App>>, caller: Caller, JsonBody(body): JsonBody) -> Answer {
    let experiment = parse_start(&body)?;
    change(&app, &caller, |config, now| config.with_experiment(experiment.clone(), now)).await
}

pub(crate) async fn stop(State(app): State<Arc<App>>, caller: Caller, JsonBody(body): JsonBody) -> Answer {
    let experiment_id = parse_stop(&body)?;
    change(&app, &caller, |config, now| config.without_experiment(&experiment_id, now)).await
}

/// Changes the configuration as it is stored; when somebody else did so meanwhile, looks again whether the change
/// still may be.
async fn change(
    app: &App,
    caller: &Caller,
    apply: impl Fn(&Config, EpochSeconds) -> Result<Config, ExperimentFault>,
) -> Answer {
    for _ in 0..ATTEMPTS_MAX {
        let stored = app.orgs.load_stored(&caller.org).await?;
        let config = apply(&stored.config, app.services.clock.now())
            .map_err(|fault| ApiError::conflict(fault.to_string()))?;
        let answer = ExperimentsAnswer::from(&config);
        match app.orgs.save(&caller.org, stored.version, config).await {
            Ok(()) => return ok(answer),
            Err(SaveError::Conflict) => {}
            Err(SaveError::Org(error)) => return Err(error.into()),
        }
    }
    Err(ApiError::config_write_conflict().into())
}

pub(crate) async fn results(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(experiment_id): Path<String>,
) -> Answer {
    let loaded = app.orgs.load_stored(&caller.org).await?;
    let (store, now) = (&app.services.store, app.services.clock.now());
    match experiment_results(store, &caller.org, &loaded.config, &experiment_id, now).await {
        Ok(results) => ok(results),
        Err(error @ ExperimentResultsError::Unknown) => Err(ApiError::not_found(&error.to_string()).into()),
        Err(ExperimentResultsError::Store(error)) => Err(error.into()),
    }
}
