//! The requests of a session that are judged, in their order.

use domain::ids::{RequestId, SessionId};
use store::{RequestDocument, SessionRecord, Store, StoreError, UserKeys};

/// Who speaks for the agent's side; everybody else is the user.
const AGENT_ROLES: [&str; 5] = ["agent", "assistant", "system", "tool", "internal"];

/// The requests of one user in a session, by time and then by id; interactions in the order in which they happened.
///
/// # Errors
/// [`StoreError`] when table or bucket fail, or a document is damaged.
pub(super) async fn requests(
    store: &Store,
    keys: &UserKeys<'_>,
    session: &SessionId,
    record: &SessionRecord,
) -> Result<Vec<RequestDocument>, StoreError> {
    let documents = store.documents(keys, record.first_position, record.last_position + 1).await?;
    let mut own: Vec<_> =
        documents.into_iter().filter(|document| document.request.session_id == *session).collect();
    own.sort_by(|a, b| {
        let order = |document: &RequestDocument| document.request.created_at;
        order(a).cmp(&order(b)).then_with(|| a.request.request_id.as_str().cmp(b.request.request_id.as_str()))
    });
    for document in &mut own {
        document.interactions.sort_by_key(|one| (one.created_at, one.interaction_id));
    }
    Ok(own)
}

/// The requests up to one of them; `None` when it is not among them.
pub(super) fn up_to(mut requests: Vec<RequestDocument>, last: &RequestId) -> Option<Vec<RequestDocument>> {
    let at = requests.iter().position(|document| document.request.request_id == *last)?;
    requests.truncate(at + 1);
    Some(requests)
}

/// How many interactions are the user's.
pub(super) fn user_turns(requests: &[RequestDocument]) -> i64 {
    let interactions = requests.iter().flat_map(|document| &document.interactions);
    let is_users = |role: &str| !AGENT_ROLES.contains(&role.to_lowercase().as_str());
    count(interactions.filter(|interaction| is_users(&interaction.role)).count())
}

/// How many interactions there are.
pub(super) fn interactions(requests: &[RequestDocument]) -> i64 {
    count(requests.iter().map(|document| document.interactions.len()).sum())
}

fn count(many: usize) -> i64 {
    i64::try_from(many).unwrap_or(i64::MAX)
}
