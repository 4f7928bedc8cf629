//! The HTTP server of the local binary.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use api::LoopbackPeer;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use runtime::App;
use tokio::net::TcpListener;

/// Serves until `stop` completes; requests under way are answered.
///
/// # Errors
/// Whatever the socket fails with.
pub async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router: Router = api::router(app).layer(from_fn(name_peer));
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(stop)
        .await
}

/// Tells the router who is at the other end of the connection.
async fn name_peer(mut request: Request, next: Next) -> axum::response::Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    if let Some(peer) = peer {
        request.extensions_mut().insert(LoopbackPeer(peer));
    }
    next.run(request).await
}
