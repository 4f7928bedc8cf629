//! The HTTP API: one router, served by Lambda in AWS and by hyper on a laptop.
//!
//! Around every route, outermost first: a caught panic becomes a 500, the correlation id and the security
//! headers, CORS, who is calling, the size of the body. So an unknown path without a key is a 401, and every
//! answer carries its correlation id.

mod access;
mod answer;
mod body;
mod layers;
mod openapi;
mod routes;
mod size;

use std::sync::Arc;

use axum::Router;
use runtime::App;

pub use access::{KEY_CACHE_SECONDS, LoopbackPeer};
pub use body::BODY_BYTES_MAX;
pub use openapi::document as openapi_document;
pub use routes::ROUTES;
pub use size::{LAMBDA_ANSWER_BYTES_MAX, limit_answers};

/// The router with all its layers.
pub fn router(app: Arc<App>) -> Router {
    layers::around(routes::router(), &app).with_state(app)
}
