//! What a verdict makes of a row that is not stored yet.

use domain::entities::UserPlaybook;

use super::judge::Verdict;
use crate::provenance::merge_lines;

/// The row as it may be stored; `None` when it was rejected. A note says what the reviewer thought.
#[must_use]
pub fn screen(row: UserPlaybook, verdict: &Verdict) -> Option<UserPlaybook> {
    let (row, note) = match verdict {
        Verdict::Reject { .. } => return None,
        Verdict::Accept { code, reason } => {
            (row, format!("First-pass reviewer: accepted ({}) — {reason}", code.as_str()))
        }
        Verdict::Revise { code, reason, edit } => {
            let revised = UserPlaybook {
                content: edit.content.clone(),
                trigger: Some(edit.trigger.clone()),
                rationale: Some(edit.rationale.clone()),
                ..row
            };
            (revised, format!("First-pass reviewer: revised ({}) — {reason}", code.as_str()))
        }
    };
    Some(UserPlaybook { notes: merge_lines([row.notes.as_deref(), Some(&note)]), ..row })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::review::{Edit, ReasonCode};

    fn row() -> UserPlaybook {
        serde_json::from_value(json!({
            "agent_version": "v", "request_id": "r", "content": "x", "trigger": "y", "notes": "sure",
        }))
        .unwrap()
    }

    #[test]
    fn a_note_says_what_the_reviewer_thought() {
        let accepted = Verdict::Accept { code: ReasonCode::GroundedUseful, reason: "shown".into() };
        let kept = screen(row(), &accepted).unwrap();
        let expected = "sure\nFirst-pass reviewer: accepted (grounded_useful) — shown";
        assert_eq!((kept.content.as_str(), kept.notes.as_deref()), ("x", Some(expected)));
    }

    #[test]
    fn a_revised_row_has_the_reviewers_words_and_a_rejected_one_is_gone() {
        let edit = Edit { content: "a".into(), trigger: "b".into(), rationale: "c".into() };
        let revised = Verdict::Revise { code: ReasonCode::Compound, reason: "two in one".into(), edit };
        let kept = screen(row(), &revised).unwrap();
        let texts = (kept.content.as_str(), kept.trigger.as_deref(), kept.rationale.as_deref());
        assert_eq!(texts, ("a", Some("b"), Some("c")));
        let rejected = Verdict::Reject { code: ReasonCode::Generic, reason: String::new() };
        assert_eq!(screen(row(), &rejected), None);
    }
}
