//! From a conversation to rules for the agent.

mod agent;
mod en;
mod ja;
mod phrase;
mod reactions;
mod refusals;
pub(crate) mod tools;
mod window;

use crate::turn::EvidenceKind;

pub use window::extract_playbooks;

/// A rule as it is read from one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// When it applies; `None` when the sentence does not say.
    pub(crate) trigger: Option<String>,
    /// What to do.
    pub(crate) content: String,
    /// What it rests on.
    pub(crate) kind: EvidenceKind,
}

impl Rule {
    fn new(trigger: Option<String>, content: String, kind: EvidenceKind) -> Self {
        Self { trigger, content, kind }
    }
}
