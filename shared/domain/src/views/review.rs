//! The answer of `POST /api/review_user_playbooks`.

use serde::Serialize;

/// The word and code of a row that was not judged.
pub const EVIDENCE_UNAVAILABLE: &str = "evidence_unavailable";

/// What a review says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// It stays.
    Accept,
    /// It stays in other words.
    Edit,
    /// It goes.
    Reject,
    /// It was not judged.
    Skip,
}

/// The other words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewEdit {
    /// The rule.
    pub content: String,
    /// When it applies.
    pub trigger: String,
    /// Why.
    pub rationale: String,
}

/// One row of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewResult {
    /// The row.
    pub user_playbook_id: i64,
    /// What is to become of it.
    pub decision: ReviewDecision,
    /// Why, as a code.
    pub reason_code: &'static str,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The other words, of an edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<ReviewEdit>,
    /// Whether it was carried out.
    pub applied: bool,
    /// The row that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor_user_playbook_id: Option<i64>,
}

/// `POST /api/review_user_playbooks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewAnswer {
    /// Whether the review took place.
    pub success: bool,
    /// Whether nothing was to be changed.
    pub report_only: bool,
    /// Names this review in logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Rows in the window, at most as many as asked for.
    pub selected_count: usize,
    /// Of these, accepted.
    pub accepted_count: usize,
    /// Of these, edited.
    pub edited_count: usize,
    /// Of these, rejected.
    pub rejected_count: usize,
    /// Of these, not judged.
    pub skipped_count: usize,
    /// The rows, newest first.
    pub results: Vec<ReviewResult>,
    /// In words.
    pub msg: String,
}

impl ReviewAnswer {
    /// The answer of a review.
    #[must_use]
    pub fn of(run_id: String, report_only: bool, results: Vec<ReviewResult>) -> Self {
        let count = |decision| results.iter().filter(|result| result.decision == decision).count();
        let applied = results.iter().filter(|result| result.applied).count();
        let reviewed = format!("Reviewed {} user playbook(s)", results.len());
        Self {
            success: true,
            report_only,
            run_id: Some(run_id),
            selected_count: results.len(),
            accepted_count: count(ReviewDecision::Accept),
            edited_count: count(ReviewDecision::Edit),
            rejected_count: count(ReviewDecision::Reject),
            skipped_count: count(ReviewDecision::Skip),
            msg: if report_only { reviewed } else { format!("{reviewed}, changed {applied}") },
            results,
        }
    }

    /// The answer when no review can take place.
    #[must_use]
    pub fn impossible(report_only: bool, msg: String) -> Self {
        let answer = Self::of(String::new(), report_only, Vec::new());
        Self { success: false, run_id: None, msg, ..answer }
    }
}
