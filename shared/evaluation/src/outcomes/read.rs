//! Reading a session: its users, its outcome, its requests and their digest.

use domain::ids::{OrgId, SessionId};
use domain::outcomes::{TrajectoryFault, TrajectoryHasher};
use learning::services::Services;
use store::{SessionEntry, SessionPartsError, StoreError};

/// Why a session could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// Something was deleted from it meanwhile.
    #[error("the session changed")]
    Changed,
    /// Too many users take part in it.
    #[error("too many users take part in the session")]
    TooManyUsers,
    /// Something in it has no canonical spelling.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SessionPartsError> for ReadError {
    fn from(error: SessionPartsError) -> Self {
        match error {
            SessionPartsError::TooManyUsers => Self::TooManyUsers,
            SessionPartsError::Store(error) => Self::Store(error),
        }
    }
}

/// The digest of these requests, which are in their order; one request at a time is in memory beside those that the
/// index kept.
pub(super) async fn trajectory_digest(
    services: &Services,
    session: &SessionId,
    entries: &[SessionEntry],
) -> Result<String, ReadError> {
    let mut hasher = TrajectoryHasher::default();
    let is_whole = services
        .store
        .visit_session(entries, |document| {
            hasher.add(&document.request, &document.interactions).map_err(ReadError::from)
        })
        .await?;
    if is_whole { Ok(hasher.finish(session)) } else { Err(ReadError::Changed) }
}

/// Says in the log that a session has several users or sources, of which the first counts.
pub(super) fn warn_if_shared(org: &OrgId, session: &SessionId, entries: &[SessionEntry]) {
    let Some(first) = entries.first().map(|entry| &entry.request) else { return };
    let has_other = |differs: fn(&domain::entities::Request, &domain::entities::Request) -> bool| {
        entries.iter().any(|entry| differs(&entry.request, first))
    };
    let (users, sources) = (has_other(|a, b| a.user_id != b.user_id), has_other(|a, b| a.source != b.source));
    if users || sources {
        let session = session.hash();
        tracing::warn!(event = "outcome_of_shared_session", org = org.as_str(), session, users, sources);
    }
}
