//! Selecting the next window of a user's stream.

use std::collections::BTreeMap;

use domain::ids::SessionId;
use domain::learning::{KindPolicy, LearningKind};
use domain::time::EpochSeconds;

use super::stream::{Cursor, InvalidPolicy, Segment, Trigger, needed};

/// A part of a user's stream: what lies around the cursor.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    /// Documents in order of position, without a gap that was not caused by a deletion. It should begin early enough
    /// to hold the context of the next window; with less, the window has less context.
    pub segments: &'a [Segment],
    /// Whether nothing follows the last document.
    pub reaches_head: bool,
}

/// Why a window is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowReason {
    /// Enough new interactions.
    Stride,
    /// A request asked for it. Such a window runs without asking the gate.
    Force,
    /// A session was declared over.
    SessionFinished,
    /// A session fell silent.
    Idle,
    /// A batch operation. Such a window is not selected from the stream, and runs without asking the gate.
    Batch,
}

impl WindowReason {
    /// The name in logs and receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stride => "stride",
            Self::Force => "force",
            Self::SessionFinished => "session_finished",
            Self::Idle => "idle",
            Self::Batch => "batch",
        }
    }
}

/// Why nothing is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// Too few new interactions yet.
    WaitingForWindow,
}

/// What one extraction reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Positions to learn from, in order.
    pub new: Vec<u64>,
    /// Positions before them that were learned from already, in order.
    pub context: Vec<u64>,
    /// Where the cursor stands once the window is done.
    pub end_exclusive: u64,
    /// Why it is due.
    pub reason: WindowReason,
    /// Whether a request asked not to aggregate.
    pub skip_aggregation: bool,
    /// Whether a request asked to be learned from though learning stands still.
    pub overrides_stall: bool,
    /// The policy of its first new interaction.
    pub policy: KindPolicy,
    /// The request of its last new interaction.
    pub trigger: Trigger,
}

/// What to do next for one kind of learning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Run this window.
    Ready(Box<Window>),
    /// Look again later, or when something arrives.
    Wait {
        /// When a session will have been silent for long enough; `None` when only arrivals can make a window due.
        due_at: Option<EpochSeconds>,
        /// Why.
        reason: WaitReason,
    },
    /// Nothing eligible is left; the cursor may move here.
    Drained {
        /// The position behind everything that was passed over.
        end_exclusive: u64,
    },
    /// The slice ends too early to tell: read on, and select again over the longer slice. Documents without any
    /// eligible interaction may be left out of it, except for the last.
    NeedsMore,
}

impl Cursor {
    /// Where the cursor stands once `window` is done, whether or not anything was learned from it.
    #[must_use]
    pub fn after(self, window: &Window) -> Self {
        Self {
            completed: window.end_exclusive,
            completed_eligible: self.completed_eligible + window.new.len() as u64,
            started: true,
        }
    }
}

/// An interaction that waits, and the document that it is in.
struct Pending<'a> {
    position: u64,
    segment: &'a Segment,
}

