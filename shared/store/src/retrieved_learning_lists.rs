//! Lists of verdicts on learnings: only those that are in force.

use std::collections::BTreeMap;

use domain::entities::{RetrievedLearningResult, UserProfile};
use domain::ids::{OrgId, ProfileId, SessionId, UserHash};
use domain::time::EpochSeconds;

use crate::Store;
use crate::access::Range;
use crate::attributes::{ACTIVE_RUN, DOCUMENT, Item, ItemReader, PK, SK, VERSION};
use crate::error::StoreError;
use crate::keys::{Key, Listing, RETRIEVED_ROW_PREFIX, RETRIEVED_STATE_PREFIX, UserKeys};
use crate::profiles::ProfileRow;
use crate::retrieved_learning::RetrievedLearningRecord;
use crate::retry::ATTEMPTS_MAX;
use crate::user_playbooks::UserPlaybookRow;

/// Entries of an index that are read at a time.
const PAGE_ENTRIES: usize = 500;

/// Which verdicts on learnings to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetrievedLearningFilter {
    /// Only of this user.
    pub user: Option<UserHash>,
    /// Only of this session.
    pub session: Option<SessionId>,
}

impl Store {
    /// The verdicts in force on the learnings of one session, consistently read, by interaction and id. `session` is
    /// the hash of its id.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails, an item is damaged, or the verdicts are replaced faster than we read.
    pub async fn retrieved_learnings(
        &self,
        keys: &UserKeys<'_>,
        session: &str,
    ) -> Result<Vec<RetrievedLearningResult>, StoreError> {
        let partition = keys.partition();
        let mut state = self.retrieved_learning_state(keys, session).await?;
        for attempt in 1..=ATTEMPTS_MAX {
            let in_force = state.as_ref().map_or(0, |record| record.in_force);
            if in_force == 0 {
                return Ok(Vec::new());
            }
            let prefix = UserKeys::retrieved_rows_of(session, in_force);
            let items = self.query_all(Range::prefix(&partition, &prefix)).await?;
            // Verdicts that were replaced meanwhile may be gone in part.
            let then = self.retrieved_learning_state(keys, session).await?;
            if then.as_ref().map_or(0, |record| record.in_force) == in_force {
                let mut rows = decode(&items)?;
                rows.sort_by_key(|row| (row.interaction_id, row.result_id));
                return Ok(rows);
            }
            state = then;
            self.retries.wait(attempt).await;
        }
        Err(StoreError::Contended { operation: "read verdicts on learnings" })
    }

