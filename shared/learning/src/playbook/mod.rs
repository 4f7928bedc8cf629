//! Playbooks: which rules a model may draw from a conversation, how they become rows, and how rows replace each other.

pub mod candidates;
pub mod comparison;
pub mod consolidate;
pub mod decisions;
pub mod partition;
pub mod rows;
pub mod schema;

pub use candidates::{
    candidate_query, format_candidates, format_existing, format_new, needs_consolidation, tools_text,
};
pub use comparison::{comparisons, has_expert_content};
pub use consolidate::{
    ConsolidationCounters, ConsolidationOutcome, ConsolidationRun, PlaybookRetirement, RetiredPlaybook,
    apply_consolidation,
};
pub use decisions::{ConsolidationAnswer, Decision};
pub use partition::{consolidation_problems, resolve_existing};
pub use rows::{PLAYBOOK_NAME, PlaybookContext, PlaybookRejection, PlaybookRows, playbooks_from_answer};
pub use schema::{EvidenceKind, PlaybookAnswer, PlaybookDraft};