/// Selects the next window.
///
/// # Errors
/// [`InvalidPolicy`] when the first waiting interaction was admitted under a policy that cannot be followed.
pub fn select(
    kind: LearningKind,
    slice: Slice<'_>,
    cursor: &Cursor,
    now: EpochSeconds,
) -> Result<Selection, InvalidPolicy> {
    let pending = pending_inputs(kind, slice.segments, cursor);
    let Some(first) = pending.first() else {
        let end = slice.segments.last().map_or(0, Segment::end).max(cursor.completed);
        let drained = Selection::Drained { end_exclusive: end };
        return Ok(if slice.reaches_head { drained } else { Selection::NeedsMore });
    };
    let policy = first.segment.policy.of(kind);
    let needed = needed(policy, cursor.started, cursor.completed_eligible)?;
    let (take, reason) = match barrier(&pending, slice.segments) {
        Some((up_to, WindowReason::SessionFinished)) if up_to >= needed => (needed, WindowReason::Stride),
        Some((up_to, reason)) => (up_to.min(needed), reason),
        None if pending.len() >= needed => (needed, WindowReason::Stride),
        None if !slice.reaches_head => return Ok(Selection::NeedsMore),
        None => match silence(&pending, now) {
            Silence::Over { up_to } => (up_to.min(needed), WindowReason::Idle),
            Silence::Until(due_at) => {
                return Ok(Selection::Wait { due_at, reason: WaitReason::WaitingForWindow });
            }
        },
    };
    let context = context_inputs(kind, slice.segments, cursor, (policy.window as usize).saturating_sub(take));
    let end_exclusive = match pending.get(take) {
        Some(next) => next.position,
        None => slice.segments.last().map_or(0, Segment::end),
    };
    let new = &pending[..take];
    Ok(Selection::Ready(Box::new(Window {
        new: new.iter().map(|input| input.position).collect(),
        context,
        end_exclusive,
        reason,
        overrides_stall: new.iter().any(|input| input.segment.policy.override_stall),
        skip_aggregation: new.iter().any(|input| input.segment.policy.skip_aggregation),
        policy,
        trigger: new[take - 1].segment.trigger.clone(),
    })))
}

fn pending_inputs<'a>(kind: LearningKind, segments: &'a [Segment], cursor: &Cursor) -> Vec<Pending<'a>> {
    let inputs =
        |segment: &'a Segment| segment.inputs(kind).map(move |position| Pending { position, segment });
    segments.iter().flat_map(inputs).filter(|input| input.position >= cursor.completed).collect()
}

/// The last `limit` inputs before the cursor, in order.
fn context_inputs(kind: LearningKind, segments: &[Segment], cursor: &Cursor, limit: usize) -> Vec<u64> {
    let mut context: Vec<u64> = segments
        .iter()
        .flat_map(|segment| segment.inputs(kind))
        .take_while(|position| *position < cursor.completed)
        .collect();
    context.drain(..context.len().saturating_sub(limit));
    context
}

/// How many waiting interactions lie before the first request that asks not to wait, and what it says.
fn barrier(pending: &[Pending<'_>], segments: &[Segment]) -> Option<(usize, WindowReason)> {
    let forced = pending.iter().find(|input| input.segment.policy.force).map(|input| input.segment);
    if let Some(segment) = forced {
        return Some((count_before(pending, segment.end()), WindowReason::Force));
    }
    segments
        .iter()
        .filter(|segment| segment.policy.session_finished)
        .find(|finished| {
            let session = &finished.trigger.session_id;
            pending
                .iter()
                .any(|input| input.position < finished.end() && &input.segment.trigger.session_id == session)
        })
        .map(|finished| (count_before(pending, finished.end()), WindowReason::SessionFinished))
}

enum Silence {
    /// A session with this many interactions up to its end has been silent for long enough.
    Over { up_to: usize },
    /// Not before this time, if ever.
    Until(Option<EpochSeconds>),
}

/// Looks at the newest waiting document of each session. Of several that fell silent the earliest in the stream is
/// taken, so that the order of learning stays the order of arrival.
fn silence(pending: &[Pending<'_>], now: EpochSeconds) -> Silence {
    let newest: BTreeMap<&SessionId, &Segment> =
        pending.iter().map(|input| (&input.segment.trigger.session_id, input.segment)).collect();
    let deadline = |segment: &Segment| {
        let timeout = segment.policy.idle_timeout_seconds;
        (timeout > 0).then(|| segment.admitted_at.saturating_add(timeout))
    };
    let is_over = |segment: &&Segment| deadline(segment).is_some_and(|at| at <= now);
    match newest.values().copied().filter(is_over).map(Segment::end).min() {
        Some(end) => Silence::Over { up_to: count_before(pending, end) },
        None => Silence::Until(newest.values().filter_map(|segment| deadline(segment)).min()),
    }
}

fn count_before(pending: &[Pending<'_>], end: u64) -> usize {
    pending.partition_point(|input| input.position < end)
}
