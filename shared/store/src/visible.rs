//! Rows as readers see them: never a user whose versions are changed by half.
//!
//! Neither a query nor a batch of reads is a snapshot. So the flip state on the lease is read before and after, and
//! rows count only when both agree; flips are rare, and a second try is nearly always the last one.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::OrgId;
use domain::learning::LearningKind;

use crate::Store;
use crate::access::Range;
use crate::attributes::{Item, ItemReader, PK};
use crate::error::StoreError;
use crate::flips::FlipState;
use crate::keys::{Key, Listing, PROFILE_PREFIX, USER_PLAYBOOK_PREFIX, UserKeys, lease_beside};
use crate::profiles::ProfileRow;
use crate::retry::ATTEMPTS_MAX;
use crate::user_playbooks::UserPlaybookRow;

/// Entries of the index that are read at a time.
const PAGE_ENTRIES: usize = 500;
/// Rows that are read between two looks at the leases of their users.
const ROWS_PER_LOOK: usize = 100;

/// All rows of a user's memory, as they were at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryRows {
    /// Profiles, whatever their status.
    pub profiles: Vec<ProfileRow>,
    /// User playbooks, whatever their status.
    pub playbooks: Vec<UserPlaybookRow>,
}

impl Store {
    /// All profiles and user playbooks of a user, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or a row is damaged.
    pub async fn memory_rows(&self, keys: &UserKeys<'_>) -> Result<MemoryRows, StoreError> {
        let [profiles, playbooks] = self.visible_rows(keys, [PROFILE_PREFIX, USER_PLAYBOOK_PREFIX]).await?;
        Ok(MemoryRows {
            profiles: profiles.iter().map(ProfileRow::from_item).collect::<Result<_, _>>()?,
            playbooks: playbooks.iter().map(UserPlaybookRow::from_item).collect::<Result<_, _>>()?,
        })
    }

    /// A user's rows under these prefixes.
    pub(crate) async fn visible_rows<const N: usize>(
        &self,
        keys: &UserKeys<'_>,
        prefixes: [&str; N],
    ) -> Result<[Vec<Item>; N], StoreError> {
        let partition = keys.partition();
        let mut state = self.flip_state(keys).await?;
        for attempt in 1..=ATTEMPTS_MAX {
            let mut found = [const { Vec::new() }; N];
            for (rows, prefix) in found.iter_mut().zip(prefixes) {
                *rows = state.show(self.query_all(Range::prefix(&partition, prefix)).await?)?;
            }
            let then = self.flip_state(keys).await?;
            if then == state {
                return Ok(found);
            }
            state = then;
            self.retries.wait(attempt).await;
        }
        Err(StoreError::Contended { operation: "read rows" })
    }

    /// One row of a user.
    pub(crate) async fn visible_row(
        &self,
        keys: &UserKeys<'_>,
        key: &Key,
    ) -> Result<Option<Item>, StoreError> {
        let mut state = self.flip_state(keys).await?;
        for attempt in 1..=ATTEMPTS_MAX {
            let row = self.get(key).await?;
            // Without a flip one row is right by itself: as it was, or as a flip made it that began since.
            if state.flip.is_none() {
                return Ok(row);
            }
            let then = self.flip_state(keys).await?;
            if then == state {
                return Ok(state.show(row.into_iter().collect())?.pop());
            }
            state = then;
            self.retries.wait(attempt).await;
        }
        Err(StoreError::Contended { operation: "read row" })
    }

    /// Rows of many users, in any order; those that are gone are left out. Rows of one user belong together.
    pub(crate) async fn visible_rows_by_keys(&self, keys: &[Key]) -> Result<Vec<Item>, StoreError> {
        // Each key once: an entry that moved may be met on two pages of the index.
        let mut by_user: BTreeMap<&str, BTreeSet<Key>> = BTreeMap::new();
        for key in keys {
            by_user.entry(key.pk()).or_default().insert(key.clone());
        }
        let (mut found, mut look) = (Vec::with_capacity(keys.len()), Vec::new());
        for rows in by_user.into_values() {
            look.extend(rows);
            if look.len() >= ROWS_PER_LOOK {
                found.extend(self.look_at(std::mem::take(&mut look)).await?);
            }
        }
        found.extend(self.look_at(look).await?);
        Ok(found)
    }

