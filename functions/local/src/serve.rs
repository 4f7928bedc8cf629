//! `retrospect serve`: the whole cloud, until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;

use domain::ids::OrgId;
use llm::providers::ModelRole;
use runtime::clock::SystemClock;
use runtime::{App, SELF_HOST_ORG};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::admin::seed_key;
use crate::cli::ServeOptions;
use crate::data_dir::DataDir;
use crate::deployment::{Data, Deployment, Options};
use crate::server;

/// Why serving ended; printed.
pub type ServeError = Box<dyn std::error::Error + Send + Sync>;

/// Serves until SIGINT or SIGTERM. `say` prints lines for the operator.
///
/// # Errors
/// What kept it from starting, or stopped it.
pub async fn run(options: &ServeOptions, say: impl Fn(&str)) -> Result<(), ServeError> {
    let data =
        if options.ephemeral { Data::Ephemeral } else { Data::Directory(DataDir::open(&options.data_dir)?) };
    let key = options.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty());
    let deployment_options =
        Options { open_to_loopback: key.is_none(), environment: runtime::settings::variables() };
    let deployment = Deployment::new(data, Arc::new(SystemClock), &deployment_options)?;
    // The directory is open in this process alone: workers that held a lease died with an earlier one.
    deployment.app.services.store.void_earlier_leases();
    if let Some(key) = key {
        seed_key(&deployment.app, key).await?;
    }
    let listener = TcpListener::bind(SocketAddr::new(options.host, options.port)).await?;
    let address = listener.local_addr()?;
    say(&banner(&deployment.app, options, address).await?);
    let running = deployment.start()?;
    let served = server::serve(listener, Arc::clone(&deployment.app), stop_signal()?).await;
    running.stop().await;
    Ok(served?)
}

/// Completes when the process is asked to stop.
///
/// # Errors
/// When the system does not let signals be caught.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// What an operator wants to know first.
async fn banner(app: &App, options: &ServeOptions, address: SocketAddr) -> Result<String, ServeError> {
    let data = if options.ephemeral {
        "in memory, gone when this process ends".to_owned()
    } else {
        format!("{}", std::path::absolute(&options.data_dir)?.display())
    };
    let models = models(app).await?;
    let auth = match options.api_key {
        Some(_) => " -H 'authorization: Bearer <your key>'",
        None => "",
    };
    let access = match options.api_key {
        Some(_) => "a key is asked for (Authorization: Bearer …)",
        None => "callers on this machine need no key",
    };
    Ok(format!(
        "Retrospect listens on http://{address}\n\
         data       {data}\n\
         access     {access}\n\
         {models}\
         try        curl -s http://{address}/health\n\
         {:11}curl -s http://{address}/api/search_profiles{auth} -H 'content-type: application/json' -d '{{\"user_id\":\"ana\"}}'\n",
        ""
    ))
}

/// Which provider serves each role.
async fn models(app: &App) -> Result<String, ServeError> {
    let org: OrgId = SELF_HOST_ORG.parse()?;
    let mut lines = String::new();
    let mut offline = false;
    for (name, role) in [("generation", ModelRole::Generation), ("gate", ModelRole::ShouldRun)] {
        let model = app.services.orgs.chat(&org, role).await?;
        offline |= model.provider() == "offline";
        lines.push_str(&format!("{name:11}{} ({})\n", model.model_name(), model.provider()));
    }
    let embedding = app.orgs.embedding_or_local(&org).await?;
    lines.push_str(&format!("{:11}{}\n", "embedding", embedding.model_name()));
    if offline {
        lines.push_str(
            "           offline rules are for trying the system, not for production: set RETROSPECT_LLM_BASE_URL,\n\
             \x20          RETROSPECT_LLM_API_KEY and RETROSPECT_LLM_MODEL, or a provider's own variable (OPENAI_API_KEY, …)\n",
        );
    }
    Ok(lines)
}
