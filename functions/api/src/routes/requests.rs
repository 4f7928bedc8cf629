//! `POST /api/get_requests`: sessions with their requests, newest first.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use domain::ids::{OrgId, RequestId, SessionId, UserHash};
use domain::requests::sessions::GetRequests;
use domain::views::{InteractionView, RequestDataView, RequestsAnswer, SessionView};
use runtime::App;
use store::{Listing, RequestDocument, Store, StoreError, UserKeys};

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::JsonBody;

/// Entries of the index that are read at a time.
const PAGE_ENTRIES: usize = 200;

pub(crate) async fn get_requests(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Answer {
    let wanted = GetRequests::parse(&body)?;
    let documents = matching_documents(&app.services.store, &caller.org, &wanted).await?;
    let mut sessions = by_session(documents);
    let has_more = sessions.len() > wanted.offset.saturating_add(wanted.top_k);
    let page: Vec<_> = sessions.drain(..).skip(wanted.offset).take(wanted.top_k).collect();
    ok(RequestsAnswer::new(page, has_more))
}

/// At least the documents of the sessions up to the end of the page and one more, through the narrowest way
/// that the filters leave.
async fn matching_documents(
    store: &Store,
    org: &OrgId,
    wanted: &GetRequests,
) -> Result<Vec<RequestDocument>, StoreError> {
    let found = if let Some(id) = &wanted.request_id {
        match RequestId::new(id) {
            Ok(id) => store.document_of_request(org, &id).await?.into_iter().collect(),
            Err(_) => Vec::new(),
        }
    } else if let Some(session) = &wanted.session_id {
        match SessionId::new(session) {
            Ok(session) => session_documents(store, org, &session).await?,
            Err(_) => Vec::new(),
        }
    } else if let Some(user) = &wanted.user_id {
        let hash = UserHash::of(user);
        let keys = UserKeys { org, user: &hash };
        let count = store.head(&keys).await?.map_or(0, |head| head.count);
        store.documents(&keys, 0, count).await?
    } else {
        newest_sessions(store, org, wanted).await?
    };
    Ok(found.into_iter().filter(|document| matches(document, wanted)).collect())
}

fn matches(document: &RequestDocument, wanted: &GetRequests) -> bool {
    let request = &document.request;
    wanted.user_id.as_ref().is_none_or(|user| *user == request.user_id)
        && wanted.request_id.as_ref().is_none_or(|id| id == request.request_id.as_str())
        && wanted.session_id.as_ref().is_none_or(|id| id == request.session_id.as_str())
        && wanted.source.as_ref().is_none_or(|source| *source == request.source)
        && wanted.time.contains(request.created_at)
}

/// All documents of a session, of all who took part in it.
async fn session_documents(
    store: &Store,
    org: &OrgId,
    session: &SessionId,
) -> Result<Vec<RequestDocument>, StoreError> {
    let mut documents = Vec::new();
    for user in store.session_members(org, session).await? {
        let keys = UserKeys { org, user: &user };
        let Some(record) = store.session(&keys, session).await? else { continue };
        let between = store.documents(&keys, record.first_position, record.last_position + 1).await?;
        documents.extend(between.into_iter().filter(|document| document.request.session_id == *session));
    }
    Ok(documents)
}

/// Walks the index from the newest request on until the sessions of the page, and one more, are known.
async fn newest_sessions(
    store: &Store,
    org: &OrgId,
    wanted: &GetRequests,
) -> Result<Vec<RequestDocument>, StoreError> {
    let enough = wanted.offset.saturating_add(wanted.top_k).saturating_add(1);
    let mut newest: HashMap<String, i64> = HashMap::new();
    let mut page = None;
    'pages: loop {
        let (entries, next) = store.list(org, Listing::Requests, PAGE_ENTRIES, page).await?;
        for entry in entries {
            let Some(session) = entry.session else { continue };
            let is_wanted = wanted.time.contains(entry.at)
                && wanted.source.as_ref().is_none_or(|source| Some(source) == entry.source.as_ref());
            if !is_wanted {
                continue;
            }
            // Sessions of the same second are ordered by id: all of that second must be known.
            let full = newest.len() >= enough;
            if full && newest.values().all(|at| *at > entry.at) {
                break 'pages;
            }
            newest.entry(session).or_insert(entry.at);
        }
        match next {
            Some(next) => page = Some(next),
            None => break,
        }
    }
    let mut order: Vec<_> = newest.into_iter().collect();
    order.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
    let mut documents = Vec::new();
    for (index, (session, _)) in order.iter().take(enough).enumerate() {
        let Ok(session) = SessionId::new(session) else { continue };
        let mut of_session = session_documents(store, org, &session).await?;
        of_session.retain(|document| matches(document, wanted));
        if index < wanted.offset || index + 1 == enough {
            // Only its place counts: its newest document stands for the whole session.
            of_session.sort_by_key(|document| std::cmp::Reverse(document.request.created_at));
            of_session.truncate(1);
        }
        documents.extend(of_session);
    }
    Ok(documents)
}

/// Sessions by their newest request, then by id, both descending; requests newest first.
fn by_session(documents: Vec<RequestDocument>) -> Vec<SessionView> {
    let mut sessions: HashMap<SessionId, Vec<RequestDocument>> = HashMap::new();
    for document in documents {
        sessions.entry(document.request.session_id.clone()).or_default().push(document);
    }
    let mut sessions: Vec<_> = sessions.into_iter().collect();
    for (_, documents) in &mut sessions {
        documents.sort_by_key(|d| std::cmp::Reverse((d.request.created_at, d.first_position)));
    }
    let newest = |documents: &[RequestDocument]| documents.first().map_or(0, |d| d.request.created_at);
    sessions.sort_by(|a, b| newest(&b.1).cmp(&newest(&a.1)).then_with(|| b.0.cmp(&a.0)));
    sessions
        .into_iter()
        .map(|(session_id, documents)| SessionView {
            session_id,
            requests: documents.into_iter().map(request_view).collect(),
        })
        .collect()
}

fn request_view(document: RequestDocument) -> RequestDataView {
    let request = document.request;
    let mut interactions = document.interactions;
    interactions.sort_by_key(|interaction| (interaction.created_at, interaction.interaction_id));
    let view =
        |interaction| InteractionView::new(request.user_id.clone(), request.request_id.clone(), interaction);
    let interactions = interactions.into_iter().map(view).collect();
    RequestDataView { request: request.into(), interactions }
}
