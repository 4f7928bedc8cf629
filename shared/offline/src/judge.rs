//! A verdict on a session by rules: how it ended, as far as its last words show, and how often the user set the agent
//! right. In English and, for the hand-over to a human, Japanese.

use std::collections::BTreeSet;

use crate::playbook::extract_playbooks;
use crate::turn::{EvidenceKind, Turn};

/// What a user says who wants a human.
const HUMANS: [&str; 9] = [
    "a human",
    "human agent",
    "human please",
    "real person",
    "representative",
    "speak to a manager",
    "your supervisor",
    "オペレーター",
    "担当者",
];
/// What an agent says that cannot do what is wanted.
const REFUSALS: [&str; 7] = [
    "i can't",
    "i cannot",
    "i am unable",
    "i'm unable",
    "i am not able",
    "i'm not able",
    "i don't have access",
];
/// What a user says last who did not get it.
const COMPLAINTS: [&str; 8] = [
    "not helpful",
    "doesn't help",
    "does not help",
    "still wrong",
    "that's wrong",
    "that is wrong",
    "doesn't work",
    "does not work",
];
/// Statuses of tools that failed.
const FAILED: [&str; 5] = ["error", "failed", "failure", "timeout", "timed out"];

/// Why a session failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFailure {
    /// The last tool that was called failed.
    Tool,
    /// The agent said that it could not.
    Refusal,
    /// The user's last words set the agent right, or complain.
    Complaint,
}

/// A verdict by rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionVerdict {
    /// Why the session failed; `None` when nothing shows that it did.
    pub failure: Option<SessionFailure>,
    /// Whether the user wanted a human.
    pub is_escalated: bool,
    /// Turns of the user that set the agent right or turned it down.
    pub corrections: usize,
}

/// Judges a session by its turns.
#[must_use]
pub fn judge_session(turns: &[Turn<'_>]) -> SessionVerdict {
    let corrections = corrections(turns);
    let users = || turns.iter().filter(|turn| turn.is_by_user());
    let is_escalated = users().any(|turn| says_any(turn.content, &HUMANS));
    let last_words = users().next_back();
    let last_answer = turns.iter().rfind(|turn| turn.is_by_agent());
    let complains = |turn: &Turn<'_>| corrections.contains(turn.label) || says_any(turn.content, &COMPLAINTS);
    // A user who complains and gets an answer may be content with it.
    let has_last_word = turns.last().is_some_and(Turn::is_by_user);
    let failure = if last_words.is_some_and(|turn| has_last_word && complains(turn)) {
        Some(SessionFailure::Complaint)
    } else if last_answer.is_some_and(tool_failed) {
        Some(SessionFailure::Tool)
    } else if last_answer.is_some_and(|turn| says_any(turn.content, &REFUSALS)) {
        Some(SessionFailure::Refusal)
    } else {
        None
    };
    SessionVerdict { failure, is_escalated, corrections: corrections.len() }
}

/// Labels of turns from which something would be learned, since they set the agent right.
fn corrections(turns: &[Turn<'_>]) -> BTreeSet<String> {
    let by_user = |label: &String| turns.iter().any(|turn| turn.label == label && turn.is_by_user());
    extract_playbooks(turns)
        .into_iter()
        .filter(|draft| {
            matches!(draft.evidence_kind, EvidenceKind::Correction | EvidenceKind::RejectedApproach)
        })
        .flat_map(|draft| draft.evidence)
        .filter(by_user)
        .collect()
}

fn tool_failed(turn: &Turn<'_>) -> bool {
    turn.tools.last().is_some_and(|tool| FAILED.iter().any(|word| tool.status.eq_ignore_ascii_case(word)))
}

fn says_any(text: &str, phrases: &[&str]) -> bool {
    // Typographic apostrophes are apostrophes.
    let text = text.to_lowercase().replace('’', "'");
    phrases.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use crate::turn::ToolCallView;

    use super::*;

    const LABELS: [&str; 6] = ["t1", "t2", "t3", "t4", "t5", "t6"];

    fn turns<'a>(said: &[(&'a str, &'a str)]) -> Vec<Turn<'a>> {
        let turn = |(number, (role, content)): (usize, &(&'a str, &'a str))| Turn {
            id: i64::try_from(number).unwrap(),
            label: LABELS[number],
            role,
            content,
            tools: Vec::new(),
            created_at: 0,
        };
        said.iter().enumerate().map(turn).collect()
    }

    #[test]
    fn a_session_without_complaint_succeeded() {
        let verdict =
            judge_session(&turns(&[("User", "Book me a table"), ("Assistant", "Done, for eight.")]));
        assert_eq!(verdict, SessionVerdict { failure: None, is_escalated: false, corrections: 0 });
    }

    #[test]
    fn a_correction_that_was_answered_counts_and_is_no_failure() {
        let said = [
            ("User", "Book me a table"),
            ("Assistant", "Done, for two."),
            ("User", "No, you should always ask for the number of guests first."),
            ("Assistant", "Sorry. How many guests?"),
        ];
        let verdict = judge_session(&turns(&said));
        assert_eq!((verdict.failure, verdict.corrections), (None, 1));
        let unanswered = judge_session(&turns(&said[..3]));
        assert_eq!(unanswered.failure, Some(SessionFailure::Complaint));
    }

    #[test]
    fn refusals_failed_tools_and_the_wish_for_a_human_are_seen() {
        let refused =
            judge_session(&turns(&[("User", "Refund me"), ("Assistant", "I’m unable to do that.")]));
        assert_eq!(refused.failure, Some(SessionFailure::Refusal));
        let mut failed = turns(&[("User", "Refund me"), ("Assistant", "Something went wrong.")]);
        failed[1].tools.push(ToolCallView { name: "refund", status: "error", ..ToolCallView::default() });
        assert_eq!(judge_session(&failed).failure, Some(SessionFailure::Tool));
        assert!(judge_session(&turns(&[("User", "Let me talk to a human")])).is_escalated);
        assert!(judge_session(&turns(&[("User", "担当者につないでください")])).is_escalated);
    }
}
