//! `POST /api/review_user_playbooks`.

use serde_json::Value;

use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds};
use crate::validation::{ValidationErrors, moment, read_body};

/// Most playbooks of one review.
pub const REVIEWED_PLAYBOOKS_MAX: i64 = 100;

/// Which user playbooks to review again, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewUserPlaybooks {
    /// Written at this time or later.
    pub start: EpochSeconds,
    /// Written at this time or earlier.
    pub end: EpochSeconds,
    /// Most playbooks.
    pub top_k: usize,
    /// Whether nothing is to be changed.
    pub report_only: bool,
}

impl ReviewUserPlaybooks {
    /// Playbooks when the caller does not say.
    pub const TOP_K: i64 = 10;

    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let start = fields.required("start_time", moment);
                let end = fields.required("end_time", moment);
                let bounds = Bounds::<i64>::above(0).to(REVIEWED_PLAYBOOKS_MAX);
                let top_k = fields.optional("top_k", Self::TOP_K, rules::integer(bounds));
                let report_only = fields.optional("report_only", true, rules::boolean);
                Some((start?, end?, top_k?, report_only?))
            },
            |(start, end, ..)| if end > start { Ok(()) } else { Err(REVERSED.to_owned()) },
        )
        .map(|(start, end, top_k, report_only)| Self {
            start: start.seconds(),
            end: end.seconds(),
            top_k: usize::try_from(top_k).unwrap_or(1),
            report_only,
        })
    }

    /// Whether a row written then is reviewed.
    #[must_use]
    pub fn contains(&self, at: EpochSeconds) -> bool {
        (self.start..=self.end).contains(&at)
    }
}

/// As in all other ranges of time.
const REVERSED: &str = "end_time must be after start_time";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(more: Value) -> Value {
        let mut body = json!({ "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-02T00:00:00Z" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    #[test]
    fn a_window_is_required_and_the_rest_has_defaults() {
        let read = ReviewUserPlaybooks::parse(&body(json!({}))).unwrap();
        let expected =
            ReviewUserPlaybooks { start: 1_767_225_600, end: 1_767_312_000, top_k: 10, report_only: true };
        assert_eq!(read, expected);
        assert!(read.contains(1_767_312_000) && !read.contains(1_767_312_001));
        assert!(ReviewUserPlaybooks::parse(&json!({ "start_time": 1, "top_k": 1 })).is_err());
        assert!(ReviewUserPlaybooks::parse(&body(json!({ "end_time": "2026-01-01T00:00:00Z" }))).is_err());
    }

    #[test]
    fn the_number_of_playbooks_is_bounded() {
        for (top_k, is_valid) in [(0, false), (1, true), (99, true), (100, true), (101, false)] {
            assert_eq!(
                ReviewUserPlaybooks::parse(&body(json!({ "top_k": top_k }))).is_ok(),
                is_valid,
                "{top_k}"
            );
        }
    }
}