    /// At most `limit` verdicts, those of the sessions that began last first, then the largest id. What is listed of
    /// all users may lag behind.
    ///
    /// # Errors
    /// As [`Self::retrieved_learnings`].
    pub async fn newest_retrieved_learnings(
        &self,
        org: &OrgId,
        filter: &RetrievedLearningFilter,
        limit: usize,
    ) -> Result<Vec<RetrievedLearningResult>, StoreError> {
        let mut found: Vec<RetrievedLearningResult> = Vec::new();
        match (&filter.user, &filter.session) {
            (Some(user), Some(session)) => {
                found = self.retrieved_learnings(&UserKeys { org, user }, &session.hash()).await?;
            }
            (None, Some(session)) => {
                for user in self.session_members(org, session).await? {
                    let keys = UserKeys { org, user: &user };
                    found.extend(self.retrieved_learnings(&keys, &session.hash()).await?);
                }
            }
            (Some(user), None) => {
                let keys = UserKeys { org, user };
                let partition = keys.partition();
                let states = self.query_all(Range::prefix(&partition, RETRIEVED_STATE_PREFIX)).await?;
                let mut states: Vec<&Item> =
                    states.iter().filter(|item| item.contains_key(crate::attributes::BY_TIME_SK)).collect();
                states.sort_by_key(|item| {
                    std::cmp::Reverse(ItemReader(item).text_opt(crate::attributes::BY_TIME_SK))
                });
                for item in states {
                    if self.is_enough(item, &found, limit) {
                        break;
                    }
                    let session = RetrievedLearningRecord::from_item(item)?.state.session_id.hash();
                    found.extend(self.retrieved_learnings(&keys, &session).await?);
                }
            }
            (None, None) => found = self.newest_of_all(org, limit).await?,
        }
        found.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.result_id)));
        found.truncate(limit);
        Ok(found)
    }

    async fn newest_of_all(
        &self,
        org: &OrgId,
        limit: usize,
    ) -> Result<Vec<RetrievedLearningResult>, StoreError> {
        let (mut found, mut page) = (Vec::new(), None);
        loop {
            let (entries, next) = self.list(org, Listing::LearningSessions, PAGE_ENTRIES, page).await?;
            for entry in entries {
                let Some(item) = self.get(&entry.key).await? else { continue };
                if self.is_enough(&item, &found, limit) {
                    return Ok(found);
                }
                let state = RetrievedLearningRecord::from_item(&item)?.state;
                let user = UserHash::of(&state.user_id);
                let keys = UserKeys { org, user: &user };
                found.extend(self.retrieved_learnings(&keys, &state.session_id.hash()).await?);
            }
            match next {
                Some(next) => page = Some(next),
                None => return Ok(found),
            }
        }
    }

    /// Whether no verdict of this session, nor of any that began earlier, can be among the first `limit`. Sessions that
    /// began in the same second are all looked at, since ids decide between them.
    fn is_enough(&self, state: &Item, found: &[RetrievedLearningResult], limit: usize) -> bool {
        let began = ItemReader(state).number_opt(crate::attributes::AT).unwrap_or(0);
        found.iter().filter(|row| row.created_at > began).count() >= limit
    }

    /// At most `limit` verdicts on learnings of interactions within a span of time, both ends included: the latest
    /// interaction first, then the largest ids. Eventual.
    ///
    /// # Errors
    /// As [`Self::retrieved_learnings`].
    pub async fn retrieved_learnings_between(
        &self,
        org: &OrgId,
        filter: &RetrievedLearningFilter,
        times: (EpochSeconds, EpochSeconds),
        limit: usize,
    ) -> Result<Vec<RetrievedLearningResult>, StoreError> {
        let partition = Listing::LearningVerdicts.partition(org);
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let page = Some(PAGE_ENTRIES);
            let (entries, next) = self.query_by_time_between(&partition, times, page, start).await?;
            let mut keys = Vec::new();
            for entry in &entries {
                let reader = ItemReader(entry);
                let key = Key::from_parts(reader.text(PK)?, reader.text(SK)?);
                if is_wanted(org, filter, &key) {
                    keys.push(key);
                }
            }
            found.extend(decode(&self.verdicts_in_force(&keys).await?)?);
            if found.len() >= limit || next.is_none() {
                break;
            }
            start = next;
        }
        found.sort_by_key(|row| {
            std::cmp::Reverse((row.interaction_created_at, row.interaction_id, row.result_id))
        });
        found.truncate(limit);
        Ok(found)
    }

    /// The rows behind index entries whose generation is in force.
    async fn verdicts_in_force(&self, keys: &[Key]) -> Result<Vec<Item>, StoreError> {
        let rows = self.get_many(keys).await?;
        // Read after the rows: a generation that is in force now, and whose row was there before, counts.
        let mut state_keys: Vec<Key> = keys.iter().filter_map(state_beside).collect();
        state_keys.sort();
        state_keys.dedup();
        let mut in_force: BTreeMap<(String, String), i64> = BTreeMap::new();
        for state in self.get_many(&state_keys).await? {
            let reader = ItemReader(&state);
            let key = (reader.text(PK)?.to_owned(), reader.text(SK)?.to_owned());
            in_force.insert(key, reader.count(ACTIVE_RUN));
        }
        let mut kept = Vec::with_capacity(rows.len());
        for row in rows {
            let reader = ItemReader(&row);
            let key = Key::from_parts(reader.text(PK)?, reader.text(SK)?);
            let state = state_beside(&key).map(|state| (state.pk().to_owned(), state.sk().to_owned()));
            let generation = reader.number(VERSION)?;
            if state.and_then(|state| in_force.get(&state)) == Some(&generation) {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// Profiles by their ids, whatever their status, in any order; those that are not there are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn profiles_by_ids(
        &self,
        org: &OrgId,
        ids: &[ProfileId],
    ) -> Result<Vec<UserProfile>, StoreError> {
        let owners = self.owners_of_profiles(org, ids).await?;
        let keys: Vec<Key> = owners.iter().map(|(id, user)| UserKeys { org, user }.profile(id)).collect();
        let rows = self.visible_rows_by_keys(&keys).await?;
        rows.iter().map(|row| Ok(ProfileRow::from_item(row)?.profile)).collect()
    }

    /// User playbooks by their ids, whatever their status, in any order; those that are not there are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn user_playbooks_by_ids(
        &self,
        org: &OrgId,
        ids: &[i64],
    ) -> Result<Vec<domain::entities::UserPlaybook>, StoreError> {
        let owners = self.owners_of_playbooks(org, ids).await?;
        let keys: Vec<Key> =
            owners.iter().map(|(id, user)| UserKeys { org, user }.user_playbook(*id)).collect();
        let rows = self.visible_rows_by_keys(&keys).await?;
        rows.iter().map(|row| Ok(UserPlaybookRow::from_item(row)?.playbook)).collect()
    }
}

fn decode(items: &[Item]) -> Result<Vec<RetrievedLearningResult>, StoreError> {
    items.iter().map(|item| ItemReader(item).json(DOCUMENT)).collect()
}

fn is_wanted(org: &OrgId, filter: &RetrievedLearningFilter, key: &Key) -> bool {
    let is_users = filter.user.as_ref().is_none_or(|user| UserKeys { org, user }.partition() == key.pk());
    let is_sessions = filter
        .session
        .as_ref()
        .is_none_or(|session| key.sk().starts_with(&UserKeys::retrieved_rows(&session.hash())));
    is_users && is_sessions
}

/// The state of the session that a verdict belongs to, from the verdict's own key.
fn state_beside(row: &Key) -> Option<Key> {
    let session = row.sk().strip_prefix(RETRIEVED_ROW_PREFIX)?.split('#').next()?;
    Some(Key::from_parts(row.pk(), &format!("{RETRIEVED_STATE_PREFIX}{session}")))
}
