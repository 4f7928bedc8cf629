//! What each route takes: one struct a route, read by `parse` from a body or a query.

pub mod agent_playbooks;
pub mod cache;
mod choices;
pub mod edits;
pub mod experiments;
pub mod interactions;
pub mod judging;
pub mod operations;
pub mod outcomes;
pub mod overview;
pub mod playbooks;
pub mod profiles;
pub mod provenance;
pub mod publish;
pub mod retrieved_learning;
pub mod review;
pub mod search;
pub mod sessions;
mod shadow;
mod shared;
pub mod versions;

pub use cache::InvalidateCache;
pub use choices::{SearchMode, SearchedEntity, WireStatus};
pub use shadow::RecentShadowQuery;
pub use shared::StatusFilter;
