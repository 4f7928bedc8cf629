//! The turns that a playbook rests on.

use domain::entities::{Interaction, Request, UserPlaybook};
use domain::ids::{OrgId, UserHash};
use store::{Head, POSITIONS_PER_USER_NUMBER, Store, StoreError, UserKeys, split_interaction_id};

use crate::formatting::{Transcript, Turn, transcript};

/// Turns that a playbook cites and that are shown; the first ones.
pub const CITED_TURNS_MAX: usize = 20;
/// Turns of the same requests that are shown around them.
pub const SHOWN_TURNS_MAX: usize = 40;

/// Why the turns are not at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The row belongs to nobody.
    NoUser,
    /// It cites no turn.
    NoEvidence,
    /// A turn that it cites is not stored any more.
    Gone,
}

/// A row's turns as a model is shown them.
///
/// # Errors
/// [`StoreError`] when the table or bucket fails, or a document is damaged.
pub async fn cited_turns(
    store: &Store,
    org: &OrgId,
    playbook: &UserPlaybook,
) -> Result<Result<Transcript, Unavailable>, StoreError> {
    let Some(user) = &playbook.user_id else { return Ok(Err(Unavailable::NoUser)) };
    let user = UserHash::of(user);
    let keys = UserKeys { org, user: &user };
    let cited: Vec<i64> = playbook.source_interaction_ids.iter().copied().take(CITED_TURNS_MAX).collect();
    if cited.is_empty() {
        return Ok(Err(Unavailable::NoEvidence));
    }
    let Some(head) = store.head(&keys).await? else { return Ok(Err(Unavailable::Gone)) };
    let mut turns: Vec<(Interaction, Request)> = Vec::new();
    for id in cited {
        if turns.iter().any(|(interaction, _)| interaction.interaction_id == id) {
            continue;
        }
        let Some(position) = position_of(&head, id) else { return Ok(Err(Unavailable::Gone)) };
        let documents = store.documents(&keys, position, position + 1).await?;
        let holds = |interactions: &[Interaction]| interactions.iter().any(|i| i.interaction_id == id);
        let Some(document) = documents.into_iter().find(|document| holds(&document.interactions)) else {
            return Ok(Err(Unavailable::Gone));
        };
        let request = document.request;
        turns.extend(document.interactions.into_iter().map(|interaction| (interaction, request.clone())));
    }
    Ok(Ok(shown(&turns, &playbook.source_interaction_ids)))
}

/// The position of one of the user's interactions; `None` when the id is not one of theirs. Users with so many that
/// they were given a second number have their earlier ones elsewhere.
fn position_of(head: &Head, id: i64) -> Option<i64> {
    let (number, offset) = split_interaction_id(id);
    let position = head.user_number_base + offset;
    let is_own = number == head.user_number && offset < POSITIONS_PER_USER_NUMBER;
    (is_own && position < head.count).then_some(position)
}

/// The turns that are cited, and of the others around them what there is room for.
fn shown(turns: &[(Interaction, Request)], cited: &[i64]) -> Transcript {
    let mut room = SHOWN_TURNS_MAX;
    let kept: Vec<Turn<'_>> = turns
        .iter()
        .filter(|(interaction, _)| {
            let is_cited = cited.contains(&interaction.interaction_id);
            let fits = is_cited || room > 0;
            room = room.saturating_sub(usize::from(fits));
            fits
        })
        .map(|(interaction, request)| Turn {
            interaction,
            session_id: &request.session_id,
            request_created_at: request.created_at,
            is_new: cited.contains(&interaction.interaction_id),
        })
        .collect();
    transcript(&kept)
}