    /// Reads all the given rows of some users; again for those users that were flipped meanwhile.
    async fn look_at(&self, mut keys: Vec<Key>) -> Result<Vec<Item>, StoreError> {
        let mut found = Vec::with_capacity(keys.len());
        for attempt in 1..=ATTEMPTS_MAX {
            if keys.is_empty() {
                return Ok(found);
            }
            let before = self.flip_states(&keys).await?;
            let rows = self.get_many(&keys).await?;
            let after = self.flip_states(&keys).await?;
            let mut by_user: BTreeMap<String, Vec<Item>> = BTreeMap::new();
            for row in rows {
                by_user.entry(ItemReader(&row).text(PK)?.to_owned()).or_default().push(row);
            }
            let state = |states: &BTreeMap<String, FlipState>, user: &str| {
                states.get(user).cloned().unwrap_or_default()
            };
            for (user, rows) in by_user {
                if state(&before, &user) == state(&after, &user) {
                    found.extend(state(&before, &user).show(rows)?);
                }
            }
            keys.retain(|key| state(&before, key.pk()) != state(&after, key.pk()));
            if !keys.is_empty() {
                self.retries.wait(attempt).await;
            }
        }
        if keys.is_empty() { Ok(found) } else { Err(StoreError::Contended { operation: "read rows" }) }
    }

    /// The flip states of the users of these rows, by partition; users without a lease are left out.
    async fn flip_states(&self, rows: &[Key]) -> Result<BTreeMap<String, FlipState>, StoreError> {
        let mut leases: Vec<Key> = rows.iter().map(lease_beside).collect();
        leases.sort_by(|left, right| left.pk().cmp(right.pk()));
        leases.dedup();
        let mut states = BTreeMap::new();
        for item in self.get_many(&leases).await? {
            let partition = ItemReader(&item).text(PK)?.to_owned();
            states.insert(partition, FlipState::of(Some(&item))?);
        }
        Ok(states)
    }

    /// Rows of all users, newest first as the index has them, until `keep` has kept `limit` of them.
    ///
    /// The index is read page by page, and a user's rows may stand on several pages. While no change of versions is
    /// under way in the organisation, which two small reads tell, that does no harm. While one is, all entries
    /// are read first, and then the rows user by user.
    pub(crate) async fn rows_across<T>(
        &self,
        org: &OrgId,
        kind: LearningKind,
        limit: usize,
        mut keep: impl FnMut(&Item) -> Result<Option<T>, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let gate = self.version_gate(org, kind).await?;
        if !gate.is_active {
            let mut found = Vec::new();
            let mut page = None;
            while found.len() < limit {
                let (keys, next) = self.keys_page(org, kind, page).await?;
                for row in self.get_many(&keys).await? {
                    found.extend(keep(&row)?);
                }
                match next {
                    Some(next) => page = Some(next),
                    None => break,
                }
            }
            if self.version_gate(org, kind).await? == gate {
                return Ok(found);
            }
        }
        let (mut keys, mut page) = (Vec::new(), None);
        loop {
            let (more, next) = self.keys_page(org, kind, page).await?;
            keys.extend(more);
            match next {
                Some(next) => page = Some(next),
                None => break,
            }
        }
        let mut found = Vec::new();
        for row in self.visible_rows_by_keys(&keys).await? {
            found.extend(keep(&row)?);
        }
        Ok(found)
    }

    async fn keys_page(
        &self,
        org: &OrgId,
        kind: LearningKind,
        page: Option<crate::listing::Page>,
    ) -> Result<(Vec<Key>, Option<crate::listing::Page>), StoreError> {
        let listing = match kind {
            LearningKind::Profile => Listing::Profiles,
            LearningKind::Playbook => Listing::UserPlaybooks,
        };
        let (entries, next) = self.list(org, listing, PAGE_ENTRIES, page).await?;
        Ok((entries.into_iter().map(|entry| entry.key).collect(), next))
    }
}
