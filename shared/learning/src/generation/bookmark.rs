//! How far a manual batch moves the cursor of a user's stream: over what it read, as far as nothing lies between.

use std::collections::HashSet;

use domain::learning::LearningKind;
use store::{Cursor, Store, StoreError, UserKeys};

/// Positions that are read at a time.
const PAGE_POSITIONS: i64 = 256;

/// The cursor behind those of the `read` positions that follow it without an eligible one left out; `None` when no
/// eligible one follows. What was not read stays to be learned, and nothing is learned twice.
pub(super) async fn advanced(
    store: &Store,
    keys: &UserKeys<'_>,
    kind: LearningKind,
    cursor: &Cursor,
    count: i64,
    read: &HashSet<i64>,
) -> Result<Option<Cursor>, StoreError> {
    let (mut completed, mut learned) = (cursor.completed, 0);
    let mut from = cursor.completed;
    'stream: while from < count {
        let to = count.min(from + PAGE_POSITIONS);
        let mut next = to;
        for document in store.documents(keys, from, to).await? {
            next = next.max(document.end_position());
            let eligible = document.policy.of(kind).eligible;
            for position in document.first_position.max(cursor.completed)..document.end_position() {
                if position < completed || !eligible {
                    continue;
                }
                if !read.contains(&position) {
                    completed = position;
                    break 'stream;
                }
                learned += 1;
            }
            completed = completed.max(document.end_position());
        }
        from = next;
        completed = completed.max(to);
    }
    let next = Cursor {
        completed,
        learned: cursor.learned + learned,
        started: true,
        version: cursor.version,
        ..Cursor::default()
    };
    Ok((learned > 0).then_some(next))
}
