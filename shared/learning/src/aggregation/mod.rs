//! Aggregation: what user playbooks of one agent version have in common becomes its agent playbooks.
//!
//! A run ([`aggregate`]) clusters the current user playbooks by meaning, asks a model about the clusters that changed
//! since the last run, and commits what came of it in one step. What needs neither a store nor a model is here as
//! plain functions: identity of clusters ([`cluster`]), what changed ([`changes`]), how a cluster is shown
//! ([`directions`], [`prompt`]), what an answer may be ([`answer`]), and what follows from all answers ([`plan`]).
//!
//! *Architecture invariants:* what people approved or rejected is never changed or removed; a cluster whose model
//! call failed keeps what it had and is tried again; clusters that did not change cost no model call.

pub mod answer;
mod ask;
pub mod changes;
pub mod cluster;
pub mod directions;
mod inputs;
mod operations;
pub mod plan;
pub mod prompt;
mod report;
mod round;
mod rows;
mod settings;
mod triggers;
mod waiting;
mod worker;

pub use operations::{OPERATION_ATTEMPTS_MAX, new_operation};
pub use report::result_message;
pub use settings::{AggregationSettings, NOT_CONFIGURED};
pub(crate) use triggers::playbooks_changed;
pub use triggers::{announcement, follow_up, may_be_due, submit};
pub use worker::{AGGREGATION_RESERVE_MS, Aggregated, aggregate};
