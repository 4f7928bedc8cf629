//! `GET /stall_state`, `POST /stall_state/notified`: whether learning stands still.

use std::sync::Arc;

use axum::extract::State;
use domain::time::utc_timestamp;
use domain::views::{NotifiedAnswer, StallAnswer};
use runtime::App;

use crate::access::Caller;
use crate::answer::{Answer, ok};

pub(crate) async fn stall_state(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    let stall = app.services.store.stall(&caller.org).await?.filter(|stall| stall.stalled);
    ok(stall.map_or_else(StallAnswer::default, |stall| StallAnswer {
        stalled: true,
        reason: Some(stall.reason),
        stalled_at: utc_timestamp(stall.since_ms),
        reset_estimate: stall.reset_estimate.and_then(|at| utc_timestamp(at.saturating_mul(1000))),
        notified_in_cc: stall.notified,
        error_message: Some(stall.message).filter(|message| !message.is_empty()),
    }))
}

/// Notes that somebody was told; may be repeated.
pub(crate) async fn notified(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    let notified_in_cc = app.services.store.mark_stall_notified(&caller.org).await?;
    ok(NotifiedAnswer { notified_in_cc })
}
