//! Which sessions belong to a retrieval experiment, and how much was written in them.

use std::collections::HashMap;

use domain::entities::{Interaction, Request};
use domain::ids::{OrgId, SessionId, UserHash, UserId};
use domain::time::EpochSeconds;
use domain::tokens::estimated_tokens;
use futures::{StreamExt, TryStreamExt, stream};

use crate::Store;
use crate::attributes::{
    AT, BY_TIME_PK, BY_TIME_SK, Item, ItemReader, OUTPUT_TOKENS, PK, SESSION, SK, USER, number, text,
};
use crate::error::StoreError;
use crate::keys::{Key, UserKeys, experiment_partition, time_key};
use crate::transaction::Expression;

/// Sessions that are read by one call (AWS: at most 100 keys), and calls at once.
const SESSIONS_PER_CALL: usize = 100;
const CALLS_AT_ONCE: usize = 8;

/// A session of an experiment: one of its requests was attributed to it. The arm follows from the user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttributedSession {
    /// Whose.
    pub user_id: UserId,
    /// Which.
    pub session_id: SessionId,
}

/// Tokens that others than the user wrote: as counted, else by estimate.
pub(crate) fn output_tokens(interactions: &[Interaction]) -> i64 {
    let written = interactions.iter().filter(|interaction| !interaction.is_by_user());
    let estimated = |text: &str| i64::try_from(estimated_tokens(text)).unwrap_or(i64::MAX);
    let tokens = written.map(|one| one.token_count.unwrap_or_else(|| estimated(&one.content)));
    tokens.fold(0, i64::saturating_add)
}

/// Enters a session of a user, with its first request, into the list of an experiment.
pub(crate) fn experiment_session_update(org: &OrgId, experiment_id: &str, request: &Request) -> Expression {
    let tie = format!("{}#{}", &request.user_id.hash()[..16], &request.session_id.hash()[..16]);
    Expression::new(format!(
        "SET {USER} = if_not_exists({USER}, :uid), {SESSION} = if_not_exists({SESSION}, :ses), \
         {AT} = if_not_exists({AT}, :at), {BY_TIME_PK} = if_not_exists({BY_TIME_PK}, :btpk), \
         {BY_TIME_SK} = if_not_exists({BY_TIME_SK}, :btsk)"
    ))
    .value(":uid", text(request.user_id.as_str()))
    .value(":ses", text(request.session_id.as_str()))
    .value(":at", number(request.created_at))
    .value(":btpk", text(&experiment_partition(org, experiment_id)))
    .value(":btsk", text(&time_key(request.created_at, &tie)))
}

impl Store {
    /// The sessions of an experiment. Eventual.
    ///
    /// # Errors
    /// [`StoreError`] when the index fails or an entry is damaged.
    pub async fn experiment_sessions(
        &self,
        org: &OrgId,
        experiment_id: &str,
    ) -> Result<Vec<AttributedSession>, StoreError> {
        let partition = experiment_partition(org, experiment_id);
        let entries = self.entries_between(&partition, (0, EpochSeconds::MAX), None).await?;
        entries.iter().map(attributed_session).collect()
    }

    /// Tokens that others than the user wrote in these sessions, in their order; `None` for those that are gone.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn output_tokens(
        &self,
        org: &OrgId,
        sessions: &[AttributedSession],
    ) -> Result<Vec<Option<i64>>, StoreError> {
        let key = |session: &AttributedSession| {
            let user = UserHash::of(&session.user_id);
            UserKeys { org, user: &user }.session(&session.session_id)
        };
        let keys: Vec<Key> = sessions.iter().map(key).collect();
        let chunks: Vec<Vec<Key>> = keys.chunks(SESSIONS_PER_CALL).map(<[Key]>::to_vec).collect();
        let pages: Vec<Vec<Item>> = stream::iter(chunks)
            .map(|chunk| async move { self.get_many(&chunk).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        let mut found = HashMap::new();
        for item in pages.iter().flatten() {
            let reader = ItemReader(item);
            found.insert(
                Key::from_parts(reader.text(PK)?, reader.text(SK)?),
                reader.number_opt(OUTPUT_TOKENS),
            );
        }
        Ok(keys.iter().map(|key| found.get(key).copied().flatten()).collect())
    }
}

fn attributed_session(entry: &Item) -> Result<AttributedSession, StoreError> {
    let reader = ItemReader(entry);
    Ok(AttributedSession {
        user_id: UserId::new(reader.text(USER)?).map_err(|_| reader.corrupt(USER))?,
        session_id: SessionId::new(reader.text(SESSION)?).map_err(|_| reader.corrupt(SESSION))?,
    })
}
