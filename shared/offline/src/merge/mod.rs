//! Comparing what was learned with what is known.

mod aggregate;
mod attributes;
mod consolidate;
mod dedupe;
mod features;
mod removal;

pub use aggregate::{SharedRule, aggregate_playbooks};
pub use consolidate::{Decision, PlaybookRow, consolidate_playbooks};
pub use dedupe::{Deduplication, Deletion, DuplicateGroup, ProfileRow, dedupe_profiles};
pub(crate) use removal::removal_covers;
