//! Where a memory comes from.

use serde::Serialize;

use super::playbooks::UserPlaybookView;
use super::requests::InteractionView;
use crate::requests::provenance::{GetLearningProvenance, MemoryKind};

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvenanceStatus {
    /// The turns that the memory itself names, all of them.
    Exact,
    /// Some of them, or the turns of the request on whose account it was learned.
    BestEffort,
    /// Nothing is known of it.
    Unavailable,
}

/// A user playbook that an agent playbook was made of, and its own turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourcePlaybookView {
    /// The playbook.
    pub user_playbook: UserPlaybookView,
    /// The turns that it was learned from, as far as they are stored.
    pub interactions: Vec<InteractionView>,
    /// The ids of all of them.
    pub source_interaction_ids: Vec<i64>,
}

/// `POST /api/get_learning_provenance`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProvenanceAnswer {
    /// Whether there is such a memory, and an origin can be told.
    pub success: bool,
    /// What was asked.
    pub target_kind: MemoryKind,
    /// What was asked.
    pub target_id: String,
    /// How sure it is.
    pub provenance_status: ProvenanceStatus,
    /// The request on whose account it was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_request_id: Option<String>,
    /// The turns, the oldest first.
    pub interactions: Vec<InteractionView>,
    /// Of an agent playbook: what it was made of.
    pub source_user_playbooks: Vec<SourcePlaybookView>,
    /// In words, where there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msg: Option<String>,
}

impl ProvenanceAnswer {
    /// The turns that it was learned from.
    #[must_use]
    pub fn of_turns(
        asked: GetLearningProvenance,
        status: ProvenanceStatus,
        trigger_request_id: Option<String>,
        interactions: Vec<InteractionView>,
    ) -> Self {
        Self {
            success: true,
            target_kind: asked.kind,
            target_id: asked.id,
            provenance_status: status,
            trigger_request_id,
            interactions,
            source_user_playbooks: Vec::new(),
            msg: None,
        }
    }

    /// What an agent playbook was made of.
    #[must_use]
    pub fn of_sources(
        asked: GetLearningProvenance,
        status: ProvenanceStatus,
        source_user_playbooks: Vec<SourcePlaybookView>,
    ) -> Self {
        Self { source_user_playbooks, ..Self::of_turns(asked, status, None, Vec::new()) }
    }

    /// Nothing is stored of what an agent playbook was made of.
    #[must_use]
    pub fn no_sources(asked: GetLearningProvenance) -> Self {
        let msg = "No source user playbooks are recorded for this agent playbook".to_owned();
        Self { msg: Some(msg), ..Self::of_turns(asked, ProvenanceStatus::Unavailable, None, Vec::new()) }
    }

    /// There is no such memory.
    #[must_use]
    pub fn not_found(asked: GetLearningProvenance) -> Self {
        let msg = format!("{} not found", asked.kind.title());
        Self::refused(asked, msg)
    }

    /// The id cannot be one of its kind.
    #[must_use]
    pub fn no_number(asked: GetLearningProvenance) -> Self {
        let msg = format!("{} id must be an integer", asked.kind.as_str());
        Self::refused(asked, msg)
    }

    /// It names no turns, and its request is not stored.
    #[must_use]
    pub fn no_request(asked: GetLearningProvenance) -> Self {
        let msg = format!("{} generation request was not found", asked.kind.title());
        Self::refused(asked, msg)
    }

    fn refused(asked: GetLearningProvenance, msg: String) -> Self {
        Self {
            success: false,
            msg: Some(msg),
            ..Self::of_turns(asked, ProvenanceStatus::Unavailable, None, Vec::new())
        }
    }
}
