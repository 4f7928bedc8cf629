//! What a reviewer's decision is allowed to do.

use super::schema::ReviewDecision;
use crate::formatting::EvidenceMap;
use crate::formatting::labels::without_labels;
use crate::formatting::text::first_chars;
use crate::playbook::rows::{PLAYBOOK_CONTENT_CHARS_MAX, TRIGGER_CHARS_MAX};

/// Longest reason that is kept, in characters.
pub const REASON_CHARS_MAX: usize = 500;
/// How candidates are numbered.
const CANDIDATE_PREFIX: &str = "CANDIDATE-";

/// Why a reviewer decided so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasonCode {
    /// The turns show it, and it helps.
    GroundedUseful,
    /// The turns do not show it.
    UnsupportedEvidence,
    /// Any agent knows it.
    Generic,
    /// A guess.
    Speculative,
    /// A cause that the turns do not show.
    UnsupportedCausality,
    /// It depends on what cannot be seen.
    UnseenArtifact,
    /// Another rule says it.
    Redundant,
    /// Its trigger comes too late.
    LateTrigger,
    /// Several rules in one.
    Compound,
    /// About the agent's own state.
    InternalStatus,
    /// A conclusion from what is missing.
    AbsenceInference,
    /// Not for the agent to decide.
    NotAgentDecision,
}

impl ReasonCode {
    /// All codes, in the order of the contract.
    pub const ALL: [Self; 12] = [
        Self::GroundedUseful,
        Self::UnsupportedEvidence,
        Self::Generic,
        Self::Speculative,
        Self::UnsupportedCausality,
        Self::UnseenArtifact,
        Self::Redundant,
        Self::LateTrigger,
        Self::Compound,
        Self::InternalStatus,
        Self::AbsenceInference,
        Self::NotAgentDecision,
    ];

    /// The code on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GroundedUseful => "grounded_useful",
            Self::UnsupportedEvidence => "unsupported_evidence",
            Self::Generic => "generic",
            Self::Speculative => "speculative",
            Self::UnsupportedCausality => "unsupported_causality",
            Self::UnseenArtifact => "unseen_artifact",
            Self::Redundant => "redundant",
            Self::LateTrigger => "late_trigger",
            Self::Compound => "compound",
            Self::InternalStatus => "internal_status",
            Self::AbsenceInference => "absence_inference",
            Self::NotAgentDecision => "not_agent_decision",
        }
    }

    /// Reads a code.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// Whether a rule of this kind cannot be mended.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::AbsenceInference | Self::NotAgentDecision)
    }
}

/// The corrected rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The rule.
    pub content: String,
    /// When it applies.
    pub trigger: String,
    /// Why.
    pub rationale: String,
}

/// What becomes of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It stays.
    Accept {
        /// Why.
        code: ReasonCode,
        /// In words.
        reason: String,
    },
    /// It stays in other words.
    Revise {
        /// Why.
        code: ReasonCode,
        /// In words.
        reason: String,
        /// The words.
        edit: Edit,
    },
    /// It goes.
    Reject {
        /// Why.
        code: ReasonCode,
        /// In words.
        reason: String,
    },
}

/// Reads the decision on candidate `number`, checked against what the model was shown.
///
/// # Errors
/// What is wrong with it, for the model.
pub fn judge(decisions: &[ReviewDecision], number: usize, shown: &EvidenceMap) -> Result<Verdict, String> {
    let id = format!("{CANDIDATE_PREFIX}{number}");
    let is_about_it = |decision: &&ReviewDecision| {
        decision.candidate_id.as_deref().is_some_and(|given| given.eq_ignore_ascii_case(&id))
    };
    let mut own = decisions.iter().filter(is_about_it);
    let decision = match (own.next(), own.next()) {
        (Some(only), None) => only,
        (None, _) => return Err(format!("there is no decision on {id}")),
        _ => return Err(format!("there are several decisions on {id}")),
    };
    let code = decision.reason_code.as_deref().and_then(|code| ReasonCode::parse(&code.to_ascii_lowercase()));
    let code = code.ok_or_else(|| format!("{id} has none of the reason codes"))?;
    let reason = first_chars(decision.reason.as_deref().unwrap_or_default(), REASON_CHARS_MAX).to_owned();
    let word = decision.decision.as_deref().unwrap_or_default().to_ascii_lowercase();
    if code.is_fatal() && word != "reject" {
        tracing::warn!(event = "playbook_review_fatal_code_coerced", code = code.as_str(), decision = word);
        return Ok(Verdict::Reject { code, reason });
    }
    match word.as_str() {
        "reject" => Ok(Verdict::Reject { code, reason }),
        "accept" => {
            cites_something(decision, &id, shown)?;
            Ok(Verdict::Accept { code, reason })
        }
        "revise" | "edit" => Ok(Verdict::Revise { code, reason, edit: edit(decision, &id, shown)? }),
        _ => Err(format!("{id} is neither accepted nor revised nor rejected")),
    }
}

fn cites_something(decision: &ReviewDecision, id: &str, shown: &EvidenceMap) -> Result<(), String> {
    let cited = shown.resolve(&decision.evidence_refs);
    if cited.turns.is_empty() || cited.unknown > 0 {
        return Err(format!("the evidence_refs of {id} must be labels of turns that were shown"));
    }
    Ok(())
}

fn edit(decision: &ReviewDecision, id: &str, shown: &EvidenceMap) -> Result<Edit, String> {
    cites_something(decision, id, shown)?;
    let cited = shown.resolve(&decision.evidence_refs);
    let text = |name: &str, text: &Option<String>, chars_max: usize| {
        let text = text.as_deref().ok_or_else(|| format!("{id} is revised, but has no {name}"))?;
        let text = without_labels(text, shown, &cited)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| format!("the {name} of {id} names labels of turns"))?;
        if text.chars().count() > chars_max {
            return Err(format!("the {name} of {id} is longer than {chars_max} characters"));
        }
        Ok(text)
    };
    Ok(Edit {
        content: text("content", &decision.content, PLAYBOOK_CONTENT_CHARS_MAX)?,
        trigger: text("trigger", &decision.trigger, TRIGGER_CHARS_MAX)?,
        rationale: text("rationale", &decision.rationale, TRIGGER_CHARS_MAX)?,
    })
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
