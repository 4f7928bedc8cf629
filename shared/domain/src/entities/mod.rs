//! The things that are stored: requests with their interactions, profiles, playbooks.
//!
//! Field names and defaults are those of the HTTP contract; what a caller sees of each is in [`crate::views`].

mod evaluation;
mod interaction;
mod lifecycle;
mod outcome;
mod playbook;
mod profile;
mod retrieved_learning;
mod shadow;

pub use evaluation::{AGENT_SUCCESS, EvaluationResult, FailureType};
pub use interaction::{
    Citation, Interaction, Request, RetrievalExperimentArm, RetrievedLearning, ToolUsed, UserActionType,
};
pub use lifecycle::{PlaybookStatus, ProfileTimeToLive, Status};
pub use outcome::{OutcomeIdentity, SessionOutcome, SessionOutcomeKind, SupersededOutcome};
pub use playbook::{AgentPlaybook, BlockingIssue, BlockingIssueKind, UserPlaybook};
pub use profile::UserProfile;
pub use retrieved_learning::{
    DiagnosisCategory, LearningImpact, PlaybookDiagnosis, RetrievedLearningDiagnostics,
    RetrievedLearningKind, RetrievedLearningResult, RetrievedLearningState,
};
pub use shadow::{BetterRequest, ShadowOutcome, ShadowVerdict};

/// Numbers of a vector on the wire; shorter ones are padded with zeros.
pub const EMBEDDING_DIMENSIONS: usize = 512;
