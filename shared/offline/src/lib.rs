//! What serves when no model provider is configured: for trying the system, not for production.
//!
//! Vectors come from a table of token vectors, facts and rules from patterns in English and Japanese. All of it
//! is pure: no clock, no network, no model, and cost that is linear in a bounded input.

pub mod embed;
mod gate;
pub mod merge;
mod pattern;
pub mod playbook;
pub mod profile;
mod text;
mod turn;

pub use embed::{EMBEDDING_TOKENS_MAX, OFFLINE_DIMENSIONS, StaticEmbedder, cosine};
pub use gate::should_run;
pub use merge::{
    Decision, Deduplication, Deletion, DuplicateGroup, PlaybookRow, ProfileRow, SharedRule,
    aggregate_playbooks, consolidate_playbooks, dedupe_profiles,
};
pub use playbook::extract_playbooks;
pub use profile::{REMOVAL_MARKER, extract_profiles};
pub use turn::{
    EvidenceKind, PLAYBOOKS_MAX, PROFILES_MAX, PlaybookDraft, ProfileDraft, TURN_CHARS_MAX, ToolCallView,
    Turn,
};
