//! The answers about publishing and what becomes of it.

use serde::Serialize;

/// How far the learning of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningState {
    /// Of a publish: not yet.
    Deferred,
    /// Finished.
    Done,
    /// Waits.
    Pending,
    /// Runs.
    Processing,
    /// Given up.
    Failed,
    /// Older than the tracking.
    NotTracked,
}

/// Why learning is where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningReason {
    /// Not enough interactions yet.
    WaitingForWindow,
    /// A worker will come.
    Queued,
    /// A worker is there.
    Extracting,
    /// It failed and will be tried again.
    Retrying,
    /// Everything was looked at.
    Covered,
    /// There is nothing to learn from.
    NotApplicable,
    /// The inputs were deleted.
    InputsErased,
    /// The inputs are too large, or a window failed too often.
    InputBudgetExceeded,
    /// The configuration cannot be followed.
    InputBudgetConfigurationError,
    /// The caller waited long enough.
    WaitTimeout,
    /// Too many callers wait.
    WaiterCapacity,
}

/// `POST /api/publish_interaction`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PublishAnswer {
    /// Whether everything is stored.
    pub success: bool,
    /// In words.
    pub message: String,
    /// What was ignored or put off.
    pub warnings: Vec<String>,
    /// The request's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The kind of store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_type: Option<String>,
    /// The store, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_label: Option<String>,
    /// Profiles that the covering windows produced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles_added: Option<u64>,
    /// Playbooks that the covering windows produced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playbooks_added: Option<u64>,
    /// `deferred` or `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_status: Option<LearningState>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_reason: Option<LearningReason>,
}

impl PublishAnswer {
    /// The message of success; it counts the server's own warnings, not those about the payload.
    #[must_use]
    pub fn message(server_warnings: usize) -> String {
        match server_warnings {
            0 => "Interaction published successfully".to_owned(),
            count => format!("Interaction published successfully with {count} warning(s)"),
        }
    }

    /// The refusal of an id that another payload has taken.
    #[must_use]
    pub fn duplicate(request_id: &str) -> Self {
        Self::refused(format!("request_id '{request_id}' already exists"))
    }

    /// A refusal for a reason of the business.
    #[must_use]
    pub fn refused(message: String) -> Self {
        Self { message, ..Self::default() }
    }

    /// The warning while learning is stalled.
    #[must_use]
    pub fn stall_warning(reason: Option<&str>) -> String {
        let reason = reason.unwrap_or("unknown");
        let advice = if reason == "auth_error" {
            "re-authenticate the provider, then run an explicit override retry to resume."
        } else {
            "wait for the limit/reset condition to clear, then run an explicit override retry to resume."
        };
        format!("Reflexio learning is paused ({reason}); {advice}")
    }
}

/// `GET /api/learning_status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LearningStatusAnswer {
    /// How far.
    pub status: LearningState,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<LearningReason>,
    /// Code of the last failure, while there is one; not part of the recorded contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `POST /api/finalize_session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FinalizeAnswer {
    /// Always true.
    pub success: bool,
    /// Whether there was such a session.
    pub accepted: bool,
    /// Why not.
    pub message: String,
}

impl FinalizeAnswer {
    /// The session is over.
    #[must_use]
    pub fn accepted() -> Self {
        Self { success: true, accepted: true, message: String::new() }
    }

    /// The user has no such session.
    #[must_use]
    pub fn unknown() -> Self {
        Self { success: true, accepted: false, message: "No saved session to finalize.".to_owned() }
    }
}
