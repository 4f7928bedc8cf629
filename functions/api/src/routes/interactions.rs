//! Lists of interactions.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use domain::ids::UserHash;
use domain::requests::interactions::{GetAllInteractions, GetInteractions};
use domain::views::{InteractionView, InteractionsAnswer};
use recall::Turn;
use runtime::App;
use store::{Listing, RequestDocument, Store, StoreError};

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

/// Rows that a list of "all" gives out at most; a longer list goes page by page.
pub(crate) const LIST_ROWS_MAX: usize = 10_000;
/// Entries of the index that are read at a time.
const PAGE_ENTRIES: usize = 100;

pub(crate) async fn get_interactions(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GetInteractions::parse(&body)?;
    let user = UserHash::of(&wanted.user_id);
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    let conversation = app.recall.conversation(&caller.org, &user, model.as_ref()).await?;
    let mut turns: Vec<&Turn> =
        conversation.turns.iter().filter(|turn| wanted.time.contains(turn.interaction.created_at)).collect();
    // Stable: among equals the order of arrival stays.
    turns.sort_by_key(|turn| std::cmp::Reverse(turn.interaction.created_at));
    turns.truncate(wanted.top_k);
    ok(InteractionsAnswer::found(turns.into_iter().map(view).collect()))
}

pub(crate) fn view(turn: &Turn) -> InteractionView {
    let request = &turn.request;
    InteractionView::new(request.user_id.clone(), request.request_id.clone(), turn.interaction.clone())
}

pub(crate) async fn get_all_interactions(
    State(app): State<Arc<App>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Answer {
    let wanted = GetAllInteractions::parse(query.as_deref().unwrap_or(""))?;
    let limit = wanted.limit.unwrap_or(LIST_ROWS_MAX).min(LIST_ROWS_MAX);
    ok(InteractionsAnswer::found(newest(&app.services.store, &caller, limit).await?))
}

/// The newest interactions of all users. The index orders requests by their latest interaction, so that no
/// later entry can hold one that is newer than the current entry's time.
async fn newest(store: &Store, caller: &Caller, limit: usize) -> Result<Vec<InteractionView>, StoreError> {
    let mut found: Vec<(i64, i64, InteractionView)> = Vec::new();
    let mut page = None;
    if limit == 0 {
        return Ok(Vec::new());
    }
    loop {
        let (entries, next) = store.list(&caller.org, Listing::Interactions, PAGE_ENTRIES, page).await?;
        let latest_left = entries.last().map(|entry| entry.at);
        let lookups: Vec<_> = entries.into_iter().map(|entry| entry.key).collect();
        for document in store.documents_of_lookups(&caller.org, &lookups).await? {
            found.extend(views(document));
        }
        found.sort_by_key(|(at, id, _)| std::cmp::Reverse((*at, *id)));
        let settled = found.iter().filter(|(at, ..)| latest_left.is_some_and(|left| *at > left)).count();
        match next {
            Some(next) if settled < limit => page = Some(next),
            _ => break,
        }
    }
    found.truncate(limit);
    Ok(found.into_iter().map(|(.., view)| view).collect())
}

fn views(document: RequestDocument) -> impl Iterator<Item = (i64, i64, InteractionView)> {
    let request = document.request;
    document.interactions.into_iter().map(move |interaction| {
        let order = (interaction.created_at, interaction.interaction_id);
        let view = InteractionView::new(request.user_id.clone(), request.request_id.clone(), interaction);
        (order.0, order.1, view)
    })
}
