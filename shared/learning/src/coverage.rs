//! How far the learning of a request has come.

use std::ops::Range;

use domain::ids::{OrgId, UserHash};
use domain::learning::{AdmissionPolicy, LearningKind};
use domain::views::LearningReason;
use store::{Cursor, StoreError, UserKeys};

use crate::services::Services;
use crate::worker::FailureCode;

/// How far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoverageState {
    /// Everything eligible was looked at, or nothing is.
    Done,
    /// A worker will come, or more must arrive.
    Pending,
    /// A worker is at it.
    Processing,
    /// Given up until its cause is removed.
    Failed,
}

/// How far, why, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// How far.
    pub state: CoverageState,
    /// Why.
    pub reason: LearningReason,
    /// Code of the last failure, while there is one.
    pub error: Option<String>,
    /// Profiles that the windows over this request produced.
    pub profiles_added: u64,
    /// Playbooks that they produced.
    pub playbooks_added: u64,
}

impl Coverage {
    /// The coverage of a request whose interactions were deleted.
    #[must_use]
    pub fn erased() -> Self {
        let (state, reason) = (CoverageState::Done, LearningReason::InputsErased);
        Self { state, reason, error: None, profiles_added: 0, playbooks_added: 0 }
    }
}

/// Looks at the request whose interactions have the positions `span`.
///
/// # Errors
/// [`StoreError`] when the table fails.
pub async fn coverage(
    services: &Services,
    org: &OrgId,
    user: &UserHash,
    span: Range<i64>,
    policy: &AdmissionPolicy,
) -> Result<Coverage, StoreError> {
    let seen = look(services, org, user, span.clone(), policy).await?;
    if seen.reason != LearningReason::WaitingForWindow {
        return Ok(seen);
    }
    // Nothing that arrives would change that for a request that is gone.
    if !services.store.has_document(&UserKeys { org, user }, span.start).await? {
        return Ok(Coverage::erased());
    }
    // A worker may have finished between the looks at the cursor and at the head.
    look(services, org, user, span, policy).await
}

async fn look(
    services: &Services,
    org: &OrgId,
    user: &UserHash,
    span: Range<i64>,
    policy: &AdmissionPolicy,
) -> Result<Coverage, StoreError> {
    let keys = UserKeys { org, user };
    let mut open: Option<Cursor> = None;
    let mut added = [0; 2];
    let mut any_eligible = false;
    for (index, kind) in LearningKind::ALL.into_iter().enumerate() {
        if !policy.of(kind).eligible {
            continue;
        }
        any_eligible = true;
        let cursor = services.store.cursor(&keys, kind).await?;
        let receipts = services.store.window_receipts(&keys, kind, span.start).await?;
        added[index] = receipts
            .iter()
            .filter(|receipt| receipt.start < span.end)
            .map(|receipt| u64::from(receipt.added))
            .sum();
        if cursor.completed < span.end {
            open = worse(open, cursor);
        }
    }
    let (state, reason) = match &open {
        None if any_eligible => (CoverageState::Done, LearningReason::Covered),
        None => (CoverageState::Done, LearningReason::NotApplicable),
        Some(cursor) => open_state(services, &keys, cursor).await?,
    };
    let mut error = open.as_ref().and_then(|cursor| cursor.last_error.clone());
    if error.is_none() && open.is_some() {
        // What is not tried at all since learning stands still says so.
        error = services.stall(org).await?.filter(|stall| stall.stalled).map(|stall| stall.reason);
    }
    let [profiles_added, playbooks_added] = added;
    Ok(Coverage { state, reason, error, profiles_added, playbooks_added })
}

/// Of two open kinds the one that says more about why it is open.
fn worse(known: Option<Cursor>, other: Cursor) -> Option<Cursor> {
    let rank = |cursor: &Cursor| (cursor.parked, cursor.last_error.is_some());
    match known {
        Some(known) if rank(&known) >= rank(&other) => Some(known),
        _ => Some(other),
    }
}

async fn open_state(
    services: &Services,
    keys: &UserKeys<'_>,
    cursor: &Cursor,
) -> Result<(CoverageState, LearningReason), StoreError> {
    if cursor.parked {
        return Ok((CoverageState::Failed, failed_reason(cursor)));
    }
    if cursor.last_error.is_some() {
        return Ok((CoverageState::Pending, LearningReason::Retrying));
    }
    if services.store.is_leased(keys).await? {
        return Ok((CoverageState::Processing, LearningReason::Extracting));
    }
    let head = services.store.head(keys).await?;
    let now = services.clock.now();
    let is_due = head.and_then(|head| head.due_at).is_some_and(|at| at <= now);
    let reason = if is_due { LearningReason::Queued } else { LearningReason::WaitingForWindow };
    Ok((CoverageState::Pending, reason))
}

/// The contract knows two reasons for giving up; the code beside it says more.
fn failed_reason(cursor: &Cursor) -> LearningReason {
    if cursor.last_error.as_deref() == Some(FailureCode::Configuration.as_str()) {
        LearningReason::InputBudgetConfigurationError
    } else {
        LearningReason::InputBudgetExceeded
    }
}
