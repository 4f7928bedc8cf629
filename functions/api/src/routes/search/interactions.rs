//! `POST /api/search_interactions`.

use std::sync::Arc;

use axum::extract::State;
use domain::ids::UserHash;
use domain::requests::search::SearchInteractions;
use domain::views::InteractionsAnswer;
use recall::{Conversation, Turn};
use runtime::App;

use super::plan::{Plan, newest_first};
use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;
use crate::routes::interactions::view;

/// Interactions when the caller does not say.
const TOP_K: usize = 10;

pub(crate) async fn search_interactions(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = SearchInteractions::parse(&body)?;
    let model = app.orgs.embedding_or_local(&caller.org).await?;
    let plan =
        Plan::new(&app, &caller.org, &model, wanted.query.as_deref(), wanted.search_mode, wanted.threshold)
            .await;
    if !plan.has_text() && wanted.most_recent_k.is_none() {
        return ok(InteractionsAnswer::matching(Vec::new()));
    }
    let user = UserHash::of(&wanted.user_id);
    let conversation = app.recall.conversation(&caller.org, &user, model.as_ref()).await?;
    let places = find(&plan, &conversation, &wanted);
    ok(InteractionsAnswer::matching(
        places.into_iter().map(|place| view(&conversation.turns[place])).collect(),
    ))
}

fn find(plan: &Plan, conversation: &Conversation, wanted: &SearchInteractions) -> Vec<usize> {
    let turns = &conversation.turns;
    let keep = |turn: &Turn| {
        wanted.request_id.as_ref().is_none_or(|id| id == turn.request.request_id.as_str())
            && wanted.time.contains(turn.interaction.created_at)
    };
    let order = |turn: &Turn| (turn.interaction.created_at, turn.interaction.interaction_id);
    let recent = wanted.most_recent_k.map(|many| newest_first(turns, keep, order, many));
    let mut places = if plan.has_text() {
        let is_candidate = |place: usize| match &recent {
            Some(recent) => recent.contains(&place),
            None => keep(&turns[place]),
        };
        let limit = wanted.top_k.or(wanted.most_recent_k).unwrap_or(TOP_K);
        plan.run(&conversation.index, limit, is_candidate).into_iter().map(|found| found.place).collect()
    } else {
        recent.clone().unwrap_or_default()
    };
    if wanted.most_recent_k.is_some() {
        places.sort_by_key(|&place| order(&turns[place]));
    }
    places
}
