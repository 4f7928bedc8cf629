//! `POST /api/get_learning_provenance`.

use serde::Serialize;
use serde_json::Value;

use crate::validation::rules::{self, Choice};
use crate::validation::{ValidationErrors, read_body};

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// A profile.
    Profile,
    /// A user playbook.
    UserPlaybook,
    /// An agent playbook.
    AgentPlaybook,
}

impl Choice for MemoryKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("profile", Self::Profile),
        ("user_playbook", Self::UserPlaybook),
        ("agent_playbook", Self::AgentPlaybook),
    ];
}

impl MemoryKind {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::UserPlaybook => "user_playbook",
            Self::AgentPlaybook => "agent_playbook",
        }
    }

    /// The name in sentences, at their beginning.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Profile => "Profile",
            Self::UserPlaybook => "User playbook",
            Self::AgentPlaybook => "Agent playbook",
        }
    }
}

/// The memory whose origin is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetLearningProvenance {
    /// Of which kind.
    pub kind: MemoryKind,
    /// Its id; a number in text for playbooks.
    pub id: String,
}

impl GetLearningProvenance {
    /// Reads a body.
    ///
    /// # Errors
    /// [`ValidationErrors`] with every broken rule.
    pub fn parse(body: &Value) -> Result<Self, ValidationErrors> {
        read_body(
            body,
            |fields| {
                let kind = fields.required("kind", rules::literal);
                let id = fields.required("id", rules::text);
                Some(Self { kind: kind?, id: id? })
            },
            |_| Ok(()),
        )
    }
}
