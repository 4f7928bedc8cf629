//! Whether learning stands still; nulls are sent.

use serde::Serialize;

/// `GET /stall_state`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StallAnswer {
    /// Whether it does.
    pub stalled: bool,
    /// `auth_error` or `billing_error`.
    pub reason: Option<String>,
    /// Since when, in ISO 8601.
    pub stalled_at: Option<String>,
    /// When the provider says that it will answer again, in ISO 8601.
    pub reset_estimate: Option<String>,
    /// Whether somebody was told.
    pub notified_in_cc: bool,
    /// The provider's words.
    pub error_message: Option<String>,
}

/// `POST /stall_state/notified`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NotifiedAnswer {
    /// Whether there is anything to be told of.
    pub notified_in_cc: bool,
}
