//! The answers about batch operations.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::learning::LearningKind;
use crate::operations::OperationStatus;
use crate::time::EpochSeconds;

/// A user whose turn was in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedUser {
    /// The user.
    pub user_id: String,
    /// Why, as a code.
    pub error: String,
}

/// Where an operation stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationView {
    /// The service.
    pub service_name: String,
    /// Where it stands.
    pub status: OperationStatus,
    /// When it began.
    pub started_at: EpochSeconds,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<EpochSeconds>,
    /// Users that take part.
    pub total_users: i64,
    /// Users whose turn is over.
    pub processed_users: i64,
    /// Users whose turn was in vain.
    pub failed_users: i64,
    /// The user at hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_user_id: Option<String>,
    /// Some of the processed users.
    pub processed_user_ids: Vec<String>,
    /// Some of the failed users.
    pub failed_user_ids: Vec<FailedUser>,
    /// What was asked.
    pub request_params: Value,
    /// What was read and made.
    pub stats: Map<String, Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// 0 to 100.
    pub progress_percentage: f64,
}

/// `GET /api/get_operation_status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationAnswer {
    /// Whether there is such an operation.
    pub success: bool,
    /// The operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_status: Option<OperationView>,
    /// In words.
    pub msg: String,
}

impl OperationAnswer {
    /// The answer with an operation.
    #[must_use]
    pub fn found(operation: OperationView) -> Self {
        let msg = "Retrieved operation status successfully".to_owned();
        Self { success: true, operation_status: Some(operation), msg }
    }

    /// The answer where there is none.
    #[must_use]
    pub fn not_found(service_name: &str) -> Self {
        let msg = format!("No operation found for service: {service_name}");
        Self { success: false, operation_status: None, msg }
    }
}

/// `POST /api/cancel_operation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CancelledAnswer {
    /// Always true.
    pub success: bool,
    /// Whose operations were asked to stop.
    pub cancelled_services: Vec<String>,
    /// In words.
    pub msg: String,
}

impl CancelledAnswer {
    /// The answer with these services.
    #[must_use]
    pub fn new(cancelled_services: Vec<String>) -> Self {
        let msg = if cancelled_services.is_empty() {
            "No in-progress operations found to cancel".to_owned()
        } else {
            format!("Cancellation requested for: {}", cancelled_services.join(", "))
        };
        Self { success: true, cancelled_services, msg }
    }
}

/// `POST /api/rerun_*_generation` and `POST /api/manual_*_generation`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GenerationAnswer {
    /// Whether it was started, or was of use.
    pub success: bool,
    /// In words.
    pub msg: String,
    /// Profiles that came to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles_generated: Option<i64>,
    /// User playbooks that came to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playbooks_generated: Option<i64>,
    /// The run, or the name of the route when none was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
}

impl GenerationAnswer {
    /// A refusal, in words.
    #[must_use]
    pub fn refused(msg: impl Into<String>) -> Self {
        Self { msg: msg.into(), ..Self::default() }
    }

    /// A batch was started and goes on.
    #[must_use]
    pub fn started(kind: LearningKind) -> Self {
        let what = match kind {
            LearningKind::Profile => "Profile",
            LearningKind::Playbook => "Playbook",
        };
        Self { success: true, msg: format!("{what} generation started"), ..Self::default() }
    }

    /// A batch that made `generated` rows and is over.
    #[must_use]
    pub fn completed(kind: LearningKind, generated: i64, processed: i64, failed: i64) -> Self {
        let mut msg = match kind {
            LearningKind::Profile => format!("Generated {generated} profiles for {processed} user(s)"),
            LearningKind::Playbook => format!("Generated {generated} playbook entries"),
        };
        if failed > 0 {
            msg.push_str(&format!("; {failed} user(s) failed"));
        }
        Self { success: processed > 0, msg, ..Self::default() }.with_count(kind, generated)
    }

    /// Says how many rows came to be.
    #[must_use]
    pub fn with_count(mut self, kind: LearningKind, generated: i64) -> Self {
        match kind {
            LearningKind::Profile => self.profiles_generated = Some(generated),
            LearningKind::Playbook => self.playbooks_generated = Some(generated),
        }
        self
    }

    /// Names the run.
    #[must_use]
    pub fn with_operation(self, operation_id: impl Into<String>) -> Self {
        Self { operation_id: Some(operation_id.into()), ..self }
    }
}
