//! The revision of memories that an agent cited, in the light of what came after.
//!
//! Before a user's windows are learned, the latest turns are looked at once more: which memories did the agent say it
//! used, and did the turns that followed bear them out? A model proposes revisions; a revised memory becomes a new
//! row, and the one that was cited its tombstone. What is here knows neither store nor model: when to look
//! ([`horizon`]), what a model is shown ([`shown`]) and what its answer is allowed to do ([`apply`]).

pub mod apply;
pub mod horizon;
pub mod schema;
pub mod shown;

pub use apply::{
    Counters, Outcome, ReflectionRejection, ReflectionRun, Revised, apply_reflection, is_revisable_playbook,
    is_revisable_profile,
};
pub use horizon::{Cited, Horizon, SeenTurn, Target, cited, horizon, is_gate_open};
pub use schema::{ReflectionAnswer, ReflectionDecision};
pub use shown::{CitationContext, ReflectionVariables, reflection_variables};
