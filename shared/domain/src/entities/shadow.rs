//! What a judge found of two answers to the same turn: the one that the user got, and that of a shadow agent.

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;
use crate::time::EpochSeconds;

/// Which of two answers is better, as they were shown to the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BetterRequest {
    /// The first.
    #[serde(rename = "1")]
    First,
    /// The second.
    #[serde(rename = "2")]
    Second,
    /// Neither.
    #[serde(rename = "tie")]
    Tie,
}

impl BetterRequest {
    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "1",
            Self::Second => "2",
            Self::Tie => "tie",
        }
    }
}

/// What a verdict means for the answer that the user got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadowOutcome {
    /// It is the better one.
    Win,
    /// The shadow's is.
    Loss,
    /// Neither is.
    Tie,
}

/// The verdict on one turn under one version of the judge's prompt, of which there is at most one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowVerdict {
    /// Unique in the organisation.
    pub verdict_id: i64,
    /// The turn.
    pub interaction_id: i64,
    /// Its session.
    pub session_id: SessionId,
    /// The agent version that answered.
    pub agent_version: String,
    /// Whether the answer that the user got was shown first.
    pub regular_is_first: bool,
    /// Which of the two is better.
    pub better_request: BetterRequest,
    /// Whether by much.
    pub is_significantly_better: bool,
    /// Why, in the judge's words.
    #[serde(default)]
    pub comparison_reason: Option<String>,
    /// The version of the prompt that the judge was shown, such as `v1.1.0`.
    pub judge_prompt_version: String,
    /// When it was judged.
    pub created_at: EpochSeconds,
}

impl ShadowVerdict {
    /// What it means for the answer that the user got, wherever that stood.
    #[must_use]
    pub fn outcome(&self) -> ShadowOutcome {
        match self.better_request {
            BetterRequest::Tie => ShadowOutcome::Tie,
            better if (better == BetterRequest::First) == self.regular_is_first => ShadowOutcome::Win,
            _ => ShadowOutcome::Loss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(better_request: BetterRequest, regular_is_first: bool) -> ShadowVerdict {
        ShadowVerdict {
            verdict_id: 1,
            interaction_id: 4_194_304,
            session_id: SessionId::new("s").unwrap(),
            agent_version: "v1".to_owned(),
            regular_is_first,
            better_request,
            is_significantly_better: false,
            comparison_reason: None,
            judge_prompt_version: "v1.1.0".to_owned(),
            created_at: 1_750_000_000,
        }
    }

    #[test]
    fn the_regular_answer_wins_when_it_stood_where_the_better_one_did() {
        use BetterRequest::{First, Second, Tie};
        let cases = [
            (First, true, ShadowOutcome::Win),
            (First, false, ShadowOutcome::Loss),
            (Second, true, ShadowOutcome::Loss),
            (Second, false, ShadowOutcome::Win),
            (Tie, true, ShadowOutcome::Tie),
            (Tie, false, ShadowOutcome::Tie),
        ];
        for (better, regular_is_first, outcome) in cases {
            assert_eq!(verdict(better, regular_is_first).outcome(), outcome, "{better:?} {regular_is_first}");
        }
    }
}
