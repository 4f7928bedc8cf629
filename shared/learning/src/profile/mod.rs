//! Profiles: what a model may say about a user, how it becomes rows, and how rows replace each other.

pub mod candidates;
pub mod dedup_check;
pub mod deduplicate;
pub mod rows;
pub mod schema;
pub mod tombstones;

pub use candidates::{CandidateSearch, candidate_search, format_existing, format_new, known_profiles};
pub use dedup_check::{dedup_problems, needs_deduplication};
pub use deduplicate::{DedupCounters, DedupOutcome, DedupRun, Retirement, apply_deduplication};
pub use rows::{ProfileRejection, ProfileRows, RowContext, profiles_from_answer};
pub use schema::{DedupAnswer, Deletion, DuplicateGroup, ProfileAnswer, ProfileDraft, Relation};
pub use tombstones::tombstones_of;

/// What the content of a profile starts with that stands for a wish to forget. Such a row is never stored.
pub const REMOVAL_MARKER: &str = "Requested removal of";

/// Whether a content stands for a wish to forget.
#[must_use]
pub fn is_removal(content: &str) -> bool {
    content
        .trim_start()
        .get(..REMOVAL_MARKER.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(REMOVAL_MARKER))
}
