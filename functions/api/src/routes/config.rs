//! The configuration of the caller's organisation.

use std::sync::Arc;

use axum::extract::State;
use domain::config::{Change, Config, ConfigFault};
use domain::errors::ApiError;
use domain::views::ConfigAnswer;
use runtime::{App, SaveError};
use serde_json::Value;

use crate::access::Caller;
use crate::answer::{Answer, Failure, ok};
use crate::body::JsonBody;

/// The configuration with its secrets masked.
pub(crate) async fn get_config(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    // What is read here may be edited and written back: no version but the stored one will do.
    let loaded = app.orgs.load_stored(&caller.org).await?;
    ok(loaded.config.masked().to_wire())
}

pub(crate) async fn set_config(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    match change(&app, &caller, &body, Config::replaced_by).await? {
        // Replacing a configuration by itself is a success like any other.
        Changed::Yes | Changed::No => ok(ConfigAnswer::set()),
    }
}

pub(crate) async fn update_config(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    match change(&app, &caller, &body, Config::merged_with).await? {
        Changed::Yes => ok(ConfigAnswer::set()),
        Changed::No => ok(ConfigAnswer::unchanged()),
    }
}

enum Changed {
    Yes,
    No,
}

/// Applies a caller's document to the configuration as it is stored now; the write fails when somebody else
/// wrote meanwhile, since two changes that are valid alone may not be so together.
async fn change(
    app: &App,
    caller: &Caller,
    body: &Value,
    apply: fn(&Config, &Value) -> Result<Change, ConfigFault>,
) -> Result<Changed, Failure> {
    let stored = app.orgs.load_stored(&caller.org).await?;
    match apply(&stored.config, body).map_err(ApiError::from)? {
        Change::Unchanged => Ok(Changed::No),
        Change::Changed(config) => match app.orgs.save(&caller.org, stored.version, *config).await {
            Ok(()) => Ok(Changed::Yes),
            Err(SaveError::Conflict) => Err(ApiError::config_write_conflict().into()),
            Err(SaveError::Org(error)) => Err(error.into()),
        },
    }
}
