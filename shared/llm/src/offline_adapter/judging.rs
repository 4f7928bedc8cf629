//! Verdicts on sessions.

use offline::{SessionFailure, judge_session};
use serde_json::{Value, json};

use super::blocks::Prompt;
use super::conversation::Conversation;
use crate::error::ChatError;

/// The verdict on the session that is shown.
pub(super) fn judge(prompt: &Prompt) -> Result<Value, ChatError> {
    let conversation = Conversation::read(prompt, "conversation")?;
    let verdict = judge_session(&conversation.turns);
    let (failure_type, reason) = match verdict.failure {
        None => (None, None),
        Some(SessionFailure::Tool) => (Some("system_error"), Some("The last tool that was called failed.")),
        Some(SessionFailure::Refusal) => (Some("missing_tool"), Some("The agent said that it could not.")),
        Some(SessionFailure::Complaint) => {
            (Some("wrong_answer"), Some("The user's last words say that it was not what was wanted."))
        }
    };
    Ok(json!({
        "is_success": verdict.failure.is_none(),
        "failure_type": failure_type,
        "failure_reason": reason,
        "is_escalated": verdict.is_escalated,
        "number_of_correction_per_session": verdict.corrections,
    }))
}
