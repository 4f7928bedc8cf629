//! What each route takes: one struct a route, read by `parse` from a body or a query.

pub mod agent_playbooks;
mod choices;
pub mod interactions;
pub mod playbooks;
pub mod profiles;
pub mod publish;
pub mod search;
pub mod sessions;
mod shared;

pub use choices::{SearchMode, SearchedEntity, WireStatus};
pub use shared::StatusFilter;
