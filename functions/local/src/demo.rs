//! `retrospect demo`: the main job on built-in conversations, over HTTP, as any agent would do it.

mod client;
mod conversations;
mod report;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use runtime::clock::SystemClock;
use tokio::net::TcpListener;

use crate::cli::DemoOptions;
use crate::deployment::{Data, Deployment, Options};
use crate::serve::{ServeError, stop_signal};
use crate::server;
use client::Client;

/// How long the demo waits until everything is learned.
const LEARNING_MAX: Duration = Duration::from_secs(45);

/// Publishes, waits until learned, shows what came of it, and goes on serving unless told to stop.
///
/// # Errors
/// What did not work: the demo is also a check of the whole.
pub async fn run(options: &DemoOptions, say: impl Fn(&str)) -> Result<(), ServeError> {
    let deployment_options = Options { open_to_loopback: true, environment: runtime::settings::variables() };
    let deployment = Deployment::new(Data::Ephemeral, Arc::new(SystemClock), &deployment_options)?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
    let address = listener.local_addr()?;
    let running = deployment.start()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let app = Arc::clone(&deployment.app);
    let serving = tokio::spawn(server::serve(listener, app, async move {
        // The sender's end is the sign to stop, whether it sends or is dropped.
        let _ = stopped.await;
    }));
    let shown = report::show(&Client::new(address)?, LEARNING_MAX, &say).await;
    if shown.is_ok() && !options.exit {
        say(&format!("\nStill serving on http://{address} (data in memory). Stop with Ctrl-C.\n"));
        stop_signal()?.await;
    }
    drop(stop);
    serving.await??;
    running.stop().await;
    shown
}
