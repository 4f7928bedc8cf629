//! Who the caller is.

use std::sync::Arc;

use axum::extract::State;
use domain::views::{MyConfigAnswer, WhoamiAnswer};
use runtime::App;

use crate::access::Caller;
use crate::answer::{Answer, ok};

/// What a deployment stores in, as callers see it.
pub(crate) const STORAGE_TYPE: &str = "dynamodb";
/// The label holds no name of a table or account.
pub(crate) const STORAGE_LABEL: &str = "<deployment table>";

pub(crate) async fn whoami(caller: Caller) -> Answer {
    ok(WhoamiAnswer {
        success: true,
        org_id: caller.org.to_string(),
        storage_type: Some(STORAGE_TYPE.to_owned()),
        storage_label: Some(STORAGE_LABEL.to_owned()),
        storage_configured: true,
        message: String::new(),
    })
}

/// The storage part of the configuration, where the operator allows it. It holds no secrets here.
pub(crate) async fn my_config(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    if !app.settings.allow_my_config {
        return ok(MyConfigAnswer::disabled());
    }
    tracing::info!(event = "my_config_read", org = caller.org.as_str());
    let loaded = app.orgs.load(&caller.org).await?;
    let config = loaded.config.masked().to_wire();
    ok(MyConfigAnswer {
        success: true,
        storage_config: config.get("storage_config").cloned(),
        storage_type: Some(STORAGE_TYPE.to_owned()),
        message: String::new(),
    })
}
