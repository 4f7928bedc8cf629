//! A session as its judge reads it: turn by turn, or its beginning and its end when the whole is too long.

use learning::formatting::text::estimated_tokens;
use learning::formatting::{Turn, transcript};
use store::RequestDocument;

/// Longest session that a judge reads whole, in estimated tokens.
pub const TRANSCRIPT_TOKENS_MAX: usize = 64_000;

/// A session as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionText {
    /// The text; empty when nobody said or did anything that can be read.
    pub text: String,
    /// Whether turns in the middle were left out.
    pub is_windowed: bool,
}

/// The turns of a session's requests, which stand in their order.
#[must_use]
pub fn session_text(documents: &[RequestDocument]) -> SessionText {
    text_within(documents, TRANSCRIPT_TOKENS_MAX)
}

fn text_within(documents: &[RequestDocument], tokens_max: usize) -> SessionText {
    let turns: Vec<Turn<'_>> = documents.iter().flat_map(turns).collect();
    let whole = transcript(&turns).text;
    if estimated_tokens(&whole) <= tokens_max {
        return SessionText { text: whole, is_windowed: false };
    }
    // As much of the end as of the beginning: how it ended is what is judged, what was wanted is said at the start.
    let costs: Vec<usize> = turns.iter().map(|turn| estimated_tokens(&transcript(&[*turn]).text)).collect();
    let head = fitting(costs.iter(), tokens_max / 2);
    let tail = fitting(costs[head..].iter().rev(), tokens_max - tokens_max / 2);
    let (first, rest) = turns.split_at(head);
    let last = &rest[rest.len() - tail..];
    let left_out = rest.len() - tail;
    let parts = [
        transcript(first).text,
        format!("=== Session: {left_out} turns are left out ==="),
        transcript(last).text,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    SessionText { text: parts.join("\n\n"), is_windowed: true }
}

fn turns(document: &RequestDocument) -> impl Iterator<Item = Turn<'_>> {
    document.interactions.iter().map(|interaction| Turn {
        interaction,
        session_id: &document.request.session_id,
        request_created_at: document.request.created_at,
        is_new: true,
    })
}

/// How many of the first fit into a number of tokens.
fn fitting<'a>(costs: impl Iterator<Item = &'a usize>, tokens: usize) -> usize {
    let mut left = tokens;
    costs
        .map_while(|cost| {
            left = left.checked_sub(*cost)?;
            Some(())
        })
        .count()
}

#[cfg(test)]
mod tests {
    use domain::entities::{Interaction, Request};
    use domain::ids::{RequestId, SessionId, UserId};
    use domain::learning::{AdmissionPolicy, KindPolicy};

    use super::*;

    const NOTHING: KindPolicy = KindPolicy { eligible: false, window: 10, stride: 8 };

    fn session(turns: usize) -> Vec<RequestDocument> {
        let interaction = |number: usize| Interaction {
            interaction_id: i64::try_from(number).unwrap(),
            created_at: 1_750_000_000,
            role: if number.is_multiple_of(2) { "User" } else { "Assistant" }.to_owned(),
            content: format!("turn {number}"),
            ..Interaction::default()
        };
        vec![RequestDocument {
            first_position: 0,
            request: Request {
                request_id: RequestId::new("r").unwrap(),
                user_id: UserId::new("ana").unwrap(),
                created_at: 1_750_000_000,
                source: String::new(),
                agent_version: "v1".to_owned(),
                session_id: SessionId::new("s1").unwrap(),
                evaluation_only: false,
                retrieval_experiment_id: None,
                retrieval_experiment_arm: None,
            },
            interactions: (0..turns).map(interaction).collect(),
            policy: AdmissionPolicy {
                profile: NOTHING,
                playbook: NOTHING,
                idle_timeout_seconds: 0,
                force: false,
                session_finished: false,
                skip_aggregation: false,
                override_stall: false,
            },
        }]
    }

    #[test]
    fn a_session_is_shown_with_its_day_and_its_turns() {
        let shown = session_text(&session(2));
        assert!(!shown.is_windowed);
        assert_eq!(
            shown.text,
            "=== Session: s1 (date: 2025-06-15) ===\n[t1] User: ```turn 0```\n[t2] Assistant: ```turn 1```"
        );
    }

    #[test]
    fn of_a_session_that_is_too_long_beginning_and_end_are_shown_and_it_is_said_so() {
        let documents = session(5_000);
        let shown = text_within(&documents, 2_000);
        assert!(shown.is_windowed);
        assert!(estimated_tokens(&shown.text) <= 2_000 + 40, "{}", estimated_tokens(&shown.text));
        for part in ["```turn 0```", "turns are left out", "```turn 4999```"] {
            assert!(shown.text.contains(part), "{part}");
        }
        assert!(!shown.text.contains("```turn 2500```"));
    }

    #[test]
    fn a_session_is_cut_one_token_beyond_the_limit_and_not_before() {
        let documents = session(40);
        let tokens = estimated_tokens(&session_text(&documents).text);
        for (limit, is_windowed) in [(tokens + 1, false), (tokens, false), (tokens - 1, true)] {
            assert_eq!(text_within(&documents, limit).is_windowed, is_windowed, "{limit}");
        }
    }
}
