//! What models answer about playbooks. The comments on the fields are part of the schema that the model sees.

use domain::entities::BlockingIssue;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::lenient;

/// The rules that a conversation teaches; an empty list when it teaches none.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct PlaybookAnswer {
    /// One entry for each rule; empty when there is nothing to learn.
    #[serde(deserialize_with = "lenient::list")]
    pub playbooks: Vec<PlaybookDraft>,
}

/// One rule for the agent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlaybookDraft {
    /// Why, from what happened, in one or two sentences.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub rationale: Option<String>,
    /// What kind of evidence the cited turns are.
    #[serde(deserialize_with = "evidence_kind")]
    #[schemars(with = "EvidenceKind")]
    pub evidence_kind: Option<EvidenceKind>,
    /// The situation in which the rule applies, recognisable before the agent acts.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub trigger: Option<String>,
    /// What to do, and what to avoid, in that situation.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub content: Option<String>,
    /// Labels of the turns or comparisons that show it, such as "t4" or "c1".
    #[serde(deserialize_with = "lenient::texts")]
    pub evidence_refs: Vec<String>,
    /// What kept the agent from proceeding, if that was outside its choice; otherwise null.
    #[serde(deserialize_with = "lenient::maybe")]
    pub blocking_issue: Option<BlockingIssue>,
    /// Confidence or caveats in a few words, or null.
    #[serde(deserialize_with = "lenient::text")]
    pub notes: Option<String>,
}

/// What a rule rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// The user says what was wrong and what is right.
    Correction,
    /// The user says how they want it done.
    Preference,
    /// A step or tool call visibly failed.
    ObservedFailure,
    /// The user declines what the agent proposed or did.
    RejectedApproach,
    /// An expert's answer shows what the agent's lacks.
    ExpertGap,
    /// An approach visibly worked where another had failed.
    VerifiedSuccess,
}

impl EvidenceKind {
    /// All kinds in the order of the contract.
    pub const ALL: [Self; 6] = [
        Self::Correction,
        Self::Preference,
        Self::ObservedFailure,
        Self::RejectedApproach,
        Self::ExpertGap,
        Self::VerifiedSuccess,
    ];

    /// The name that is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Correction => "correction",
            Self::Preference => "preference",
            Self::ObservedFailure => "observed-failure",
            Self::RejectedApproach => "rejected-approach",
            Self::ExpertGap => "expert-gap",
            Self::VerifiedSuccess => "verified-success",
        }
    }

    /// Reads a name in any case, with hyphens, underscores or spaces.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.trim().to_ascii_lowercase().replace(['_', ' '], "-");
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

fn evidence_kind<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<EvidenceKind>, D::Error> {
    Ok(lenient::text(deserializer)?.as_deref().and_then(EvidenceKind::parse))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_schema_puts_the_rationale_first_and_offers_the_kinds() {
        let schema = Value::from(schemars::schema_for!(PlaybookAnswer));
        let draft = &schema["$defs"]["PlaybookDraft"]["properties"];
        let names: Vec<&str> = draft.as_object().unwrap().keys().map(String::as_str).collect();
        let expected =
            ["rationale", "evidence_kind", "trigger", "content", "evidence_refs", "blocking_issue", "notes"];
        assert_eq!(names, expected);
        let text = schema.to_string();
        assert!(
            EvidenceKind::ALL.iter().all(|kind| text.contains(&format!("\"{}\"", kind.as_str()))),
            "{text}"
        );
        assert!(text.contains("\"policy_restriction\""));
    }

    #[test]
    fn kinds_are_read_in_their_spellings() {
        for kind in EvidenceKind::ALL {
            assert_eq!(EvidenceKind::parse(&kind.as_str().to_uppercase().replace('-', "_")), Some(kind));
        }
        assert_eq!(EvidenceKind::parse("hunch"), None);
    }

    #[test]
    fn an_unreadable_blocking_issue_does_not_cost_the_rule() {
        let answer: PlaybookAnswer = serde_json::from_value(json!({"playbooks": [
            {"content": "x", "blocking_issue": {"kind": "laziness", "details": "d"}},
            {"content": "y", "blocking_issue": {"kind": "missing_tool", "details": "no refunds"}},
        ]}))
        .unwrap();
        assert_eq!(answer.playbooks[0].blocking_issue, None);
        assert_eq!(answer.playbooks[1].blocking_issue.as_ref().unwrap().details, "no refunds");
        assert!(serde_json::from_value::<PlaybookAnswer>(json!({"rules": []})).is_err());
    }
}
