//! Reading the part of a user's stream that the next window needs.

use domain::entities::{Interaction, Request};
use domain::learning::LearningKind;
use domain::time::EpochSeconds;
use store::{Cursor, Head, RequestDocument, Store, StoreError, UserKeys};

use crate::windows::{self, InvalidPolicy, Segment, Selection, Slice, Trigger, Window, WindowReason};

/// Positions that are read ahead of the cursor at first; doubled while that is too little.
const READ_AHEAD_POSITIONS: i64 = 64;

/// What is next for one kind.
#[derive(Debug)]
pub(crate) enum Next {
    /// Learn this.
    Window(Box<WindowInputs>),
    /// Look again at this time, or when something arrives.
    Wait(Option<EpochSeconds>),
    /// Nothing waits; the cursor may move to here.
    Drained(i64),
}

/// A window with the interactions in it.
#[derive(Debug)]
pub(crate) struct WindowInputs {
    pub(crate) window: Window,
    pub(crate) turns: Vec<InputTurn>,
}

impl WindowInputs {
    /// Whether any request in it is to be learned from though learning stands still.
    pub(crate) fn overrides_stall(&self) -> bool {
        self.window.overrides_stall
    }
}

/// An interaction of a window and the request that it came with.
#[derive(Debug, Clone)]
pub(crate) struct InputTurn {
    pub(crate) interaction: Interaction,
    pub(crate) request: Request,
    pub(crate) is_new: bool,
}

/// Selects the next window and reads its inputs.
pub(crate) async fn next_window(
    store: &Store,
    keys: &UserKeys<'_>,
    head: &Head,
    kind: LearningKind,
    cursor: &Cursor,
    now: EpochSeconds,
) -> Result<Result<Next, InvalidPolicy>, StoreError> {
    let mut ahead = READ_AHEAD_POSITIONS;
    let mut before: Option<Vec<RequestDocument>> = None;
    loop {
        let end = head.count.min(cursor.completed.saturating_add(ahead));
        let mut documents = store.documents(keys, cursor.completed, end).await?;
        if before.is_none() {
            let window = documents.iter().map(|document| document.policy.of(kind).window).max().unwrap_or(0);
            before = Some(context(store, keys, kind, cursor, &documents, window).await?);
        }
        let mut all = before.clone().unwrap_or_default();
        all.append(&mut documents);
        let segments: Vec<Segment> = all.iter().map(segment).collect();
        let slice = Slice { segments: &segments, reaches_head: end >= head.count };
        let selection = match windows::select(kind, slice, &window_cursor(cursor), now) {
            Ok(selection) => selection,
            Err(invalid) => return Ok(Err(invalid)),
        };
        match selection {
            Selection::NeedsMore => ahead = ahead.saturating_mul(2),
            Selection::Ready(window) => {
                let turns = turns(&all, &window);
                return Ok(Ok(Next::Window(Box::new(WindowInputs { window: *window, turns }))));
            }
            Selection::Wait { due_at, .. } => return Ok(Ok(Next::Wait(due_at))),
            Selection::Drained { end_exclusive } => return Ok(Ok(Next::Drained(to_i64(end_exclusive)))),
        }
    }
}

/// The last window of a user, whatever was learned of it: of the last `window` interactions that count for a kind the
/// last `stride` as new ones. `None` when none counts.
pub(crate) async fn last_window(
    store: &Store,
    keys: &UserKeys<'_>,
    kind: LearningKind,
    window: u32,
    stride: u32,
) -> Result<Option<WindowInputs>, StoreError> {
    let Some(head) = store.head(keys).await? else { return Ok(None) };
    let counts = move |document: &RequestDocument| document.policy.of(kind).eligible;
    let documents = store.documents_before(keys, head.count, window as usize, counts).await?;
    let eligible: Vec<&RequestDocument> = documents.iter().filter(|document| counts(document)).collect();
    let Some(last) = eligible.last() else { return Ok(None) };
    let positions = eligible.iter().flat_map(|document| document.first_position..document.end_position());
    let mut all: Vec<u64> = positions.map(to_u64).collect();
    let mut context = all.split_off(all.len().saturating_sub(window as usize));
    let new = context.split_off(context.len().saturating_sub(stride as usize));
    let window = Window {
        end_exclusive: to_u64(head.count),
        reason: WindowReason::Stride,
        skip_aggregation: last.policy.skip_aggregation,
        overrides_stall: last.policy.override_stall,
        policy: last.policy.of(kind),
        trigger: segment(last).trigger,
        new,
        context,
    };
    let turns = turns(&documents, &window);
    Ok(Some(WindowInputs { window, turns }))
}

/// The documents before the cursor that a window of `window` interactions may show again.
async fn context(
    store: &Store,
    keys: &UserKeys<'_>,
    kind: LearningKind,
    cursor: &Cursor,
    ahead: &[RequestDocument],
    window: u32,
) -> Result<Vec<RequestDocument>, StoreError> {
    // A document that spans the cursor is among those ahead of it.
    let end = ahead.first().map_or(cursor.completed, |first| first.first_position.min(cursor.completed));
    store
        .documents_before(keys, end, window as usize, move |document| document.policy.of(kind).eligible)
        .await
}

fn window_cursor(cursor: &Cursor) -> windows::Cursor {
    windows::Cursor {
        completed: to_u64(cursor.completed),
        completed_eligible: to_u64(cursor.learned),
        started: cursor.started,
    }
}

fn segment(document: &RequestDocument) -> Segment {
    let request = &document.request;
    Segment {
        first_position: to_u64(document.first_position),
        count: u32::try_from(document.interactions.len()).unwrap_or(u32::MAX),
        deleted: Vec::new(),
        trigger: Trigger {
            request_id: request.request_id.clone(),
            session_id: request.session_id.clone(),
            source: request.source.clone(),
            agent_version: request.agent_version.clone(),
        },
        admitted_at: request.created_at,
        policy: document.policy,
    }
}

/// The interactions of a window, context first, each in the order of its position.
fn turns(documents: &[RequestDocument], window: &Window) -> Vec<InputTurn> {
    let mut found = Vec::with_capacity(window.context.len() + window.new.len());
    for (positions, is_new) in [(&window.context, false), (&window.new, true)] {
        for position in positions {
            let position = to_i64(*position);
            let document = documents
                .iter()
                .find(|document| (document.first_position..document.end_position()).contains(&position));
            let Some(document) = document else { continue };
            let index = usize::try_from(position - document.first_position).unwrap_or(usize::MAX);
            if let Some(interaction) = document.interactions.get(index) {
                found.push(InputTurn {
                    interaction: interaction.clone(),
                    request: document.request.clone(),
                    is_new,
                });
            }
        }
    }
    found
}

pub(crate) fn to_i64(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn to_u64(position: i64) -> u64 {
    u64::try_from(position).unwrap_or(0)
}
