//! The judgement of the learnings that an agent was given in a session: whether each had to do with what was going on,
//! and whether it helped.
//!
//! *Architecture invariant:* verdicts are committed all at once, under the latest generation, and only if the session
//! is what was judged. Whatever dies on the way leaves those of before in force.

mod ask;
mod fingerprint;
mod prompt;
mod resolve;
mod run;
pub mod schema;
mod snapshot;

#[cfg(test)]
mod tests;

use domain::entities::RetrievedLearningState;
use domain::ids::{RequestId, SessionId};
use domain::judging::RetrievedLearningStatus;
use learning::services::Services;
use store::{StoreError, UserKeys};

pub use ask::CHUNK_LEARNINGS;
pub use fingerprint::{FINGERPRINT_CONTENT_CHARS_MAX, fingerprint};
pub use prompt::{LEARNING_TOKENS_MAX, LINE_TOKENS_MAX, TRANSCRIPT_TOKENS_MAX};
pub use snapshot::{ATTACHMENTS_MAX, CANDIDATES_MAX};

/// The rules by which learnings are judged; a session that was judged by others is judged anew.
pub const EVALUATION_VERSION: i64 = 2;
/// Attempts of one run, each on the session as it is then.
pub const ATTEMPTS_PER_RUN: usize = 2;
/// How long the judges of one attempt may take, in milliseconds.
pub const JUDGE_TIME_MAX_MS: i64 = 300_000;

/// The infrastructure failed; the same run may be made again.
#[derive(Debug, thiserror::Error)]
pub enum RetrievedError {
    /// The table or the bucket.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievedOutcome {
    /// `Failed`, `Pending` and `Degraded` are worth another run later.
    pub status: RetrievedLearningStatus,
    /// What the session was when it was judged.
    pub fingerprint: Option<String>,
    /// Attached learnings that are stored.
    pub resolvable_count: i64,
    /// Verdicts in force.
    pub committed_count: i64,
    /// A word for what went wrong: `all_judges_failed`, `candidate_limit_exceeded`, `attachment_limit_exceeded`,
    /// `stale_snapshot`, `configuration`.
    pub error_type: Option<String>,
}

impl RetrievedOutcome {
    fn of(status: RetrievedLearningStatus) -> Self {
        Self { status, fingerprint: None, resolvable_count: 0, committed_count: 0, error_type: None }
    }

    fn from_state(state: &RetrievedLearningState) -> Self {
        Self {
            status: state.status,
            fingerprint: state.session_fingerprint.clone(),
            resolvable_count: state.resolvable_count,
            committed_count: state.committed_count,
            error_type: state.diagnostics.error_type.clone(),
        }
    }
}

/// Judges the learnings of a user's part in a session, up to and including the request `through` if one is given.
/// Nothing is asked when the session is as it was when it was last judged completely.
///
/// # Errors
/// [`RetrievedError`]: the infrastructure failed. Everything else is a status.
pub async fn evaluate_retrieved_learnings(
    services: &Services,
    keys: &UserKeys<'_>,
    session: &SessionId,
    through: Option<&RequestId>,
) -> Result<RetrievedOutcome, RetrievedError> {
    run::Run { services, keys, session, through }.run().await
}
