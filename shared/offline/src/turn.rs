//! What the extractors read and what they write.

use std::borrow::Cow;

use domain::entities::{BlockingIssueKind, ProfileTimeToLive};
use domain::time::EpochSeconds;
use serde::Serialize;

/// Characters of a turn that are read; the rest is cut on a character boundary.
pub const TURN_CHARS_MAX: usize = 20_000;
/// Profiles that one window yields at most.
pub const PROFILES_MAX: usize = 100;
/// Playbooks that one window yields at most.
pub const PLAYBOOKS_MAX: usize = 50;

/// One tool call of the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCallView<'a> {
    /// The tool.
    pub name: &'a str,
    /// What the caller says of how it went; `""` when not said.
    pub status: &'a str,
    /// The arguments as JSON text; `""` when unknown.
    pub input: Cow<'a, str>,
    /// The output or the error text; `""` when unknown.
    pub output: Cow<'a, str>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn<'a> {
    /// The interaction.
    pub id: i64,
    /// How evidence refers to this turn, for example `t3`; never written into the text of a row.
    pub label: &'a str,
    /// Who spoke; only `user` (in any case) makes statements about the user.
    pub role: &'a str,
    /// What was said.
    pub content: &'a str,
    /// The tools called.
    pub tools: Vec<ToolCallView<'a>>,
    /// When it was said: relative dates count from here.
    pub created_at: EpochSeconds,
}

impl Turn<'_> {
    /// Whether the user spoke.
    #[must_use]
    pub fn is_by_user(&self) -> bool {
        self.role.trim().eq_ignore_ascii_case("user")
    }

    /// Whether the agent spoke.
    #[must_use]
    pub fn is_by_agent(&self) -> bool {
        matches!(
            self.role.trim().to_ascii_lowercase().as_str(),
            "assistant" | "agent" | "ai" | "bot" | "model"
        )
    }
}

/// A fact about the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileDraft {
    /// The fact in the user's language, without a subject.
    pub content: String,
    /// How long it stays true.
    pub time_to_live: ProfileTimeToLive,
    /// The user's own words, verbatim.
    pub source_span: String,
    /// Labels of the turns that say it.
    pub evidence: Vec<String>,
    /// Caveats; `""` when there are none.
    pub notes: String,
}

/// What kind of evidence a playbook rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// The user set the agent right.
    Correction,
    /// The user said how they want it.
    Preference,
    /// Something failed and was not mended.
    ObservedFailure,
    /// The user turned down what was offered.
    RejectedApproach,
    /// Something failed, was done differently and then worked.
    VerifiedSuccess,
}

impl EvidenceKind {
    /// The value on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Correction => "correction",
            Self::Preference => "preference",
            Self::ObservedFailure => "observed-failure",
            Self::RejectedApproach => "rejected-approach",
            Self::VerifiedSuccess => "verified-success",
        }
    }
}

/// A rule for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaybookDraft {
    /// When the rule applies.
    pub trigger: String,
    /// What to do.
    pub content: String,
    /// Why.
    pub rationale: String,
    /// What it rests on.
    pub evidence_kind: EvidenceKind,
    /// Labels of the turns that show it.
    pub evidence: Vec<String>,
    /// Words of those turns, verbatim.
    pub source_span: String,
    /// What stood in the way, if the agent could not do it.
    pub blocking_issue: Option<(BlockingIssueKind, String)>,
}
