//! Lists of outcomes, the last ones first; those of the same second by user and session.
//!
//! The index is read backwards, so what breaks ties stands in it as its complement: descending keys are ascending ids.

use std::collections::HashSet;

use domain::entities::{SessionOutcome, SessionOutcomeKind};
use domain::ids::{OrgId, SessionId};
use domain::time::EpochSeconds;

use crate::Store;
use crate::attributes::{Item, ItemReader, PK, SK, SOURCE, USER};
use crate::error::StoreError;
use crate::keys::{Key, Listing, session_outcome};
use crate::session_parts::stored_outcome;

/// Entries that are read at a time.
const PAGE_ENTRIES: usize = 200;
/// Bytes of an id that order it: a sort key may have 1,024 bytes. Longer ids that begin with the same ones are in order
/// only within a page.
const ORDERED_BYTES: usize = 240;
/// The last second that has a place in keys.
const LAST_SECOND: EpochSeconds = 999_999_999_999;

/// Which outcomes to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeFilter {
    /// Only of this user.
    pub user_id: Option<String>,
    /// Only from this source.
    pub source: Option<String>,
    /// Only of this kind.
    pub outcome: Option<SessionOutcomeKind>,
    /// Only with this label.
    pub label: Option<String>,
    /// Only at this time or later.
    pub start_time: Option<EpochSeconds>,
    /// Only at this time or earlier.
    pub end_time: Option<EpochSeconds>,
}

impl OutcomeFilter {
    /// Whether an outcome is wanted.
    #[must_use]
    pub fn lets_through(&self, row: &SessionOutcome) -> bool {
        self.user_id.as_deref().is_none_or(|user| user == row.user_id.as_str())
            && self.source.as_ref().is_none_or(|source| *source == row.source)
            && self.outcome.is_none_or(|outcome| outcome == row.outcome)
            && self.label.as_ref().is_none_or(|label| Some(label) == row.label.as_ref())
            && self.start_time.is_none_or(|start| start <= row.occurred_at)
            && self.end_time.is_none_or(|end| row.occurred_at <= end)
    }

    /// Whether an entry of the index may lead to an outcome that is wanted.
    fn may_let_through(&self, entry: &Item) -> bool {
        let reader = ItemReader(entry);
        let fits = |wanted: &Option<String>, name: &str| {
            wanted.as_deref().is_none_or(|wanted| reader.text_opt(name) == Some(wanted))
        };
        fits(&self.user_id, USER) && fits(&self.source, SOURCE)
    }
}

/// The order of lists: the last ones first, then by user and session.
fn list_order(row: &SessionOutcome) -> (std::cmp::Reverse<EpochSeconds>, &str, &str) {
    (std::cmp::Reverse(row.occurred_at), row.user_id.as_str(), row.session_id.as_str())
}

impl Store {
    /// At most `limit` outcomes after `offset` others. Eventual: for lists, never for decisions.
    ///
    /// # Errors
    /// [`StoreError`] when the table or index fails, or an outcome is damaged.
    pub async fn list_outcomes(
        &self,
        org: &OrgId,
        filter: &OutcomeFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<SessionOutcome>, StoreError> {
        let partition = Listing::Outcomes.partition(org);
        let enough = offset.saturating_add(limit);
        let span = (
            filter.start_time.unwrap_or(0).min(LAST_SECOND),
            filter.end_time.unwrap_or(LAST_SECOND).min(LAST_SECOND),
        );
        // An outcome that is replaced meanwhile may stand in the index at both of its times.
        let mut seen = HashSet::new();
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let page = self.query_by_time_between(&partition, span, Some(PAGE_ENTRIES), start).await?;
            let mut keys = Vec::new();
            for entry in page.0.iter().filter(|entry| filter.may_let_through(entry)) {
                let reader = ItemReader(entry);
                let key = Key::from_parts(reader.text(PK)?, reader.text(SK)?);
                if seen.insert(key.clone()) {
                    keys.push(key);
                }
            }
            for item in &self.get_many(&keys).await? {
                let row = stored_outcome(ItemReader(item))?.row;
                if filter.lets_through(&row) {
                    found.push(row);
                }
            }
            start = page.1;
            if start.is_none() || found.len() >= enough {
                break;
            }
        }
        Ok(page_of(found, offset, limit))
    }

    /// The same of certain sessions, consistently read.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails or an outcome is damaged.
    pub async fn list_outcomes_of(
        &self,
        org: &OrgId,
        sessions: &[SessionId],
        filter: &OutcomeFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<SessionOutcome>, StoreError> {
        let wanted: Vec<_> = sessions.iter().map(|session| session_outcome(org, session)).collect();
        let mut found = Vec::new();
        for item in &self.get_many(&wanted).await? {
            found.push(stored_outcome(ItemReader(item))?.row);
        }
        found.retain(|row| filter.lets_through(row));
        Ok(page_of(found, offset, limit))
    }
}

/// The part of outcomes that is wanted, in the order of lists.
fn page_of(mut found: Vec<SessionOutcome>, offset: usize, limit: usize) -> Vec<SessionOutcome> {
    found.sort_by(|a, b| list_order(a).cmp(&list_order(b)));
    found.into_iter().skip(offset).take(limit).collect()
}

/// What breaks ties between outcomes of the same second: the greater, the earlier in the list.
pub(crate) fn tie(user: &str, session: &str) -> String {
    format!("{}{}", descending(user), descending(session))
}

/// A text whose order is the opposite of that of `id`, by its bytes.
fn descending(id: &str) -> String {
    let bytes = &id.as_bytes()[..id.len().min(ORDERED_BYTES)];
    let complement: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    // What ends earlier comes earlier: its end is greater than any digit.
    format!("{}~", hex::encode(complement))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ties_are_in_the_opposite_order_of_users_and_sessions(
            a in ("[a-c~é\u{1F600}]{1,4}", "[a-c#]{1,4}"),
            b in ("[a-c~é\u{1F600}]{1,4}", "[a-c#]{1,4}"),
        ) {
            let (first, second) = (tie(&a.0, &a.1), tie(&b.0, &b.1));
            prop_assert_eq!(second.cmp(&first), a.cmp(&b));
        }
    }

    #[test]
    fn a_key_with_the_longest_ids_fits_an_index() {
        let long = "\u{1F600}".repeat(1_000);
        assert!(crate::keys::time_key(LAST_SECOND, &tie(&long, &long)).len() <= 1_024);
    }
}
