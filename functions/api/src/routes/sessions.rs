//! `POST /api/finalize_session`.

use std::sync::Arc;

use axum::extract::State;
use domain::errors::ApiError;
use domain::ids::UserHash;
use domain::requests::sessions::FinalizeSession;
use domain::views::FinalizeAnswer;
use runtime::App;
use store::{FinalizeError, UserKeys};
use wake::WakeReason;

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

/// Says that a session is over: what waits of it is learned though it fills no window. Learning itself comes later.
pub(crate) async fn finalize_session(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = FinalizeSession::parse(&body)?;
    let user = UserHash::of(&wanted.user_id);
    let keys = UserKeys { org: &caller.org, user: &user };
    let finalized = match app.services.store.finalize_session(&keys, &wanted.session_id).await {
        Ok(Some(finalized)) => finalized,
        Ok(None) => return ok(FinalizeAnswer::unknown()),
        Err(FinalizeError::Barred) => {
            return Err(ApiError::conflict("The data of this user are being erased").into());
        }
        Err(FinalizeError::Store(error)) => return Err(error.into()),
    };
    if finalized.is_due {
        let wakes = &app.services.wakes;
        let sent = wakes.learn(&caller.org, &user, WakeReason::SessionFinished, finalized.position).await;
        if let Err(error) = sent {
            // The head is due: the sweep finds the user.
            tracing::warn!(event = "wake_failed", reason = "session_finished", org = caller.org.as_str(), %error);
        }
    }
    ok(FinalizeAnswer::accepted())
}
